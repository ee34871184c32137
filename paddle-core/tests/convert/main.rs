//! Programs to the wire and back, PaddlePaddle's programs, hostile ones.

mod arrays;
mod attributes;
mod branches;
mod build;
mod changes;
mod compositions;
mod exported;
mod fixtures;
mod fuzz;
mod hostile;
mod inputs;
mod json;
mod legalise;
mod moves;
mod onnx;
mod paddle;
mod recorded;
mod round_trip;
mod sequences;
mod values;

use std::path::Path;

use paddle_core::ops::Program;
use paddle_core::text;

/// The programs of the golden tests: control flow nested both ways, with gradients and without.
fn golden() -> Vec<(String, Program)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the golden files are in the repository") {
        let path = entry.expect("it can be read").path();
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        programs.push((path.display().to_string(), program));
    }
    assert!(programs.len() > 8);
    programs.sort_by(|a, b| a.0.cmp(&b.0));
    programs
}
