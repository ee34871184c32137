//! The text form: a program as nested blocks, for people to read and for tests to compare. It parses back.
//!
//! ```text
//! program {
//!   shards 4                                                     // the number of shards of a batch, if it is cut
//!   rows _                                                       // a root row space, whose size is fed
//!   tokens _.words of _                                          // the tokens of sequences, one sequence for each row of `_`
//!   size T                                                       // a size that is fed
//!   size N outside                                               // an outside size
//!   check T = N: "`x` is f32[_, T], but …"                       // a condition on sizes, with its message
//!   parameter w: f32[T, 1] = uniform_random(min=-0.5, max=0.5)   // a parameter and its initialiser
//!   gradient w -> w@GRAD
//!   tap products -> matmul_v2                                    // a value that can be fetched by this name
//!   block 0 (x: f32[_, T], limit: f32[]) {                       // the global block and the inputs
//!     matmul_v2: f32[_, 1] = matmul_v2(x, w)
//!     greater_than: bool[_, 1] = greater_than(matmul_v2, limit)
//!     if: f32[_, 1] = if(greater_than) {
//!       block 1 on _.1 of _ {                                    // on rows chosen from `_`
//!         gather_rows: f32[_.1, 1] = gather_rows(matmul_v2)
//!         yield gather_rows
//!       }
//!       …
//!     }
//!     reduce_mean: f32[] = reduce_mean(if) [loss]
//!     …
//!     if_1: f32[_, 1] = if(greater_than) [backward] {
//!       block 3 of block 1 on _.1 { … }                          // the gradient of block 1, on the same rows
//!       …
//!     }
//!     return reduce_mean
//!   }
//! }
//! ```
//!
//! * Names of values are unique in a program. A name that is not plain is quoted: `"a b"`.
//! * Types are always written, and have to be those of the shape rules. A row space's name in front of a type's sizes
//!   means its rows; `(_)` means their number.
//! * An attribute is left out if it has its default value, or if it is the type of the output.
//! * Brackets have the role, if it differs from that of the operator that owns the block (`forward` for the global
//!   block), and optionally the source place: `[backward at src/main.rs:14:17]`.
//! * The text has the ids of blocks. The ids of values, sizes and row spaces follow from their order in the text.
//! * Values that no operator writes are left out.

mod error;
mod lex;
mod parse;
mod print;
mod resolve;
mod syntax;

use std::fmt;

pub use error::ParseError;
use print::print;
pub use resolve::{parse, read};

use crate::ops::Program;

/// A program to be printed with the source place behind each operator.
pub fn with_places(program: &Program) -> impl fmt::Display + '_ {
    WithPlaces(program)
}

struct WithPlaces<'a>(&'a Program);

impl fmt::Display for WithPlaces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, true, f)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, false, f)
    }
}

/// The most dimensions of a type, terms of a size, and factors of a term that a text may have.
const MAX_TERMS: usize = 64;
