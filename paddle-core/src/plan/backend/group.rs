//! Groups: the unit that a backend compiles and launches.

use super::super::Precision;
use super::moves::Move;
use crate::ops::Op;
use crate::program::DType;

/// A size that a kernel needs: either known when the kernel is compiled, or an index into the sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// A size known at compilation.
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

/// The order of the axes of a value in memory: row-major, or another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout(Vec<u8>);

impl Layout {
    /// The last axis is the fastest.
    pub const ROW_MAJOR: Layout = Layout(Vec::new());

    /// Images `[N, C, H, W]` with the channels as the fastest axis.
    pub fn channels_last() -> Layout {
        Layout::of(&[0, 2, 3, 1])
    }

    /// The layout with these axes, the slowest first. Rows, which are axis 0, are always the slowest.
    ///
    /// # Panics
    /// If `axes` is not a permutation of all axes, or does not begin with axis 0.
    pub fn of(axes: &[u8]) -> Layout {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..axes.len() as u8) && axes.first() == Some(&0), "{axes:?}");
        if axes.is_sorted() { Layout::ROW_MAJOR } else { Layout(axes.to_vec()) }
    }

    /// Whether the axes are in order, with the last axis as the fastest.
    pub fn is_row_major(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of axes of a value with this layout; none if a value of any rank may have it.
    pub fn rank(&self) -> Option<usize> {
        (!self.is_row_major()).then_some(self.0.len())
    }

    /// The axes of a value of this rank, the slowest first.
    pub fn axes(&self, rank: usize) -> Vec<usize> {
        match self.is_row_major() {
            true => (0..rank).collect(),
            false => self.0.iter().map(|&axis| axis.into()).collect(),
        }
    }

    /// The position of an axis among those of a value, the slowest first.
    pub fn position(&self, axis: usize) -> usize {
        self.0.iter().position(|&other| usize::from(other) == axis).unwrap_or(axis)
    }

    /// Whether the elements of a value have the same order as in row-major order, because the axes that are not in order
    /// have one element. `is_one` says which axes have one element.
    pub fn keeps_order(&self, is_one: impl Fn(usize) -> bool) -> bool {
        self.0.iter().filter(|&&axis| !is_one(axis.into())).is_sorted()
    }
}

/// How a backend takes an operand of an operator that is not in row-major order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Takes {
    /// It takes the operand in row-major order only.
    #[default]
    RowMajor,
    /// All operands that it takes alike have the layout, or all are in row-major order.
    Alike,
    /// It takes the operand in both, whatever the others have.
    Each,
}

/// Element type, shape and layout of an operand. Operands are dense. If an operand has rows, they are its first
/// dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperandType {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Vec<Extent>,
    /// The order of the axes in memory.
    pub layout: Layout,
}

impl OperandType {
    /// A type in row-major order.
    pub fn new(dtype: DType, shape: Vec<Extent>) -> Self {
        OperandType { dtype, shape, layout: Layout::ROW_MAJOR }
    }

    /// The dimensions in their order in memory, the slowest first.
    pub fn in_memory(&self) -> Vec<Extent> {
        self.layout.axes(self.shape.len()).into_iter().map(|axis| self.shape[axis]).collect()
    }

    /// The number of elements in a launch with these sizes.
    #[inline]
    pub fn elements(&self, sizes: &[usize]) -> usize {
        // The product of the sizes in front of a size of zero may overflow.
        self.shape.iter().fold(1, |count: usize, extent| count.saturating_mul(extent.get(sizes)))
    }

    /// The number of elements of one row in a launch with these sizes.
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
    /// The operands that it reads, in the order of the schema, then the offsets of each operand along whose sequences
    /// the operator goes ([`Schema::offsets`](crate::ops::Schema::offsets)). Offsets are i64, one more than there are
    /// sequences. The first is 0, none is less than the one before it, and the last is the number of tokens.
    pub inputs: Vec<Operand>,
    /// The operands that it writes.
    pub outputs: Vec<Operand>,
}

impl GroupOp {
    /// The inputs whose elements the operator reads.
    pub fn read(&self) -> impl Iterator<Item = Operand> + '_ {
        self.inputs
            .iter()
            .enumerate()
            .filter(|(k, _)| self.op.operation().input(*k).is_read)
            .map(|(_, &input)| input)
    }

    /// The inputs that the operator changes in place.
    pub fn changed(&self) -> impl Iterator<Item = Operand> + '_ {
        self.inputs
            .iter()
            .enumerate()
            .filter(|(k, _)| self.op.operation().input(*k).is_changed)
            .map(|(_, &input)| input)
    }
}

/// The part of a group that is computed before its epilogue.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// An operator that is not element-wise.
    Operator(GroupOp),
    /// Operators without outputs, in any order: none reads or changes what another one changes.
    Updates(Vec<GroupOp>),
    /// A move of values, rows or sequences.
    Move(Move),
}

/// A group: the operators of one kernel. It has a body, an epilogue, or both. The epilogue is a chain of element-wise
/// operators; all their outputs and temporaries have one shape, which is also that of the body's result.
///
/// An operator may need only the shape of an input (`Slot::is_read` is false). The kernel must not read such an
/// input: its location has no meaning.
///
/// A kernel writes every element of every output, except where a [`Move`] says otherwise. An output overlaps no input
/// and no other output, with one exception: in a group without a body, it may be at exactly the location of an input
/// with the same layout. An operator whose schema says `state` changes inputs in place, those whose slots say so.
/// Such an input overlaps no other operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The operator or the move that is computed first; none in a chain of element-wise operators.
    pub body: Option<Body>,
    /// The element-wise operators behind the body, in order.
    pub epilogue: Vec<GroupOp>,
    /// The types of the inputs.
    pub inputs: Vec<OperandType>,
    /// The types of the outputs.
    pub outputs: Vec<OperandType>,
    /// The types of the values that stay inside the kernel.
    pub temporaries: Vec<OperandType>,
    /// The indices of the inputs that are parameters which the program does not change, or follow from such parameters
    /// alone; in loops also of parameters that only the update behind them changes. A kernel may keep data that it made of
    /// them, such as packed weights, as long as its launches are of one [version](super::Launch::version).
    pub constants: Vec<usize>,
    /// The stream of random numbers, which differs between operators: a hash of the path name of the value that is
    /// drawn.
    pub random_stream: u64,
    /// The precision of the body, if its effects say [`products`](crate::program::Effects::products).
    pub precision: Precision,
}

impl Group {
    /// A group of one operator.
    pub fn of(op: GroupOp, inputs: Vec<OperandType>, outputs: Vec<OperandType>, random_stream: u64) -> Group {
        let (body, epilogue) = match op.op.effects().element_wise {
            true => (None, vec![op]),
            false => (Some(Body::Operator(op)), Vec::new()),
        };
        Group {
            body,
            epilogue,
            inputs,
            outputs,
            temporaries: Vec::new(),
            constants: Vec::new(),
            random_stream,
            precision: Precision::F32,
        }
    }

    /// A group of one move.
    pub fn of_move(kind: Move, inputs: Vec<OperandType>, outputs: Vec<OperandType>) -> Group {
        let (body, epilogue) = (Some(Body::Move(kind)), Vec::new());
        Group {
            random_stream: 0,
            precision: Precision::F32,
            body,
            epilogue,
            inputs,
            outputs,
            temporaries: Vec::new(),
            constants: Vec::new(),
        }
    }

    /// The type of an operand.
    ///
    /// # Panics
    /// If the group has no such operand.
    pub fn ty(&self, operand: Operand) -> &OperandType {
        match operand {
            Operand::Input(i) => &self.inputs[i],
            Operand::Output(o) => &self.outputs[o],
            Operand::Temporary(t) => &self.temporaries[t],
        }
    }

    /// The types of inputs, outputs and temporaries.
    pub fn types(&self) -> impl Iterator<Item = &OperandType> {
        self.inputs.iter().chain(&self.outputs).chain(&self.temporaries)
    }

    /// The operators, in order.
    pub fn operators(&self) -> impl Iterator<Item = &GroupOp> {
        let body = match &self.body {
            Some(Body::Operator(op)) => std::slice::from_ref(op),
            Some(Body::Updates(ops)) => ops,
            Some(Body::Move(_)) | None => &[],
        };
        body.iter().chain(&self.epilogue)
    }
}
