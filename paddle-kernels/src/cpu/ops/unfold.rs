//! `unfold` and its gradient. Threads share the lines of the result, one for each channel and element of a window; and for
//! the gradient the channels, each of which is a sum of lines, in their order.

use std::marker::PhantomData;
use std::ops::Range;

use paddle_core::ops::{Unfold, UnfoldGrad, Window};
use paddle_core::plan::{Extent, KernelError, OperandType, Unsupported};

use super::Compile;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// Elements that one thread writes at a time, at least.
const PIECE: usize = 1 << 13;

/// Windows along one axis of images.
#[derive(Clone, Copy)]
struct Axis {
    /// Elements of the image.
    size: usize,
    windows: usize,
    /// Elements of a window.
    taps: usize,
    stride: usize,
    dilation: usize,
    /// Zeros before the image.
    before: usize,
}

/// Where an element of the windows is inside of the image.
struct Inside {
    windows: Range<usize>,
    /// The element of the image that it is in the first of them.
    first: usize,
}

impl Axis {
    fn new(window: Window, axis: usize, size: usize) -> Axis {
        let [before, _] = window.around(axis, size);
        let steps = (size as i64 - window.covered(axis, 1)) / window.stride[axis];
        let [taps, stride, dilation] =
            [window.size, window.stride, window.dilation].map(|numbers| numbers[axis] as usize);
        Axis { size, windows: steps as usize + 1, taps, stride, dilation, before }
    }

    #[inline(always)]
    fn inside(self, tap: usize) -> Inside {
        let at = tap * self.dilation;
        let first_at = |place: usize| place.saturating_sub(at).div_ceil(self.stride).min(self.windows);
        let windows = first_at(self.before)..first_at(self.before + self.size);
        Inside { first: (windows.start * self.stride + at).saturating_sub(self.before), windows }
    }
}

/// Windows along height and width.
#[derive(Clone, Copy)]
struct Windows([Axis; 2]);

impl Windows {
    /// The elements of an image.
    fn image(self) -> usize {
        self.0.iter().map(|axis| axis.size).product()
    }

    fn count(self) -> usize {
        self.0.iter().map(|axis| axis.windows).product()
    }

    /// The elements of a window.
    fn taps(self) -> usize {
        self.0.iter().map(|axis| axis.taps).product()
    }

    /// Where element `tap` of the windows is, along both axes.
    #[inline(always)]
    fn inside(self, tap: usize) -> [Inside; 2] {
        let [down, across] = self.0;
        [down.inside(tap / across.taps), across.inside(tap % across.taps)]
    }
}

/// An unfolding that is compiled.
#[derive(Clone, Copy)]
struct Shape {
    window: Window,
    image: [Extent; 2],
}

impl Shape {
    fn new(single: &Single<'_>, op: &Unfold, images: &OperandType) -> Result<Shape, Unsupported> {
        match images.shape[..] {
            [_, _, height, width] => Ok(Shape { window: op.window(), image: [height, width] }),
            _ => single.refuse("of values that are not images"),
        }
    }

    fn windows(self, sizes: &[usize]) -> Windows {
        Windows([0, 1].map(|axis| Axis::new(self.window, axis, self.image[axis].get(sizes))))
    }
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Unfold {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let shape = Shape::new(single, self, &x.1)?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Forward::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let windows = self.shape.windows(operands.sizes());
        let (image, count, taps) = (windows.image(), windows.count(), windows.taps());
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        assert_eq!(x.len() * taps * count, out.len() * image, "as many channels");
        let lines = PIECE.div_ceil(count);
        pieces(&machine.team, out, lines * count, &|index, out| {
            for (line, out) in (index * lines..).zip(out.chunks_exact_mut(count)) {
                copy(windows, line % taps, &x[line / taps * image..][..image], out);
            }
        });
        Ok(())
    }
}

/// Element `tap` of each window of an image.
fn copy<T: Float>(windows: Windows, tap: usize, image: &[T], out: &mut [T]) {
    let ([down, across], [rows, columns]) = (windows.0, windows.inside(tap));
    for (y, out) in out.chunks_exact_mut(across.windows).enumerate() {
        if !rows.windows.contains(&y) || columns.windows.is_empty() {
            out.fill(T::ZERO);
            continue;
        }
        out[..columns.windows.start].fill(T::ZERO);
        out[columns.windows.end..].fill(T::ZERO);
        let out = &mut out[columns.windows.clone()];
        let row = rows.first + (y - rows.windows.start) * down.stride;
        let line = &image[row * across.size..][columns.first..across.size];
        if across.stride == 1 {
            out.copy_from_slice(&line[..out.len()]);
        } else {
            for (out, x) in out.iter_mut().zip(line.iter().step_by(across.stride)) {
                *out = *x;
            }
        }
    }
}

struct Backward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for UnfoldGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (grad, out) = (single.input(1)?, single.output(0)?);
        let shape = Shape::new(single, &self.0, &out.1)?;
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { shape, element: PhantomData }));
        Ok((single.signature([grad], [out]), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let windows = self.shape.windows(operands.sizes());
        let (image, covered) = (windows.image(), windows.taps() * windows.count());
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(0), writes.one::<T>());
        assert_eq!(out.len() * covered, grad.len() * image, "as many channels");
        let channels = PIECE.div_ceil(image.max(1));
        pieces(&machine.team, out, channels * image, &|index, out| {
            for (channel, out) in (index * channels..).zip(out.chunks_exact_mut(image.max(1))) {
                sum(machine.isa, windows, &grad[channel * covered..][..covered], out);
            }
        });
        Ok(())
    }
}

dispatch! {
    /// Adds what each window has to where it is in the image.
    fn sum<const FUSED: bool, T: Float>(isa, windows: Windows, grad: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        let [down, across] = windows.0;
        for (tap, grad) in grad.chunks_exact(windows.count()).enumerate() {
            let [rows, columns] = windows.inside(tap);
            if columns.windows.is_empty() {
                continue;
            }
            for (at, y) in rows.windows.enumerate() {
                let grad = &grad[y * across.windows..][columns.windows.clone()];
                let row = rows.first + at * down.stride;
                let line = &mut out[row * across.size..][columns.first..across.size];
                if across.stride == 1 {
                    for (out, grad) in line.iter_mut().zip(grad) {
                        *out += *grad;
                    }
                } else {
                    for (out, grad) in line.iter_mut().step_by(across.stride).zip(grad) {
                        *out += *grad;
                    }
                }
            }
        }
    }
}
