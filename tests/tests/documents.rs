//! What the documents say is so.

use std::path::{Path, PathBuf};

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "support/rustc.rs"]
mod rustc;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Every file and folder in the map of ARCHITECTURE.md is there: names of the top level stand at the margin, what is
/// in them is indented below.
#[test]
fn the_map_names_what_is_there() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
    let map = text.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut folders: Vec<(usize, String)> = Vec::new();
    let (mut seen, mut missing) = (0, Vec::new());
    for line in map.lines() {
        let indent = line.len() - line.trim_start().len();
        folders.retain(|(depth, _)| *depth < indent);
        let below: String = folders.iter().map(|(_, name)| name.as_str()).collect();
        // A name is a word with a dot or a slash in it; the words of a description have neither, or stand behind it.
        let is_name = |word: &&str| word.ends_with('/') || word.ends_with(".rs");
        let names: Vec<&str> = line.split_whitespace().take_while(is_name).collect();
        for name in &names {
            seen += 1;
            // Inside a crate, the tree begins at its `src`, if it has one; beside it is what is no Rust of the crate's own.
            let beside = below.strip_suffix("src/").unwrap_or(&below);
            let places = [format!("{below}{name}"), format!("{below}src/{name}"), format!("{beside}{name}")];
            if !places.iter().any(|place| Path::new(ROOT).join(place).exists()) {
                missing.push(format!("{below}{name}"));
            }
        }
        if let [folder] = names[..]
            && folder.ends_with('/')
        {
            let sources = format!("{folder}src/");
            let has_sources = indent == 0 && Path::new(ROOT).join(&sources).exists();
            let name = if has_sources { sources } else { folder.to_string() };
            folders.push((indent, name));
        }
    }
    assert!(seen > 30, "the map was not found: {seen} names");
    assert!(missing.is_empty(), "not in the tree: {missing:?}");
}

fn readme() -> String {
    std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap()
}

/// The text of a fence whose first line this is.
fn fence<'a>(text: &'a str, begin: &str) -> &'a str {
    text.split(&format!("```{begin}\n")).nth(1).and_then(|rest| rest.split("```").next()).unwrap()
}

fn write(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The README's model is the `main.rs` of a crate elsewhere, which says nothing of this one but where it is.
#[test]
fn the_model_of_the_readme_runs_in_another_crate() {
    let source = write("readme.rs", fence(&readme(), "rust"));
    let bin = format!("[[bin]]\nname = \"newcomer\"\npath = {source:?}\n");
    let run = rustc::cargo("newcomer", &bin, &["run", "--quiet"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// The README's mistake gives the README's error, at its place.
#[test]
fn the_mistake_of_the_readme_gives_its_error() {
    let readme = readme();
    let (model, error) = (fence(&readme, "rust"), fence(&readme, "text"));
    let wrong = model.replace("scale(fc(hidden, 1), 2.0)", "scale(fc(hidden, 2), 2.0)");
    assert_ne!(wrong, model);
    let source = write("wrong.rs", &wrong);
    let found = rustc::diagnostics(std::slice::from_ref(&source)).remove(&source).unwrap();
    let [found] = &found[..] else { panic!("{found:?}") };
    let (line, column) = found.place;
    assert!(error.contains(&format!("error: {}", found.text)), "{found:?}");
    assert!(error.contains(&format!(" --> src/main.rs:{line}:{column}\n")), "{found:?}");
}

/// The lines of the table of rows, which begin with these columns: the type of an input, and what a row has for it.
fn rows(text: &str) -> Vec<[&str; 2]> {
    let table = text.split("| input | in a row |\n").nth(1).expect("the table is there");
    let lines = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    lines
        .map(|line| [1, 2].map(|column| line.split('|').nth(column).unwrap().split('`').nth(1).unwrap()))
        .collect()
}

/// The rows of networks are what LANGUAGE.md and the documentation of `network!` say.
#[test]
fn the_table_of_rows_is_what_rustc_finds() {
    let language = std::fs::read_to_string(Path::new(ROOT).join("LANGUAGE.md")).unwrap();
    let macros = std::fs::read_to_string(Path::new(ROOT).join("paddle-macros/src/network.md")).unwrap();
    let rows = rows(&language);
    assert!(rows.len() > 15, "{rows:?}");
    assert_eq!(rows, self::rows(&macros));
    let numbered = || rows.iter().enumerate();
    let networks =
        numbered().map(|(k, [input, _])| format!("    pub fn n{k}(x: {input}) -> _ {{\n        x\n    }}\n"));
    let types =
        numbered().map(|(k, [_, row])| format!("const _: fn(networks::n{k}::Row) -> {row} = |row| row;\n"));
    let source = format!(
        "pub const WIDTH: usize = 5;\n\n#[paddle::attribute::network]\npub mod networks {{\n    const WORDS: usize;\n{}}}\n\n{}\nfn main() {{}}\n",
        networks.collect::<String>(),
        types.collect::<String>()
    );
    let source = write("rows.rs", &source);
    let found = rustc::diagnostics(std::slice::from_ref(&source)).remove(&source).unwrap();
    assert!(found.is_empty(), "{found:#?}");
}

/// The oldest release that the README promises is the one that cargo asks for.
#[test]
fn the_oldest_release_is_the_one_of_the_manifest() {
    let promised = env!("CARGO_PKG_RUST_VERSION");
    assert!(readme().contains(&format!("A Rust toolchain ({promised} or newer)")), "{promised}");
    let named = [readme(), std::fs::read_to_string(Path::new(ROOT).join("CONTRIBUTING.md")).unwrap()];
    let package = rustc::PACKAGE;
    assert!(named[0].contains(&format!("cargo add {package} --path")), "{package}");
    assert!(named[1].contains(promised), "{promised}");
}
