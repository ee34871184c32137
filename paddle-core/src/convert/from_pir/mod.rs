//! Programs in the form that PaddlePaddle saves from version 3 on, `model.json`: its intermediate representation, PIR. They are
//! translated to the form of before, operator by operator, and from there on read like all others.
//!
//! PIR is in SSA: a value has a number. Operands and results have places instead of slots, attributes may be operands, and `if` and
//! `while` have regions whose last operator yields their results.
//!
//! | file | holds |
//! | --- | --- |
//! | `json.rs` | the file: operators, types and attributes under their short names |
//! | `translation.rs` | the state, and which operator is translated how |
//! | `values.rs` | the names of values, and their variables |
//! | `by_table.rs`, `operators.rs`, `operators.txt` | operators that differ in names alone, a line for each |
//! | `constants.rs` | constants, which may be attributes |
//! | `control_flow.rs` | `if` and `while` |
//! | `special.rs` | the other operators |

mod by_table;
mod constants;
mod control_flow;
mod json;
mod operators;
mod special;
mod translation;
mod values;

use crate::wire::{ProgramDesc, WireError};

/// Decodes a program of PaddlePaddle's from the bytes of a `.pdmodel`, or of the `.json` that PaddlePaddle saves from version 3 on.
///
/// # Errors
/// If the bytes are neither, or damaged. Operators that are not known are in the result: reading it says so.
///
/// ```
/// use paddle_core::convert::decode_program;
///
/// let error = decode_program(b"{\"base_code\": {\"magic\": \"pir\", \"version\": 4}}").unwrap_err();
/// assert_eq!(error.to_string(), "this is no program of PaddlePaddle's as JSON, or a damaged one: it has no `program`");
/// ```
pub fn decode_program(bytes: &[u8]) -> Result<ProgramDesc, WireError> {
    // No message of a program begins with this byte.
    match bytes.trim_ascii_start().first() {
        Some(b'{') => translation::program(bytes),
        _ => ProgramDesc::decode(bytes),
    }
}
