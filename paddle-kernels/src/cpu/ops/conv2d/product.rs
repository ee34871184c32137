//! Products of the channels of some elements of images with a block of packed filters: for filters of one element, and for tiles
//! at one point.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::correlate::{fit, most_columns};
use crate::cpu::epilogue::InRegisters;
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
    /// The distance of the filters that are multiplied next, which are asked for; 0 if they are near.
    pub(super) ahead: isize,
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

impl<T: Element> Product<T> {
    /// Computes the products of `count` neighbours with a block of `width` filters.
    ///
    /// # Safety
    /// The operands are valid; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn compute<V: Vector<Element = T>>(self, count: usize, width: usize) {
        let width = width / V::LANES;
        let at_once = most_columns(count, width, V::REGISTERS);
        let calls = count.div_ceil(at_once.max(1));
        let (mut done, mut call) = (0, 0);
        while done < count {
            // The last ones may be computed twice.
            let first = done.min(count - at_once);
            let [from, to] = self.distances;
            let [channel, element] = self.begin;
            let begin = [channel, element + first * to];
            let (from, to) = (self.from.wrapping_add(first * from), self.to.wrapping_add(first * to));
            // SAFETY: the caller's.
            unsafe { product::<V>(Product { from, to, begin, ..self }, at_once, width, [call, calls]) };
            done += at_once;
            call += 1;
        }
    }
}

/// Computes the products of `count` neighbours with a block of `width` registers. Each of the calls for the block asks for an equal
/// part of the filters that are next.
///
/// # Safety
/// As for [`Product::compute`].
#[inline(always)]
unsafe fn product<V: Vector>(operands: Product<V::Element>, count: usize, width: usize, call: [usize; 2]) {
    macro_rules! by_count {
        ($($registers:literal: $($count:literal)*;)*) => {
            match (width, count) {
                $($(
                    ($registers, $count) if const { fit($count, $registers, V::REGISTERS) } => {
                        block::<V, $count, $registers>(operands, call)
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
    [call, calls]: [usize; 2],
) {
    let Product { from, depth, packed, ahead, to, far, distances, filters, ending, begin } = operands;
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
        // A line for each channel, or the same one again.
        let step = if ahead == 0 { 0 } else { width.div_ceil(calls) };
        let mut next = packed.wrapping_offset(ahead).wrapping_add(call * depth * step);
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
        let mut endings = [ending.load::<V>(begin[0], filters); WIDTH];
        for (w, of_channels) in endings.iter_mut().enumerate().skip(1) {
            *of_channels = ending.load(begin[0] + w * V::LANES, filters - w * V::LANES);
        }
        for (at, sums) in sums.iter().enumerate() {
            for (w, sum) in sums.iter().enumerate() {
                let place = at * to_distance + w * V::LANES;
                let (to, filters) = (to.add(place), filters - w * V::LANES);
                let sum = endings[w].of(*sum, begin[1] + place);
                if filters >= V::LANES { sum.store(to) } else { sum.store_partial(to, filters) }
            }
        }
    }
}
