//! Every operator alone: its own samples, and larger ones that cross the tiles and registers of a fast backend.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::{
    Binary, BinaryKind, Compare, CompareKind, Concat, Contract, CrfDecoding, CrossEntropy, CrossEntropyGrad,
    CumSum, GroupNorm, GroupNormGrad, LayerNorm, LayerNormGrad, LinearChainCrf, LinearChainCrfGrad,
    LookupTable, LookupTableGrad, LossGrad, LossKind, Matmul, Op, PoolType, RankLoss, Reduce, ReduceKind,
    Sample, SampleInput, Scale, SequenceConcatGrad, SequenceGatherGrad, SequencePool, SequencePoolGrad,
    SequenceSoftmax, SequenceWindow, SequenceWindowGrad, Slice, SliceGrad, Softmax, SoftmaxGrad,
    SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad, Split, TopK, Transpose, Unary, UnaryGrad,
    UnaryKind, WarpCtc,
};
use paddle_core::plan::{Backend, KernelError};
use paddle_core::program::{DType, Dim};
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::cpu::multiplier::Multiplier;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::images;
use crate::on_every_backend;
use crate::run::Case;
use crate::tolerance;

/// Gradients are not in programs that users write, so they have no samples of their own.
fn of_gradients() -> Vec<Sample> {
    let unary = UnaryKind::ALL.iter().flat_map(|&kind| {
        let op = || Sample::of(UnaryGrad::of(kind));
        [
            op().rows(3, &[4]).within(-1.0, 1.0).rows(3, &[4]),
            op().rows(0, &[4]).rows(0, &[4]),
            op().dense(&[300]).within(-1.0, 1.0).dense(&[300]),
            op().rows(3, &[4]).within(-1.0, 1.0).dense(&[4]),
        ]
    });
    let losses = LossKind::ALL.iter().flat_map(|&kind| {
        let op = |rows, dims: &[i64]| {
            let op = Sample::of(LossGrad::of(kind)).rows(rows, dims).within(0.1, 0.9);
            op.rows(rows, dims).within(0.1, 0.9).rows(rows, dims)
        };
        [op(3, &[4]), op(0, &[4]), op(300, &[])]
    });
    let cross_entropy = |rows, classes: i64| {
        let probabilities =
            Sample::of(SoftmaxWithCrossEntropyGrad::HARD).rows(rows, &[classes]).within(0.0, 1.0);
        let labels = probabilities.rows(rows, &[1]).dtype(DType::I64).within(0.0, classes as f64);
        labels.rows(rows, &[1])
    };
    let softmax = |rows, classes| {
        let probabilities = Sample::of(SoftmaxGrad).rows(rows, &[classes]).within(0.0, 1.0);
        probabilities.rows(rows, &[classes])
    };
    let pool = PoolType::ALL.into_iter().flat_map(|pooltype| {
        let op = move |lengths: &[usize], dims: &[i64]| {
            Sample::of(SequencePoolGrad { pooltype }).sequences(lengths, dims).rows(lengths.len(), dims)
        };
        [op(&[2, 0, 3, 1], &[3]), op(&[], &[2]), op(&[0, 0], &[]), op(&[70, 1, 9], &[5, 13])]
    });
    let window = |start, length, lengths: &[usize], width: i64| {
        let op = Sample::of(SequenceWindowGrad { start, length }).sequences(lengths, &[width]);
        op.tokens_of(0, &[length * width])
    };
    let crf = |lengths: &[usize], labels: i64, transitions: f64| {
        let alpha = Sample::of(LinearChainCrfGrad).sequences(lengths, &[labels]).within(-4.0, 0.0);
        let transition = alpha.dense(&[labels + 2, labels]).within(-transitions, transitions);
        let label = transition.sequences(lengths, &[1]).dtype(DType::I64).within(0.0, labels as f64);
        label.rows(lengths.len(), &[1])
    };
    let gather = |lengths: [&[usize]; 2], dims: [&[i64]; 2], below: f64| {
        let x = Sample::of(SequenceGatherGrad).sequences(lengths[0], dims[0]);
        let index = x.sequences(lengths[1], dims[1]).dtype(DType::I64).within(0.0, below);
        index.tokens_of(1, dims[0])
    };
    let concat = |lengths: [&[usize]; 2], dims: &[i64]| {
        let sums: Vec<usize> = lengths[0].iter().zip(lengths[1]).map(|(x, y)| x + y).collect();
        let both = Sample::of(SequenceConcatGrad).sequences(lengths[0], dims);
        both.sequences(lengths[1], dims).sequences(&sums, dims)
    };
    let others = [
        gather([&[2, 3, 4], &[3, 0, 5]], [&[3], &[]], 2.0),
        gather([&[0, 3, 0], &[0, 7, 0]], [&[], &[1]], 3.0),
        gather([&[5], &[2]], [&[2, 2], &[]], 5.0),
        gather([&[], &[]], [&[4], &[]], 1.0),
        gather([&[70, 1, 9], &[90, 0, 500]], [&[13], &[]], 1.0),
        concat([&[2, 1, 4], &[1, 3, 2]], &[3]),
        concat([&[0, 3, 0, 1], &[2, 0, 0, 1]], &[]),
        concat([&[], &[]], &[1]),
        concat([&[70, 1, 9], &[0, 200, 3]], &[13]),
        crf(&[2, 1, 4], 3, 2.0),
        crf(&[0, 3, 0, 0, 1, 0], 2, 2.0),
        crf(&[], 2, 2.0),
        crf(&[7, 1, 30], 9, 2.0),
        crf(&[4, 3], 6, 900.0),
        window(-1, 3, &[2, 0, 3, 1], 3),
        window(1, 2, &[0, 5], 1),
        window(-7, 2, &[3, 1], 2),
        window(i64::MIN, 2, &[3, 1], 2),
        window(0, 4, &[], 2),
        window(-2, 5, &[70, 1, 9], 13),
        softmax(3, 4),
        softmax(0, 4),
        softmax(17, 33),
        cross_entropy(3, 4),
        cross_entropy(0, 4),
        cross_entropy(17, 33),
    ];
    unary.chain(losses).chain(pool).chain(others).chain(of_labels()).chain(of_places()).collect()
}

/// Gradients of losses, of class ids with an ignored one and of probabilities.
fn of_labels() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (rows, classes) in [(3, 4), (17, 33), (0, 4)] {
        for soft_label in [false, true] {
            let ops: [Op; 2] = [
                CrossEntropyGrad(CrossEntropy { soft_label, ignore_index: 1 }).into(),
                SoftmaxWithCrossEntropyGrad(SoftmaxWithCrossEntropy { soft_label, ignore_index: 1 }).into(),
            ];
            samples.extend(ops.map(|op| {
                let values = Sample::of(op).rows(rows, &[classes]).within(0.1, 0.9);
                let labels = match soft_label {
                    true => values.rows(rows, &[classes]).within(0.0, 1.0),
                    false => values.rows(rows, &[1]).dtype(DType::I64).within(0.0, classes as f64),
                };
                labels.rows(rows, &[1])
            }));
        }
    }
    samples
}

/// Gradients that are added to the places from which values were taken.
fn of_places() -> Vec<Sample> {
    let slice = |axes: &[i64], starts: &[i64], ends: &[i64]| {
        Sample::of(SliceGrad(Slice::of(axes.into(), starts.into(), ends.into())))
    };
    let table = |padding_idx, count, dims: [i64; 2]| {
        let ids = Sample::of(LookupTableGrad(LookupTable { padding_idx })).rows(count, &[]).dtype(DType::I64);
        ids.within(0.0, dims[0] as f64).dense(&dims).rows(count, &[dims[1]])
    };
    let strided = |axes: &[i64], starts: &[i64], ends: &[i64], strides: &[i64]| {
        let slice = Slice::of(axes.into(), starts.into(), ends.into());
        Sample::of(SliceGrad(Slice { strides: strides.into(), ..slice }))
    };
    vec![
        slice(&[1], &[1], &[-1]).rows(3, &[4]).rows(3, &[2]),
        slice(&[1, 2], &[1, 3], &[3, 9]).rows(5, &[4, 9]).rows(5, &[2, 6]),
        slice(&[0], &[2], &[5]).dense(&[6, 70]).dense(&[3, 70]),
        slice(&[1], &[0], &[1]).rows(0, &[4]).rows(0, &[1]),
        table(-1, 7, [5, 3]),
        table(0, 100, [3, 17]),
        table(-1, 0, [4, 2]),
        table(-1, 500, [1000, 33]),
        strided(&[1], &[-1], &[-1], &[-2]).rows(3, &[5]).rows(3, &[3]),
        strided(&[1, 2], &[3, 1], &[0, 9], &[-1, 3]).rows(5, &[4, 9]).rows(5, &[3, 3]),
    ]
}

/// Sizes around those of registers, tiles and blocks.
fn wide() -> Vec<Sample> {
    let mut samples = vec![
        Sample::of(CumSum { axis: 1, exclusive: true, reverse: true }).rows(2, &[150, 3]),
        Sample::of(CumSum { axis: 0, exclusive: false, reverse: false })
            .dense(&[200, 2])
            .dtype(DType::I64)
            .within(-9.0, 9.0),
    ];
    for (m, k, n) in [(1, 300, 1), (5, 1, 9), (33, 65, 17), (64, 64, 64), (130, 7, 70), (1, 128, 100)] {
        for (trans_x, trans_y) in [(false, false), (true, false), (false, true), (true, true)] {
            let x = if trans_x { [k, m] } else { [m, k] };
            let y = if trans_y { [n, k] } else { [k, n] };
            samples.push(Sample::of(Matmul { trans_x, trans_y }).dense(&x).dense(&y));
        }
        samples.push(
            Sample::of(Matmul { trans_x: true, trans_y: false })
                .rows(k as usize, &[m])
                .rows(k as usize, &[n]),
        );
    }
    for (rows, channels, inner) in [(1, 1, 1), (5, 70, 1), (130, 64, 1), (3, 6, 1000), (2, 200, 7), (0, 6, 3)]
    {
        let count = channels * inner;
        let (dims, epsilon) = ([channels, inner], 1e-3);
        let layers = |begin_norm_axis| LayerNorm { epsilon, begin_norm_axis };
        let layers_grad = |begin_norm_axis| LayerNormGrad(LayerNorm { epsilon, begin_norm_axis });
        samples.extend([
            Sample::of(layers(1)).rows(rows, &dims).dense(&[count]).dense(&[count]),
            Sample::of(layers(2)).rows(rows, &dims).dense(&[inner]).dense(&[inner]),
            Sample::of(layers_grad(1))
                .rows(rows, &dims)
                .dense(&[count])
                .rows(rows, &[])
                .rows(rows, &[])
                .within(0.5, 1.5)
                .rows(rows, &dims),
        ]);
        for groups in [1, 2, channels].into_iter().filter(|groups| channels % groups == 0) {
            let op = Sample::of(GroupNorm { epsilon, groups }).rows(rows, &dims);
            let grad =
                Sample::of(GroupNormGrad(GroupNorm { epsilon, groups })).rows(rows, &dims).dense(&[channels]);
            samples.extend([
                op.dense(&[channels]).dense(&[channels]),
                grad.rows(rows, &[groups]).rows(rows, &[groups]).within(0.5, 1.5).rows(rows, &dims),
            ]);
        }
    }
    // Many matrices. Small ones are computed together.
    for (count, m, k, n) in [(3, 70, 130, 65), (200, 5, 3, 9), (2, 1, 300, 1), (40, 33, 17, 1), (1, 2, 2, 2)]
    {
        for (trans_x, trans_y) in [(false, false), (true, false), (false, true), (true, true)] {
            let x = if trans_x { [k, m] } else { [m, k] };
            let y = if trans_y { [n, k] } else { [k, n] };
            let op = || Sample::of(Matmul { trans_x, trans_y });
            samples.extend([
                op().rows(count, &x).rows(count, &y),
                op().rows(count, &x).dense(&y),
                op().dense(&x).rows(count, &y),
                op().rows(count, &[2, x[0], x[1]]).rows(count, &[1, y[0], y[1]]),
                op().dense(&[3, 1, x[0], x[1]]).dense(&[2, y[0], y[1]]),
            ]);
        }
    }
    for (count, m, k, n) in [(7, 70, 3, 65), (20, 1, 2, 300), (3, 33, 17, 1)] {
        samples.push(Sample::of(Contract).rows(count, &[k, m]).rows(count, &[k, n]));
    }
    for width in [1, 63, 64, 65, 200] {
        for lengths in [&[1, 7, 8, 9, 0, 65, 200][..], &[1000], &[3; 100]] {
            let op = |pooltype| Sample::of(SequencePool { pooltype, pad_value: 2.0 });
            samples.extend(PoolType::ALL.map(|pooltype| op(pooltype).sequences(lengths, &[width])));
            // The reference adds terms one by one, so it is inexact in a long sum in double precision.
            if lengths != [1000] {
                samples.push(Sample::of(SequenceSoftmax).sequences(lengths, &[width]));
            }
            let window = SequenceWindow { start: -3, length: 5, pad_value: 0.5 };
            samples.push(Sample::of(window).sequences(lengths, &[width]));
        }
    }
    // Some transitions are almost impossible.
    for (labels, transitions) in [(1, 2.0), (4, 900.0), (17, 2.0), (33, 2.0), (70, 300.0)] {
        let lengths = [1, 7, 8, 9, 0, 40];
        let emission = |op: Op| Sample::of(op).sequences(&lengths, &[labels]);
        let transition = |op: Op| emission(op).dense(&[labels + 2, labels]).within(-transitions, transitions);
        let label = transition(LinearChainCrf.into()).sequences(&lengths, &[]).dtype(DType::I64);
        samples.extend([transition(CrfDecoding.into()), label.within(0.0, labels as f64)]);
    }
    for (blank, classes) in [(0, 5), (3, 4), (0, 17), (0, 130)] {
        let logits = Sample::of(WarpCtc { blank }).sequences(&[1, 7, 0, 90, 64], &[classes]);
        let (low, high) = if blank == 0 { (1, classes) } else { (0, blank) };
        let labels = logits.sequences(&[1, 3, 0, 31, 0], &[]).dtype(DType::I64);
        samples.push(labels.within(low as f64, high as f64));
    }
    for length in [1, 2, 7, 16, 31, 100, 1000] {
        samples.extend(UnaryKind::ALL.iter().map(|&kind| Sample::of(Unary::of(kind)).dense(&[length])));
        let binary = |kind| Sample::of(Binary { kind });
        for kind in [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul] {
            samples.extend([
                binary(kind).dense(&[length]).dense(&[length]),
                binary(kind).rows(5, &[length]).dense(&[length]),
                binary(kind).rows(5, &[length]).rows(5, &[1]),
                binary(kind).dense(&[]).rows(5, &[length]),
                binary(kind).rows(5, &[3, length]).rows(5, &[1, length]),
                binary(kind).rows(5, &[3, 1]).dense(&[length]),
            ]);
        }
        for kind in ReduceKind::ALL {
            let reduce = |axes: &[i64]| Sample::of(Reduce { kind, axes: axes.to_vec(), keep_dim: false });
            let dtype = if kind.is_logical() { DType::Bool } else { DType::F32 };
            let wide = [
                reduce(&[]).rows(length as usize, &[3]),
                reduce(&[0]).rows(length as usize, &[3]),
                reduce(&[0]).rows(3, &[length]),
                reduce(&[1]).rows(3, &[length]),
                reduce(&[1]).rows(3, &[length, 2]),
                reduce(&[0, 2]).dense(&[3, 5, length]),
            ];
            samples.extend(wide.map(|sample| sample.dtype(dtype)));
        }
        let l = length as usize;
        samples.extend([
            Sample::of(Concat { axis: 1 }).rows(3, &[length, 2]).rows(3, &[1, 2]).rows(3, &[length, 2]),
            Sample::of(Split { axis: 1, sections: [length, 3].map(Dim::from).into() }).rows(9, &[length + 3]),
            Sample::of(Slice::of(vec![2], vec![1], vec![-1])).rows(l, &[3, 40]),
            Sample::of(Transpose { perm: vec![0, 2, 1] }).rows(3, &[length, 5]),
            Sample::of(Transpose { perm: vec![1, 0, 2] }).dense(&[length, 17, 2]),
            Sample::of(TopK { k: Some(2), axis: 1, largest: true }).rows(l, &[37]),
            Sample::of(TopK { k: None, axis: 1, largest: false }).rows(3, &[length]),
            Sample::of(TopK { k: Some(1 + length / 20), axis: 1, largest: false }).rows(2, &[9 * length, 3]),
            Sample::of(TopK { k: Some(1 + length / 2), axis: 2, largest: true }).rows(2, &[2, 9 * length]),
            Sample::of(TopK { k: None, axis: 1, largest: true }).rows(2, &[length, 3]).dtype(DType::I64),
            Sample::of(LookupTable { padding_idx: 0 })
                .rows(l, &[3])
                .dtype(DType::I64)
                .within(0.0, 9.0)
                .dense(&[9, 33]),
            Sample::of(CrossEntropy { soft_label: true, ignore_index: -100 })
                .rows(3, &[length])
                .within(0.0, 1.0)
                .rows(3, &[length])
                .within(0.0, 1.0),
            Sample::of(SoftmaxWithCrossEntropy { soft_label: true, ignore_index: -100 })
                .rows(70, &[length])
                .rows(70, &[length])
                .within(0.0, 1.0),
            Sample::of(RankLoss).dense(&[]).within(0.0, 1.0).rows(l, &[2]).rows(l, &[2]),
            Sample::of(Softmax).rows(3, &[length]),
            Sample::of(Scale { scale: 0.3, bias: -0.7 }).dense(&[length]),
            Sample::of(SoftmaxWithCrossEntropy::HARD)
                .rows(length as usize, &[10])
                .rows(length as usize, &[1])
                .dtype(DType::I64)
                .within(0.0, 10.0),
        ]);
    }
    samples.push(Sample::of(Unary::of(UnaryKind::Tanh)).dense(&[4000]).within(-12.0, 12.0));
    samples.push(Sample::of(Unary::of(UnaryKind::Tanh)).dense(&[1000]).within(-1e-3, 1e-3));
    samples.push(Sample::of(Binary { kind: BinaryKind::Div }).dense(&[999]).dense(&[999]).within(0.1, 9.0));
    samples
}

/// Integers and truth values, with zeros to divide by and pairs that are equal.
fn whole() -> Vec<Sample> {
    let mut samples = Vec::new();
    for dtype in [DType::I32, DType::I64] {
        samples.extend(BinaryKind::ALL.iter().map(|&kind| {
            let x = Sample::of(Binary { kind }).rows(20, &[5]).dtype(dtype).within(-9.0, 9.0);
            x.rows(20, &[5]).dtype(dtype).within(-3.0, 3.0)
        }));
        samples
            .push(Sample::of(Scale { scale: -2.5, bias: 3.5 }).dense(&[40]).dtype(dtype).within(-9.0, 9.0));
        for kind in [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod] {
            let reduce = |axes: &[i64]| Sample::of(Reduce { kind, axes: axes.to_vec(), keep_dim: false });
            let samples_of = [
                reduce(&[]).dense(&[40]),
                reduce(&[1]).rows(20, &[5]),
                reduce(&[0, 2]).dense(&[4, 5, 6]),
                reduce(&[0]).rows(0, &[3]),
            ];
            samples.extend(samples_of.map(|sample| sample.dtype(dtype).within(-9.0, 9.0)));
        }
    }
    for dtype in [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64] {
        samples.extend(CompareKind::ALL.iter().map(|&kind| {
            let x = Sample::of(Compare { kind }).rows(20, &[5]).dtype(dtype).within(0.0, 3.0);
            x.rows(20, &[1]).dtype(dtype).within(0.0, 3.0)
        }));
        samples.push(Sample::of(paddle_core::ops::Assign).dense(&[70]).dtype(dtype));
    }
    samples
}

pub(crate) fn own_samples() -> Vec<Sample> {
    [Op::samples(), of_gradients()].concat()
}

/// Every sample of every operator, its variants, and larger samples.
pub(crate) fn every_sample() -> Vec<Sample> {
    let own = own_samples();
    [own.iter().flat_map(with_variants).collect(), wide(), images::wide(), whole()].concat()
}

/// A sample and its variants.
pub(crate) fn with_variants(sample: &Sample) -> Vec<Sample> {
    let near = Some(near_the_end(sample)).filter(|near| near != sample);
    [sample.clone()].into_iter().chain(sample.variants()).chain(near).collect()
}

/// Floating-point numbers that are close together and far from 0. Differences between them are lost if they are rounded
/// before.
fn near_the_end(sample: &Sample) -> Sample {
    let mut sample = sample.clone();
    for SampleInput { range: (low, high), .. } in
        sample.inputs.iter_mut().filter(|input| input.dtype.is_float())
    {
        *low = *high - (*high - *low) / 64.0;
    }
    sample
}

/// The same sample in double precision.
fn in_double(sample: &Sample) -> Sample {
    let mut sample = sample.clone();
    for input in sample.inputs.iter_mut().filter(|input| input.dtype == DType::F32) {
        input.dtype = DType::F64;
    }
    match &mut sample.op {
        Op::Fill(op) if op.ty.dtype == DType::F32 => op.ty.dtype = DType::F64,
        Op::UniformRandom(op) => op.ty.dtype = DType::F64,
        Op::GaussianRandom(op) => op.ty.dtype = DType::F64,
        Op::TruncatedGaussianRandom(op) => op.ty.dtype = DType::F64,
        _ => {}
    }
    sample
}

#[test]
fn every_operator_has_a_sample() {
    let sampled: BTreeSet<&str> = every_sample().iter().map(|sample| sample.op.name()).collect();
    for op in Op::prototypes() {
        let kernel = Reference::single().supports(&op, &[]);
        // Row numbers are tested with the blocks that they are for, and new sequences with the values for them: no
        // input of these operators has the rows of their results. Rows as an axis have a size that is no number:
        // `tests/parts` has them.
        let elsewhere =
            matches!(op, Op::AxisToRows(_) | Op::RowNumbers(_) | Op::RowsToAxis(_) | Op::SequenceRange(_));
        assert!(!kernel || elsewhere || sampled.contains(op.name()), "`{}` has no sample", op.name());
    }
}

#[test]
fn samples_are_of_every_kind() {
    let mut kinds: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for sample in own_samples().iter().flat_map(with_variants).filter(|sample| !sample.slots.is_empty()) {
        let shape = |&slot: &usize| (sample.inputs[slot].rows, sample.inputs[slot].dims.clone());
        let shapes: Vec<_> = sample.slots.iter().map(shape).collect();
        let is_empty = shapes.iter().any(|(rows, dims)| *rows == Some(0) || dims.contains(&0));
        let broadcasts = shapes.iter().any(|shape| *shape != shapes[0]);
        // Losses need values and labels of one shape.
        let is_loss = matches!(sample.op, Op::Loss(_) | Op::LossGrad(_));
        let may_broadcast = sample.op.effects().element_wise && shapes.len() > 1 && !is_loss;
        let (has_empty, has_broadcast) = kinds.entry(sample.op.name()).or_default();
        *has_empty |= is_empty;
        *has_broadcast |= broadcasts || !may_broadcast;
    }
    for (name, (has_empty, has_broadcast)) in kinds {
        assert!(has_empty, "`{name}` has no sample without elements");
        assert!(has_broadcast, "`{name}` has no sample that broadcasts");
    }
}

/// A card compiles a kernel for each, which takes a program on the processor minutes: it takes one sample in
/// [`PADDLE_CARD_SAMPLES`](CARD_SAMPLES). Of all operators there are those that are named in [`PADDLE_OPERATORS`](OPERATORS).
fn agrees_on_every_sample<B: Backend>(backend: &B) {
    let named = std::env::var(OPERATORS).ok();
    let is_named = |sample: &Sample| {
        named.as_ref().is_none_or(|named| named.split(',').any(|name| name == sample.op.name()))
    };
    let one_in = match (backend.name(), std::env::var(CARD_SAMPLES)) {
        ("wgpu" | "cuda", Ok(one_in)) => one_in.parse().expect("a number"),
        ("wgpu", Err(_)) => 8,
        _ => 1,
    };
    agrees_on(backend, &every_sample().into_iter().filter(is_named).step_by(one_in).collect::<Vec<_>>());
}

/// The variable that names the operators whose samples are taken, with commas between them.
const OPERATORS: &str = "PADDLE_OPERATORS";

/// The variable that says which share of the samples a card takes.
const CARD_SAMPLES: &str = "PADDLE_CARD_SAMPLES";

fn agrees_on<B: Backend>(backend: &B, samples: &[Sample]) {
    for sample in samples.iter().flat_map(|sample| [sample.clone(), in_double(sample)]) {
        // Each sample draws for itself, so that its values do not depend on other samples.
        let case = Case::of(&sample, &mut Draw::new(1));
        let exact = case.run(&Reference::double()).unwrap();
        let found = case.run(backend).unwrap();
        tolerance::check(&case, &found, &exact, &sample);
    }
}

#[test]
fn products_by_matrixmultiply_agree_on_every_sample() {
    let products = every_sample().into_iter();
    let products: Vec<_> =
        products.filter(|sample| matches!(sample.op, Op::Matmul(_) | Op::Contract(_))).collect();
    assert!(products.len() > 100, "{}", products.len());
    let isa = Isa::available().next().unwrap();
    agrees_on(&Cpu::with_multiplier(3, isa, Multiplier::Matrixmultiply).unwrap(), &products);
}

fn refuses_class_ids_without_a_class<B: Backend>(backend: &B) {
    let forward = Sample::of(SoftmaxWithCrossEntropy::HARD).rows(3, &[4]).rows(3, &[1]).dtype(DType::I64);
    let grad = Sample::of(SoftmaxWithCrossEntropyGrad::HARD).rows(3, &[4]).rows(3, &[1]).dtype(DType::I64);
    for (sample, bad) in [(&forward, 4), (&forward, -1), (&grad.rows(3, &[1]), i64::MAX)] {
        let mut case = Case::of(sample, &mut Draw::new(1));
        case.inputs[1] = crate::host::Host::I64(vec![3, bad, 0]);
        let message = format!(
            "the class id of row 1 is {bad}, but there are 4 classes; ids have to be at least 0 and below 4"
        );
        assert_eq!(case.run(backend), Err(KernelError::Value { message }));
    }
}

fn refuses_ids_without_an_entry<B: Backend>(backend: &B) {
    let forward = Sample::of(LookupTable { padding_idx: 1 }).rows(3, &[]).dtype(DType::I64).dense(&[4, 2]);
    let grad = Sample::of(LookupTableGrad(LookupTable { padding_idx: 1 }))
        .rows(3, &[])
        .dtype(DType::I64)
        .dense(&[4, 2]);
    for (sample, bad) in [(&forward, 4), (&forward, -1), (&grad.rows(3, &[2]), i64::MIN)] {
        let mut case = Case::of(sample, &mut Draw::new(1));
        case.inputs[0] = crate::host::Host::I64(vec![1, 0, bad]);
        let message = format!(
            "id number 2 is {bad}, but the table has 4 entries; ids have to be at least 0 and below 4"
        );
        assert_eq!(case.run(backend), Err(KernelError::Value { message }));
    }
}

/// Probabilities of 0 give no NaN if nothing depends on them.
fn losses_of_impossible_classes_are_finite<B: Backend>(backend: &B) {
    use crate::host::Host;
    let soft = CrossEntropy { soft_label: true, ignore_index: -100 };
    let mut case = Case::of(&Sample::of(soft).rows(2, &[2]).rows(2, &[2]), &mut Draw::new(1));
    case.inputs = vec![Host::F32(vec![0.0, 1.0, 0.0, 1.0]), Host::F32(vec![0.0, 1.0, 1.0, 0.0])];
    let losses = case.run(backend).unwrap()[0].floats();
    assert_eq!(losses[0], 0.0);
    assert!((losses[1] / 1e20 - 1.0).abs() < 1e-6, "{losses:?}");
}

/// The first of equal elements comes first, and NaN before all.
fn the_largest_are_in_order<B: Backend>(backend: &B) {
    use crate::host::Host;
    let mut case =
        Case::of(&Sample::of(TopK { k: Some(3), axis: 1, largest: true }).rows(2, &[4]), &mut Draw::new(1));
    case.inputs = vec![Host::F32(vec![1.0, 3.0, 3.0, 2.0, 5.0, f32::NAN, -1.0, 9.0])];
    let found = case.run(backend).unwrap();
    assert_eq!(found[0].floats()[..3], [3.0, 3.0, 2.0]);
    assert_eq!(found[1], Host::I64(vec![1, 2, 3, 1, 3, 0]));
}

/// Programs of `f32` and of `f64` draw the same numbers except for rounding.
fn draws_the_same_numbers_in_every_precision<B: Backend>(backend: &B) {
    let random = |sample: &Sample| sample.op.effects().random && sample.inputs.is_empty();
    for sample in Op::samples().iter().filter(|sample| random(sample)) {
        let [narrow, wide] = [sample.clone(), in_double(sample)].map(|sample| {
            let case = Case::of(&sample, &mut Draw::new(1));
            case.run(backend).unwrap().remove(0)
        });
        let class = sample.op.operation().accuracy();
        let distance = tolerance::distance(class, &narrow, &wide, &[]);
        assert_eq!(distance.share, 0.0, "{sample:?}");
    }
}

on_every_backend!(
    agrees_on_every_sample,
    losses_of_impossible_classes_are_finite,
    refuses_class_ids_without_a_class,
    refuses_ids_without_an_entry,
    the_largest_are_in_order,
    draws_the_same_numbers_in_every_precision,
);
