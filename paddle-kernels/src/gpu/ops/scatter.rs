//! `scatter`, `scatter_nd_add`, and the gradient of `gather`: parts that are put to given places. The places are sorted, so that a
//! thread finds all parts for its place next to each other, in their order.

use paddle_core::ops::{GatherGrad, Scatter, ScatterNdAdd};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::gather::{Positions, check};
use super::{Compile, add};
use crate::gpu::form::{Float, Unsigned, Variable, each, for_each, scalar, when};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sort::{bits_below, first_that, sort};
use crate::gpu::tensor::Call;

impl Compile for GatherGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.last() == Some(&DType::F32)
    }

    /// The indices are sorted. If rows have indices of their own, those of a row follow each other among equal ones.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let axis = self.0.axis as usize;
        let [x, numbers, grad] = [0, 1, 2].map(|k| call.shape(k).to_vec());
        let zeroed = check(&call, x[axis]).stage(Grid::Items(x.clone()), || {
            let out = call.output(0);
            each(out.elements(), |index| out.clear(index));
        });
        let index = |at: Unsigned| call.input(1).load(at).long().low;
        let (kernel, sorted) = sort(zeroed, call.group, &numbers, bits_below(&x[axis..=axis]), &index);
        // If both have rows, these are one axis of the result.
        let rows = x.len() + numbers.len() - 1 - grad.len();
        let places = numbers.len() - rows;
        let others = [&x[rows..axis], &x[axis + 1..]].concat();
        Ok(kernel.stage(Grid::Items([&numbers[..], &others].concat()), || {
            let (from, out) = (call.input(2), call.output(0));
            let of_row = scalar(&numbers[rows..]);
            let row = |at: Unsigned| match rows {
                0 => Unsigned::of(0),
                _ => sorted.place(at) / of_row,
            };
            each(scalar(&numbers) * scalar(&others), |item| {
                let width = scalar(&others);
                let at = item / width;
                let other = position(item - at * width, &others);
                let (before, behind) = other.split_at(axis - rows);
                let (number, own) = (sorted.number(at), row(at));
                let previous = at - at.greater(Unsigned::of(0)).to_unsigned();
                let is_first = sorted.is_new(at) | row(previous).is_not(own);
                when(is_first & number.less(scalar(&x[axis..=axis])), || {
                    let end = first_that(scalar(&numbers), |at| {
                        let found = sorted.number(at);
                        found.greater(number) | (found.is(number) & row(at).greater(own))
                    });
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(at, end, Unsigned::of(1), |at| {
                        let place = position(sorted.place(at), &numbers);
                        let source = [&place[..rows], before, &place[rows..rows + places], behind].concat();
                        sum.set(sum.get() + from.float(element(&source, &grad)));
                    });
                    let own = if rows == 0 { vec![] } else { vec![own] };
                    out.set(element(&[&own, before, &[number], behind].concat(), &x), sum.get());
                });
            });
        }))
    }
}

/// Copies `X` and replaces the parts at the places that are given: `put` gets the element of the result, and the updates for it: the
/// first one and the one behind the last in their order, the width of a part, and the element's place in it.
fn compile(
    call: Call<'_>,
    checked: Kernel,
    [count, parts, inner]: [&[Extent]; 3],
    part: &dyn Fn(Unsigned) -> Unsigned,
    put: impl Fn(Unsigned, [Unsigned; 2], &dyn Fn(Unsigned) -> Unsigned),
) -> Kernel {
    let copied = checked.stage(Grid::Items(call.shape(0).to_vec()), || {
        let (x, out) = (call.input(0), call.output(0));
        each(out.elements(), |index| out.copy(index, &x, index));
    });
    let (kernel, sorted) = sort(copied, call.group, count, bits_below(parts), part);
    kernel.stage(Grid::Items([count, inner].concat()), || {
        each(scalar(count) * scalar(inner), |item| {
            let width = scalar(inner);
            let at = item / width;
            let column = item - at * width;
            let number = sorted.number(at);
            when(sorted.is_new(at) & number.less(scalar(parts)), || {
                let end = sorted.first(number + Unsigned::of(1));
                put(number * width + column, [at, end], &|at| sorted.place(at) * width + column);
            });
        });
    })
}

impl Compile for ScatterNdAdd {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let positions = Positions::new(&call)?;
        let sizes = [&positions.count[..], &positions.axes, &positions.inner];
        let part = |at: Unsigned| positions.part(&call.input(1), at);
        Ok(compile(call, positions.check(&call), sizes, &part, |to, [first, end], update| {
            let (updates, out) = (call.input(2), call.output(0));
            for_each(first, end, Unsigned::of(1), |at| {
                out.store(to, add(out.load(to), updates.load(update(at))));
            });
        }))
    }
}

impl Compile for Scatter {
    /// The last update of a place stays.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let [x, ids] = [0, 1].map(|k| call.shape(k).to_vec());
        let part = |at: Unsigned| call.input(1).load(at).long().low;
        Ok(compile(call, check(&call, x[0]), [&ids, &x[..1], &x[1..]], &part, |to, [_, end], update| {
            call.output(0).copy(to, &call.input(2), update(end - Unsigned::of(1)));
        }))
    }
}
