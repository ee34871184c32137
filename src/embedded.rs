//! Networks as the macros embed them: encoded programs.

use paddle_core::convert;
use paddle_core::program::Program;
use paddle_core::wire::ProgramDesc;

use crate::Error;

/// Reads a program and the one that initialises its parameters.
pub(crate) fn decode(program: &[u8], startup: &[u8]) -> Result<Program, Error> {
    let program = ProgramDesc::decode(program)?;
    let startup = ProgramDesc::decode(startup)?;
    Ok(convert::from_wire(&program, Some(&startup))?)
}
