//! The names of source files in messages and programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::Span;

use crate::report::Extent;

/// The names of the files that spans belong to.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// A folder, and the name that replaces it in the names of the files below it.
    root: Option<(PathBuf, String)>,
    /// The folder that texts stand in, if it is known.
    of_texts: Option<PathBuf>,
    /// Sources given as texts: for each file name of spans, the name and the text.
    texts: BTreeMap<String, (String, String)>,
}

impl Files {
    /// Files keep the names that spans give them, except that the absolute name of a file below `root` begins with
    /// `name` instead of `root`.
    pub fn below(root: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Files { root: Some((root.into(), name.into())), ..Files::default() }
    }

    /// Sources that are given as texts, and stand in this folder.
    pub(crate) fn texts_in(folder: Option<PathBuf>) -> Self {
        Files { of_texts: folder, ..Files::default() }
    }

    /// The folder of the file that a span belongs to. Where it is not known, as in some editors, it is the root.
    pub fn folder(&self, span: Span) -> Option<PathBuf> {
        let Some((root, _)) = &self.root else { return self.of_texts.clone() };
        let file = span.local_file();
        Some(file.as_deref().and_then(Path::parent).unwrap_or(root).to_path_buf())
    }

    /// Registers the text that a span belongs to, and its name.
    pub(crate) fn add(&mut self, span: Span, name: &str, text: &str) {
        self.texts.insert(span.file(), (name.to_string(), text.to_string()));
    }

    /// The lines `first ..= last`, from 1, of the text that a span belongs to; none if the span belongs to a file.
    pub(crate) fn lines(&self, span: Span, first: usize, last: usize) -> Vec<String> {
        let Some((_, text)) = self.texts.get(&span.file()) else { return Vec::new() };
        let lines = text.lines().skip(first.saturating_sub(1));
        lines.take((last + 1).saturating_sub(first)).map(str::to_string).collect()
    }

    /// The name of a span's file.
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

    /// The place at which tokens begin, as text.
    pub fn place(&self, at: Extent) -> String {
        let start = at.start.start();
        format!("{}:{}:{}", self.name(at.start), start.line, start.column + 1)
    }
}

fn shorten(file: &str, root: &Path, name: &str) -> String {
    let path = Path::new(file);
    match path.strip_prefix(root) {
        Ok(inside) if path.is_absolute() && !root.as_os_str().is_empty() => {
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
