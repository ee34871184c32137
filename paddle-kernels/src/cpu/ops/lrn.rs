//! `lrn` and its gradient. Threads share the elements.
//!
//! The channels of a row are `inner` elements apart, whatever the layout. So the sums over the channels around some elements
//! are sums of runs of neighbours in memory, a run for each channel, from the first to the last.

use std::marker::PhantomData;
use std::ops::Range;

use paddle_core::ops::{Lrn, LrnGrad, Real};
use paddle_core::plan::{KernelError, OperandType, Unsupported};

use super::Compile;
use crate::cpu::along_axis::Along;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces};

/// Elements that one thread normalises at a time: their neighbours in several channels stay in the first-level cache.
const PIECE: usize = 1 << 11;

/// A normalisation that is compiled.
struct Shape {
    op: Lrn,
    along: Along,
}

impl Shape {
    fn new(single: &Single<'_>, op: &Lrn, images: &OperandType) -> Result<Shape, Unsupported> {
        match Along::new(&images.shape, op.data_format.channels() as i64) {
            Some(along) => Ok(Shape { op: *op, along }),
            None => single.refuse("of values that are not images"),
        }
    }

    fn channels<T: Float>(&self, sizes: &[usize]) -> Channels<T> {
        let sizes = self.along.sizes(sizes);
        let half = (self.op.n / 2) as usize;
        Channels {
            row: sizes.along * sizes.behind,
            inner: sizes.behind,
            half: half.min(sizes.along),
            k: T::of(self.op.k),
            alpha: T::of(self.op.alpha),
            beta: T::of(self.op.beta),
        }
    }
}

/// The same in a launch.
#[derive(Clone, Copy)]
struct Channels<T> {
    /// The elements of all channels of a row.
    row: usize,
    /// How far a channel is from the next.
    inner: usize,
    /// The channels on either side.
    half: usize,
    k: T,
    alpha: T,
    beta: T,
}

impl<T: Float> Channels<T> {
    /// Sums for the elements from `first` on: `add(sums, elements)` adds a term of each of these elements, which are in one
    /// channel around those of the sums.
    #[inline(always)]
    fn around(self, first: usize, sums: &mut [T], add: impl Fn(&mut [T], Range<usize>)) {
        sums.fill(T::ZERO);
        let back = self.half * self.inner;
        let mut done = 0;
        while done < sums.len() {
            // Elements of one row.
            let at = (first + done) % self.row;
            let end = self.row.min(at + sums.len() - done);
            let row = first + done - at;
            for channel in 0..=2 * self.half {
                let ahead = channel * self.inner;
                let inside = |place: usize| place.saturating_sub(ahead).clamp(at, end);
                let (from, to) = (inside(back), inside(self.row + back));
                if from < to {
                    let elements = row + from + ahead - back..row + to + ahead - back;
                    add(&mut sums[done + from - at..done + to - at], elements);
                }
            }
            done += end - at;
        }
    }

    #[inline(always)]
    fn factor<const FUSED: bool>(self, mid: T) -> T {
        T::plain(mid.fast::<FUSED>().pow((-self.beta).fast::<FUSED>()))
    }
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Lrn {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out, mid) = (single.input(0)?, single.output(0)?, single.output(1)?);
        let shape = Shape::new(single, self, &x.1)?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Forward::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out, mid]), body))
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let channels = self.shape.channels::<T>(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, (out, mid)) = (reads.get::<T>(0), writes.two::<T, T>());
        assert!(x.len() == out.len() && x.len() == mid.len(), "results of the same shape");
        pairs(&machine.team, (out, PIECE), (mid, PIECE), &|index, out, mid| {
            forward(machine.isa, channels, index * PIECE, x, out, mid);
        });
        Ok(())
    }
}

dispatch! {
    /// The elements from `first` on.
    fn forward<const FUSED: bool, T: Float>(
        isa, channels: Channels<T>, first: usize, x: &[T], out: &mut [T], mid: &mut [T],
    ) {
        channels.around(first, mid, |sums, elements| {
            for (sum, x) in sums.iter_mut().zip(&x[elements]) {
                *sum += *x * *x;
            }
        });
        for ((out, mid), x) in out.iter_mut().zip(mid).zip(&x[first..]) {
            *mid = channels.k + channels.alpha * *mid;
            *out = *x * channels.factor::<FUSED>(*mid);
        }
    }
}

struct Backward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for LrnGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let [x, out, mid, grad] = [0, 1, 2, 3].map(|k| single.input(k));
        let (x, of_x) = (x?, single.output(0)?);
        let shape = Shape::new(single, &self.0, &x.1)?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { shape, element: PhantomData }));
        Ok((single.signature([x, out?, mid?, grad?], [of_x]), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let channels = self.shape.channels::<T>(operands.sizes());
        let (reads, writes) = operands.split();
        let read = [0, 1, 2, 3].map(|k| reads.get::<T>(k));
        let of_x = writes.one::<T>();
        assert!(read.iter().all(|values| values.len() == of_x.len()), "values of the same shape");
        pieces(&machine.team, of_x, PIECE, &|index, of_x| {
            backward(machine.isa, channels, index * PIECE, read, of_x);
        });
        Ok(())
    }
}

dispatch! {
    /// The elements from `first` on.
    fn backward<const FUSED: bool, T: Float>(
        isa, channels: Channels<T>, first: usize, read: [&[T]; 4], of_x: &mut [T],
    ) {
        let [x, out, mid, grad] = read;
        channels.around(first, of_x, |sums, elements| {
            let divided = out[elements.clone()].iter().zip(&mid[elements.clone()]);
            for ((sum, (out, mid)), grad) in sums.iter_mut().zip(divided).zip(&grad[elements]) {
                *sum += *grad * (*out / *mid);
            }
        });
        let slope = T::of(2.0) * channels.alpha * channels.beta;
        let of_own = x[first..].iter().zip(&mid[first..]).zip(&grad[first..]);
        for (of_x, ((x, mid), grad)) in of_x.iter_mut().zip(of_own) {
            *of_x = *grad * channels.factor::<FUSED>(*mid) - slope * *x * *of_x;
        }
    }
}
