//! Groups: what a backend compiles and launches.

use super::moves::Move;
use crate::ops::Op;
use crate::program::DType;

/// A size that a kernel needs: known when it is compiled, or an index into the sizes that it is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known.
    Fixed(usize),
    /// `sizes[i]` of the launch.
    Bound(usize),
}

impl Extent {
    /// The size in a launch.
    #[inline]
    pub fn get(self, sizes: &[usize]) -> usize {
        match self {
            Extent::Fixed(size) => size,
            Extent::Bound(at) => sizes[at],
        }
    }
}

/// Element type and shape of an operand, dense and row-major; rows, where there are any, are the first dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperandType {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Vec<Extent>,
}

impl OperandType {
    /// The number of elements in a launch.
    #[inline]
    pub fn elements(&self, sizes: &[usize]) -> usize {
        // Large sizes before one of zero may have a product that is out of range.
        self.shape.iter().fold(1, |count: usize, extent| count.saturating_mul(extent.get(sizes)))
    }

    /// The number of elements of one row.
    #[inline]
    pub fn row_elements(&self, sizes: &[usize]) -> usize {
        self.shape.iter().skip(1).fold(1, |count: usize, extent| count.saturating_mul(extent.get(sizes)))
    }
}

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The i-th input of the group.
    Input(usize),
    /// The i-th output of the group.
    Output(usize),
    /// A value that does not leave the group.
    Temporary(usize),
}

/// An operator of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOp {
    /// Kind and attributes.
    pub op: Op,
    /// What it reads, in the order of the schema; then the offsets of each operand whose sequences the operator goes
    /// along ([`Schema::offsets`](crate::ops::Schema::offsets)), i64: one more than sequences, the first 0, none below
    /// the one before it, the last the number of tokens.
    pub inputs: Vec<Operand>,
    /// What it writes.
    pub outputs: Vec<Operand>,
}

impl GroupOp {
    /// What it changes in place.
    pub fn changed(&self) -> impl Iterator<Item = Operand> + '_ {
        self.inputs
            .iter()
            .enumerate()
            .filter(|(k, _)| self.op.operation().input(*k).is_changed)
            .map(|(_, &input)| input)
    }
}

/// What a group computes before its epilogue.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// An operator that is not element-wise.
    Operator(GroupOp),
    /// A move of values, rows or sequences.
    Move(Move),
}

/// What is launched as one kernel: a body, and element-wise operators over one shape, that of every output and temporary of theirs. A
/// group without a body is a chain of element-wise operators.
///
/// Inputs of which operators look at the shape only (`Slot::is_read`) may be anywhere, written or not.
///
/// Every element of every output is written, except where a [`Move`] says otherwise. Outputs overlap neither each other nor inputs,
/// except that an output of a group without a body may be at exactly the location of an input of the same layout. An operator whose
/// schema says `state` changes the inputs in place whose slots say so, which overlap nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What comes first.
    pub body: Option<Body>,
    /// Element-wise operators, in order.
    pub epilogue: Vec<GroupOp>,
    /// What it reads.
    pub inputs: Vec<OperandType>,
    /// What it writes.
    pub outputs: Vec<OperandType>,
    /// What stays inside.
    pub temporaries: Vec<OperandType>,
    /// Distinguishes random numbers of different operators: a hash of the path name of what is drawn.
    pub random_stream: u64,
}

impl Group {
    /// A group of one operator.
    pub fn of(op: GroupOp, inputs: Vec<OperandType>, outputs: Vec<OperandType>, random_stream: u64) -> Group {
        let (body, epilogue) = match op.op.effects().element_wise {
            true => (None, vec![op]),
            false => (Some(Body::Operator(op)), Vec::new()),
        };
        Group { body, epilogue, inputs, outputs, temporaries: Vec::new(), random_stream }
    }

    /// A group of one move.
    pub fn of_move(kind: Move, inputs: Vec<OperandType>, outputs: Vec<OperandType>) -> Group {
        let (body, epilogue) = (Some(Body::Move(kind)), Vec::new());
        Group { body, epilogue, inputs, outputs, temporaries: Vec::new(), random_stream: 0 }
    }

    /// The operators, in order.
    pub fn operators(&self) -> impl Iterator<Item = &GroupOp> {
        let body = self.body.iter().filter_map(|body| match body {
            Body::Operator(op) => Some(op),
            Body::Move(_) => None,
        });
        body.chain(&self.epilogue)
    }
}
