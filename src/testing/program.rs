//! The comparison of programs with golden files.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::network::{Network, Spec};

/// The number of unchanged lines that are shown around a difference.
const CONTEXT: usize = 3;

/// Panics unless the program of a network prints as this file of your crate has it: `"tests/golden/cost.txt"`. So a
/// change of the compiled program is visible as a diff, which is reviewed with the source.
///
/// With `UPDATE_GOLDEN=1` in the environment, it writes the file, and its folder, instead. The text is that of
/// `net.program()?.to_string()`: nested blocks, without places in the source. A relative path begins at the folder of
/// the crate under test, which has its `Cargo.toml`.
///
/// ```
/// use paddle::network;
/// use paddle::testing::assert_program;
///
/// let net = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
///     let price = fc(x, 1);
///     mean(square(price - y))
/// });
/// assert_program(&net, "examples/golden/price.txt");
/// ```
#[track_caller]
pub fn assert_program<S: Spec>(net: &Network<S>, golden: impl AsRef<Path>) {
    let program = match net.program() {
        Ok(program) => program.to_string(),
        Err(error) => panic!("`{}` has no program: {error}", S::NAME),
    };
    let update = env::var_os("UPDATE_GOLDEN").is_some_and(|value| value != "0");
    if let Err(why) = compare(&program, golden.as_ref(), update) {
        panic!("the program of `{}` {why}", S::NAME);
    }
}

/// Compares a text with a file, or writes the file.
fn compare(text: &str, golden: &Path, update: bool) -> Result<(), String> {
    // Cargo tells tests the folder of their crate; without Cargo they run in it.
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let path = root.join(golden);
    if update {
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        return written.map_err(|error| format!("cannot be written to {}: {error}", path.display()));
    }
    let accept = "run the test with UPDATE_GOLDEN=1";
    let file = fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        format!("cannot be compared with {path}: {error}; to write it, {accept}\n{text}")
    })?;
    // The file may have been checked out with the line endings of another system.
    let (old, new): (Vec<_>, Vec<_>) = (file.lines().collect(), text.lines().collect());
    if old == new {
        return Ok(());
    }
    let path = path.display();
    Err(format!("is not what {path} has; if it should be, {accept}\n{}", difference(&old, &new)))
}

/// The lines that only one of two texts has, with `-` for old and `+` for new lines, and some lines around them.
fn difference(old: &[&str], new: &[&str]) -> String {
    // The length of the longest common subsequence of the lines from (i, j) on.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    let differs: Vec<_> = (0..lines.len()).filter(|&at| lines[at].0 != ' ').collect();
    let is_near = |at: usize| differs.iter().any(|&other| at.abs_diff(other) <= CONTEXT);
    let (mut text, mut shown) = (String::new(), true);
    for (at, (mark, line)) in lines.iter().enumerate() {
        match (is_near(at), shown) {
            (true, _) => text += &format!("{mark} {line}\n"),
            (false, true) => text += "  …\n",
            (false, false) => {}
        }
        shown = is_near(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_with_the_lines_around_them() {
        let old: Vec<String> = (0..20).map(|line| line.to_string()).collect();
        let mut new = old.clone();
        new[6] = "six".to_string();
        new.insert(12, "between".to_string());
        new.remove(0);
        let [old, new]: [Vec<&str>; 2] = [&old, &new].map(|text| text.iter().map(String::as_str).collect());
        let expected = "- 0\n  1\n  2\n  3\n  4\n  5\n- 6\n+ six\n  7\n  8\n  9\n  10\n  11\n+ between\n  12\n  13\n  14\n  …\n";
        assert_eq!(difference(&old, &new), expected);
        assert_eq!(difference(&[], &["one"]), "+ one\n");
        assert_eq!(difference(&["one"], &[]), "- one\n");
    }

    #[test]
    fn files_are_written_when_asked_for_and_compared_otherwise() {
        let folder = env::temp_dir().join(format!("paddle-golden-{}", std::process::id()));
        let path = folder.join("programs/cost.txt");
        let missing = compare("one\ntwo\n", &path, false).unwrap_err();
        assert!(missing.contains("to write it, run the test with UPDATE_GOLDEN=1\none\ntwo\n"), "{missing}");
        compare("one\ntwo\n", &path, true).unwrap();
        compare("one\ntwo\n", &path, false).unwrap();
        fs::write(&path, "one\r\ntwo\r\n").unwrap();
        compare("one\ntwo\n", &path, false).unwrap();
        let differs = compare("one\n2\n", &path, false).unwrap_err();
        assert!(differs.ends_with("run the test with UPDATE_GOLDEN=1\n  one\n- two\n+ 2\n"), "{differs}");
        let unwritable = compare("", &path.join("below"), true).unwrap_err();
        assert!(unwritable.starts_with("cannot be written to "), "{unwritable}");
        fs::remove_dir_all(folder).unwrap();
    }
}
