//! `tap`: a value that can be fetched by a name.

use super::Call;
use crate::ops::{Mismatch, MismatchKind};
use crate::program::{BuildError, Program, VarId};

pub(super) fn build(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, name) = (call.value("x")?, call.name("name")?);
    let wrong = |input, message| {
        BuildError::Mismatch(Mismatch { input: Some(input), kind: MismatchKind::Attribute, message })
    };
    if call.block != Program::GLOBAL {
        let message = "a value inside of a branch or loop is there for some rows, or once per iteration, and cannot be \
                       tapped; give it out as the value of the block, and tap that";
        return Err(wrong(0, message.to_string()));
    }
    match call.program.tap(&name, x) {
        Ok(()) => Ok(x),
        Err(BuildError::NameTaken { name }) => {
            Err(wrong(1, format!("there is a tap `{name}` already; give this one another name")))
        }
        Err(error) => Err(error),
    }
}
