//! Right factors that are packed before their products: panel after panel, in the order in which the kernel reads them. That pays where
//! several products have the same right factor, or many rows.
#![allow(unsafe_code, reason = "reads and writes matrices through raw pointers")]

use std::marker::PhantomData;
use std::ops::Range;

use super::factor::{Columns, Right};
use super::kernel::LINE;
use super::{Grid, Matmul, Operand, PANEL_WIDTH, Product, WORTH_A_TEAM};
use crate::cpu::isa::Isa;
use crate::cpu::kernel::Machine;
use crate::cpu::shared::Shared;
use crate::cpu::vector::{Factor, FactorWork, Factors, Register};

/// Columns of a right factor, packed.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a, T> {
    /// Where the panel of the first column would be. Panels have as many columns as the kernel has in two registers.
    start: *const T,
    /// Their rows.
    k: usize,
    panels: PhantomData<&'a [T]>,
}

impl Matmul {
    /// The elements that the right factor takes in panels, of which the first lies at the begin of a line of the cache.
    pub(crate) fn packed_len<T>(&self) -> usize {
        self.len_of_panels::<T>().saturating_add(LINE / size_of::<T>())
    }

    fn len_of_panels<T>(&self) -> usize {
        self.n.next_multiple_of(PANEL_WIDTH / size_of::<T>()).saturating_mul(self.k)
    }

    /// Packs the right factor.
    ///
    /// # Safety
    /// `b` is valid for reading k·n elements, on any thread.
    pub(crate) unsafe fn pack_right<T: Factor>(&self, machine: &Machine, b: *const T, to: &mut [T]) {
        let Matmul { n, k, .. } = *self;
        let first = begin(to);
        let to = &mut to[first..];
        assert!(to.len() >= self.len_of_panels::<T>());
        let (from, to) = (Shared(b.cast_mut()), Shared(to.as_mut_ptr()));
        // As many columns as are whole panels on each instruction set.
        let together = PANEL_WIDTH / size_of::<T>();
        machine.team.run_if(n.saturating_mul(k) >= WORTH_A_TEAM, n.div_ceil(together), &|index| {
            let of = self.right(from.at(0).cast_const());
            let columns = index * together..n.min((index + 1) * together);
            // SAFETY: the columns are inside of B, and nothing else writes their panels.
            unsafe { Packed::pack(machine.isa, of, 0..k, columns.clone(), to.at(columns.start * k)) };
        });
    }

    /// Computes the product with a right factor that is packed, as [`run`](Matmul::run) does.
    ///
    /// # Safety
    /// As for `run`; the right factor was packed on this machine, for a product of this n and k.
    pub(crate) unsafe fn run_packed<T: Factor>(
        &self,
        machine: &Machine,
        (a, b): (*const T, Packed<'_, T>),
        c: *mut T::Sum,
        finish: &(dyn Fn(Range<usize>, Range<usize>) + Sync),
    ) {
        let Matmul { m, n, k, .. } = *self;
        let streams = self.streams();
        let grid = match streams {
            true => self.grid_of_streams::<T>(machine.team.threads()),
            false => Grid::of_matrices::<T>([m, n, k], machine.team.threads()),
        };
        let product = Product { k, a: self.left(a), b, c, c_row: n, accumulate: false };
        let product = &product;
        machine.team.run_if(self.work() >= WORTH_A_TEAM, grid.tiles(), &|tile| {
            let (rows, columns) = grid.tile(tile);
            // SAFETY: the tile lies inside C and no other overlaps it.
            unsafe {
                if streams {
                    product.pass(machine.isa, rows, columns, true, finish);
                } else {
                    product.compute(machine.isa, rows.clone(), columns.clone());
                    finish(rows, columns);
                }
            }
        });
    }
}

impl<'a, T> Packed<'a, T> {
    /// The panels that [`Matmul::pack_right`] wrote for a factor of `k` rows.
    pub(crate) fn new(panels: &'a [T], k: usize) -> Self {
        Packed { start: panels[begin(panels)..].as_ptr(), k, panels: PhantomData }
    }
}

impl<'a, T: Factor> Packed<'a, T> {
    /// Packs rows `inner` of some columns, of which the first is that of a panel.
    ///
    /// # Safety
    /// They are inside of the factor. `to` is valid for as many rows of whole panels, as long as the result is used.
    pub(super) unsafe fn pack(
        isa: Isa,
        of: Operand<T>,
        inner: Range<usize>,
        columns: Range<usize>,
        to: *mut T,
    ) -> Self {
        let (first, k) = (columns.start, inner.len());
        T::on_factors(isa, Panelling { of, inner, columns, to });
        Packed { start: to.wrapping_sub(first * k).cast_const(), k, panels: PhantomData }
    }
}

/// The first element that lies at the begin of a line.
fn begin<T>(elements: &[T]) -> usize {
    elements.as_ptr().align_offset(LINE).min(elements.len())
}

impl<T: Factor> Right<T> for Packed<'_, T> {
    fn strip(&self, of: &Columns) -> Option<(Operand<T>, usize)> {
        let start = self.start.wrapping_add(of.first * self.k + of.row * of.widest);
        Some((Operand { start, row: of.widest, column: 1 }, 0))
    }

    fn is_packed(&self) -> bool {
        true
    }

    unsafe fn pack<V: Register<Element = T>>(&self, _: *mut T, _: usize, _: Range<usize>, _: Range<usize>) {
        unreachable!("all strips are packed");
    }
}

/// Rows of some columns of a right factor, and their panels.
struct Panelling<T> {
    of: Operand<T>,
    inner: Range<usize>,
    columns: Range<usize>,
    to: *mut T,
}

impl<T: Factor> FactorWork<T> for Panelling<T> {
    #[inline(always)]
    unsafe fn run<V: Factors<Element = T>>(self) {
        let Panelling { of, inner, columns, to } = self;
        let step = 2 * V::LANES;
        for first in columns.clone().step_by(step) {
            let (some, to) = (
                first..columns.end.min(first + step),
                to.wrapping_add((first - columns.start) * inner.len()),
            );
            // SAFETY: as `Packed::pack` requires.
            unsafe { of.pack::<V>(to, step, inner.clone(), some) };
        }
    }
}
