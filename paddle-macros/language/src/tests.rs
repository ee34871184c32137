//! Tests of the front end: what tokens become.

mod naming;
mod programs;

use proc_macro2::TokenStream;

use crate::Analysis;
use crate::files::Files;
use crate::parse::Invocation;
use crate::report::Sink;

/// What becomes of tokens that import nothing and have no predicates.
pub(crate) fn analyse(tokens: TokenStream) -> Analysis {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens, |_| Vec::new(), &mut sink);
    crate::analyse(invocation, Vec::new(), Files::default(), sink)
}
