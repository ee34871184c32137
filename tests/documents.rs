//! What the documents say of the tree is so.

use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

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
            // Inside a crate, the tree begins at its `src`.
            let places = [format!("{below}{name}"), format!("{below}src/{name}")];
            if !places.iter().any(|place| Path::new(ROOT).join(place).exists()) {
                missing.push(format!("{below}{name}"));
            }
        }
        if let [folder] = names[..]
            && folder.ends_with('/')
        {
            let crate_root = Path::new(ROOT).join(folder).join("Cargo.toml").exists() && indent == 0;
            let name = if crate_root { format!("{folder}src/") } else { folder.to_string() };
            folders.push((indent, name));
        }
    }
    assert!(seen > 30, "the map was not found: {seen} names");
    assert!(missing.is_empty(), "not in the tree: {missing:?}");
}
