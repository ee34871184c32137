//! Reports: mistakes with their exact tokens, and the sink that collects them.

use proc_macro2::{Span, TokenTree};
use quote::ToTokens;

use crate::ast::UnitId;
use crate::files::Files;
use crate::messages::Message;

/// The first and the last token of a piece of source.
///
/// Joining spans is not stable; rustc joins them where the first token of an error is spanned with `start` and the
/// last one with `end`.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub start: Span,
    pub end: Span,
}

impl Extent {
    pub fn of(tokens: &impl ToTokens) -> Self {
        let tokens: Vec<TokenTree> = tokens.to_token_stream().into_iter().collect();
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return Span::call_site().into();
        };
        let start = match first {
            TokenTree::Group(group) => group.span_open(),
            token => token.span(),
        };
        let end = match last {
            TokenTree::Group(group) => group.span_close(),
            token => token.span(),
        };
        Extent { start, end }
    }

    /// Whether both are the same tokens.
    pub fn is(self, other: Extent) -> bool {
        self.key() == other.key()
    }

    /// Whether the tokens of `other` are among these.
    pub fn contains(self, other: Extent) -> bool {
        let ((file, line, column, end_line, end_column), inner) = (self.key(), other.key());
        file == inner.0
            && (line, column) <= (inner.1, inner.2)
            && (inner.3, inner.4) <= (end_line, end_column)
    }

    /// The position in the source, for comparisons.
    fn key(self) -> (String, usize, usize, usize, usize) {
        let (start, end) = (self.start.start(), self.end.end());
        (self.start.file(), start.line, start.column, end.line, end.column)
    }
}

impl From<Span> for Extent {
    fn from(span: Span) -> Self {
        Extent { start: span, end: span }
    }
}

/// A call on the way from the user's source to a mistake in an inlined sub-network.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The name of the sub-network.
    pub name: String,
    /// The arguments, for messages.
    pub arguments: String,
    /// The place of the call.
    pub call: Extent,
    /// The unit that contains the call.
    pub unit: UnitId,
}

/// The tokens to blame in this module, and the calls that led there.
#[derive(Clone, Debug)]
pub struct Blame {
    pub at: Extent,
    /// The calls, the outermost first.
    pub calls: Vec<Frame>,
    /// If the mistake is in a sub-network of another module, the name of that and the place there; `at` is then the
    /// call.
    pub inside: Option<String>,
}

/// The most calls that are printed. Calls in the middle are left out.
const SHOWN_CALLS: usize = 8;

impl Blame {
    /// The calls as text, one line each, the innermost first.
    pub fn trail(&self, files: &Files) -> String {
        let inside = self.inside.iter().map(|inside| format!("\n  inside {inside}"));
        let calls = self.calls.iter().rev().enumerate().filter_map(|(at, Frame { name, call, .. })| {
            let left_out = self.calls.len().saturating_sub(SHOWN_CALLS);
            match at.checked_sub(SHOWN_CALLS / 2) {
                Some(0) if left_out > 0 => Some(format!("\n  and {left_out} calls more")),
                Some(at) if at < left_out => None,
                _ => Some(format!("\n  in `{name}`, called at {}", files.place(*call))),
            }
        });
        inside.chain(calls).collect()
    }

    /// The place of this blame in a message about another one. If both have the same tokens, because a sub-network is
    /// called twice, the calls tell them apart.
    pub fn beside(&self, other: Extent) -> Extent {
        match self.calls.first() {
            Some(frame) if self.at.is(other) => frame.call,
            _ => self.at,
        }
    }
}

/// A mistake in the user's source.
#[derive(Clone, Debug)]
pub struct Report {
    pub message: Message,
    pub blame: Blame,
}

impl Report {
    /// The printed message.
    pub fn text(&self, files: &Files) -> String {
        format!("{}{}", self.message, self.blame.trail(files))
    }
}

/// The sink that collects reports. Whoever creates one has to take the reports out: a dropped report would let a wrong
/// model compile.
#[derive(Debug, Default)]
pub struct Sink {
    reports: Vec<Report>,
    /// Doubts, which rustc prints as warnings.
    doubts: Vec<Report>,
    /// Whether further mistakes are ignored, because they follow from a reported one.
    closed: bool,
}

/// A position in the lists of a sink.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    reports: usize,
    doubts: usize,
}

impl Sink {
    /// Adds a mistake, once per place and message.
    pub fn push(&mut self, report: Report) {
        if !self.closed {
            Sink::push_to(&mut self.reports, report);
        }
    }

    /// Adds a doubt, once per place and message.
    pub fn doubt(&mut self, report: Report) {
        if !self.closed {
            Sink::push_to(&mut self.doubts, report);
        }
    }

    fn push_to(reports: &mut Vec<Report>, report: Report) {
        let same = |other: &Report| {
            let (blame, other_blame) = (&report.blame, &other.blame);
            other_blame.at.is(blame.at)
                && other_blame.inside == blame.inside
                && other.message == report.message
        };
        if !reports.iter().any(same) {
            reports.push(report);
        }
    }

    /// Adds a mistake at one place.
    pub fn error(&mut self, at: impl Into<Extent>, message: Message) {
        let blame = Blame { at: at.into(), calls: Vec::new(), inside: None };
        self.push(Report { message, blame });
    }

    /// Takes over the reports of another sink.
    pub fn absorb(&mut self, mut other: Sink) {
        other.finish().into_iter().for_each(|report| self.push(report));
        other.doubts().into_iter().for_each(|report| self.doubt(report));
    }

    /// Whether these tokens are a call that is blamed for a mistake in another module.
    pub fn blames_call(&self, at: Extent) -> bool {
        self.reports.iter().any(|report| report.blame.inside.is_some() && report.blame.at.is(at))
    }

    /// Whether a mistake has been reported at exactly these tokens.
    pub fn blames(&self, at: Extent) -> bool {
        self.reports.iter().any(|report| report.blame.at.is(at))
    }

    /// Whether further mistakes are ignored.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ignores further mistakes.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether there are no mistakes.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// The number of mistakes.
    pub fn len(&self) -> usize {
        self.reports.len()
    }

    pub fn mark(&self) -> Mark {
        Mark { reports: self.reports.len(), doubts: self.doubts.len() }
    }

    /// Removes the reports that were added since `mark`.
    pub fn truncate(&mut self, mark: Mark) {
        self.reports.truncate(mark.reports);
        self.doubts.truncate(mark.doubts);
    }

    /// Takes the mistakes, in the order in which they were reported.
    pub fn finish(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Takes the doubts, in the order in which they were reported.
    pub fn doubts(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.doubts)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.reports.is_empty(), "errors were collected and not reported: {:?}", self.reports);
        }
    }
}
