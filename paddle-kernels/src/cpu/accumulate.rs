//! Adds values to values: gradients that come from several places.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use paddle_core::plan::{Elements, Location, Rows};
use paddle_core::program::DType;

use super::isa::dispatch;
use super::kernel::Machine;
use super::number::Plain;
use super::operands::Memories;
use super::pieces::pieces;

/// Elements that one thread adds at a time.
const PIECE: usize = 1 << 15;

/// Adds the elements at `from` to those at `to`.
pub(super) fn add(
    machine: &Machine,
    Elements { count, dtype }: Elements,
    from: Location,
    to: Location,
    memories: Memories<'_>,
) {
    match dtype {
        DType::I32 => add_all::<i32>(machine, count, from, to, memories),
        DType::I64 => add_all::<i64>(machine, count, from, to, memories),
        DType::F32 => add_all::<f32>(machine, count, from, to, memories),
        DType::F64 => add_all::<f64>(machine, count, from, to, memories),
        DType::Bool => panic!("truth values are not added"),
    }
}

fn add_all<T: Sum>(machine: &Machine, count: usize, from: Location, to: Location, memories: Memories<'_>) {
    let bytes = count.saturating_mul(size_of::<T>());
    memories.assert_apart((from, bytes), (to, bytes));
    // SAFETY: apart from each other, as was checked.
    let (from, to) = unsafe { (memories.read::<T>(from, count), memories.write::<T>(to, count)) };
    pieces(&machine.team, to, PIECE, &|index, to| {
        add_slices(machine.isa, &from[index * PIECE..][..to.len()], to);
    });
}

/// Adds row `i` of those at `from` to row `index[i]` of those at `to`, of which none is named twice.
pub(super) fn add_rows(
    machine: &Machine,
    rows: Rows,
    dtype: DType,
    from: Location,
    index: Location,
    to: Location,
    memories: Memories<'_>,
) {
    match dtype {
        DType::I32 => add_named::<i32>(machine, rows, from, index, to, memories),
        DType::I64 => add_named::<i64>(machine, rows, from, index, to, memories),
        DType::F32 => add_named::<f32>(machine, rows, from, index, to, memories),
        DType::F64 => add_named::<f64>(machine, rows, from, index, to, memories),
        DType::Bool => panic!("truth values are not added"),
    }
}

fn add_named<T: Sum>(
    machine: &Machine,
    Rows { count, bytes }: Rows,
    from: Location,
    index: Location,
    to: Location,
    memories: Memories<'_>,
) {
    if count == 0 || bytes == 0 {
        return;
    }
    let width = bytes / size_of::<T>();
    let numbers = count.saturating_mul(size_of::<u32>());
    // SAFETY: read only; that what is written is apart from it is checked below, before anything is.
    let rows = unsafe { memories.read::<u32>(index, count) };
    let named = rows.iter().max().map_or(0, |last| *last as usize + 1);
    let (all, room) = (count.saturating_mul(width), named.saturating_mul(width));
    memories
        .assert_apart((from, all.saturating_mul(size_of::<T>())), (to, room.saturating_mul(size_of::<T>())));
    memories.assert_apart((index, numbers), (to, room.saturating_mul(size_of::<T>())));
    // SAFETY: apart from each other, as was checked.
    let (from, to) = unsafe { (memories.read::<T>(from, all), memories.write::<T>(to, room)) };
    for (from, &row) in from.chunks_exact(width).zip(rows) {
        add_slices(machine.isa, from, &mut to[row as usize * width..][..width]);
    }
}

dispatch! {
    fn add_slices<const FUSED: bool, T: Sum>(isa, from: &[T], to: &mut [T]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.plus(*from);
        }
    }
}

/// Numbers, of which integers wrap around.
trait Sum: Plain {
    fn plus(self, other: Self) -> Self;
}

macro_rules! sum {
    ($($type:ident |$x:ident, $y:ident| $sum:expr;)*) => {$(
        impl Sum for $type {
            #[inline(always)]
            fn plus(self, $y: Self) -> Self {
                let $x = self;
                $sum
            }
        }
    )*};
}
sum! {
    i32 |x, y| x.wrapping_add(y);
    i64 |x, y| x.wrapping_add(y);
    f32 |x, y| x + y;
    f64 |x, y| x + y;
}
