//! Products of the channels of some elements of images with a block of packed filters: for filters of one element, and for tiles
//! at one point.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::correlate::{fit, most_columns};
use crate::cpu::epilogue::{InRegisters, Stored};
use crate::cpu::vector::{Element, Factor, Vector, fetch};

/// The products of neighbours, elements of images or tiles at one point, with a block of filters.
#[derive(Clone, Copy)]
pub(super) struct Product<T> {
    /// The first channel of the first neighbour.
    pub(super) from: *const T,
    /// The channels that are summed over.
    pub(super) depth: usize,
    /// For each of these channels, the filters of the block.
    pub(super) packed: *const T,
    /// What is asked for.
    pub(super) ahead: Ahead,
    /// For each neighbour, the products with the filters of the block.
    pub(super) to: *mut T,
    /// Whether the products go to memory that is in no cache, and is asked for.
    pub(super) far: bool,
    /// The distances of neighbours in `from` and in `to`.
    pub(super) distances: [usize; 2],
    /// The filters whose products are stored. The last register of a block may have others, which are not.
    pub(super) filters: usize,
    /// What is computed of the products of the block, of which these are the first channel and the first element.
    pub(super) ending: InRegisters<T>,
    pub(super) begin: [usize; 2],
}

/// What is asked for while a block is multiplied: memory that is read next, and is in no cache of the core.
#[derive(Clone, Copy)]
pub(super) enum Ahead {
    Nothing,
    /// Filters, at this distance from those of the block.
    Filters(isize),
    /// Elements, which are one behind the other, at this distance from the first neighbour.
    Elements(usize),
}

impl<T: Element> Product<T> {
    /// Computes the products of `count` neighbours with a block of `width` filters.
    ///
    /// # Safety
    /// The operands are valid; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn compute<V: Vector<Element = T>>(self, count: usize, width: usize) {
        let at_once = most_columns(count, width / V::LANES, V::REGISTERS);
        // SAFETY: the caller's.
        unsafe { self.compute_at_once::<V>(count, width, at_once) };
    }

    /// The same, with as many neighbours at once as [`most_columns`] says.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    #[inline(always)]
    pub(super) unsafe fn compute_at_once<V: Vector<Element = T>>(
        self,
        count: usize,
        width: usize,
        at_once: usize,
    ) {
        let width = width / V::LANES;
        let calls = count.div_ceil(at_once.max(1));
        // The same line again, or for each channel what becomes an equal part of it all.
        let (mut next, step) = match self.ahead {
            Ahead::Nothing => (self.packed, 0),
            Ahead::Filters(distance) => {
                (self.packed.wrapping_offset(distance), (width * V::LANES).div_ceil(calls))
            }
            Ahead::Elements(distance) => (self.from.wrapping_add(distance), at_once),
        };
        let mut done = 0;
        while done < count {
            // The last ones may be computed twice.
            let first = done.min(count - at_once);
            let [from, to] = self.distances;
            let [channel, element] = self.begin;
            let begin = [channel, element + first * to];
            let (from, to) = (self.from.wrapping_add(first * from), self.to.wrapping_add(first * to));
            // SAFETY: the caller's.
            unsafe { product::<V>(Product { from, to, begin, ..self }, at_once, width, (next, step)) };
            next = next.wrapping_add(self.depth * step);
            done += at_once;
        }
    }
}

/// Computes the products of `count` neighbours with a block of `width` registers. `next` is what is asked for, and how far apart.
///
/// # Safety
/// As for [`Product::compute`].
#[inline(always)]
unsafe fn product<V: Vector>(
    operands: Product<V::Element>,
    count: usize,
    width: usize,
    next: (*const V::Element, usize),
) {
    macro_rules! by_count {
        ($($registers:literal: $($count:literal)*;)*) => {
            match (width, count) {
                $($(
                    ($registers, $count) if const { fit($count, $registers, V::REGISTERS) } => {
                        block::<V, $count, $registers>(operands, next)
                    }
                )*)*
                _ => unreachable!("most_columns gives no other"),
            }
        };
    }
    // SAFETY: the caller's.
    unsafe {
        by_count! {
            1: 1 2 4 6 7 8 10 12 14 16 24 28;
            2: 1 2 4 6 7 8 10 12 14;
        }
    }
}

/// # Safety
/// As for [`Product::compute`].
#[inline(always)]
unsafe fn block<V: Vector, const COUNT: usize, const WIDTH: usize>(
    operands: Product<V::Element>,
    (mut next, step): (*const V::Element, usize),
) {
    let Product { from, depth, packed, to, far, distances, filters, ending, begin, .. } = operands;
    let [distance, to_distance] = distances;
    let width = WIDTH * V::LANES;
    // SAFETY: the caller's.
    unsafe {
        if far {
            for at in 0..COUNT {
                for w in 0..WIDTH {
                    fetch(to.wrapping_add(at * to_distance + w * V::LANES));
                }
            }
        }
        let mut sums = [[V::splat(V::Element::ZERO); WIDTH]; COUNT];
        let (mut weights, mut from) = (packed, from);
        for _ in 0..depth {
            let mut weight = [V::splat(V::Element::ZERO); WIDTH];
            for (w, weight) in weight.iter_mut().enumerate() {
                *weight = V::load(weights.add(w * V::LANES));
            }
            fetch(next);
            next = next.wrapping_add(step);
            for (at, sums) in sums.iter_mut().enumerate() {
                let value = V::splat(*from.add(at * distance));
                for (weight, sum) in weight.iter().zip(sums) {
                    *sum = value.mul_add(*weight, *sum);
                }
            }
            weights = weights.add(width);
            from = from.add(1);
        }
        let [channel, element] = begin;
        let endings = ending.load_all::<V, WIDTH>(channel, filters);
        let apart = to_distance;
        endings.store(sums, Stored { to, apart, element, elements_apart: apart });
    }
}
