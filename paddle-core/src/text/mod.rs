//! The text form: a program as nested blocks that people read and tests compare. It parses back.
//!
//! ```text
//! program {
//!   shards 4                                                     // parts that a batch is cut into, if there are any
//!   rows _                                                       // row spaces that the caller binds
//!   tokens _.words of _                                          // those of sequences, one for each row of `_`
//!   size T                                                       // sizes, likewise
//!   size N outside                                               // sizes that are bound before
//!   check T = N: "`x` is f32[_, T], but …"                       // what has to hold of their values
//!   parameter w: f32[T, 1] = uniform_random(min=-0.5, max=0.5)   // with its initialiser
//!   gradient w -> w@GRAD
//!   tap products -> matmul_v2                                    // a value that can be fetched by this name
//!   block 0 (x: f32[_, T], limit: f32[]) {                       // the global block and the inputs
//!     matmul_v2: f32[_, 1] = matmul_v2(x, w)
//!     greater_than: bool[_, 1] = greater_than(matmul_v2, limit)
//!     if: f32[_, 1] = if(greater_than) {
//!       block 1 on _.1 of _ {                                    // on rows chosen from those of `_`
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
//! * Names of values are unique in a program. One that is not plain is quoted: `"a b"`.
//! * Types are always written, and have to be those of the shape rules. In front of a type's sizes, the name of a row
//!   space means its rows; `(_)` is the number of them.
//! * An attribute is left out where it has its default, or is the type of the output.
//! * In brackets stands the role, where it is not that of the operator around the block (`forward` for the global
//!   block), and, on demand, the source place: `[backward at src/main.rs:14:17]`.
//! * Ids of blocks are kept. Those of values, sizes and row spaces count from the top of the text.
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
