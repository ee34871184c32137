//! Slices that go backwards. PaddlePaddle 2.6 and 3.3 disagree about where they end: an end of -1 is in front of the first element in
//! one, and at the last in the other. So the axis is turned around first, and the slice goes forwards.

use super::{LegaliseError, Legaliser};
use crate::convert::to_wire::operators::describe;
use crate::ops::{Bounds, Operator, Slice};
use crate::wire::{OpAttr, OpDesc};

impl Legaliser<'_> {
    pub(super) fn slice(&mut self, at: usize, operator: &Operator, op: &Slice) -> Result<(), LegaliseError> {
        let axes: Vec<i32> =
            op.bounds().filter(|(_, of)| of.stride < 0).map(|(axis, _)| axis as i32).collect();
        if axes.is_empty() {
            // PaddlePaddle stores bounds in 32 bits.
            let small = |bound: &i64| (*bound).clamp(i32::MIN.into(), i32::MAX.into());
            let [starts, ends] = [&op.starts, &op.ends].map(|bounds| bounds.iter().map(small).collect());
            let slice = Slice { starts, ends, ..op.clone() };
            return self.same(at, &Operator { op: slice.into(), ..operator.clone() });
        }
        let program = self.program;
        let x = operator.inputs[0];
        let shape = program.shape(program.ty(x));
        let size = |axis: usize| shape[axis].constant().and_then(|size| usize::try_from(size).ok());
        let turned: Vec<Bounds> =
            op.bounds().map(|(axis, of)| if of.stride < 0 { around(of, size(axis)) } else { of }).collect();
        let is_whole = turned.iter().all(|of| (of.start, of.end, of.stride) == (0, i64::from(i32::MAX), 1));
        let out = self.define(at, operator.outputs[0]);
        let flipped = if is_whole { out.clone() } else { self.declare(at, "flip", program.ty(x)) };
        let flip = OpDesc::new("flip").with_input("X", [&self.name(x)]).with_output("Out", [&flipped]);
        self.push(at, flip.with_attr(OpAttr::ints("axis", axes)));
        if !is_whole {
            let slice = Slice {
                axes: op.axes.clone(),
                starts: turned.iter().map(|of| of.start).collect(),
                ends: turned.iter().map(|of| of.end).collect(),
                strides: turned.iter().map(|of| of.stride).collect(),
            };
            self.push(at, describe(&slice.into(), &[flipped], &[out], &[program.ty(x)]));
        }
        Ok(())
    }
}

/// The same elements of an axis that was turned around. Its size is known, or bounds count from the side from which they counted.
fn around(of: Bounds, size: Option<usize>) -> Bounds {
    let (step, behind_all) = (-of.stride, i64::from(i32::MAX));
    if let Some(size) = size {
        let (taken, last) = (of.of(size), size.saturating_sub(1));
        let start = (last - taken.first.min(last)) as i64;
        let end = match taken.count as i64 {
            0 => start,
            count if start + step * count >= size as i64 => behind_all,
            count => start + step * (count - 1) + 1,
        };
        return Bounds { start, end, stride: step };
    }
    // Element 0 becomes the last one, -1, and the other way around.
    let opposite = |bound: i64| (-1 - bound).clamp(i64::from(i32::MIN), behind_all);
    let end = if of.end == -1 { behind_all } else { opposite(of.end) };
    Bounds { start: opposite(of.start), end, stride: step }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements that are taken of an axis.
    fn elements(of: Bounds, size: usize) -> Vec<isize> {
        let taken = of.of(size);
        (0..taken.count as isize).map(|i| taken.first as isize + i * taken.stride).collect()
    }

    #[test]
    fn an_axis_that_was_turned_around_has_the_same_elements() {
        for size in 0..6 {
            let turned = |elements: Vec<isize>| {
                elements.into_iter().map(|i| size as isize - 1 - i).collect::<Vec<_>>()
            };
            for (start, end, stride) in (-8..8).flat_map(|start| {
                (-8..8).flat_map(move |end| (-3..0).map(move |stride| (start, end, stride)))
            }) {
                let of = Bounds { start, end, stride };
                let (wanted, is_inside) = (elements(of, size), |bound: i64| bound >= -(size as i64));
                assert_eq!(turned(elements(around(of, Some(size)), size)), wanted, "{of:?} of {size}");
                // Without the size, bounds in front of the axis are not known to be there.
                if size > 0 && is_inside(start) && is_inside(end) {
                    assert_eq!(turned(elements(around(of, None), size)), wanted, "{of:?} of {size}, unknown");
                }
            }
        }
    }
}
