//! Where errors are collected: any number in one expansion, each at its exact tokens.

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

    /// Whether these are the same tokens.
    pub fn is(self, other: Extent) -> bool {
        self.key() == other.key()
    }

    /// Whether the other tokens are among these.
    pub fn contains(self, other: Extent) -> bool {
        let ((file, line, column, end_line, end_column), inner) = (self.key(), other.key());
        file == inner.0
            && (line, column) <= (inner.1, inner.2)
            && (inner.3, inner.4) <= (end_line, end_column)
    }

    /// Where it is, for comparisons.
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

/// A step on the way from the user's call to a mistake in an inlined sub-network.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The sub-network.
    pub name: String,
    /// What it is called with, for messages.
    pub arguments: String,
    /// The call.
    pub call: Extent,
    /// Where the call was written.
    pub unit: UnitId,
}

/// The tokens to blame for something in this module, and how they led there.
#[derive(Clone, Debug)]
pub struct Blame {
    pub at: Extent,
    /// The calls that led there, the outermost first.
    pub calls: Vec<Frame>,
    /// The sub-network of another module in which it is, and its place there; `at` is the call.
    pub inside: Option<String>,
}

/// Of so many calls that led to a mistake, those in the middle are left out.
const SHOWN_CALLS: usize = 8;

impl Blame {
    /// How it led there, a line each: the innermost first.
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

    /// The place of this one in a message about another. Two calls of one sub-network use the same tokens: then the
    /// calls tell them apart.
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
    /// What is printed.
    pub fn text(&self, files: &Files) -> String {
        format!("{}{}", self.message, self.blame.trail(files))
    }
}

/// The sink of errors. Whoever creates one has to take the reports out: dropping reports unseen would let a wrong
/// model compile.
#[derive(Debug, Default)]
pub struct Sink {
    reports: Vec<Report>,
    /// What may be meant: rustc warns of it.
    doubts: Vec<Report>,
    /// Whether what comes now follows from a mistake that is reported.
    closed: bool,
}

/// How much a sink has.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    reports: usize,
    doubts: usize,
}

impl Sink {
    /// Reports a mistake, once per place and message.
    pub fn push(&mut self, report: Report) {
        if !self.closed {
            Sink::push_to(&mut self.reports, report);
        }
    }

    /// Reports what may be a mistake, likewise.
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

    /// Reports a mistake that has one place.
    pub fn error(&mut self, at: impl Into<Extent>, message: Message) {
        let blame = Blame { at: at.into(), calls: Vec::new(), inside: None };
        self.push(Report { message, blame });
    }

    /// Takes what another one has.
    pub fn absorb(&mut self, mut other: Sink) {
        other.finish().into_iter().for_each(|report| self.push(report));
        other.doubts().into_iter().for_each(|report| self.doubt(report));
    }

    /// Whether these tokens are a call that led to a mistake in another module.
    pub fn blames_call(&self, at: Extent) -> bool {
        self.reports.iter().any(|report| report.blame.inside.is_some() && report.blame.at.is(at))
    }

    /// Whether something is wrong with just these tokens.
    pub fn blames(&self, at: Extent) -> bool {
        self.reports.iter().any(|report| report.blame.at.is(at))
    }

    /// Whether it takes no more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes no more.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether it has no mistake.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// How many mistakes it has.
    pub fn len(&self) -> usize {
        self.reports.len()
    }

    pub fn mark(&self) -> Mark {
        Mark { reports: self.reports.len(), doubts: self.doubts.len() }
    }

    /// Forgets all that came behind.
    pub fn truncate(&mut self, mark: Mark) {
        self.reports.truncate(mark.reports);
        self.doubts.truncate(mark.doubts);
    }

    /// The reports of mistakes, in the order in which they were made.
    pub fn finish(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// What may be meant, likewise.
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
