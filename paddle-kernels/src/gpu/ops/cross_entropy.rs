//! `cross_entropy`, `softmax_with_cross_entropy` and their gradients.

use paddle_core::ops::{
    CrossEntropy, CrossEntropyGrad, Real, SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad,
};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::{each_row, fold, largest_and_sum, rows};
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Long, Register, Truth, Unsigned, each, fail, for_each, lane, scalar, when,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::class_out_of_range;

/// The labels of rows: probabilities, or class ids of which one means nothing.
struct Labels {
    label: Tensor,
    classes: Extent,
    ignored: Option<i64>,
}

impl Labels {
    fn new(call: &Call<'_>, soft: bool, ignore_index: i64) -> Self {
        let classes = rows(call.shape(0)).1;
        Labels { label: call.input(1), classes, ignored: (!soft).then_some(ignore_index) }
    }

    /// The id of a row, and whether it counts.
    fn class(&self, row: Unsigned, ignored: i64) -> (Long, Truth) {
        let id = self.label.load(row).long();
        (id, !id.is(Long::of(ignored)))
    }

    /// The target of a class in a row.
    fn target(&self, row: Unsigned, class: Unsigned) -> Float {
        match self.ignored {
            None => self.label.float(row * scalar(&[self.classes]) + class),
            Some(ignored) => {
                let (id, counts) = self.class(row, ignored);
                let is_class = id.is(Long::of_unsigned(class)) & counts;
                Float::choose(is_class, Float::constant(1.0), Float::constant(0.0))
            }
        }
    }

    /// Whether a row has a target at all: 1, or 0.
    fn total(&self, row: Unsigned, shared: &SharedElements) -> Float {
        match self.ignored {
            None => fold(scalar(&[self.classes]), 0.0, |class| self.target(row, class), |x, y| x + y, shared),
            Some(ignored) => {
                let counts = self.class(row, ignored).1;
                Float::choose(counts, Float::constant(1.0), Float::constant(0.0))
            }
        }
    }

    /// Fails where an id is no class.
    fn check(&self, row: Unsigned) {
        if let Some(ignored) = self.ignored {
            let (id, counts) = self.class(row, ignored);
            when(counts & !id.is_index(scalar(&[self.classes])), || fail(row));
        }
    }
}

/// A kernel whose labels may be no classes.
fn explained(kernel: Kernel, call: &Call<'_>, soft: bool) -> Kernel {
    if soft {
        return kernel;
    }
    let classes = rows(call.shape(0)).1;
    kernel.explain_number(call.input_number(1), move |id, row, sizes| {
        class_out_of_range(id, row, classes.get(sizes))
    })
}

impl Compile for SoftmaxWithCrossEntropy {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let kernel = Kernel::new().stage(Grid::Groups(rows(&shape).0), || {
            let (logits, softmax, loss) = (call.input(0), call.output(0), call.output(1));
            let labels = Labels::new(&call, self.soft_label, self.ignore_index);
            let shared = SharedElements::new(DType::F32);
            each_row(&shape, |row, first| {
                let length = scalar(&[rows(&shape).1]);
                when(lane().is(Unsigned::of(0)), || labels.check(row));
                let (largest, sum) = largest_and_sum(length, |at| logits.float(first + at), &shared);
                let rest = sum.ln();
                let term = |class: Unsigned| {
                    let target = labels.target(row, class);
                    let value = target * (rest - (logits.float(first + class) - largest));
                    Float::choose(target.is(Float::constant(0.0)), Float::constant(0.0), value)
                };
                let total = fold(length, 0.0, term, |x, y| x + y, &shared);
                when(lane().is(Unsigned::of(0)), || loss.set(row, total));
                for_each(lane(), length, Unsigned::of(LANES), |at| {
                    softmax.set(first + at, (logits.float(first + at) - largest).exp() / sum);
                });
            });
        });
        Ok(explained(kernel, &call, self.soft_label))
    }
}

impl Compile for SoftmaxWithCrossEntropyGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let kernel = Kernel::new().stage(Grid::Groups(rows(&shape).0), || {
            let (softmax, grad, out) = (call.input(0), call.input(2), call.output(0));
            let labels = Labels::new(&call, self.0.soft_label, self.0.ignore_index);
            let shared = SharedElements::new(DType::F32);
            each_row(&shape, |row, first| {
                when(lane().is(Unsigned::of(0)), || labels.check(row));
                let total = labels.total(row, &shared);
                let scale = grad.float(row);
                for_each(lane(), scalar(&[rows(&shape).1]), Unsigned::of(LANES), |class| {
                    let index = first + class;
                    out.set(index, (softmax.float(index) * total - labels.target(row, class)) * scale);
                });
            });
        });
        Ok(explained(kernel, &call, self.0.soft_label))
    }
}

impl Compile for CrossEntropy {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let kernel = Kernel::new().stage(Grid::Groups(rows(&shape).0), || {
            let (x, loss) = (call.input(0), call.output(0));
            let labels = Labels::new(&call, self.soft_label, self.ignore_index);
            let shared = SharedElements::new(DType::F32);
            each_row(&shape, |row, first| {
                when(lane().is(Unsigned::of(0)), || labels.check(row));
                let term = |class: Unsigned| {
                    let target = labels.target(row, class);
                    let value = -target * x.float(first + class).ln().max(Float::constant(-1e20));
                    Float::choose(target.is(Float::constant(0.0)), Float::constant(0.0), value)
                };
                let total = fold(scalar(&[rows(&shape).1]), 0.0, term, |x, y| x + y, &shared);
                when(lane().is(Unsigned::of(0)), || loss.set(row, total));
            });
        });
        Ok(explained(kernel, &call, self.soft_label))
    }
}

impl Compile for CrossEntropyGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let kernel = Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, grad, out) = (call.input(0), call.input(2), call.output(0));
            let labels = Labels::new(&call, self.0.soft_label, self.0.ignore_index);
            each(out.elements(), |index| {
                let classes = scalar(&[rows(&shape).1]);
                let row = index / classes;
                labels.check(row);
                let target = labels.target(row, index - row * classes);
                let value = -target / x.float(index) * grad.float(row);
                out.set(index, Float::choose(target.is(Float::constant(0.0)), Float::constant(0.0), value));
            });
        });
        Ok(explained(kernel, &call, self.0.soft_label))
    }
}
