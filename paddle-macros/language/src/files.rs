//! What source files are called, in messages and in programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::Span;

use crate::report::Extent;

/// Names of the files that tokens are from.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// A folder, and what stands for it in the names of files that are below it.
    root: Option<(PathBuf, String)>,
    /// The names of sources that are texts, and the texts, by what spans call them.
    texts: BTreeMap<String, (String, String)>,
}

impl Files {
    /// Files are called as spans call them; where that is an absolute name below `root`, it begins with `name` instead.
    pub fn below(root: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Files { root: Some((root.into(), name.into())), texts: BTreeMap::new() }
    }

    /// The text that a span is from, and its name.
    pub(crate) fn add(&mut self, span: Span, name: &str, text: &str) {
        self.texts.insert(span.file(), (name.to_string(), text.to_string()));
    }

    /// Lines of the text that a span is from, from 1, the last included; none of another file.
    pub(crate) fn lines(&self, span: Span, first: usize, last: usize) -> Vec<String> {
        let Some((_, text)) = self.texts.get(&span.file()) else { return Vec::new() };
        let lines = text.lines().skip(first.saturating_sub(1));
        lines.take((last + 1).saturating_sub(first)).map(str::to_string).collect()
    }

    /// The file of a span.
    pub fn name(&self, span: Span) -> String {
        let file = span.file();
        if let Some((name, _)) = self.texts.get(&file) {
            return name.clone();
        }
        match &self.root {
            Some((root, name)) => shorten(&file, root, name),
            None => file,
        }
    }

    /// Where tokens begin.
    pub fn place(&self, at: Extent) -> String {
        let start = at.start.start();
        format!("{}:{}:{}", self.name(at.start), start.line, start.column + 1)
    }
}

fn shorten(file: &str, root: &Path, name: &str) -> String {
    let path = Path::new(file);
    match path.strip_prefix(root) {
        Ok(inside) if path.is_absolute() && root != "" => {
            Path::new(name).join(inside).to_string_lossy().replace('\\', "/")
        }
        _ => file.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_names_are_shortened() {
        let shorten = |file| shorten(file, Path::new("/a/models"), "models");
        assert_eq!(shorten("src/main.rs"), "src/main.rs");
        assert_eq!(shorten("/a/models/src/lib.rs"), "models/src/lib.rs");
        assert_eq!(shorten("/b/lib.rs"), "/b/lib.rs");
    }
}
