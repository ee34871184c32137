//! The factors of a product: matrices in memory, and what panels of a right factor are packed from.
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers")]

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::cpu::isa::Isa;
use crate::cpu::transpose::transpose;
use crate::cpu::vector::{Factor, FactorWork, Factors, Register, fetch};

/// A matrix inside memory: element (i, j) is `start[i * row + j * column]`.
#[derive(Clone, Copy)]
pub(in super::super) struct Operand<T> {
    pub(in super::super) start: *const T,
    pub(in super::super) row: usize,
    pub(in super::super) column: usize,
}

impl<T> Operand<T> {
    pub(super) fn transposed(self) -> Self {
        Operand { start: self.start, row: self.column, column: self.row }
    }

    /// # Safety
    /// The element is inside the matrix.
    #[inline(always)]
    pub(super) unsafe fn at(self, i: usize, j: usize) -> *const T {
        // SAFETY: the caller's.
        unsafe { self.start.add(i * self.row + j * self.column) }
    }

    /// The matrix from some columns on, whose neighbours in a row are neighbours in memory.
    fn from(self, columns: &Columns) -> Self {
        Operand { start: self.start.wrapping_add(columns.row * self.row + columns.first), ..self }
    }
}

/// The columns of a right factor that the kernel needs next.
pub(in super::super) struct Columns {
    /// The first row and the first column.
    pub(super) row: usize,
    pub(super) first: usize,
    pub(super) width: usize,
    /// The elements of the registers that hold a row of them, and of the most registers that the kernel takes.
    pub(super) step: usize,
    pub(super) widest: usize,
    /// Whether only few rows of the left factor read them.
    pub(super) few_rows: bool,
}

impl Columns {
    /// Whether they fill the registers.
    fn is_full(&self) -> bool {
        self.width == self.step
    }
}

/// The right factor of a product. Panels of it are packed: some rows of some columns, in the order in which the kernel
/// reads them.
pub(in super::super) trait Right<T: Factor> {
    /// The matrix in memory, if the elements of a row are neighbours there.
    fn in_place(&self) -> Option<Operand<T>> {
        None
    }

    /// Where the kernel reads columns without packing them, and how far ahead of what it reads memory is asked for.
    fn strip(&self, of: &Columns) -> Option<(Operand<T>, usize)> {
        // Packing pays when several blocks of rows read the columns.
        let b = self.in_place().filter(|_| of.few_rows && of.is_full())?;
        Some((b.from(of), (AHEAD_BYTES / size_of::<T>() / of.step).max(1) * b.row))
    }

    /// Whether all strips are packed, so that a strip has the registers that they were packed for.
    fn is_packed(&self) -> bool {
        false
    }

    /// Copies rows `inner` of some columns to `packed`, `step` elements a row; those beyond `columns` are zero.
    ///
    /// # Safety
    /// `packed` is valid for writing `inner.len() * step` elements, and `columns.len() <= step`, which is a multiple
    /// of the lanes of `V`; the machine has its instruction set; rows and columns are inside the matrix.
    unsafe fn pack<V: Register<Element = T>>(
        &self,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    );
}

/// A right factor that packs its panels on an instruction set. So the kernels are the same for all factors, and programs
/// have them once.
pub(super) trait Panels<T> {
    /// See [`Right::in_place`].
    fn in_place(&self) -> Option<Operand<T>>;

    /// See [`Right::strip`].
    fn strip(&self, of: &Columns) -> Option<(Operand<T>, usize)>;

    /// See [`Right::pack`].
    ///
    /// # Safety
    /// As for `pack`, with the registers that `isa` has for such elements.
    unsafe fn pack_on(
        &self,
        isa: Isa,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    );
}

impl<T: Factor, B: Right<T>> Panels<T> for B {
    fn in_place(&self) -> Option<Operand<T>> {
        Right::in_place(self)
    }

    fn strip(&self, of: &Columns) -> Option<(Operand<T>, usize)> {
        Right::strip(self, of)
    }

    unsafe fn pack_on(
        &self,
        isa: Isa,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    ) {
        T::on_factors(isa, Packing { of: self, packed, step, inner, columns });
    }
}

/// A panel of a right factor.
struct Packing<'a, T, B> {
    of: &'a B,
    packed: *mut T,
    step: usize,
    inner: Range<usize>,
    columns: Range<usize>,
}

impl<T: Factor, B: Right<T>> FactorWork<T> for Packing<'_, T, B> {
    #[inline(always)]
    unsafe fn run<V: Factors<Element = T>>(self) {
        // SAFETY: as `Panels::pack_on` requires.
        unsafe { self.of.pack::<V>(self.packed, self.step, self.inner, self.columns) }
    }
}

/// A matrix that was brought near before its first product: the columns of another one are its rows. These are so far apart that
/// they do not meet in the same sets of a cache.
#[derive(Clone, Copy)]
pub(in super::super) struct Turned<T> {
    start: *const T,
    row: usize,
}

/// The elements of a line of the cache, and whole registers.
const LINE: usize = 16;

impl<T: Factor> Turned<T> {
    /// The elements that `columns` columns take, of so many elements each.
    pub(in super::super) fn size(columns: usize, depth: usize) -> usize {
        // A register that begins inside of the last row may end behind it.
        Self::row(columns).saturating_mul(depth).saturating_add(LINE)
    }

    fn row(columns: usize) -> usize {
        (columns.div_ceil(LINE) | 1) * LINE
    }

    /// Brings the rows of a matrix near, of which there are `columns`.
    ///
    /// # Safety
    /// Rows of `depth` elements can be read, and `to` is valid for as many as `size` says, as long as the result is used.
    pub(in super::super) unsafe fn new(
        isa: Isa,
        of: Operand<T>,
        [columns, depth]: [usize; 2],
        to: *mut T,
    ) -> Self {
        let row = Self::row(columns);
        // SAFETY: the caller's; rows are whole registers, and there is a line behind them.
        unsafe {
            of.transposed().pack_on(isa, to, row, 0..depth, 0..columns);
            std::slice::from_raw_parts_mut(to.add(depth * row).cast::<MaybeUninit<T>>(), LINE)
                .fill(MaybeUninit::new(T::ZERO));
        }
        Turned { start: to.cast_const(), row }
    }

    /// The matrix from a column on.
    pub(in super::super) fn from(self, column: usize) -> Near<T> {
        Near::new(self.start.wrapping_add(column), self.row)
    }
}

/// A matrix that kernels read in place.
pub(in super::super) struct Near<T>(Operand<T>);

impl<T> Near<T> {
    /// With so many elements from one row to the next.
    pub(super) fn new(start: *const T, row: usize) -> Self {
        Near(Operand { start, row, column: 1 })
    }
}

impl<T: Factor> Right<T> for Near<T> {
    fn in_place(&self) -> Option<Operand<T>> {
        Some(self.0)
    }

    fn strip(&self, of: &Columns) -> Option<(Operand<T>, usize)> {
        of.is_full().then(|| (self.0.from(of), 0))
    }

    #[inline(always)]
    unsafe fn pack<V: Register<Element = T>>(
        &self,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    ) {
        // SAFETY: the caller's.
        unsafe { self.0.pack::<V>(packed, step, inner, columns) }
    }
}

/// Rows of a matrix are asked for so many rows before they are packed: in a wide one, the parts of neighbouring rows that a strip
/// has are far apart, which processors do not foresee.
const AHEAD: usize = 16;
/// The bytes of a strip that is read in place, from what is asked for to what is read.
const AHEAD_BYTES: usize = 1792;

/// One of the strides is 1.
impl<T: Factor> Right<T> for Operand<T> {
    fn in_place(&self) -> Option<Operand<T>> {
        (self.column == 1).then_some(*self)
    }

    #[inline(always)]
    unsafe fn pack<V: Register<Element = T>>(
        &self,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    ) {
        let (depth, width) = (inner.len(), columns.len());
        // SAFETY: reads B inside `inner` and `columns`, writes `packed` inside its `depth` rows of `step`.
        unsafe {
            let from = self.at(inner.start, columns.start);
            if self.column == 1 {
                for p in 0..depth {
                    let (from, to) = (from.add(p * self.row), packed.add(p * step));
                    let mut j = 0;
                    while j + V::LANES <= width {
                        fetch(from.wrapping_add(AHEAD * self.row + j));
                        V::load(from.add(j)).store(to.add(j));
                        j += V::LANES;
                    }
                    if j < width {
                        V::load_partial(from.add(j), width - j).store(to.add(j));
                    }
                }
            } else {
                transpose(from, self.column, packed, step, depth, width);
                for p in 0..depth {
                    for j in width..step {
                        *packed.add(p * step + j) = T::ZERO;
                    }
                }
            }
        }
    }
}
