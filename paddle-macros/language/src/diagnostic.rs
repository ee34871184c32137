//! Diagnostics: mistakes and doubts about a source, as data and as text.

use std::error;
use std::fmt;

use proc_macro2::Span;

use crate::files::Files;
use crate::report::{Extent, Report};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A mistake: the source has no programs.
    Error,
    /// A doubt: the source has programs, but the user may have meant something else.
    Warning,
}

/// A place in a source: line and column, both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A range of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the source, see [`Options::file`](crate::Options::file).
    pub file: String,
    /// The position of the first character.
    pub start: Position,
    /// The position behind the last character.
    pub end: Position,
}

/// A mistake in a source, or a doubt: a place where the user may have meant something else.
///
/// ```
/// use paddle_language::{Options, Severity, compile};
///
/// let diagnostics = compile("|x: Tensor<f32, _, 4>| sofmax(x)", &Options::new().file("net.rs")).unwrap_err();
/// let diagnostic = &diagnostics[0];
/// assert_eq!((diagnostic.severity, diagnostic.id), (Severity::Error, "unknown-layer"));
/// assert_eq!(diagnostic.message, "there is no layer or `fn` `sofmax`; did you mean `softmax`?");
/// assert_eq!((diagnostic.place.start.line, diagnostic.place.start.column), (1, 24));
/// assert_eq!(
///     diagnostic.to_string(),
///     "\
/// error: there is no layer or `fn` `sofmax`; did you mean `softmax`?
///  --> net.rs:1:24
///   |
/// 1 | |x: Tensor<f32, _, 4>| sofmax(x)
///   |                        ^^^^^^
/// "
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The id of the kind of diagnostic. It stays when the message is reworded.
    pub id: &'static str,
    /// The message: found, expected, and what to do. It may have several lines.
    pub message: String,
    /// The range of the source to change.
    pub place: Place,
    /// The calls that led to the mistake, a line each: `` in `f`, called at net.rs:7:9 ``.
    pub notes: Vec<String>,
    /// The source lines of the place.
    pub lines: Vec<String>,
}

impl Diagnostic {
    pub(crate) fn of(severity: Severity, report: &Report, files: &Files) -> Self {
        let at = report.blame.at;
        let trail = report.blame.trail(files);
        let place = place(at, files);
        Diagnostic {
            severity,
            id: report.message.id(),
            message: report.message.to_string(),
            notes: trail
                .lines()
                .map(|line| line.trim_start().to_string())
                .filter(|line| !line.is_empty())
                .collect(),
            lines: files.lines(at.start, place.start.line, place.end.line),
            place,
        }
    }
}

fn place(at: Extent, files: &Files) -> Place {
    let position = |span: Span, is_end: bool| {
        let at = if is_end { span.end() } else { span.start() };
        Position { line: at.line, column: at.column + 1 }
    };
    let (start, end) = (position(at.start, false), position(at.end, true));
    // A missing piece has no end of its own, so the place ends where it starts.
    Place { file: files.name(at.start), start, end: end.max(start) }
}

/// Prints in the format of rustc: the message, the place, and the line with carets.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error: ",
            Severity::Warning => "warning: ",
        };
        let notes = self.notes.iter().flat_map(|note| ["\n  ", note]);
        let text: String = [self.message.as_str()].into_iter().chain(notes).collect();
        let below = format!("\n{:width$}", "", width = severity.len());
        writeln!(f, "{severity}{}", text.replace('\n', &below))?;
        let Place { file, start, end } = &self.place;
        let width = end.line.to_string().len();
        writeln!(f, "{:width$}--> {file}:{}:{}", "", start.line, start.column)?;
        let (Some(first), Some(last)) = (self.lines.first(), self.lines.last()) else { return Ok(()) };
        writeln!(f, "{:width$} |", "")?;
        if self.lines.len() == 1 {
            let (from, to) = (column(first, start.column), column(first, end.column));
            writeln!(f, "{:width$} | {}", start.line, printed(first))?;
            return writeln!(f, "{:width$} | {:from$}{}", "", "", "^".repeat(to.saturating_sub(from).max(1)));
        }
        // If there are several lines, a frame at the left leads from the first character to the last.
        let (from, to) = (column(first, start.column), column(last, end.column).max(1));
        let begins_line = first.chars().take(start.column - 1).all(char::is_whitespace);
        writeln!(f, "{:width$} | {} {}", start.line, if begins_line { '/' } else { ' ' }, printed(first))?;
        if !begins_line {
            writeln!(f, "{:width$} |  {}^", "", "_".repeat(from + 1))?;
        }
        let inner = &self.lines[1..self.lines.len() - 1];
        for (line, number) in inner.iter().take(SHOWN_LINES).zip(start.line + 1..) {
            writeln!(f, "{}", format!("{number:width$} | | {}", printed(line)).trim_end())?;
        }
        if inner.len() > SHOWN_LINES {
            writeln!(f, "... |")?;
        }
        writeln!(f, "{:width$} | | {}", end.line, printed(last))?;
        writeln!(f, "{:width$} | |{}^", "", "_".repeat(to))
    }
}

/// If a place has many lines, this many of them are printed before the last one.
const SHOWN_LINES: usize = 3;

/// The spaces that rustc prints for a tab.
const TAB: &str = "    ";

fn printed(line: &str) -> String {
    line.replace('\t', TAB).trim_end().to_string()
}

/// The number of characters printed before a column.
fn column(line: &str, column: usize) -> usize {
    let before = line.chars().chain(std::iter::repeat(' ')).take(column.saturating_sub(1));
    before.map(|c| if c == '\t' { TAB.len() } else { 1 }).sum()
}

/// All diagnostics of a source, errors first. They are printed in the format of rustc, one after the other.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub(crate) fn of(diagnostics: impl IntoIterator<Item = Diagnostic>) -> Self {
        Diagnostics(diagnostics.into_iter().collect())
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl std::ops::Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.0.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

/// The text of `Display`: a `main` that returns diagnostics prints them with `Debug`.
impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => f.debug_list().entries(&self.0).finish(),
            false => fmt::Display::fmt(self, f),
        }
    }
}

impl error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use crate::{Options, compile};

    fn said(source: &str) -> String {
        compile(source, &Options::new().file("net.rs")).unwrap_err().to_string()
    }

    #[test]
    fn several_lines_are_framed() {
        let behind = said("|x: Tensor<f32, _>| {\n    let y = println!(\n        x\n    );\n    x\n}");
        let frame = "
 --> net.rs:2:13
  |
2 |       let y = println!(
  |  _____________^
3 | |         x
4 | |     );
  | |_____^
";
        assert!(behind.ends_with(frame), "{behind}");
        let first = said("|x: Tensor<f32, _>| {\n\tprintln!(\n\n\n\n\n\t);\n    x\n}");
        let frame = "
 --> net.rs:2:2
  |
2 | /     println!(
3 | |
4 | |
5 | |
... |
7 | |     );
  | |_____^
";
        assert!(first.ends_with(frame), "{first}");
    }
}
