//! `slice`, `strided_slice`, their gradient, and `pad`.

use std::marker::PhantomData;

use paddle_core::ops::{Bounds, Number, Pad, Slice, SliceGrad, Taken};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::{Constant, Element};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::cpu::view::{MOST_AXES, View};

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;

/// A part of a value.
struct Part {
    /// The shape of the value.
    whole: Vec<Extent>,
    /// The shape of the part.
    part: Vec<Extent>,
    /// The bounds of the part along some axes.
    bounds: Vec<(usize, Bounds)>,
}

/// An axis in a launch.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    taken: Taken,
}

impl Axis {
    /// This axis and the next inner one as one axis, if the elements that are taken are a stretch of it.
    fn with(self, inner: Axis) -> Option<Axis> {
        let all = inner.taken.first == 0 && inner.taken.stride == 1 && inner.taken.count == inner.size;
        let Taken { first, count, stride } = self.taken;
        (all && stride == 1).then(|| Axis {
            size: self.size * inner.size,
            taken: Taken { first: first * inner.size, count: count * inner.size, stride },
        })
    }
}

impl Part {
    /// The elements that are taken along each axis. Neighbouring axes are one where they can be, so that stretches of memory are
    /// long. Returns the number of axes that are left, too.
    fn axes(&self, sizes: &[usize]) -> ([Axis; MOST_AXES], usize) {
        let mut axes = [Axis { size: 0, taken: Taken::all(0) }; MOST_AXES];
        for (axis, extent) in axes.iter_mut().zip(&self.whole) {
            let size = extent.get(sizes);
            *axis = Axis { size, taken: Taken::all(size) };
        }
        for &(at, bounds) in &self.bounds {
            let axis = &mut axes[at];
            axis.taken = bounds.of(axis.size);
            assert_eq!(axis.taken.count, self.part[at].get(sizes), "bounds that are inside");
        }
        let mut left = 0_usize;
        for at in 0..self.whole.len() {
            match left.checked_sub(1).and_then(|outer| axes[outer].with(axes[at])) {
                Some(both) => axes[left - 1] = both,
                None => {
                    axes[left] = axes[at];
                    left += 1;
                }
            }
        }
        (axes, left)
    }
}

struct Take<T> {
    part: Part,
    element: PhantomData<T>,
}

impl Compile for Slice {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        if x.1.shape.len() > MOST_AXES {
            return single.refuse("of so many axes");
        }
        let part =
            Part { whole: x.1.shape.clone(), part: out.1.shape.clone(), bounds: self.bounds().collect() };
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Take::<T> { part, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Element> Body for Take<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (axes, left) = self.part.axes(operands.sizes());
        let axes = &axes[..left];
        let distance = |axis: usize| axes[axis + 1..].iter().map(|axis| axis.size).product::<usize>();
        let offset = axes.iter().enumerate().map(|(i, axis)| axis.taken.first * distance(i)).sum();
        let view = axes.iter().enumerate().fold(View::at(offset), |view, (i, axis)| {
            view.steps(axis.taken.count, axis.taken.stride * distance(i) as isize)
        });
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        pieces(&machine.team, out, PIECE, &|index, out| view.copy(x, index * PIECE, out));
        Ok(())
    }
}

/// Writes a value to the place of a part, and one number around it.
struct Put<T> {
    part: Part,
    around: T,
}

impl Compile for SliceGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile_put(single, 1, self.0.bounds().collect(), Number::Float(0.0))
    }
}

impl Compile for Pad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let sides = self.paddings.as_chunks::<2>().0.iter().enumerate();
        let inside = |&[before, behind]: &[i64; 2]| Bounds {
            start: before,
            end: if behind == 0 { i64::MAX } else { -behind },
            stride: 1,
        };
        let bounds = sides.map(|(axis, sides)| (axis, inside(sides))).collect();
        compile_put(single, 0, bounds, Number::Float(self.pad_value))
    }
}

fn compile_put(
    single: &Single<'_>,
    input: usize,
    bounds: Vec<(usize, Bounds)>,
    around: Number,
) -> Result<Compiled, Unsupported> {
    let (part, out) = (single.input(input)?, single.output(0)?);
    if out.1.shape.len() > MOST_AXES || out.1.shape.is_empty() {
        return single.refuse("of so many axes");
    }
    let whole = Part { whole: out.1.shape.clone(), part: part.1.shape.clone(), bounds };
    let body: Box<dyn Body> = with_element!(out.1.dtype, T => {
        Box::new(Put::<T> { part: whole, around: T::constant(around) })
    });
    Ok((single.signature([part], [out]), body))
}

impl<T: Element> Body for Put<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (axes, left) = self.part.axes(operands.sizes());
        let [outer @ .., last] = &axes[..left] else { return Ok(()) };
        let (reads, writes) = operands.split();
        let (part, out) = (reads.get::<T>(0), writes.one::<T>());
        let (size, width) = (last.size.max(1), last.taken.count);
        let rows = (PIECE / size).max(1);
        pieces(&machine.team, out, rows * size, &|index, out| {
            for (i, out) in out.chunks_exact_mut(size).enumerate() {
                out.fill(self.around);
                // The row of the part at this place; `None` if the part is elsewhere.
                let (mut rest, mut row, mut stride) = (index * rows + i, Some(0), 1);
                for axis in outer.iter().rev() {
                    let found = axis.taken.find(rest % axis.size);
                    rest /= axis.size;
                    row = row.zip(found).map(|(row, found)| row + found * stride);
                    stride *= axis.taken.count;
                }
                let Some(row) = row else { continue };
                let part = &part[row * width..][..width];
                match last.taken.stride {
                    1 => out[last.taken.first..][..width].copy_from_slice(part),
                    stride => {
                        for (i, part) in part.iter().enumerate() {
                            out[(last.taken.first as isize + i as isize * stride) as usize] = *part;
                        }
                    }
                }
            }
        });
        Ok(())
    }
}
