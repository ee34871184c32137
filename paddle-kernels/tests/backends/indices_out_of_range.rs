//! Indices out of range: an operator reports the wrong index and its position.

use paddle_core::ops::{
    Auc, Gather, GatherGrad, GatherNd, OneHot, Sample, Scatter, ScatterNdAdd, TakeAlongAxis,
    TakeAlongAxisGrad,
};
use paddle_core::plan::{Backend, KernelError};
use paddle_core::program::{DType, Dim};

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;
use crate::run::Case;

/// Operators with two indices, both of which have to be below 4, and the slot of the indices.
fn with_numbers() -> Vec<(Sample, usize)> {
    let ids = |sample: Sample| sample.dtype(DType::I64).within(0.0, 4.0);
    vec![
        (ids(Sample::of(Gather { axis: 0 }).dense(&[4, 3]).dense(&[2])), 1),
        (ids(Sample::of(Gather { axis: 1 }).rows(2, &[4, 3]).rows(2, &[])), 1),
        (ids(Sample::of(GatherGrad(Gather { axis: 0 })).dense(&[4, 3]).rows(2, &[])).rows(2, &[3]), 1),
        (ids(Sample::of(GatherNd).dense(&[4, 4, 3]).dense(&[1, 2])), 1),
        (ids(Sample::of(ScatterNdAdd).dense(&[4, 3]).dense(&[2, 1])).dense(&[2, 3]), 1),
        (ids(Sample::of(Scatter).dense(&[4, 3]).dense(&[2])).dense(&[2, 3]), 1),
        (ids(Sample::of(TakeAlongAxis { axis: 1 }).rows(1, &[4]).rows(1, &[2])), 1),
        (
            ids(Sample::of(TakeAlongAxisGrad(TakeAlongAxis { axis: 1 })).rows(1, &[4]).rows(1, &[2]))
                .rows(1, &[2]),
            1,
        ),
    ]
}

fn refuses_numbers_without_an_element<B: Backend>(backend: &B) {
    for (sample, slot) in with_numbers() {
        for bad in [4, -1, i64::MIN] {
            let mut case = Case::of(&sample, &mut Draw::new(1));
            case.inputs[slot] = Host::I64(vec![3, bad]);
            let message = format!(
                "index number 1 is {bad}, but there are 4 elements along the axis; indices have to be at least 0 and \
                 below 4"
            );
            assert_eq!(case.run(backend), Err(KernelError::Value { message }), "{sample:?}");
        }
    }
}

fn refuses_ids_without_a_column<B: Backend>(backend: &B) {
    let one_hot = |allow_out_of_range| {
        let op = OneHot { depth: Dim::from(4), dtype: DType::F32, allow_out_of_range };
        let mut case = Case::of(&Sample::of(op).rows(2, &[]).dtype(DType::I64), &mut Draw::new(1));
        case.inputs[0] = Host::I64(vec![3, -1]);
        case.run(backend)
    };
    let message =
        "the class id of row 1 is -1, but there are 4 classes; ids have to be at least 0 and below 4";
    assert_eq!(one_hot(false), Err(KernelError::Value { message: message.to_string() }));
    let rows = one_hot(true).unwrap()[0].floats();
    assert_eq!(rows, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
}

fn refuses_what_is_no_probability<B: Backend>(backend: &B) {
    let auc = Sample::of(Auc { num_thresholds: 3, slide_steps: 0 }).rows(2, &[1]);
    let sample = auc.rows(2, &[1]).dtype(DType::I64).dense(&[1, 4]).dtype(DType::I64);
    let sample = sample.dense(&[1, 4]).dtype(DType::I64);
    for bad in [1.5, -0.5] {
        let mut case = Case::of(&sample, &mut Draw::new(1));
        case.inputs[0] = Host::F32(vec![0.5, bad]);
        let message = format!("the probability of row 1 is {bad}; it has to be from 0 to 1");
        assert_eq!(case.run(backend), Err(KernelError::Value { message }));
    }
}

on_every_backend!(
    refuses_ids_without_a_column,
    refuses_numbers_without_an_element,
    refuses_what_is_no_probability,
);
