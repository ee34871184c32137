//! `cumsum`: a thread for each line along the axis if it is short, and otherwise a workgroup, whose threads share the line.

use paddle_core::ops::CumSum;
use paddle_core::plan::{Extent, Unsupported};

use super::{Compile, add};
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    LANES, Unsigned, barrier, each, for_each, lane, otherwise, scalar, when, workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

/// The number of elements up to which a thread adds up a line alone.
const FEW: usize = 64;

impl Compile for CumSum {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, axis) = (call.shape(0).to_vec(), self.axis as usize);
        let (lines, behind) = ([&shape[..axis], &shape[axis + 1..]].concat(), &shape[axis + 1..]);
        let count = || scalar(&[shape[axis]]);
        // The element that is the `step`-th one of a line, in the order in which it is added up.
        let element = |line: Unsigned, step: Unsigned| {
            let width = scalar(behind);
            let block = line / width;
            let along = if self.reverse { count() - Unsigned::of(1) - step } else { step };
            (block * count() + along) * width + (line - block * width)
        };
        let is_short = matches!(shape[axis], Extent::Fixed(size) if size <= FEW);
        Ok(match is_short {
            true => Kernel::new().stage(Grid::Items(lines.clone()), || {
                each(scalar(&lines), |line| by_thread(self, call, count(), &|step| element(line, step)));
            }),
            false => Kernel::new().stage(Grid::Groups(lines.clone()), || {
                let shared = [(); 2].map(|()| SharedElements::new(call.dtype(0)));
                for_each(workgroup(), scalar(&lines), workgroups(), |line| {
                    by_workgroup(self, call, count(), &|step| element(line, step), &shared);
                });
            }),
        })
    }
}

/// Adds the elements up one by one: each sum is made of the one before it.
fn by_thread(op: &CumSum, call: Call<'_>, count: Unsigned, element: &dyn Fn(Unsigned) -> Unsigned) {
    let (x, out, u) = (call.input(0), call.output(0), Unsigned::of);
    for_each(u(0), count, u(1), |step| {
        let (at, before) = (element(step), element(step - u(1)));
        when(step.is(u(0)), || {
            out.store(at, if op.exclusive { Element::zero(x.dtype) } else { x.load(at) });
        });
        otherwise(|| out.store(at, add(out.load(before), x.load(if op.exclusive { before } else { at }))));
    });
}

/// Each thread adds up a part; behind what is before it, it adds its part up once more.
fn by_workgroup(
    op: &CumSum,
    call: Call<'_>,
    count: Unsigned,
    element: &dyn Fn(Unsigned) -> Unsigned,
    [parts, sums]: &[SharedElements; 2],
) {
    let (x, out, u, lane) = (call.input(0), call.output(0), Unsigned::of, lane());
    let share = (count + u(LANES - 1)) / u(LANES);
    let (first, end) = ((lane * share).least(count), ((lane + u(1)) * share).least(count));
    parts.set(lane, Element::zero(x.dtype));
    for_each(first, end, u(1), |step| parts.set(lane, add(parts.get(lane), x.load(element(step)))));
    barrier();
    sums.set(lane, Element::zero(x.dtype));
    for_each(u(0), lane, u(1), |other| sums.set(lane, add(sums.get(lane), parts.get(other))));
    for_each(first, end, u(1), |step| {
        let (at, before) = (element(step), sums.get(lane));
        let sum = add(before, x.load(at));
        sums.set(lane, sum);
        out.store(at, if op.exclusive { before } else { sum });
    });
    barrier();
}
