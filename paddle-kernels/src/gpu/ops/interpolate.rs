//! Interpolation of images, and its gradient. The first stage finds out between which elements the elements of the result lie, along
//! each axis: what is rounded there decides which they are, so it is rounded as on every backend.

use paddle_core::ops::{Interpolate, InterpolateGrad, InterpolateKind};
use paddle_core::plan::{Extent, OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Float, Long, Register, Unsigned, Variable, double, each, for_each, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sort::first_that;
use crate::gpu::tensor::{Call, Element, Tensor};

/// How the places of the result's elements lie along an axis of an image.
struct Along<'a> {
    op: &'a Interpolate,
    axis: usize,
    /// The sizes of images, and of results.
    from: [Extent; 2],
    to: [Extent; 2],
    /// The number of its scratch among the operands: for each element of the result the first of two elements, and the weight of the
    /// second.
    scratch: usize,
}

/// Both axes, and the stages that fill what they need.
fn along<'a>(
    op: &'a Interpolate,
    call: &Call<'_>,
    images: &[Extent],
    results: &[Extent],
) -> (Kernel, [Along<'a>; 2]) {
    let size = |shape: &[Extent]| [shape[2], shape[3]];
    let scratch = call.group.inputs.len() + call.group.outputs.len();
    let both =
        [0, 1].map(|axis| Along { op, axis, from: size(images), to: size(results), scratch: scratch + axis });
    let mut kernel = Kernel::new();
    for axis in &both {
        kernel = kernel.scratch(vec![axis.to[axis.axis], Extent::Fixed(2)]);
        kernel = kernel.stage(Grid::Items(vec![axis.to[axis.axis]]), || {
            let (found, ratio) = (axis.found(), axis.ratio());
            each(scalar(&[axis.to[axis.axis]]), |at| {
                let (first, weight) = axis.between(ratio, at);
                found.store(at + at, Element::Signed(first.as_signed()));
                found.store(at + at + Unsigned::of(1), Element::Signed(weight.bits().as_signed()));
            });
        });
    }
    (kernel, both)
}

impl Along<'_> {
    fn found(&self) -> Tensor {
        let shape = vec![self.to[self.axis], Extent::Fixed(2)];
        Tensor::new(self.scratch, &OperandType::new(DType::I32, shape))
    }

    fn last(&self) -> Unsigned {
        scalar(&[self.from[self.axis]]) - Unsigned::of(1)
    }

    /// The distance of neighbours in elements of the image.
    fn ratio(&self) -> Float {
        let [from, to] = [self.from, self.to].map(|sizes| scalar(&[sizes[self.axis]]));
        let quotient = |x: Unsigned, y: Unsigned| {
            let [x, y] = [x, y].map(|whole| double::of_single(whole.to_float()));
            double::to_single(double::divide(x, y))
        };
        let (one, scale) = (Unsigned::of(1), self.op.scale[self.axis] as f32);
        let ratio = if self.op.align_corners {
            quotient(from - one, to - one)
        } else if scale > 0.0 {
            Float::constant(1.0 / scale)
        } else {
            quotient(from, to)
        };
        let ratio = Float::choose(to.less_equal(one), Float::constant(0.0), ratio);
        let is_same = |axis: usize| scalar(&[self.from[axis]]).is(scalar(&[self.to[axis]]));
        Float::choose(is_same(0) & is_same(1), Float::constant(1.0), ratio)
    }

    /// The first of the elements between which an element of the result lies, and the weight of the second.
    fn between(&self, ratio: Float, at: Unsigned) -> (Unsigned, Float) {
        let place = (ratio * at.to_float()).rounded();
        let whole = |place: Float| place.to_signed().as_unsigned();
        if self.op.kind == InterpolateKind::Nearest {
            let first = whole(place);
            let is_far = (place - first.to_float()).greater_equal(Float::constant(0.5));
            let nearest = match self.op.align_corners {
                true => first + is_far.to_unsigned(),
                false => first,
            };
            return (nearest.least(self.last()), Float::constant(0.0));
        }
        let half = self.op.align_mode == 0 && !self.op.align_corners;
        let place = match half {
            true => {
                let constant = |value: f64| Long::of(value.to_bits() as i64);
                let twice = double::of_whole(Long::of_unsigned(at + at + Unsigned::of(1)));
                let middle =
                    double::multiply(double::of_single(ratio), double::multiply(twice, constant(0.5)));
                let place = double::to_single(double::add(middle, constant(-0.5)));
                Float::choose(place.less(Float::constant(0.0)), Float::constant(0.0), place)
            }
            false => place,
        };
        let first = whole(place).least(self.last());
        (first, place - first.to_float())
    }

    /// The two elements of the image with their weights.
    fn sides(&self, at: Unsigned) -> [(Unsigned, Float); 2] {
        let found = self.found();
        let first = self.first(at);
        let weight = found.load(at + at + Unsigned::of(1)).signed().as_unsigned().as_float();
        let second = (first + Unsigned::of(1)).least(self.last());
        [(first, Float::constant(1.0) - weight), (second, weight)]
    }

    fn first(&self, at: Unsigned) -> Unsigned {
        self.found().load(at + at).signed().as_unsigned()
    }

    /// The elements of the result that an element of the image may contribute to: the first one, and the one behind the last.
    fn reached(&self, element: Unsigned) -> (Unsigned, Unsigned) {
        let count = scalar(&[self.to[self.axis]]);
        let first = first_that(count, |at| (self.first(at) + Unsigned::of(1)).greater_equal(element));
        (first, first_that(count, |at| self.first(at).greater(element)))
    }
}

impl Compile for Interpolate {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (images, results) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        let (kernel, [down, across]) = along(self, &call, &images, &results);
        Ok(kernel.stage(Grid::Items(results.clone()), || {
            let (x, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let [height, width] = [2, 3].map(|axis| scalar(&results[axis..=axis]));
                let line = index / width;
                let plane = line / height;
                let (rows, columns) = (down.sides(line - plane * height), across.sides(index - line * width));
                let sum = Variable::new(Float::constant(0.0));
                for (row, of_row) in rows {
                    for (column, of_column) in columns {
                        let at = (plane * scalar(&images[2..3]) + row) * scalar(&images[3..]) + column;
                        add_part(&sum, of_row * of_column, &x, at);
                    }
                }
                out.set(index, sum.get());
            });
        }))
    }
}

/// Adds an element with a weight. One of weight 0 may be infinite.
fn add_part(sum: &Variable<Float>, weight: Float, of: &Tensor, at: Unsigned) {
    when(weight.is_not(Float::constant(0.0)), || sum.set(sum.get() + weight * of.float(at)));
}

impl Compile for InterpolateGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (images, results) = (call.out_shape(0).to_vec(), call.shape(1).to_vec());
        let (kernel, [down, across]) = along(&self.0, &call, &images, &results);
        Ok(kernel.stage(Grid::Items(images.clone()), || {
            let (grad, out, u) = (call.input(1), call.output(0), Unsigned::of);
            each(out.elements(), |index| {
                let [height, width] = [2, 3].map(|axis| scalar(&images[axis..=axis]));
                let line = index / width;
                let plane = line / height;
                let (row, column) = (line - plane * height, index - line * width);
                let (rows, columns) = (down.reached(row), across.reached(column));
                let sum = Variable::new(Float::constant(0.0));
                for_each(rows.0, rows.1, u(1), |y| {
                    let of_rows = down.sides(y);
                    for_each(columns.0, columns.1, u(1), |x| {
                        let of_columns = across.sides(x);
                        let at = (plane * scalar(&results[2..3]) + y) * scalar(&results[3..]) + x;
                        for (of_row, weight) in of_rows {
                            for (of_column, other) in of_columns {
                                when(of_row.is(row) & of_column.is(column), || {
                                    add_part(&sum, weight * other, &grad, at);
                                });
                            }
                        }
                    });
                });
                out.set(index, sum.get());
            });
        }))
    }
}
