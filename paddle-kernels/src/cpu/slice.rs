//! `slice` and its gradient.

use std::marker::PhantomData;
use std::ops::Range;

use paddle_core::ops::{Slice, SliceGrad, slice_range};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::kernel::{Body, Compiled, Machine, Single, with_element};
use super::number::Element;
use super::operands::Operands;
use super::pieces::pieces;
use super::view::{MOST_AXES, View};

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;

/// A part of a value.
struct Part {
    /// The value's shape.
    whole: Vec<Extent>,
    /// The part's.
    part: Vec<Extent>,
    /// Axis, start, end.
    bounds: Vec<(usize, i64, i64)>,
}

/// An axis in a launch.
#[derive(Clone, Default)]
struct Taken {
    size: usize,
    range: Range<usize>,
}

impl Part {
    fn new(whole: &[Extent], part: &[Extent], axes: &[i64], starts: &[i64], ends: &[i64]) -> Self {
        let bounds = axes.iter().zip(starts).zip(ends);
        let bounds = bounds.map(|((&axis, &start), &end)| (axis as usize, start, end)).collect();
        Part { whole: whole.into(), part: part.into(), bounds }
    }

    /// What is taken of each axis.
    fn taken(&self, sizes: &[usize]) -> [Taken; MOST_AXES] {
        let mut axes: [Taken; MOST_AXES] = Default::default();
        for (axis, extent) in axes.iter_mut().zip(&self.whole) {
            let size = extent.get(sizes);
            *axis = Taken { size, range: 0..size };
        }
        for &(at, start, end) in &self.bounds {
            let axis = &mut axes[at];
            axis.range = slice_range(start, end, axis.size);
            assert_eq!(axis.range.len(), self.part[at].get(sizes), "bounds that are inside");
        }
        axes
    }
}

struct Take<T> {
    part: Part,
    element: PhantomData<T>,
}

pub(super) fn compile(single: &Single<'_>, op: &Slice) -> Result<Compiled, Unsupported> {
    let (x, out) = (single.input(0)?, single.output(0)?);
    if x.1.shape.len() > MOST_AXES {
        return single.refuse("of so many axes");
    }
    let part = Part::new(&x.1.shape, &out.1.shape, &op.axes, &op.starts, &op.ends);
    let body: Box<dyn Body> =
        with_element!(x.1.dtype, T => Box::new(Take::<T> { part, element: PhantomData }));
    Ok((single.signature([x], [out]), body))
}

impl<T: Element> Body for Take<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let axes = self.part.taken(operands.sizes());
        let axes = &axes[..self.part.whole.len()];
        let strides = |axis: usize| axes[axis + 1..].iter().map(|axis| axis.size).product::<usize>();
        let offset = axes.iter().enumerate().map(|(i, axis)| axis.range.start * strides(i)).sum();
        let view = axes
            .iter()
            .enumerate()
            .fold(View::at(offset), |view, (i, axis)| view.axis(axis.range.len(), strides(i)));
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        pieces(&machine.team, out, PIECE, &|index, out| view.copy(x, index * PIECE, out));
        Ok(())
    }
}

struct Put<T> {
    part: Part,
    element: PhantomData<T>,
}

pub(super) fn compile_grad(single: &Single<'_>, op: &SliceGrad) -> Result<Compiled, Unsupported> {
    let (grad, out) = (single.input(1)?, single.output(0)?);
    if out.1.shape.len() > MOST_AXES || out.1.shape.is_empty() {
        return single.refuse("of so many axes");
    }
    let part = Part::new(&out.1.shape, &grad.1.shape, &op.axes, &op.starts, &op.ends);
    let body: Box<dyn Body> =
        with_element!(out.1.dtype, T => Box::new(Put::<T> { part, element: PhantomData }));
    Ok((single.signature([grad], [out]), body))
}

impl<T: Element + Default> Body for Put<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let axes = self.part.taken(operands.sizes());
        let [outer @ .., last] = &axes[..self.part.whole.len()] else { return Ok(()) };
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(0), writes.one::<T>());
        let (size, width) = (last.size.max(1), last.range.len());
        let rows = (PIECE / size).max(1);
        pieces(&machine.team, out, rows * size, &|index, out| {
            for (i, out) in out.chunks_exact_mut(size).enumerate() {
                out.fill(T::default());
                // The row of the gradient that lies here, if one does.
                let (mut rest, mut row, mut stride, mut inside) = (index * rows + i, 0, 1, true);
                for axis in outer.iter().rev() {
                    let at = rest % axis.size;
                    rest /= axis.size;
                    inside &= axis.range.contains(&at);
                    row += at.saturating_sub(axis.range.start) * stride;
                    stride *= axis.range.len();
                }
                if inside {
                    out[last.range.clone()].copy_from_slice(&grad[row * width..][..width]);
                }
            }
        });
        Ok(())
    }
}
