//! The transforms between elements and values at the points 0, 1, -1, 2, -2 and infinity.
//!
//! All loops are written out: a closure would be compiled without the instruction set of its caller.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::POINTS;
use crate::cpu::epilogue::{Endings, Stored};
use crate::cpu::images::Images;
use crate::cpu::vector::{Element, Factor, Vector};

/// A transform along one axis.
pub(super) trait Along<V, const FROM: usize, const TO: usize> {
    /// # Safety
    /// The machine has the instruction set of `V`.
    unsafe fn along(from: [V; FROM]) -> [V; TO];
}

/// What is transformed, column by column.
pub(super) trait Columns<V, const COUNT: usize> {
    /// # Safety
    /// The machine has the instruction set of `V`, and there are elements.
    unsafe fn column(&self, x: usize) -> [V; COUNT];
}

/// What takes the transformed elements, row by row.
pub(super) trait Rows<V, const COUNT: usize> {
    /// # Safety
    /// The machine has the instruction set of `V`, and there is room for the row.
    unsafe fn put(&self, y: usize, row: [V; COUNT]);
}

/// Transforms along both axes.
///
/// # Safety
/// As for [`Columns`] and [`Rows`].
#[inline(always)]
pub(super) unsafe fn transform<V: Vector, A: Along<V, FROM, TO>, const FROM: usize, const TO: usize>(
    from: &impl Columns<V, FROM>,
    to: &impl Rows<V, TO>,
) {
    // SAFETY: the caller's.
    unsafe {
        // Zeros would be written one by one, as all columns together have no room in registers.
        let mut columns = [const { MaybeUninit::<[V; TO]>::uninit() }; FROM];
        for (x, column) in columns.iter_mut().enumerate() {
            column.write(A::along(from.column(x)));
        }
        for y in 0..TO {
            let mut row = [V::splat(V::Element::ZERO); FROM];
            for (element, column) in row.iter_mut().zip(&columns) {
                *element = column.assume_init_ref()[y];
            }
            to.put(y, A::along(row));
        }
    }
}

/// The values of a tile's elements.
pub(super) struct Input;

impl<V: Vector> Along<V, POINTS, POINTS> for Input {
    #[inline(always)]
    unsafe fn along([d0, d1, d2, d3, d4, d5]: [V; POINTS]) -> [V; POINTS] {
        // SAFETY: the caller's.
        unsafe {
            let (two, four) = (V::splat(2.into()), V::splat(4.into()));
            let (minus_two, minus_four) = (V::splat((-2).into()), V::splat((-4).into()));
            let minus_five = V::splat((-5).into());
            let (even, odd) = (d2.mul_add(minus_four, d4), d1.mul_add(minus_four, d3));
            let (half, twice) = (d4.sub(d2), d3.sub(d1));
            [
                d0.mul_add(four, d2.mul_add(minus_five, d4)),
                even.add(odd),
                even.sub(odd),
                twice.mul_add(two, half),
                twice.mul_add(minus_two, half),
                d1.mul_add(four, d3.mul_add(minus_five, d5)),
            ]
        }
    }
}

/// The transpose of [`Input`]: what the values at all points contribute to a tile's elements.
pub(super) struct InputGradient;

impl<V: Vector> Along<V, POINTS, POINTS> for InputGradient {
    #[inline(always)]
    unsafe fn along([p0, p1, p2, p3, p4, p5]: [V; POINTS]) -> [V; POINTS] {
        // SAFETY: the caller's.
        unsafe {
            let (two, four) = (V::splat(2.into()), V::splat(4.into()));
            let (minus_two, minus_four) = (V::splat((-2).into()), V::splat((-4).into()));
            let minus_five = V::splat((-5).into());
            let (ones, twos) = (p1.add(p2), p3.add(p4));
            let (one, two_apart) = (p1.sub(p2), p3.sub(p4));
            [
                p0.mul(four),
                p5.mul_add(four, one.mul_add(minus_four, two_apart.mul(minus_two))),
                p0.mul_add(minus_five, ones.mul_add(minus_four, V::splat(V::Element::ZERO).sub(twos))),
                p5.mul_add(minus_five, two_apart.mul_add(two, one)),
                p0.add(ones.add(twos)),
                p5,
            ]
        }
    }
}

/// The values of polynomials at all points, from their coefficients. At infinity that is the last coefficient.
pub(super) struct Spread;

impl<V: Vector, const COUNT: usize> Along<V, COUNT, POINTS> for Spread {
    #[inline(always)]
    unsafe fn along(coefficients: [V; COUNT]) -> [V; POINTS] {
        // SAFETY: the caller's.
        unsafe {
            // Sums of even and of odd powers, at 1 and at 2.
            let mut sums = [[V::splat(V::Element::ZERO); 2]; 2];
            for (power, coefficient) in coefficients.into_iter().enumerate() {
                let [one, two] = &mut sums[power % 2];
                *one = one.add(coefficient);
                *two = coefficient.mul_add(V::splat((1 << power).into()), *two);
            }
            let [[even_1, even_2], [odd_1, odd_2]] = sums;
            [
                coefficients[0],
                even_1.add(odd_1),
                even_1.sub(odd_1),
                even_2.add(odd_2),
                even_2.sub(odd_2),
                coefficients[COUNT - 1],
            ]
        }
    }
}

/// The transpose of [`Spread`]: results from values at all points.
pub(super) struct Output;

impl<V: Vector, const COUNT: usize> Along<V, POINTS, COUNT> for Output {
    #[inline(always)]
    unsafe fn along(values: [V; POINTS]) -> [V; COUNT] {
        let [at_0, at_1, at_minus_1, at_2, at_minus_2, at_infinity] = values;
        // SAFETY: the caller's.
        unsafe {
            let ones = [at_1.add(at_minus_1), at_1.sub(at_minus_1)];
            let twos = [at_2.add(at_minus_2), at_2.sub(at_minus_2)];
            let mut results = [at_0; COUNT];
            for (power, result) in results.iter_mut().enumerate() {
                *result = twos[power % 2].mul_add(V::splat((1 << power).into()), ones[power % 2]);
            }
            results[0] = results[0].add(at_0);
            results[COUNT - 1] = results[COUNT - 1].add(at_infinity);
            results
        }
    }
}

/// [`Spread`] of the elements of filters, whose values have a scale at each point.
pub(super) struct Filter;

impl<V: Vector, const COUNT: usize> Along<V, COUNT, POINTS> for Filter {
    #[inline(always)]
    unsafe fn along(elements: [V; COUNT]) -> [V; POINTS] {
        // SAFETY: the caller's.
        unsafe { scaled(Spread::along(elements)) }
    }
}

/// The transpose of [`Filter`].
pub(super) struct FilterGradient;

impl<V: Vector, const COUNT: usize> Along<V, POINTS, COUNT> for FilterGradient {
    #[inline(always)]
    unsafe fn along(values: [V; POINTS]) -> [V; COUNT] {
        // SAFETY: the caller's.
        unsafe { Output::along(scaled(values)) }
    }
}

/// Multiplies the values at each point by its scale.
///
/// # Safety
/// The machine has the instruction set of `V`.
#[inline(always)]
unsafe fn scaled<V: Vector>(mut values: [V; POINTS]) -> [V; POINTS] {
    const SHARES: [i8; POINTS] = [4, -6, -6, 24, 24, 1];
    // SAFETY: the caller's.
    unsafe {
        for (value, share) in values.iter_mut().zip(SHARES) {
            *value = value.mul(V::splat(1.into()).div(V::splat(share.into())));
        }
    }
    values
}

/// The elements of some channels in memory.
pub(super) struct Memory<T> {
    pub(super) start: *const T,
    /// The distances of neighbouring rows and columns.
    pub(super) distances: [usize; 2],
}

impl<V: Vector, const COUNT: usize> Columns<V, COUNT> for Memory<V::Element> {
    #[inline(always)]
    unsafe fn column(&self, x: usize) -> [V; COUNT] {
        // SAFETY: the caller's.
        unsafe {
            let mut column = [V::splat(V::Element::ZERO); COUNT];
            for (y, element) in column.iter_mut().enumerate() {
                *element = V::load(self.start.add(y * self.distances[0] + x * self.distances[1]));
            }
            column
        }
    }
}

/// The same, from the last element to the first.
pub(super) struct Reversed<T>(pub(super) Memory<T>);

impl<V: Vector, const COUNT: usize> Columns<V, COUNT> for Reversed<V::Element> {
    #[inline(always)]
    unsafe fn column(&self, x: usize) -> [V; COUNT] {
        // SAFETY: the caller's.
        let column: [V; COUNT] = unsafe { self.0.column(COUNT - 1 - x) };
        let mut reversed = column;
        for (y, element) in column.into_iter().enumerate() {
            reversed[COUNT - 1 - y] = element;
        }
        reversed
    }
}

/// Room for the elements of some channels.
pub(super) struct Room<V: Vector> {
    pub(super) start: *mut V::Element,
    /// The distances of neighbouring rows and columns.
    pub(super) distances: [usize; 2],
    /// The rows and columns that there are.
    pub(super) size: [usize; 2],
    /// What is computed of the elements, of which `first` is the first.
    pub(super) endings: Endings<V, 1>,
    pub(super) first: usize,
}

impl<V: Vector, const COUNT: usize> Rows<V, COUNT> for Room<V> {
    #[inline(always)]
    unsafe fn put(&self, y: usize, row: [V; COUNT]) {
        if y >= self.size[0] {
            return;
        }
        let stored = |x: usize| {
            let place = y * self.distances[0] + x * self.distances[1];
            let (to, apart, element) =
                (self.start.wrapping_add(place), self.distances[1], self.first + place);
            Stored { to, apart, element, elements_apart: apart }
        };
        // SAFETY: the caller's.
        unsafe {
            if self.size[1] >= COUNT {
                let mut results = [[row[0]]; COUNT];
                for (result, value) in results.iter_mut().zip(row) {
                    *result = [value];
                }
                return self.endings.store(results, stored(0));
            }
            for (x, value) in row.into_iter().enumerate().take(self.size[1]) {
                self.endings.store([[value]], stored(x));
            }
        }
    }
}

/// The elements of some channels of an image, to which those of a patch are added.
pub(super) struct Added<T> {
    /// The first channel of the image.
    pub(super) start: *mut T,
    /// The distances of neighbouring rows and columns.
    pub(super) distances: [usize; 2],
    /// Where in the image the patch begins.
    pub(super) first: [isize; 2],
    /// Height and width of the image.
    pub(super) size: [usize; 2],
    /// The channels that there are.
    pub(super) channels: usize,
}

impl<V: Vector, const COUNT: usize> Rows<V, COUNT> for Added<V::Element> {
    #[inline(always)]
    unsafe fn put(&self, y: usize, row: [V; COUNT]) {
        // What lies in front of the image is behind its end as an unsigned number.
        let y = self.first[0].wrapping_add_unsigned(y) as usize;
        if y >= self.size[0] {
            return;
        }
        for (x, value) in row.into_iter().enumerate() {
            let x = self.first[1].wrapping_add_unsigned(x) as usize;
            if x >= self.size[1] {
                continue;
            }
            // SAFETY: the caller's.
            unsafe {
                let to = self.start.add(y * self.distances[0] + x * self.distances[1]);
                match self.channels >= V::LANES {
                    true => V::load(to).add(value).store(to),
                    false => V::load_partial(to, self.channels).add(value).store_partial(to, self.channels),
                }
            }
        }
    }
}

/// Room for the values at all points of some channels, which are `distance` apart.
pub(super) struct Values<T> {
    pub(super) start: *mut T,
    pub(super) distance: usize,
}

impl<V: Vector> Rows<V, POINTS> for Values<V::Element> {
    #[inline(always)]
    unsafe fn put(&self, y: usize, row: [V; POINTS]) {
        for (x, value) in row.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { value.store(self.start.add((y * POINTS + x) * self.distance)) };
        }
    }
}

/// `SIZE` rows and columns of an image with zeros around it. The channels are neighbours.
pub(super) struct Patch<T, const SIZE: usize> {
    /// The first channel of the first element, which may lie outside of the image.
    start: *const T,
    /// The distances of neighbouring rows and columns.
    distances: [usize; 2],
    /// The rows and columns that lie inside of the image.
    inside: [Range<usize>; 2],
    channels: usize,
}

impl<T: Element, const SIZE: usize> Patch<T, SIZE> {
    /// The patch that begins with row and column `first` of the image `from`, for neighbouring channels.
    #[inline(always)]
    pub(super) fn new(images: Images, from: *const T, channels: usize, first: [isize; 2]) -> Self {
        let distances = [images.size[1] * images.channels, images.channels];
        let [y, x] = first;
        let start = from.wrapping_offset(y * distances[0] as isize + x * distances[1] as isize);
        let inside = |axis: usize| {
            let place = |at: isize| at.clamp(0, SIZE as isize) as usize;
            place(-first[axis])..place(images.size[axis] as isize - first[axis])
        };
        Patch { start, distances, inside: [inside(0), inside(1)], channels }
    }

    /// Computes the values at all points. Those at neighbouring points are `distance` apart; channels are rounded up to whole
    /// registers.
    ///
    /// # Safety
    /// The image is valid, and `to` has room for the values; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn values<V: Vector<Element = T>, A: Along<V, SIZE, POINTS>>(
        &self,
        to: *mut T,
        distance: usize,
    ) {
        let is_inside = self.inside.iter().all(|inside| inside.len() == SIZE);
        for channel in (0..self.channels).step_by(V::LANES) {
            let (start, channels) = (self.start.wrapping_add(channel), self.channels - channel);
            // SAFETY: the caller's.
            unsafe {
                let to = Values { start: to.add(channel), distance };
                if is_inside && channels >= V::LANES {
                    let from = Memory { start, distances: self.distances };
                    transform::<V, A, SIZE, POINTS>(&from, &to);
                } else {
                    transform::<V, A, SIZE, POINTS>(&Channels { patch: self, start, channels }, &to);
                }
            }
        }
    }
}

/// Some channels of a patch, of which the first element has the first at `start`.
struct Channels<'a, T, const SIZE: usize> {
    patch: &'a Patch<T, SIZE>,
    start: *const T,
    channels: usize,
}

impl<V: Vector, const SIZE: usize> Columns<V, SIZE> for Channels<'_, V::Element, SIZE> {
    #[inline(always)]
    unsafe fn column(&self, x: usize) -> [V; SIZE] {
        let Channels { patch, start, channels } = *self;
        let [inside_down, inside_across] = &patch.inside;
        // SAFETY: the caller's.
        unsafe {
            let mut column = [V::splat(V::Element::ZERO); SIZE];
            for (y, element) in column.iter_mut().enumerate() {
                if inside_down.contains(&y) && inside_across.contains(&x) {
                    let from = start.wrapping_add(y * patch.distances[0] + x * patch.distances[1]);
                    *element = match channels >= V::LANES {
                        true => V::load(from),
                        false => V::load_partial(from, channels),
                    };
                }
            }
            column
        }
    }
}
