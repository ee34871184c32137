//! Why a program cannot be written in the language.

use std::error::Error;
use std::fmt;

use paddle_core::ops::{Operator, Program};
use paddle_core::program::{BlockId, Located};

/// What a program has that the language cannot say: all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritable {
    /// Each operator or parameter, in the order of the program.
    pub lacks: Vec<Lack>,
}

/// One thing that the language cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lack {
    /// The block.
    pub block: BlockId,
    /// The operator's position in the block; none for a parameter or an input.
    pub operator: Option<usize>,
    /// The name of the operator, the parameter or the input.
    pub name: String,
    /// Where the operator was written, if the program says so.
    pub place: Option<Located>,
    /// Why it cannot be written.
    pub why: String,
}

impl Lack {
    pub(super) fn of_operator(
        program: &Program,
        block: BlockId,
        at: usize,
        operator: &Operator,
        why: String,
    ) -> Self {
        let place = operator.site.place.map(|place| program.locate(place));
        Lack { block, operator: Some(at), name: operator.op.name().to_string(), place, why }
    }

    pub(super) fn of_value(name: &str, why: String) -> Self {
        Lack { block: BlockId::GLOBAL, operator: None, name: name.to_string(), place: None, why }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operator {
            Some(at) => write!(f, "block {}, operator {at} `{}`", self.block.0, self.name)?,
            None => write!(f, "`{}`", self.name)?,
        }
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        write!(f, ": {}", self.why)
    }
}

impl fmt::Display for NotWritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lacks[..] {
            [only] => write!(f, "the language has nothing for {only}"),
            lacks => {
                write!(f, "the language has nothing for {} parts of the program:", lacks.len())?;
                lacks.iter().try_for_each(|lack| write!(f, "\n- {lack}"))
            }
        }
    }
}

impl Error for NotWritable {}
