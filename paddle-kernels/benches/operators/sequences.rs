//! Sequences of 0 to 128 tokens, 64 on average.

use paddle_core::ops::{
    CrfDecoding, LinearChainCrf, LinearChainCrfGrad, Op, PoolType, Sample, SequenceAlign, SequenceConcat,
    SequenceExpandAs, SequenceGather, SequencePad, SequencePool, SequenceReverse, SequenceSoftmax,
    SequenceUnpad, SequenceWindow, SequenceWindowGrad, WarpCtc,
};
use paddle_core::program::{DType, Dim};

use super::Case;

const ROWS: usize = 64;

fn lengths(per: usize) -> Vec<usize> {
    (0..ROWS).map(|row| row * 2 * per / (ROWS - 1)).collect()
}

pub(crate) fn cases() -> Vec<Case> {
    let lengths_of_64 = &lengths(64);
    let tokens: usize = lengths_of_64.iter().sum();
    let of = |op: Op, width: i64| Sample::of(op).sequences(lengths_of_64, &[width]);
    let moved = |name: &str, sample: Sample| Case::traffic(format!("{name}, {tokens} tokens"), sample);
    let sum = SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 };
    let (start, length) = (-1, 3);
    let expanded = Sample::of(SequenceExpandAs).rows(ROWS, &[64]).sequences(lengths_of_64, &[1]);
    let gradient = of(SequenceWindowGrad { start, length }.into(), 64).tokens_of(0, &[length * 64]);
    // Every sequence that is gathered from has tokens.
    let filled: Vec<usize> = lengths_of_64.iter().map(|length| length + 1).collect();
    let gathered = Sample::of(SequenceGather).sequences(&filled, &[64]).sequences(lengths_of_64, &[]);
    let twice: Vec<usize> = lengths_of_64.iter().map(|length| 2 * length).collect();
    let joined = of(SequenceConcat.into(), 64).sequences(lengths_of_64, &[64]).sequences(&twice, &[]);
    let padded = of(SequencePad { length: Dim::from(128), pad_value: 0.0 }.into(), 64);
    let unpadded = Sample::of(SequenceUnpad).rows(ROWS, &[128, 64]).sequences(lengths_of_64, &[]);
    let mut cases = vec![
        moved("sequence_pool sum of 64", of(sum.into(), 64)),
        moved("sequence_expand_as of 64", expanded),
        moved("sequence_reverse of 64", of(SequenceReverse.into(), 64)),
        moved("sequence_align of 64", of(SequenceAlign.into(), 64).sequences(lengths_of_64, &[1])),
        moved("sequence_gather of 64", gathered.dtype(DType::I64).within(0.0, 1.0)),
        moved("sequence_concat of 64 and 64", joined),
        moved("sequence_pad to 128 of 64", padded),
        moved("sequence_unpad from 128 of 64", unpadded),
        moved("sequence_softmax of 1", of(SequenceSoftmax.into(), 1)),
        moved("sequence_softmax of 64", of(SequenceSoftmax.into(), 64)),
        moved("sequence_window 3 of 64", of(SequenceWindow { start, length, pad_value: 0.0 }.into(), 64)),
        moved("sequence_window_grad 3 of 64", gradient),
    ];
    for labels in [8, 32, 100_i64] {
        let ids = |sample: Sample| {
            sample.sequences(lengths_of_64, &[]).dtype(DType::I64).within(0.0, labels as f64)
        };
        let field = |op: Op| of(op, labels).dense(&[labels + 2, labels]);
        let (name, count) =
            (|what: &str| format!("{what}, {tokens} × {labels}"), tokens * (labels * labels) as usize);
        let grad = ids(field(LinearChainCrfGrad.into())).rows(ROWS, &[1]);
        cases.extend([
            Case::products(name("linear_chain_crf"), ids(field(LinearChainCrf.into())), count),
            Case::products(name("linear_chain_crf_grad"), grad, 3 * count),
            Case::each(name("crf_decoding"), field(CrfDecoding.into()), count, "way"),
        ]);
    }
    for (classes, letters) in [(30, 16), (1000, 16)] {
        let labels = &lengths(letters);
        let logits = of(WarpCtc { blank: 0 }.into(), classes);
        let text = logits.sequences(labels, &[]).dtype(DType::I64).within(1.0, classes as f64);
        let states = lengths_of_64.iter().zip(labels).map(|(tokens, labels)| tokens * (2 * labels + 1));
        cases.push(Case::each(format!("warpctc, {tokens} × {classes}"), text, states.sum(), "state"));
    }
    cases
}
