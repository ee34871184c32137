//! Valid models of many kinds: each file compiles without an error or a warning, and its networks hold what a program
//! promises.
#![deny(warnings)]

use std::collections::BTreeSet;
use std::path::Path;

use paddle::core::convert::{from_wire, to_wire};
use paddle::core::program::Program;
use paddle::core::text;

/// The program of a network.
fn program<S: paddle::Spec>(network: paddle::Network<S>) -> Program {
    network.program().unwrap().clone()
}

/// The files of models. Each has a function `networks`, the programs of its networks.
macro_rules! models {
    ($($name:ident)*) => {
        $(mod $name;)*

        const MODELS: &[(&str, fn() -> Vec<Program>)] = &[$((stringify!($name), $name::networks)),*];
    };
}

models! {
    captured_values
    conditions_of_scalars
    decided_branches
    documented
    element_types
    format_names
    generic_parts
    match_on_constants
    named_sizes
    residual_stack
    rows_and_loops
    sizes_in_an_array
    stages
    tapped
    texts
    tuples_and_shadowing
    unrolled_in_control
}

#[test]
fn every_file_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into()).collect();
    let listed = MODELS.iter().map(|(name, _)| name.to_string()).chain(["main".to_string()]);
    assert_eq!(files, listed.collect());
}

#[test]
fn programs_are_kept_by_text_and_wire() {
    for (name, networks) in MODELS {
        let programs = networks();
        assert!(!programs.is_empty(), "{name}");
        for program in programs {
            program.verify().unwrap();
            let shown = program.to_string();
            assert_eq!(text::parse(&shown).unwrap().to_string(), shown, "{name}");
            let wire = to_wire(&program);
            assert_eq!(from_wire(&wire.main, Some(&wire.startup)).unwrap().to_string(), shown, "{name}");
        }
    }
}
