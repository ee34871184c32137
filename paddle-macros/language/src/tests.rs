//! Tests of the front end: tokens → programs and reports.

mod naming;
mod programs;

use proc_macro2::TokenStream;

use crate::Analysis;
use crate::files::Files;
use crate::parse::Invocation;
use crate::report::Sink;

/// Analyses tokens without imports and predicates.
pub(crate) fn analyse(tokens: TokenStream) -> Analysis {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens, |_| Vec::new(), &mut sink);
    crate::analyse(invocation, Vec::new(), Files::default(), sink)
}
