//! `crf_decoding`: a workgroup for each sequence, whose threads share the labels. Scores are in double precision, as on the CPU, since
//! a rounding may decide which label is the best.

use paddle_core::ops::CrfDecoding;
use paddle_core::plan::{Extent, OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    LANES, Long, Unsigned, Variable, barrier, double, each, for_each, lane, otherwise, scalar, when,
    workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{count, tokens};
use crate::gpu::tensor::{Call, Element, Tensor};

/// The first of the largest scores, and its label.
struct Best {
    label: Variable<Unsigned>,
    low: Variable<Unsigned>,
    high: Variable<Unsigned>,
}

impl Best {
    fn new() -> Self {
        let least = f64::NEG_INFINITY.to_bits();
        Best {
            label: Variable::new(Unsigned::of(0)),
            low: Variable::new(Unsigned::of(least as u32)),
            high: Variable::new(Unsigned::of((least >> 32) as u32)),
        }
    }

    fn score(&self) -> Long {
        Long { low: self.low.get(), high: self.high.get() }
    }

    fn add(&self, label: Unsigned, score: Long) {
        when(double::less(self.score(), score), || {
            self.label.set(label);
            self.low.set(score.low);
            self.high.set(score.high);
        });
    }
}

impl Compile for CrfDecoding {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let tokens_and_labels = call.shape(0).to_vec();
        let scratch = call.group.inputs.len() + call.group.outputs.len();
        let scores = || Tensor::new(scratch, &OperandType::new(DType::I64, tokens_and_labels.clone()));
        let origins = || Tensor::new(scratch + 1, &OperandType::new(DType::I32, tokens_and_labels.clone()));
        let words = [&tokens_and_labels[..], &[Extent::Fixed(2)]].concat();
        let kernel = Kernel::new().scratch(words).scratch(tokens_and_labels.clone());
        let scored = kernel.stage(Grid::Groups(call.shape(2).to_vec()), || {
            score(&call, &scores(), &origins());
        });
        // The labels of a sequence, from the last token on.
        Ok(scored.stage(Grid::Items(call.shape(2).to_vec()), || {
            let (transition, offsets, path) = (call.input(1), call.input(2), call.output(0));
            let (scores, origins) = (scores(), origins());
            let (labels, u) = (scalar(&tokens_and_labels[1..]), Unsigned::of);
            each(count(&offsets), |sequence| {
                let (first, end) = tokens(&offsets, sequence);
                when(first.less(end), || {
                    let best = Best::new();
                    for_each(u(0), labels, u(1), |label| {
                        let stop = double::of_single(transition.float(labels + label));
                        best.add(label, double::add(scores.long((end - u(1)) * labels + label), stop));
                    });
                    for_each(u(0), end - first, u(1), |back| {
                        let token = end - u(1) - back;
                        let label = best.label.get();
                        path.store(token, Element::Long(Long::of_unsigned(label)));
                        best.label.set(origins.load(token * labels + label).signed().as_unsigned());
                    });
                });
            });
        }))
    }
}

/// For each label of a token, the best score of labels up to it, and the label before it.
fn score(call: &Call<'_>, scores: &Tensor, origins: &Tensor) {
    let (emission, transition, offsets) = (call.input(0), call.input(1), call.input(2));
    let (labels, u) = (scalar(&call.shape(0)[1..]), Unsigned::of);
    let shared = SharedElements::new(DType::I64);
    for_each(workgroup(), count(&offsets), workgroups(), |sequence| {
        let (first, end) = tokens(&offsets, sequence);
        for_each(first, end, u(1), |token| {
            let is_first = token.is(first);
            // All threads come to the barriers equally often.
            for_each(u(0), labels, u(LANES), |own| {
                let to = own + lane();
                let best = Best::new();
                for_each(u(0), labels, u(LANES), |block| {
                    barrier();
                    when((block + lane()).less(labels) & !is_first, || {
                        let before = (token - u(1)) * labels + block + lane();
                        shared.set(lane(), Element::Long(scores.long(before)));
                    });
                    barrier();
                    for_each(u(0), (labels - block).least(u(LANES)), u(1), |at| {
                        when(to.less(labels) & !is_first, || {
                            let weight = transition.float((block + at + u(2)) * labels + to);
                            let score = double::add(shared.get(at).long(), double::of_single(weight));
                            best.add(block + at, score);
                        });
                    });
                });
                when(to.less(labels), || {
                    let at = token * labels + to;
                    let emission = double::of_single(emission.float(at));
                    when(is_first, || {
                        let start = double::of_single(transition.float(to));
                        scores.store(at, Element::Long(double::add(start, emission)));
                    });
                    otherwise(|| scores.store(at, Element::Long(double::add(best.score(), emission))));
                    origins.store(at, Element::Signed(best.label.get().as_signed()));
                });
            });
        });
    });
}
