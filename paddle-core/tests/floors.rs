//! The floors of this crate: no module uses one above it.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module, and those that it may use.
const FLOORS: &[(&str, &[&str])] = &[
    ("memory", &[]),
    ("wire", &["memory"]),
    ("model_files", &["memory", "wire"]),
    ("program", &[]),
    ("ops", &["program"]),
    ("text", &["program", "ops"]),
    ("passes", &["program", "ops"]),
    ("layers", &["program", "ops"]),
    ("plan", &["memory", "program", "ops", "passes"]),
    ("convert", &["memory", "wire", "program", "ops", "text", "passes"]),
];

/// The modules that a source names: what stands behind `crate::`, but in comments and in tests.
fn used(source: &str) -> Vec<&str> {
    let tests = source.find("#[cfg(test)]").unwrap_or(source.len());
    let lines = source[..tests].lines().filter(|line| !line.trim_start().starts_with("//"));
    let paths = lines.flat_map(|line| line.split("crate::").skip(1));
    paths
        .map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

/// What a module uses that is above it.
fn above(module: &str, source: &str) -> Vec<String> {
    let (_, below) = FLOORS.iter().find(|(name, _)| *name == module).expect("each module has its floor");
    let known = |name: &&str| FLOORS.iter().any(|(floor, _)| floor == name);
    let wrong = used(source).into_iter().filter(known);
    wrong.filter(|name| *name != module && !below.contains(name)).map(str::to_string).collect()
}

#[test]
fn no_module_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("lib.rs") && !file.ends_with("tests.rs")) {
        let path = file.strip_prefix(&root).unwrap();
        let module = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let source = fs::read_to_string(file).unwrap();
        wrong.extend(above(module, &source).into_iter().map(|name| format!("{}: {name}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() > 200, "the sources are elsewhere: {} files", files.len());
}

#[test]
fn a_module_that_uses_one_above_it_is_found() {
    let source = "use crate::program::Type;\nuse crate::passes::backward;\n// crate::plan\nfn f() { crate::text::parse() }\n\
                  #[cfg(test)]\nuse crate::plan::Plan;\n";
    assert_eq!(above("ops", source), ["passes", "text"]);
    assert!(above("convert", source).is_empty());
}
