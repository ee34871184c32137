//! Tests of the macros that need no rustc.

mod ghost;
mod mutations;

use paddle_language::Analysis;
use paddle_language::parse::Invocation;
use paddle_language::report::Sink;
use proc_macro2::TokenStream;

use crate::files::files;

/// Analyses tokens without imports and predicates.
fn analyse(tokens: TokenStream) -> Analysis {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens, |_| Vec::new(), &mut sink);
    paddle_language::analyse(invocation, Vec::new(), files(), sink)
}
