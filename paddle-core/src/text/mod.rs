//! The text form.

use std::fmt;

use crate::program::Program;

pub(crate) fn print(_: &Program, _: &mut fmt::Formatter<'_>) -> fmt::Result {
    Ok(())
}
