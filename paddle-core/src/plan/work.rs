//! The work of a launch: the bytes that it moves and the operations that it computes, for the sizes of a run.

use super::backend::{Extent, Group, GroupOp, Move, Operand, OperandType};
use crate::program::{AccuracyClass, DType};

/// A product of sizes.
#[derive(Clone, Debug)]
struct Count {
    factor: u64,
    sizes: Vec<Extent>,
}

impl Count {
    fn get(&self, sizes: &[usize]) -> u64 {
        // The product of the sizes in front of a size of zero may overflow.
        let product = |product: u64, extent: &Extent| product.saturating_mul(extent.get(sizes) as u64);
        self.sizes.iter().fold(self.factor, product)
    }
}

/// The work of a launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// The bytes of operands that the launch reads or writes as a whole. What it changes in place counts twice.
    whole: Vec<Count>,
    /// The bytes of operands of which it touches some elements: as many as are in the largest of the others.
    picked: Vec<Count>,
    /// The operations of each operator, of which the largest number counts.
    operations: Vec<Vec<Count>>,
}

/// How a launch touches an operand.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    /// How often its bytes move: 0 if nothing reads its elements.
    times: u64,
    is_picked: bool,
}

impl Work {
    /// The work of a group. For each of its operators, `multiplications` are the sizes of a sum of products.
    pub(super) fn of_group(
        group: &Group,
        multiplications: Vec<Option<Vec<Extent>>>,
        bytes: impl Fn(DType) -> usize,
    ) -> Work {
        let mut work = Work::default();
        let mut touches = vec![Touch { times: 0, is_picked: true }; group.inputs.len()];
        for op in group.operators() {
            for (k, input) in op.inputs.iter().enumerate() {
                let slot = op.op.operation().input(k);
                if let &Operand::Input(at) = input
                    && slot.is_read
                {
                    let touch = &mut touches[at];
                    touch.times = touch.times.max(if slot.is_changed { 2 } else { 1 });
                    touch.is_picked &= slot.is_picked;
                }
            }
        }
        for (ty, touch) in group.inputs.iter().zip(touches) {
            work.touch(ty, touch, &bytes);
        }
        for ty in &group.outputs {
            work.touch(ty, Touch { times: 1, is_picked: false }, &bytes);
        }
        // Constants that the group has absorbed have no inputs, and cost nothing.
        let computed = group.operators().filter(|op| !op.inputs.is_empty());
        let products = multiplications.into_iter();
        work.operations = computed.zip(products).map(|(op, sizes)| operations(group, op, sizes)).collect();
        work
    }

    /// The work of a move, which computes nothing.
    pub(super) fn of_move(
        kind: Move,
        inputs: &[OperandType],
        outputs: &[OperandType],
        bytes: impl Fn(DType) -> usize,
    ) -> Work {
        let whole = Touch { times: 1, is_picked: false };
        let picked = Touch { times: 1, is_picked: true };
        let changed = Touch { times: 2, is_picked: true };
        let (x, y) = match kind {
            Move::Copy => (picked, picked),
            Move::Add => (picked, changed),
            Move::GatherRows => (picked, whole),
            Move::ScatterRows => (whole, picked),
            Move::AddRows => (whole, changed),
            Move::CompactRows => (whole, Touch { times: 2, ..whole }),
            Move::Transfer
            | Move::Relayout
            | Move::Zero
            | Move::NumberRows
            | Move::SelectRows
            | Move::SortSequences
            | Move::TakeSequences
            | Move::AddLengths
            | Move::RebaseOffsets
            | Move::CollectSequences => (whole, whole),
        };
        let mut work = Work::default();
        for (k, ty) in inputs.iter().enumerate() {
            work.touch(ty, if k == 0 { x } else { whole }, &bytes);
        }
        outputs.iter().for_each(|ty| work.touch(ty, y, &bytes));
        work
    }

    fn touch(&mut self, ty: &OperandType, Touch { times, is_picked }: Touch, bytes: impl Fn(DType) -> usize) {
        if times > 0 {
            let count = Count { factor: times * bytes(ty.dtype) as u64, sizes: ty.shape.clone() };
            if is_picked { self.picked.push(count) } else { self.whole.push(count) }
        }
    }

    /// The bytes that a launch with these sizes moves.
    pub(super) fn bytes(&self, sizes: &[usize]) -> u64 {
        let of = |counts: &[Count], k: usize| counts[k].get(sizes);
        let whole = (0..self.whole.len()).map(|k| of(&self.whole, k));
        // Without whole operands, as in a copy, it is the smallest that says how many elements are touched.
        let picked = (0..self.picked.len()).map(|k| of(&self.picked, k));
        let most = whole.clone().max().or(picked.clone().min()).unwrap_or(0);
        whole.chain(picked.map(|bytes| bytes.min(most))).fold(0, u64::saturating_add)
    }

    /// The operations that a launch with these sizes computes.
    pub(super) fn operations(&self, sizes: &[usize]) -> u64 {
        let largest = |counts: &Vec<Count>| counts.iter().map(|count| count.get(sizes)).max().unwrap_or(0);
        self.operations.iter().map(largest).fold(0, u64::saturating_add)
    }
}

/// The operations of an operator: two for each multiplication of a sum of products, none where elements are moved, and
/// one for each element of the first input, or of the first output if that is larger, in all others.
fn operations(group: &Group, op: &GroupOp, multiplications: Option<Vec<Extent>>) -> Vec<Count> {
    if let Some(sizes) = multiplications {
        return vec![Count { factor: 2, sizes }];
    }
    if op.op.operation().accuracy() == AccuracyClass::MOVED {
        return Vec::new();
    }
    let ty = |operand: &Operand| match *operand {
        Operand::Input(at) => &group.inputs[at],
        Operand::Output(at) => &group.outputs[at],
        Operand::Temporary(at) => &group.temporaries[at],
    };
    let is_read = |k: &usize| op.op.operation().input(*k).is_read;
    let first = (0..op.inputs.len()).find(is_read).map(|k| &op.inputs[k]);
    let types = first.into_iter().chain(op.outputs.first()).map(ty);
    types.map(|ty| Count { factor: 1, sizes: ty.shape.clone() }).collect()
}
