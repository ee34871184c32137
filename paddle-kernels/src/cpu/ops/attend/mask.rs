//! The scores of a head under its mask, and which places a mask lets others see.
//!
//! What a mask leaves out has the weight 0, as the exponential of a score far below the largest rounds to 0. So tiles of which
//! nothing is left need not be computed. That is checked by the largest scores; and nothing is left out if there is an element that
//! is not finite, of which a product with 0 is none.

use std::cell::OnceCell;
use std::ops::Range;

use paddle_core::ops;
use paddle_core::plan::Extent;
use paddle_core::program::DType;

use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::Float;
use crate::cpu::operands::Slot;
use crate::cpu::ops::attention::weights::{LANES, dots, is_finite};
use crate::cpu::ops::attention::{Head, Part, PartMut, ROWS, Scores, wide};

/// The rows of a tile if places see different others: of long tiles less would be needed.
const MIXED: usize = 32;
/// A number that is added to scores leaves a pair out if it is below.
const LEAVES_OUT: f64 = -1e3;

/// How the masks of matrices are in one value.
pub(super) struct Mold {
    pub(super) dtype: DType,
    /// The axes that count matrices, and whether the value has a mask for each index along them.
    counted: Vec<(Extent, bool)>,
    /// The places that ask and those that are asked, and whether the mask has an element for each.
    pair: [(Extent, bool); 2],
}

impl Mold {
    /// A mask for matrices that are counted by these axes, of places that ask and that are asked. `None` if it does not fit.
    pub(super) fn new(slot: &Slot, counted: Vec<Extent>, pair: [Extent; 2]) -> Option<Self> {
        let shape = &slot.1.shape;
        let lead = (counted.len() + 2).checked_sub(shape.len())?;
        let has = |axis: usize| axis.checked_sub(lead).is_some_and(|axis| shape[axis] != Extent::Fixed(1));
        let places = counted.len();
        let pair = [(pair[0], has(places)), (pair[1], has(places + 1))];
        let counted = counted.into_iter().enumerate().map(|(axis, of)| (of, has(axis))).collect();
        Some(Mold { dtype: slot.1.dtype, counted, pair })
    }
}

/// The elements of masks.
#[derive(Clone, Copy)]
enum Elements<'a, T> {
    None,
    Truths(&'a [u8]),
    Numbers(&'a [T]),
}

/// The masks of all matrices.
pub(super) struct Masked<'a, T> {
    elements: Elements<'a, T>,
    mold: Option<(&'a Mold, &'a [usize])>,
    scale: T,
    kept: bool,
    masked: T,
}

impl<'a, T: Float> Masked<'a, T> {
    pub(super) fn none(op: &ops::Attend) -> Self {
        let (scale, masked) = (T::of(op.scale), T::of(op.masked));
        Masked { elements: Elements::None, mold: None, scale, kept: op.kept, masked }
    }

    pub(super) fn of_truths(op: &ops::Attend, mold: &'a Mold, sizes: &'a [usize], truths: &'a [u8]) -> Self {
        Masked { elements: Elements::Truths(truths), mold: Some((mold, sizes)), ..Self::none(op) }
    }

    pub(super) fn of_numbers(op: &ops::Attend, mold: &'a Mold, sizes: &'a [usize], numbers: &'a [T]) -> Self {
        Masked { elements: Elements::Numbers(numbers), mold: Some((mold, sizes)), ..Self::none(op) }
    }

    /// The mask of a matrix.
    pub(super) fn of(&self, head: &Head<'_, T>, matrix: usize) -> Mask<'a, T> {
        let Masked { scale, kept, masked, .. } = *self;
        let (mut start, mut steps) = (0, [0, 0]);
        if let Some((mold, sizes)) = self.mold {
            let [rows, columns] = mold.pair.map(|(extent, has)| if has { extent.get(sizes) } else { 1 });
            steps = [if mold.pair[0].1 { columns } else { 0 }, usize::from(mold.pair[1].1)];
            let (mut rest, mut step) = (matrix, rows * columns);
            for (extent, has) in mold.counted.iter().rev() {
                let size = extent.get(sizes);
                if *has {
                    start += rest % size * step;
                    step *= size;
                }
                rest /= size;
            }
        }
        let elements = match self.elements {
            Elements::None => Elements::None,
            Elements::Truths(truths) => Elements::Truths(&truths[start..]),
            Elements::Numbers(numbers) => Elements::Numbers(&numbers[start..]),
        };
        Mask {
            isa: head.isa,
            elements,
            steps,
            scale,
            kept,
            masked,
            gradient: None,
            is_finite: OnceCell::new(),
            longest: OnceCell::new(),
        }
    }
}

/// The mask of a matrix.
pub(super) struct Mask<'a, T> {
    isa: Isa,
    elements: Elements<'a, T>,
    /// The distances of the elements of places that ask, and of those that are asked.
    steps: [usize; 2],
    scale: T,
    kept: bool,
    masked: T,
    /// What gets the gradients of scores, with a row for each place that asks.
    pub(super) gradient: Option<PartMut<'a, T>>,
    /// Whether keys and values are finite.
    is_finite: OnceCell<bool>,
    /// The square of the length of the longest key.
    longest: OnceCell<T>,
}

impl<T: Float> Mask<'_, T> {
    /// The rows of a tile.
    pub(super) fn rows_at_once(&self) -> usize {
        if self.steps[0] == 0 { ROWS } else { MIXED }
    }

    /// The range of places that some others see, of all that are asked. `vanishes` has to hold, unless it is all of them.
    pub(super) fn seen(&self, head: &Head<'_, T>, rows: &Range<usize>, asked: usize) -> Range<usize> {
        self.seen_if(rows, asked, || self.is_finite(head, asked))
    }

    /// The same where gradients are computed, `grad` of the means.
    pub(super) fn seen_backward(
        &self,
        head: &Head<'_, T>,
        rows: &Range<usize>,
        asked: usize,
        grad: Part<'_, T>,
    ) -> Range<usize> {
        self.seen_if(rows, asked, || {
            self.is_finite(head, asked)
                && is_finite(self.isa, head.q, rows.clone())
                && is_finite(self.isa, grad, rows.clone())
        })
    }

    fn seen_if(&self, rows: &Range<usize>, asked: usize, is_finite: impl Fn() -> bool) -> Range<usize> {
        let all = 0..asked;
        let [row, column] = self.steps;
        if column == 0 || self.gradient.is_some() {
            return all;
        }
        let first = rows.start * row;
        let seen = match self.elements {
            Elements::None => all.clone(),
            Elements::Truths(truths) => {
                let kept = u8::from(self.kept);
                seen(&truths[first..], row, [rows.len(), asked], |truth: u8| truth == kept)
            }
            Elements::Numbers(numbers) => {
                let least = T::of(LEAVES_OUT);
                // A number that is none is seen.
                seen(&numbers[first..], row, [rows.len(), asked], |x: T| x > least || x.double().is_nan())
            }
        };
        if seen.is_empty() || seen.len() < asked && !is_finite() { all } else { seen }
    }

    /// Whether keys and values are finite.
    fn is_finite(&self, head: &Head<'_, T>, asked: usize) -> bool {
        let is = |x| is_finite(self.isa, x, 0..asked);
        *self.is_finite.get_or_init(|| is(head.k) && is(head.v))
    }

    /// Whether weights of pairs that are left out round to 0 beside these scores of the places, each the largest of its place or
    /// larger.
    pub(super) fn vanishes(&self, head: &Head<'_, T>, [rows, asked]: [&Range<usize>; 2], tops: &[T]) -> bool {
        // The exponential of less is 0.
        let least = if size_of::<T>() == size_of::<f32>() { 110.0 } else { 750.0 };
        let most = match self.elements {
            Elements::None => return true,
            Elements::Truths(_) => self.masked.double(),
            Elements::Numbers(_) => {
                let asking = longest(head, head.q, rows.clone());
                let asked = self.longest.get_or_init(|| longest(head, head.k, asked.clone()));
                let squares = asking.double() * asked.double();
                // Products are rounded.
                LEAVES_OUT + 1.01 * self.scale.double().abs() * squares.sqrt()
            }
        };
        tops.iter().all(|top| top.double() - most > least)
    }
}

/// The square of the length of the longest of some places.
fn longest<T: Float>(head: &Head<'_, T>, x: Part<'_, T>, places: Range<usize>) -> T {
    let mut squares = [T::ZERO; ROWS];
    let mut longest = T::ZERO;
    for first in places.clone().step_by(ROWS) {
        let squares = &mut squares[..ROWS.min(places.end - first)];
        dots(head.isa, first, x, x, squares);
        for &square in squares.iter() {
            longest = if square > longest { square } else { longest };
        }
    }
    longest
}

impl<T: Float> Scores<T> for Mask<'_, T> {
    fn of_products(&self, rows: &Range<usize>, columns: &Range<usize>, tile: &mut [T]) {
        let [row, column] = self.steps;
        let (first, sizes) = (rows.start * row + columns.start * column, [wide(columns), columns.len()]);
        match self.elements {
            Elements::None => scaled(self.isa, tile, self.scale),
            Elements::Truths(truths) => {
                let numbers = [self.scale, self.masked];
                keep(self.isa, tile, sizes, &truths[first..], self.steps, self.kept, numbers);
            }
            Elements::Numbers(numbers) => {
                add(self.isa, tile, sizes, &numbers[first..], self.steps, self.scale);
            }
        }
        for row in tile.chunks_exact_mut(wide(columns)) {
            row[columns.len()..].fill(T::of(f64::NEG_INFINITY));
        }
    }

    #[allow(unsafe_code, reason = "writes the gradients of this head")]
    fn to_products(&self, rows: &Range<usize>, columns: &Range<usize>, grads: &mut [T]) {
        if let Some(gradient) = self.gradient {
            for (row, grads) in rows.clone().zip(grads.chunks_exact(wide(columns))) {
                // SAFETY: the place exists, and its row is this thread's.
                unsafe { gradient.row(row)[columns.clone()].copy_from_slice(&grads[..columns.len()]) };
            }
        }
        let [row, column] = self.steps;
        let (first, sizes) = (rows.start * row + columns.start * column, [wide(columns), columns.len()]);
        match self.elements {
            Elements::Truths(truths) => {
                let numbers = [self.scale, T::ZERO];
                keep(self.isa, grads, sizes, &truths[first..], self.steps, self.kept, numbers);
            }
            Elements::None | Elements::Numbers(_) => scaled(self.isa, grads, self.scale),
        }
    }
}

dispatch! {
    wide if T::WIDE;
    fn multiply<const FUSED: bool, T: Float>(isa, tile: &mut [T], scale: T) {
        tile.iter_mut().for_each(|x| *x *= scale);
    }
}

fn scaled<T: Float>(isa: Isa, tile: &mut [T], scale: T) {
    if scale != T::of(1.0) {
        multiply(isa, tile, scale);
    }
}

dispatch! {
    /// Multiplies the elements of pairs that are kept, the first of two numbers, and replaces the others by the second. Rows have
    /// the first of `sizes` elements, of which the mask is for the second.
    wide if T::WIDE;
    fn keep<const FUSED: bool, T: Float>(
        isa, tile: &mut [T], sizes: [usize; 2], truths: &[u8], steps: [usize; 2], kept: bool, numbers: [T; 2],
    ) {
        let ([scale, other], kept) = (numbers, u8::from(kept));
        for (i, row) in tile.chunks_exact_mut(sizes[0]).enumerate() {
            let truths = &truths[i * steps[0]..];
            if steps[1] == 0 {
                let is_kept = truths[0] == kept;
                row.iter_mut().for_each(|x| *x = T::select(is_kept, *x * scale, other));
            } else {
                for (x, truth) in row[..sizes[1]].iter_mut().zip(&truths[..sizes[1]]) {
                    *x = T::select(*truth == kept, *x * scale, other);
                }
            }
        }
    }
}

dispatch! {
    /// Multiplies elements, and adds those of the mask. Rows have the first of `sizes` elements, of which the mask is for the second.
    wide if T::WIDE;
    fn add<const FUSED: bool, T: Float>(
        isa, tile: &mut [T], sizes: [usize; 2], numbers: &[T], steps: [usize; 2], scale: T,
    ) {
        for (i, row) in tile.chunks_exact_mut(sizes[0]).enumerate() {
            let numbers = &numbers[i * steps[0]..];
            if steps[1] == 0 {
                let number = numbers[0];
                row.iter_mut().for_each(|x| *x = x.times_plus::<FUSED>(scale, number));
            } else {
                for (x, number) in row[..sizes[1]].iter_mut().zip(&numbers[..sizes[1]]) {
                    *x = x.times_plus::<FUSED>(scale, *number);
                }
            }
        }
    }
}

/// The range of columns in which some row of a mask has a pair that is seen, as whole lanes. Rows are `step` apart.
fn seen<E: Copy>(
    mask: &[E],
    step: usize,
    [rows, columns]: [usize; 2],
    is_seen: impl Fn(E) -> bool,
) -> Range<usize> {
    let (mut start, mut end) = (columns.next_multiple_of(LANES), 0);
    // Rows of one mask are the same if they are at the same place.
    for row in 0..if step == 0 { 1 } else { rows } {
        let row = &mask[row * step..][..columns];
        let any = |chunk: &[E]| chunk.iter().fold(false, |any, x| any | is_seen(*x));
        if let Some(first) = row[..start.min(columns)].chunks(LANES).position(any) {
            start = first * LANES;
        }
        let mut behind = row[end.min(columns)..].chunks(LANES);
        if let Some(last) = behind.rposition(any) {
            end += (last + 1) * LANES;
        }
    }
    start..end.min(columns)
}
