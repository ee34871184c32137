//! Sequences that do not fit what they belong to, and labels that do not exist: errors at their places.

use paddle_core::ops::{
    LinearChainCrf, Op, Sample, SequenceAlign, SequenceConcat, SequenceReshape, SequenceWhere, WarpCtc,
};
use paddle_core::plan::{Backend, KernelError};
use paddle_core::program::{DType, Dim};

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;
use crate::run::Case;

fn refuses<B: Backend>(backend: &B, case: &Case, message: &str) {
    assert_eq!(case.run(backend), Err(KernelError::Value { message: message.into() }));
}

fn refuses_sequences_of_other_lengths<B: Backend>(backend: &B) {
    let reshape = SequenceReshape { dims: vec![Dim::from(2)] };
    let ids = |sample: Sample| sample.dtype(DType::I64).within(0.0, 2.0);
    let crf = Sample::of(LinearChainCrf).sequences(&[2, 1], &[2]).dense(&[4, 2]);
    let holds = Sample::of(SequenceWhere).sequences(&[2, 1], &[]).dtype(DType::Bool).within(1.0, 2.0);
    let unlike =
        "sequence 0 has 2 tokens, but the one that it belongs to 1 token; both have to be of the same length";
    for (sample, message) in [
        (Sample::of(SequenceAlign).sequences(&[2, 1], &[3]).sequences(&[1, 2], &[2]), unlike),
        (ids(crf.sequences(&[1, 2], &[])), unlike),
        (
            Sample::of(SequenceConcat)
                .sequences(&[2, 1], &[3])
                .sequences(&[1, 1], &[3])
                .sequences(&[2, 3], &[]),
            "sequence 0 was made of 2 tokens, but the tokens of it are 3",
        ),
        (
            Sample::of(Op::from(reshape)).sequences(&[4, 2], &[]).sequences(&[2, 2], &[]),
            "sequence 1 has 2 elements, which are not a whole number of tokens of 2 elements",
        ),
        (holds.sequences(&[1, 2], &[]), "sequence 0 was made of 1 token, but the chosen tokens of it are 2"),
    ] {
        refuses(backend, &Case::of(&sample, &mut Draw::new(1)), message);
    }
}

fn refuses_labels_that_are_none<B: Backend>(backend: &B) {
    let ids = |sample: Sample| sample.dtype(DType::I64).within(1.0, 2.0);
    let crf = ids(Sample::of(LinearChainCrf).sequences(&[2, 1], &[2]).dense(&[4, 2]).sequences(&[2, 1], &[]));
    let ctc = ids(Sample::of(WarpCtc { blank: 0 }).sequences(&[2, 3], &[4]).sequences(&[1, 2], &[]));
    for (sample, slot, bad, message) in [
        (
            &crf,
            2,
            2,
            "the class id of row 1 is 2, but there are 2 classes; ids have to be at least 0 and below 2",
        ),
        (
            &ctc,
            1,
            -1,
            "the class id of row 1 is -1, but there are 4 classes; ids have to be at least 0 and below 4",
        ),
        (
            &ctc,
            1,
            0,
            "the class id of row 1 is 0, which is the blank; labels have to be of the other classes",
        ),
    ] {
        let mut case = Case::of(sample, &mut Draw::new(1));
        case.inputs[slot] = Host::I64(vec![1, bad, 1]);
        refuses(backend, &case, message);
    }
}

on_every_backend!(refuses_sequences_of_other_lengths, refuses_labels_that_are_none);
