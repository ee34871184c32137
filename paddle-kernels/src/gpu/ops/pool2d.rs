//! `pool2d`, its gradient, and `max_pool2d_with_index`: a thread for each element of the result.

use paddle_core::ops::{MaxPool2dWithIndex, Pool2d, Pool2dGrad, PoolKind};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{
    Float, Register, Signed, Unsigned, Variable, each, for_each, otherwise, scalar, when,
};
use crate::gpu::index::position;
use crate::gpu::kernel::{Grid, Kernel, unsupported};
use crate::gpu::tensor::{Call, Element, Tensor};

/// How windows cover an axis.
struct Axis {
    pool: Pool2d,
    axis: usize,
    /// Of images, and of results.
    sizes: [Extent; 2],
    /// Zeros in front.
    before: u32,
}

impl Axis {
    fn new(pool: &Pool2d, axis: usize, images: &[Extent], results: &[Extent]) -> Result<Axis, Unsupported> {
        let (&[.., h, w], &[.., y, x]) = (images, results) else {
            return unsupported("pooling of values that are no images");
        };
        let sizes = [[h, y], [w, x]][axis];
        let before = match sizes[0] {
            Extent::Fixed(size) => pool.window().around(axis, size)[0],
            // Explicit padding does not depend on the size.
            Extent::Bound(_) => pool.window().around(axis, 1)[0],
        };
        Ok(Axis { pool: *pool, axis, sizes, before: before as u32 })
    }

    /// The first element that a window covers, the one behind the last, and how many count for an average.
    fn covered(&self, at: Unsigned) -> (Unsigned, Unsigned, Unsigned) {
        let u = Unsigned::of;
        let [size, windows] = self.sizes.map(|extent| scalar(&[extent]));
        if self.pool.global_pooling {
            return (u(0), size, size);
        }
        if self.pool.adaptive {
            let (first, end) = (at * size / windows, ((at + u(1)) * size + windows - u(1)) / windows);
            return (first, end, end - first);
        }
        let window = self.pool.window();
        let before = u(self.before);
        let start = at * u(window.stride[self.axis] as u32);
        let end = start + u(window.size[self.axis] as u32);
        let inside = |place: Unsigned| {
            let place = Unsigned::choose(place.less(before), before, place);
            place.least(before + size) - before
        };
        let padded_end = end.least(size + before + before);
        let padded = Unsigned::choose(padded_end.less(start), u(0), padded_end - start);
        let (first, end) = (inside(start), inside(end));
        (first, end, if self.pool.exclusive { end - first } else { padded })
    }

    /// The windows that may cover an element: the first, and the one behind the last.
    fn windows(&self, element: Unsigned) -> (Unsigned, Unsigned) {
        let u = Unsigned::of;
        let windows = scalar(&[self.sizes[1]]);
        if self.pool.global_pooling || self.pool.adaptive {
            return (u(0), windows);
        }
        let window = self.pool.window();
        let (size, stride) = (u(window.size[self.axis] as u32), u(window.stride[self.axis] as u32));
        let padded = element + u(self.before);
        let reach = padded + u(1);
        let first = Unsigned::choose(reach.less(size), u(0), (reach - size + stride - u(1)) / stride);
        (first, (padded / stride + u(1)).least(windows))
    }
}

/// The index of the first of the largest elements of a window, and whether there is one.
fn largest(
    x: &Tensor,
    plane: Unsigned,
    width: Unsigned,
    rows: (Unsigned, Unsigned),
    columns: (Unsigned, Unsigned),
) -> Unsigned {
    let u = Unsigned::of;
    let best = Variable::new(plane + rows.0 * width + columns.0);
    for_each(rows.0, rows.1, u(1), |row| {
        for_each(columns.0, columns.1, u(1), |column| {
            let at = plane + row * width + column;
            when(x.float(at).greater(x.float(best.get())), || best.set(at));
        });
    });
    best.get()
}

fn of_average(count: Unsigned) -> Float {
    Unsigned::choose(count.is(Unsigned::of(0)), Unsigned::of(1), count).to_float()
}

impl Compile for Pool2d {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (images, results) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        let (y, x) = (Axis::new(self, 0, &images, &results)?, Axis::new(self, 1, &images, &results)?);
        let last = results.len();
        Ok(Kernel::new().stage(Grid::Items(results.clone()), || {
            let (input, out, u) = (call.input(0), call.output(0), Unsigned::of);
            each(out.elements(), |index| {
                let at = position(index, &results);
                let (rows, columns) = (y.covered(at[last - 2]), x.covered(at[last - 1]));
                let (height, width) = (scalar(&[images[last - 2]]), scalar(&[images[last - 1]]));
                let plane = index / scalar(&results[last - 2..]) * height * width;
                let result = match self.pooling_type {
                    PoolKind::Max => {
                        let is_empty = !rows.0.less(rows.1) | !columns.0.less(columns.1);
                        let value = Variable::new(Float::constant(0.0));
                        when(!is_empty, || {
                            let best =
                                largest(&input, plane, width, (rows.0, rows.1), (columns.0, columns.1));
                            value.set(input.float(best));
                        });
                        value.get()
                    }
                    PoolKind::Avg => {
                        let sum = Variable::new(Float::constant(0.0));
                        for_each(rows.0, rows.1, u(1), |row| {
                            for_each(columns.0, columns.1, u(1), |column| {
                                sum.set(sum.get() + input.float(plane + row * width + column));
                            });
                        });
                        sum.get() / of_average(rows.2 * columns.2)
                    }
                };
                out.set(index, result);
            });
        }))
    }
}

impl Compile for MaxPool2dWithIndex {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (pool, images, results) = (self.pool(), call.shape(0).to_vec(), call.out_shape(0).to_vec());
        let (y, x) = (Axis::new(&pool, 0, &images, &results)?, Axis::new(&pool, 1, &images, &results)?);
        let last = results.len();
        Ok(Kernel::new().stage(Grid::Items(results.clone()), || {
            let (input, out, mask) = (call.input(0), call.output(0), call.output(1));
            each(out.elements(), |index| {
                let at = position(index, &results);
                let (rows, columns) = (y.covered(at[last - 2]), x.covered(at[last - 1]));
                let (height, width) = (scalar(&[images[last - 2]]), scalar(&[images[last - 1]]));
                let plane = index / scalar(&results[last - 2..]) * height * width;
                when(rows.0.less(rows.1) & columns.0.less(columns.1), || {
                    let best = largest(&input, plane, width, (rows.0, rows.1), (columns.0, columns.1));
                    out.set(index, input.float(best));
                    mask.store(index, Element::Signed((best - plane).as_signed()));
                });
                otherwise(|| {
                    out.set(index, Float::constant(0.0));
                    mask.store(index, Element::Signed(Signed::of(-1)));
                });
            });
        }))
    }
}

impl Compile for Pool2dGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let pool = &self.0;
        let (images, results) = (call.out_shape(0).to_vec(), call.shape(2).to_vec());
        let (y, x) = (Axis::new(pool, 0, &images, &results)?, Axis::new(pool, 1, &images, &results)?);
        let last = images.len();
        Ok(Kernel::new().stage(Grid::Items(images.clone()), || {
            let (grad, out, u) = (call.input(2), call.output(0), Unsigned::of);
            let input = (pool.pooling_type == PoolKind::Max).then(|| call.input(0));
            each(out.elements(), |index| {
                let at = position(index, &images);
                let (height, width) = (scalar(&[images[last - 2]]), scalar(&[images[last - 1]]));
                let number = index / (height * width);
                let (plane, of_grad) = (number * height * width, number * scalar(&results[last - 2..]));
                let (windows_y, windows_x) = (y.windows(at[last - 2]), x.windows(at[last - 1]));
                let sum = Variable::new(Float::constant(0.0));
                for_each(windows_y.0, windows_y.1, u(1), |window_y| {
                    for_each(windows_x.0, windows_x.1, u(1), |window_x| {
                        let (rows, columns) = (y.covered(window_y), x.covered(window_x));
                        let inside = |at: Unsigned, covered: (Unsigned, Unsigned, Unsigned)| {
                            !at.less(covered.0) & at.less(covered.1)
                        };
                        when(inside(at[last - 2], rows) & inside(at[last - 1], columns), || {
                            let value =
                                grad.float(of_grad + window_y * scalar(&[results[last - 1]]) + window_x);
                            match &input {
                                Some(input) => {
                                    let best = largest(
                                        input,
                                        plane,
                                        width,
                                        (rows.0, rows.1),
                                        (columns.0, columns.1),
                                    );
                                    when(best.is(index), || sum.set(sum.get() + value));
                                }
                                None => sum.set(sum.get() + value / of_average(rows.2 * columns.2)),
                            }
                        });
                    });
                });
                out.set(index, sum.get());
            });
        }))
    }
}
