//! Sums for each channel, and passes over the elements, of values whose channels are the fastest axis: each lane is a
//! channel.
//!
//! Sums are made in blocks of rows that stay in the nearest cache, so that a block's deviations are from its own mean. The
//! blocks of a part are merged in double precision in their order, and so are the parts (Chan, Golub and LeVeque, "Updating
//! Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979). The number of parts depends on the shape
//! alone.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use paddle_core::memory::OutOfMemory;

use crate::cpu::epilogue::Finish;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::pieces::{groups, pieces};
use crate::cpu::scratch::Scratch;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// The bytes of a block.
const BLOCK_BYTES: usize = 16 * 1024;
/// The most parts.
const PARTS: usize = 16;
/// The registers of channels that are computed at once.
const WIDTH: usize = 4;
/// Room for the channels of as many registers.
const MOST: usize = WIDTH * 16;
/// About so many elements are computed by one thread at a time.
const PIECE: usize = 1 << 13;

/// Rows of channels.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) channels: usize,
}

impl Rows {
    /// The rows of a block.
    fn block<T>(self) -> usize {
        (BLOCK_BYTES / (self.channels * size_of::<T>()).max(1)).clamp(8, 256)
    }

    /// The rows of each part: whole blocks.
    fn part<T>(self) -> usize {
        let blocks = self.count.div_ceil(self.block::<T>()).max(1);
        blocks.div_ceil(PARTS) * self.block::<T>()
    }

    /// The mean and the variance of each channel.
    pub(super) fn statistics<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        scratch: &Scratch<f64>,
        x: &[T],
        [mean, variance]: [&mut [T]; 2],
    ) -> Result<(), OutOfMemory> {
        assert_eq!(x.len(), self.count * self.channels);
        let (part, channels) = (self.part::<T>(), self.channels);
        let parts = self.count.div_ceil(part).max(1);
        scratch.lend(2 * parts * channels, |sums| {
            let (means, squares) = sums.split_at_mut(parts * channels);
            groups(team, [means, squares], channels, &|index, [means, squares]| {
                let rows = index * part..self.count.min((index + 1) * part);
                on_registers(isa, Statistics { of: self, x, rows, means, squares });
            });
            let mut count = 0;
            let (first_means, means) = means.split_at_mut(channels);
            let (first_squares, squares) = squares.split_at_mut(channels);
            for index in 0..parts {
                let rows = self.count.min((index + 1) * part) - index * part;
                if index > 0 {
                    let at = (index - 1) * channels..index * channels;
                    for ((mean, squares), (of_part, squares_of_part)) in first_means
                        .iter_mut()
                        .zip(&mut *first_squares)
                        .zip(means[at.clone()].iter().zip(&squares[at]))
                    {
                        merge((mean, squares), count, (*of_part, *squares_of_part), rows);
                    }
                }
                count += rows;
            }
            let results = mean.iter_mut().zip(variance);
            for ((mean, variance), (of_mean, squares)) in results.zip(first_means.iter().zip(first_squares)) {
                *mean = T::of(*of_mean);
                *variance = T::of(*squares / count.max(1) as f64);
            }
        })
    }

    /// The sums, over the rows, of the gradient and of the gradient times the deviation from the mean.
    pub(super) fn gradient_sums<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        scratch: &Scratch<f64>,
        [x, grad, mean]: [&[T]; 3],
        [of_bias, of_scale]: [&mut [T]; 2],
    ) -> Result<(), OutOfMemory> {
        assert!(
            x.len() == self.count * self.channels && grad.len() == x.len() && mean.len() == self.channels
        );
        let (part, channels) = (self.part::<T>(), self.channels);
        let parts = self.count.div_ceil(part).max(1);
        scratch.lend(2 * parts * channels, |sums| {
            let (biases, scales) = sums.split_at_mut(parts * channels);
            groups(team, [&mut *biases, &mut *scales], channels, &|index, [biases, scales]| {
                let rows = index * part..self.count.min((index + 1) * part);
                on_registers(isa, GradientSums { of: self, x, grad, mean, rows, biases, scales });
            });
            for (results, sums) in [(of_bias, biases), (of_scale, scales)] {
                for (channel, result) in results.iter_mut().enumerate() {
                    *result = T::of(sums[channel..].iter().step_by(channels).sum::<f64>());
                }
            }
        })
    }

    /// `(x - mean) · factor + bias` for each element.
    pub(super) fn normalise<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        x: &[T],
        channels: [&[T]; 3],
        (out, finish): (&mut [T], Finish<'_>),
    ) {
        self.check(&[x], &channels, out);
        let piece = self.piece();
        pieces(team, out, piece, &|index, out| {
            let x = &x[index * piece..][..out.len()];
            on_registers(isa, Normalise { channels: self.channels, x, of: channels, out: &mut *out });
            finish.piece(out, index * piece);
        });
    }

    /// `(grad - (bias + (x - mean) · scale)) · factor` for each element.
    pub(super) fn gradients<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        [x, grad]: [&[T]; 2],
        channels: [&[T]; 4],
        out: &mut [T],
    ) {
        self.check(&[x, grad], &channels, out);
        let piece = self.piece();
        pieces(team, out, piece, &|index, out| {
            let [x, grad] = [x, grad].map(|operand| &operand[index * piece..][..out.len()]);
            on_registers(isa, Gradients { channels: self.channels, x, grad, of: channels, out });
        });
    }

    /// Panics unless operands have the elements, and values for each channel.
    fn check<T>(self, operands: &[&[T]], channels: &[&[T]], out: &[T]) {
        let elements = self.count * self.channels;
        assert!(operands.iter().all(|operand| operand.len() == elements) && out.len() == elements);
        assert!(channels.iter().all(|values| values.len() == self.channels));
    }

    /// The elements of whole rows that a thread computes at a time.
    fn piece(self) -> usize {
        PIECE.div_ceil(self.channels.max(1)) * self.channels
    }
}

/// Merges the mean and the sum of squared deviations of `more` terms into those of `count` terms.
fn merge(
    (mean, squares): (&mut f64, &mut f64),
    count: usize,
    (of_mean, of_squares): (f64, f64),
    more: usize,
) {
    let (count, more) = (count as f64, more as f64);
    if more == 0.0 {
        return;
    }
    let apart = of_mean - *mean;
    *mean += apart * (more / (count + more));
    *squares += of_squares + apart * apart * (count * more / (count + more));
}

/// The means and the sums of squared deviations of some rows.
struct Statistics<'a, T> {
    of: Rows,
    x: &'a [T],
    rows: Range<usize>,
    means: &'a mut [f64],
    squares: &'a mut [f64],
}

impl<T: Float> Work<T> for Statistics<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let (channels, at_once) = (self.of.channels, WIDTH * V::LANES);
        self.means.fill(0.0);
        self.squares.fill(0.0);
        let mut done = 0;
        let mut first = self.rows.start;
        while first < self.rows.end {
            let count = self.of.block::<T>().min(self.rows.end - first);
            for channel in (0..channels).step_by(at_once) {
                let width = at_once.min(channels - channel);
                let (mut means, mut squares) = ([T::ZERO; MOST], [T::ZERO; MOST]);
                // SAFETY: the block is inside of `x`; the machine has the instruction set of `V`.
                unsafe {
                    let from = self.x.as_ptr().add(first * channels + channel);
                    let block = Block { from, distance: channels, count, width };
                    block.statistics::<V>(&mut means, &mut squares);
                }
                let own =
                    self.means[channel..][..width].iter_mut().zip(&mut self.squares[channel..][..width]);
                for ((mean, squares), (of_mean, of_squares)) in own.zip(means.iter().zip(&squares)) {
                    merge((mean, squares), done, (of_mean.double(), of_squares.double()), count);
                }
            }
            (done, first) = (done + count, first + count);
        }
    }
}

/// Neighbouring channels of some rows.
#[derive(Clone, Copy)]
struct Block<T> {
    from: *const T,
    /// The distance of neighbouring rows.
    distance: usize,
    count: usize,
    /// The number of channels, which is that of the lanes of at most [`WIDTH`] registers.
    width: usize,
}

impl<T: Float> Block<T> {
    /// The channels of a row, by registers. Lanes without a channel are zero.
    ///
    /// # Safety
    /// The block has the row; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn row<V: Vector<Element = T>>(self, row: usize) -> [V; WIDTH] {
        // SAFETY: the caller's.
        unsafe { load::<V>(self.from.add(row * self.distance), self.width) }
    }

    /// The means, and the sums of squared deviations from them.
    ///
    /// # Safety
    /// The block is valid; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn statistics<V: Vector<Element = T>>(self, means: &mut [T; MOST], squares: &mut [T; MOST]) {
        // SAFETY: the caller's; there is room for as many registers.
        unsafe {
            let mut sums = [V::splat(T::ZERO); WIDTH];
            for row in 0..self.count {
                let x = self.row::<V>(row);
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum = sum.add(x);
                }
            }
            let count = V::splat(T::of(self.count as f64));
            let mut mean = sums;
            for mean in &mut mean {
                *mean = mean.div(count);
            }
            let mut sums = [V::splat(T::ZERO); WIDTH];
            for row in 0..self.count {
                let x = self.row::<V>(row);
                for ((sum, x), mean) in sums.iter_mut().zip(x).zip(mean) {
                    let apart = x.sub(mean);
                    *sum = apart.mul_add(apart, *sum);
                }
            }
            for w in 0..WIDTH {
                mean[w].store(means.as_mut_ptr().add(w * V::LANES));
                sums[w].store(squares.as_mut_ptr().add(w * V::LANES));
            }
        }
    }
}

/// Loads `width` elements, at most those of [`WIDTH`] registers. The lanes behind them are zero.
///
/// # Safety
/// They are valid; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn load<V: Vector>(from: *const V::Element, width: usize) -> [V; WIDTH] {
    // SAFETY: the caller's.
    unsafe {
        let mut all = [V::splat(0.into()); WIDTH];
        for (w, register) in all.iter_mut().enumerate() {
            if width >= (w + 1) * V::LANES {
                *register = V::load(from.add(w * V::LANES));
            } else if width > w * V::LANES {
                *register = V::load_partial(from.add(w * V::LANES), width - w * V::LANES);
            }
        }
        all
    }
}

/// Stores `width` elements, at most those of [`WIDTH`] registers.
///
/// # Safety
/// They are valid; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn store<V: Vector>(all: [V; WIDTH], to: *mut V::Element, width: usize) {
    // SAFETY: the caller's.
    unsafe {
        for (w, register) in all.into_iter().enumerate() {
            if width >= (w + 1) * V::LANES {
                register.store(to.add(w * V::LANES));
            } else if width > w * V::LANES {
                register.store_partial(to.add(w * V::LANES), width - w * V::LANES);
            }
        }
    }
}

/// The sums of gradients, and of gradients times deviations, over some rows.
struct GradientSums<'a, T> {
    of: Rows,
    x: &'a [T],
    grad: &'a [T],
    mean: &'a [T],
    rows: Range<usize>,
    biases: &'a mut [f64],
    scales: &'a mut [f64],
}

impl<T: Float> Work<T> for GradientSums<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let (channels, at_once) = (self.of.channels, WIDTH * V::LANES);
        self.biases.fill(0.0);
        self.scales.fill(0.0);
        let mut first = self.rows.start;
        while first < self.rows.end {
            let count = self.of.block::<T>().min(self.rows.end - first);
            for channel in (0..channels).step_by(at_once) {
                let width = at_once.min(channels - channel);
                let (mut biases, mut scales) = ([T::ZERO; MOST], [T::ZERO; MOST]);
                // SAFETY: the block is inside of `x` and `grad`; the machine has the instruction set of `V`.
                unsafe {
                    let mean = load::<V>(self.mean.as_ptr().add(channel), width);
                    let mut sums = [[V::splat(T::ZERO); 2]; WIDTH];
                    let at = first * channels + channel;
                    let (mut x, mut grad) = (self.x.as_ptr().add(at), self.grad.as_ptr().add(at));
                    for _ in 0..count {
                        let (xs, grads) = (load::<V>(x, width), load::<V>(grad, width));
                        for w in 0..WIDTH {
                            sums[w][0] = sums[w][0].add(grads[w]);
                            sums[w][1] = grads[w].mul_add(xs[w].sub(mean[w]), sums[w][1]);
                        }
                        (x, grad) = (x.wrapping_add(channels), grad.wrapping_add(channels));
                    }
                    for (w, [bias, scale]) in sums.into_iter().enumerate() {
                        bias.store(biases.as_mut_ptr().add(w * V::LANES));
                        scale.store(scales.as_mut_ptr().add(w * V::LANES));
                    }
                }
                for (sums, terms) in [(&mut *self.biases, &biases), (&mut *self.scales, &scales)] {
                    for (sum, term) in sums[channel..][..width].iter_mut().zip(terms) {
                        *sum += term.double();
                    }
                }
            }
            first += count;
        }
    }
}

struct Normalise<'a, T> {
    channels: usize,
    x: &'a [T],
    /// Mean, factor and bias.
    of: [&'a [T]; 3],
    out: &'a mut [T],
}

impl<T: Float> Work<T> for Normalise<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let at_once = WIDTH * V::LANES;
        for channel in (0..self.channels).step_by(at_once) {
            let width = at_once.min(self.channels - channel);
            // SAFETY: the operands have whole rows, and values for each channel; the machine has the instruction set of `V`.
            unsafe {
                let mean = load::<V>(self.of[0].as_ptr().add(channel), width);
                let factor = load::<V>(self.of[1].as_ptr().add(channel), width);
                let bias = load::<V>(self.of[2].as_ptr().add(channel), width);
                for at in (channel..self.out.len()).step_by(self.channels) {
                    let mut x = load::<V>(self.x.as_ptr().add(at), width);
                    for w in 0..WIDTH {
                        x[w] = x[w].sub(mean[w]).mul_add(factor[w], bias[w]);
                    }
                    store::<V>(x, self.out.as_mut_ptr().add(at), width);
                }
            }
        }
    }
}

struct Gradients<'a, T> {
    channels: usize,
    x: &'a [T],
    grad: &'a [T],
    /// Mean, bias, scale and factor.
    of: [&'a [T]; 4],
    out: &'a mut [T],
}

impl<T: Float> Work<T> for Gradients<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let at_once = WIDTH * V::LANES;
        for channel in (0..self.channels).step_by(at_once) {
            let width = at_once.min(self.channels - channel);
            // SAFETY: the operands have whole rows, and values for each channel; the machine has the instruction set of `V`.
            unsafe {
                let mean = load::<V>(self.of[0].as_ptr().add(channel), width);
                let bias = load::<V>(self.of[1].as_ptr().add(channel), width);
                let scale = load::<V>(self.of[2].as_ptr().add(channel), width);
                let factor = load::<V>(self.of[3].as_ptr().add(channel), width);
                for at in (channel..self.out.len()).step_by(self.channels) {
                    let x = load::<V>(self.x.as_ptr().add(at), width);
                    let mut grad = load::<V>(self.grad.as_ptr().add(at), width);
                    for w in 0..WIDTH {
                        let share = x[w].sub(mean[w]).mul_add(scale[w], bias[w]);
                        grad[w] = grad[w].sub(share).mul(factor[w]);
                    }
                    store::<V>(grad, self.out.as_mut_ptr().add(at), width);
                }
            }
        }
    }
}
