//! Checks that the operands of a launch lie where [`Group`] allows.

use std::ops::Range;

use paddle_core::plan::{Body, Group, GroupOp, Launch, Location, Memory, Operand, OperandType};

use super::Reference;

struct Placed<'a> {
    layout: &'a OperandType,
    memory: Memory,
    bytes: Range<usize>,
}

impl Placed<'_> {
    fn overlaps(&self, other: &Placed<'_>) -> bool {
        // A value without elements overlaps nothing.
        self.memory == other.memory
            && self.bytes.start.max(other.bytes.start) < self.bytes.end.min(other.bytes.end)
    }

    /// Whether it has the location of a value with the same layout.
    fn replaces(&self, other: &Placed<'_>, sizes: &[usize]) -> bool {
        let (ours, theirs) = (self.layout.shape.iter(), other.layout.shape.iter());
        self.bytes == other.bytes
            && self.layout.dtype == other.layout.dtype
            && ours.map(|extent| extent.get(sizes)).eq(theirs.map(|extent| extent.get(sizes)))
    }
}

pub(super) fn check<'a>(backend: Reference, group: &'a Group, launch: Launch<'_>) {
    let names: Vec<&str> = match group.body {
        Some(Body::Move(kind)) => vec![kind.name()],
        _ => group.operators().map(|op| op.op.name()).collect(),
    };
    let layouts: Vec<&'a OperandType> = group.inputs.iter().chain(&group.outputs).collect();
    assert_eq!(layouts.len(), launch.locations.len(), "{names:?} needs one location per input and output");
    let place = |(&layout, location): (&&'a OperandType, &Location)| {
        let element = backend.stored(layout.dtype).bytes();
        assert_eq!(location.offset % element, 0, "an operand of {names:?} is not aligned");
        let bytes = layout.elements(launch.sizes) * backend.stored(layout.dtype).bytes();
        Placed { layout, memory: location.memory, bytes: location.offset..location.offset + bytes }
    };
    let operands: Vec<Placed<'_>> = layouts.iter().zip(launch.locations).map(place).collect();
    let (inputs, outputs) = operands.split_at(group.inputs.len());
    let is_read = |i: usize| {
        let reads =
            |op: &GroupOp, k: usize| op.op.operation().input(k).is_read && op.inputs[k] == Operand::Input(i);
        let is_move = matches!(group.body, Some(Body::Move(_)));
        is_move || group.operators().any(|op| (0..op.inputs.len()).any(|k| reads(op, k)))
    };
    let read: Vec<&Placed<'_>> =
        inputs.iter().enumerate().filter(|(i, _)| is_read(*i)).map(|(_, input)| input).collect();
    let element_wise = group.body.is_none();
    for (i, output) in outputs.iter().enumerate() {
        assert!(!outputs[..i].iter().any(|other| output.overlaps(other)), "two outputs of {names:?} overlap");
        for input in &read {
            let in_place = element_wise && output.replaces(input, launch.sizes);
            assert!(!output.overlaps(input) || in_place, "an output of {names:?} overlaps an input");
        }
    }
}
