//! The programs that are printed: those of the models of the tests and of the examples.

use std::path::{Path, PathBuf};

use paddle_core::ops::Program;
use paddle_core::text;
use paddle_language::{Options, compile, networks_of};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder with an extension, in the order of their names, and their texts.
fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let files = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|is| is == extension)).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// All programs, with their names.
pub(crate) fn programs() -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for folder in ["tests/tests/models", "examples"] {
        for (name, text) in files(folder, "rs") {
            programs.extend(networks(&name, &text));
        }
    }
    for folder in ["examples/golden", "tests/tests/golden"] {
        let parsed = files(folder, "txt").into_iter().filter_map(|(name, text)| {
            let program = text::parse(&text).ok().filter(|program| program.gradients().is_empty())?;
            Some((name, program))
        });
        programs.extend(parsed);
    }
    programs
}

/// The networks of a file, those that need nothing from outside of it.
fn networks(name: &str, text: &str) -> Vec<(String, Program)> {
    let found = networks_of(text, &Options::new()).unwrap();
    let mut options = Options::new().file(name);
    let file = name.trim_end_matches(".rs");
    for found in &found {
        let Some(module) = &found.module else { continue };
        for path in
            [format!("crate::{module}"), format!("crate::{file}::{module}"), format!("super::{module}")]
        {
            options = options.source(path, "imported.rs", &found.source);
        }
    }
    let compiled = found.iter().enumerate();
    let compiled = compiled.filter_map(|(at, found)| Some((at, compile(&found.source, &options).ok()?)));
    let topologies =
        compiled.flat_map(|(at, compiled)| compiled.topologies.into_iter().map(move |it| (at, it)));
    topologies.map(|(at, it)| (format!("{name} {at} {}", it.name), it.program)).collect()
}
