//! Operators as they stand in a block.

use std::fmt;

use super::{BlockId, OpInterface, VarId};

/// What an operator is there for. Passes add operators of the later roles; plans are cut along them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Computes the network's values.
    #[default]
    Forward,
    /// Computes the cost (the last forward operator).
    Loss,
    /// Computes gradients.
    Backward,
    /// Updates parameters.
    Optimize,
}

impl Role {
    /// The `op_role` of the wire format.
    pub fn wire(self) -> i32 {
        match self {
            Role::Forward => 0,
            Role::Loss => 256,
            Role::Backward => 1,
            Role::Optimize => 2,
        }
    }

    /// The role of an `op_role`; the seed of the loss's gradient (257) is backward.
    pub fn from_wire(value: i32) -> Role {
        if value & 2 != 0 {
            Role::Optimize
        } else if value & 1 != 0 {
            Role::Backward
        } else if value & 256 != 0 {
            Role::Loss
        } else {
            Role::Forward
        }
    }

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Role::Forward => "forward",
            Role::Loss => "loss",
            Role::Backward => "backward",
            Role::Optimize => "optimize",
        }
    }
}

/// A file of the user's source; an index into [`Program::files`](super::Program::files).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A layer of the language, as the user wrote it; an index of the program's names of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerId(pub u32);

/// A place in the user's source. Line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What stands there: `embedding`, `+`; none where a program was not made of source.
    pub layer: Option<LayerId>,
}

/// What a new operator is given beside its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Site {
    /// Its role.
    pub role: Role,
    /// Where in the user's source it comes from.
    pub place: Option<Place>,
}

/// An operator: what it does, on which values, where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator<O> {
    /// Kind and attributes.
    pub op: O,
    /// Values read, in the order of the schema's slots.
    pub inputs: Vec<VarId>,
    /// Values written, in the order of the schema's slots.
    pub outputs: Vec<VarId>,
    /// Blocks owned, for structured control flow.
    pub blocks: Vec<BlockId>,
    /// Role and source place.
    pub site: Site,
}

impl<O: OpInterface> Operator<O> {
    /// The inputs whose elements it reads; of the others, only the shape counts.
    pub fn read(&self) -> impl Iterator<Item = VarId> + '_ {
        self.inputs.iter().enumerate().filter(|(k, _)| self.op.input(*k).is_read).map(|(_, &input)| input)
    }

    /// The inputs that it changes in place.
    pub fn changed(&self) -> impl Iterator<Item = VarId> + '_ {
        self.inputs.iter().enumerate().filter(|(k, _)| self.op.input(*k).is_changed).map(|(_, &input)| input)
    }
}

/// A place with its file name, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// File, as the compiler names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
