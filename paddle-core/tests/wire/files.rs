//! Every program and parameter file that PaddlePaddle itself wrote, where they are at hand: they are kept beside
//! the repository, not in it.

use std::fs;
use std::path::{Path, PathBuf};

use paddle_core::wire::{ProgramDesc, parameter_names, read_params, write_params};

use crate::hostile::mutate_program;

/// The files with one of these endings; none, and a note, where there are no files.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle");
    if !root.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "the directory is there, but has no {endings:?}");
    found
}

#[test]
fn programs_are_written_as_they_were_read() {
    for path in files(&["pdmodel", "pdprogram"]) {
        let bytes = fs::read(&path).unwrap();
        let program = ProgramDesc::decode(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(!program.blocks.is_empty() && !program.blocks[0].ops.is_empty(), "{path:?}");
        assert!(program.encode_to_vec() == bytes, "{path:?}");
        let text = format!("{program:?}");
        let fields = text.matches("unknown: [").count();
        assert_eq!(text.matches("unknown: []").count(), fields, "{path:?}: the schema lacks a field");
    }
}

#[test]
fn params_are_written_as_they_were_read() {
    for path in files(&["pdiparams"]) {
        let program = ProgramDesc::decode(&fs::read(path.with_extension("pdmodel")).unwrap()).unwrap();
        let bytes = fs::read(&path).unwrap();
        let params = read_params(&bytes, &parameter_names(&program))
            .unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(!params.is_empty(), "{path:?}");
        assert!(write_params(&params).unwrap() == bytes, "{path:?}");
    }
}

#[test]
fn a_real_program_with_random_changes() {
    for path in files(&["pdmodel"]).iter().filter(|path| path.parent().unwrap().ends_with("while_loop")) {
        mutate_program(&fs::read(path).unwrap(), 2_000);
    }
}
