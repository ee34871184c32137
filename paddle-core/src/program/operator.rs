//! Operators of a block, with role and source place.

use std::fmt;

use super::{BlockId, OpInterface, VarId};

/// The role of an operator in training. Passes append operators of the later roles, and plans are cut between roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Computes the network's values.
    #[default]
    Forward,
    /// Computes the cost. It is the last forward operator.
    Loss,
    /// Computes gradients.
    Backward,
    /// Updates parameters.
    Optimize,
}

impl Role {
    /// The value of `op_role` on the wire.
    pub fn wire(self) -> i32 {
        match self {
            Role::Forward => 0,
            Role::Loss => 256,
            Role::Backward => 1,
            Role::Optimize => 2,
        }
    }

    /// The role for a value of `op_role`. The seed of the loss's gradient (257) is backward.
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

/// The name of a layer, as the user wrote it; an index into the program's names of layers.
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
    /// The layer at this place: `embedding`, `+`. `None` if the program was not compiled from source.
    pub layer: Option<LayerId>,
}

/// The role and the source place of a new operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Site {
    /// Its role.
    pub role: Role,
    /// Where in the user's source it comes from.
    pub place: Option<Place>,
}

/// An operator: its kind, its values, its blocks and its origin.
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
    /// The inputs whose elements the operator reads. Of the other inputs it reads only the shape.
    pub fn read(&self) -> impl Iterator<Item = VarId> + '_ {
        self.inputs.iter().enumerate().filter(|(k, _)| self.op.input(*k).is_read).map(|(_, &input)| input)
    }

    /// The inputs that the operator changes in place.
    pub fn changed(&self) -> impl Iterator<Item = VarId> + '_ {
        self.inputs.iter().enumerate().filter(|(k, _)| self.op.input(*k).is_changed).map(|(_, &input)| input)
    }
}

/// A place with its file name, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file, under the name that the compiler uses.
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
