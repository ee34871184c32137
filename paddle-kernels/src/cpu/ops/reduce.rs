//! `reduce_sum`, `reduce_mean`, `reduce_max`, `reduce_min`, `reduce_prod`, `reduce_any`, `reduce_all`.
//!
//! Sums of floating-point numbers keep their errors small. Everything else is a fold in the order of the elements, along
//! several lanes at once.

use std::marker::PhantomData;

use paddle_core::ops::{Reduce, ReduceKind};
use paddle_core::plan::{Extent, KernelError, Takes, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::cpu::fold::{All, Any, Fold, Max, Min, Number, Product, Sum, along, fold_rows};
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::number::{Element, Float};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::cpu::sum::{LANES, RADIX, Sums, add_slice, sum, sum_rows};
use crate::team::Team;

/// The largest number of axes after merging. No program comes near it.
const MOST_AXES: usize = 8;
/// Terms that one thread sums at a time.
const PIECE: usize = 1 << 15;
/// The largest number of parts into which a reduction of everything is cut.
const MOST_PARTS: usize = 64;
/// The number of neighbouring columns that are read at a time: as far as memory is fetched ahead.
const COLUMNS: usize = 4 * LANES;
/// The number of rows of a block of columns that are read before the next block.
const ROWS: usize = 8 * RADIX;

/// Neighbouring axes, merged: all are kept, or all are reduced.
struct Axis {
    extents: Vec<Extent>,
    kept: bool,
}

/// The axes of a value, outermost first. Kept and reduced axes alternate. Axes of size 1 are left out.
struct Axes(Vec<Axis>);

struct Summed<T> {
    axes: Axes,
    is_mean: bool,
    element: PhantomData<T>,
}

struct Folded<T, F> {
    axes: Axes,
    fold: F,
    element: PhantomData<T>,
}

impl Compile for Reduce {
    fn takes_channels_last(&self, operand: usize) -> Takes {
        // The axes that are kept have to be in the order that they have in the result.
        let kept = |axis: i64| !self.axes.is_empty() && !self.axes.contains(&axis);
        match operand {
            0 if !(kept(1) && (kept(2) || kept(3))) => Takes::Each,
            _ => Takes::RowMajor,
        }
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let mut axes: Vec<Axis> = Vec::new();
        for (i, extent) in x.1.layout.axes(x.1.shape.len()).into_iter().zip(x.1.in_memory()) {
            let kept = !self.axes.is_empty() && !self.axes.contains(&(i as i64));
            match axes.last_mut() {
                _ if extent == Extent::Fixed(1) => {}
                Some(axis) if axis.kept == kept => axis.extents.push(extent),
                _ => axes.push(Axis { extents: vec![extent], kept }),
            }
        }
        if axes.len() > MOST_AXES {
            return single.refuse("over so many axes");
        }
        let (dtype, kind) = (x.1.dtype, self.kind);
        let Some(body) = body(Axes(axes), kind, dtype) else { return single.refuse(&format!("of {dtype}")) };
        Ok((single.signature([x], [out]), body))
    }
}

fn body(axes: Axes, kind: ReduceKind, dtype: DType) -> Option<Box<dyn Body>> {
    fn folded<T: Element, F: Fold<T>>(axes: Axes, fold: F) -> Option<Box<dyn Body>> {
        Some(Box::new(Folded::<T, F> { axes, fold, element: PhantomData }))
    }
    fn of_numbers<T: Number>(axes: Axes, kind: ReduceKind) -> Option<Box<dyn Body>> {
        match kind {
            ReduceKind::Sum => folded::<T, _>(axes, Sum),
            ReduceKind::Prod => folded::<T, _>(axes, Product),
            ReduceKind::Max => folded::<T, _>(axes, Max),
            ReduceKind::Min => folded::<T, _>(axes, Min),
            ReduceKind::Mean | ReduceKind::Any | ReduceKind::All => None,
        }
    }
    fn of_floats<T: Float + Number>(axes: Axes, kind: ReduceKind) -> Option<Box<dyn Body>> {
        match kind {
            ReduceKind::Sum | ReduceKind::Mean => {
                let is_mean = kind == ReduceKind::Mean;
                Some(Box::new(Summed::<T> { axes, is_mean, element: PhantomData }))
            }
            _ => of_numbers::<T>(axes, kind),
        }
    }
    match (dtype, kind) {
        (DType::Bool, ReduceKind::Any) => folded::<u8, _>(axes, Any),
        (DType::Bool, ReduceKind::All) => folded::<u8, _>(axes, All),
        (DType::Bool, _) => None,
        (DType::I32, _) => of_numbers::<i32>(axes, kind),
        (DType::I64, _) => of_numbers::<i64>(axes, kind),
        (DType::F32, _) => of_floats::<f32>(axes, kind),
        (DType::F64, _) => of_floats::<f64>(axes, kind),
    }
}

/// An axis in a launch.
#[derive(Clone, Copy, Default)]
struct Sized {
    extent: usize,
    stride: usize,
}

/// Some axes in a launch, outermost first.
#[derive(Clone, Copy, Default)]
struct Grid {
    axes: [Sized; MOST_AXES],
    rank: usize,
}

impl Grid {
    fn push(&mut self, axis: Sized) {
        self.axes[self.rank] = axis;
        self.rank += 1;
    }

    fn pop(&mut self) -> Sized {
        self.rank -= 1;
        self.axes[self.rank]
    }

    fn count(&self) -> usize {
        self.axes[..self.rank].iter().map(|axis| axis.extent).product()
    }

    /// The offset of the `index`-th combination.
    #[inline(always)]
    fn offset(&self, mut index: usize) -> usize {
        let mut offset = 0;
        for (i, axis) in self.axes[..self.rank].iter().enumerate().rev() {
            let digit = if i == 0 { index } else { index % axis.extent };
            offset += digit * axis.stride;
            if i > 0 {
                index /= axis.extent;
            }
        }
        offset
    }
}

/// A reduction in a launch. It has a result for each combination of kept axes. A result runs over each combination of
/// `summed` axes and each row there.
struct Task {
    kept: Grid,
    summed: Grid,
    /// The rows of a segment: their number and distance.
    rows: Sized,
    /// The last axis, which is contiguous.
    last: usize,
    /// Whether the last axis is kept, so that a row has one element for each of `last` results. Otherwise a row is
    /// `last` terms of one result.
    by_columns: bool,
    /// The number of terms of each result.
    terms: usize,
}

impl Axes {
    fn task(&self, sizes: &[usize], elements: usize, outputs: usize) -> Task {
        let (mut kept, mut summed) = (Grid::default(), Grid::default());
        let mut stride = 1;
        let mut axes = [Sized::default(); MOST_AXES];
        for (i, axis) in self.0.iter().enumerate().rev() {
            let extent = axis.extents.iter().map(|extent| extent.get(sizes)).product();
            axes[i] = Sized { extent, stride };
            stride *= extent;
        }
        assert_eq!(stride, elements, "the shape that was compiled");
        for (axis, sized) in self.0.iter().zip(axes) {
            if axis.kept { kept.push(sized) } else { summed.push(sized) }
        }
        let one = Sized { extent: 1, stride: 0 };
        let by_columns = self.0.last().is_none_or(|axis| axis.kept);
        let last = match (self.0.is_empty(), by_columns) {
            (true, _) => one,
            (false, true) => kept.pop(),
            (false, false) => summed.pop(),
        };
        let rows = if by_columns && summed.rank > 0 { summed.pop() } else { one };
        let terms = summed.count() * rows.extent * if by_columns { 1 } else { last.extent };
        assert_eq!(kept.count() * if by_columns { last.extent } else { 1 }, outputs, "a result of its shape");
        Task { terms, kept, summed, rows, last: last.extent, by_columns }
    }
}

impl Task {
    /// The number of results that one thread takes at a time. If there are several blocks of columns, these are whole
    /// blocks.
    fn piece(&self) -> usize {
        let piece = PIECE.div_ceil(self.terms.max(1));
        match self.by_columns {
            true if self.last >= 4 * COLUMNS => piece.next_multiple_of(COLUMNS),
            true => piece.next_multiple_of(LANES),
            false => piece,
        }
    }

    /// For a large reduction of everything to one result, the results of the parts into which it is cut. These are then
    /// reduced in turn.
    fn parts<T: Element>(
        &self,
        team: &Team,
        x: &[T],
        nothing: T,
        reduce: &(impl Fn(&Task, &[T], &mut [T]) + Sync),
    ) -> Option<([T; MOST_PARTS], Task)> {
        let is_all = !self.by_columns && self.kept.rank == 0 && self.summed.rank == 0;
        if !is_all || x.len() <= 2 * PIECE {
            return None;
        }
        let mut parts = [nothing; MOST_PARTS];
        let part = x.len().div_ceil(MOST_PARTS).max(PIECE).next_multiple_of(LANES);
        let count = x.len().div_ceil(part);
        pieces(team, &mut parts[..count], 1, &|index, out| {
            let x = &x[index * part..];
            let x = &x[..part.min(x.len())];
            reduce(&Task { last: x.len(), ..*self }, x, out);
        });
        Some((parts, Task { last: count, ..*self }))
    }

    /// Calls `reduce` for each result from `first` on, or for a block of neighbouring columns of results, with the
    /// offset of the first element.
    #[inline(always)]
    fn each<T>(&self, first: usize, out: &mut [T], mut reduce: impl FnMut(usize, &mut [T])) {
        let mut done = 0;
        while done < out.len() {
            let (at, column) = match self.by_columns {
                true => ((first + done) / self.last, (first + done) % self.last),
                false => (first + done, 0),
            };
            let width = match self.by_columns {
                true => COLUMNS.min(self.last - column).min(out.len() - done),
                false => 1,
            };
            reduce(self.kept.offset(at) + column, &mut out[done..done + width]);
            done += width;
        }
    }
}

dispatch! {
    /// Sums `first..first + out.len()`.
    fn sums<const FUSED: bool, T: Float>(
        isa, task: &Task, divisor: usize, x: &[T], first: usize, out: &mut [T],
    ) {
        task.each(first, out, |start, out| {
            let x = &x[start.min(x.len())..];
            match task.by_columns {
                true => columns(isa, task, x, out),
                false => out[0] = one(isa, task, x),
            }
            if divisor != 1 {
                let divisor = T::of(divisor as f64);
                out.iter_mut().for_each(|sum| *sum /= divisor);
            }
        });
    }
}

/// The sums of some columns.
#[inline(always)]
fn columns<T: Float>(isa: Isa, task: &Task, x: &[T], out: &mut [T]) {
    let (Task { summed, rows: Sized { extent, stride }, .. }, width) = (task, out.len());
    let segments = summed.count();
    if segments == 1 && *extent <= ROWS || width <= LANES {
        for (block, out) in out.chunks_mut(LANES).enumerate() {
            let first = block * LANES;
            let sums = match segments {
                1 => sum_rows(isa, &x[first.min(x.len())..], *stride, *extent, out.len()),
                _ => {
                    let mut sums = Sums::new();
                    for segment in 0..segments {
                        sums.add(
                            isa,
                            &x[(summed.offset(segment) + first).min(x.len())..],
                            *stride,
                            *extent,
                            out.len(),
                        );
                    }
                    sums.finish(isa)
                }
            };
            out.copy_from_slice(&sums[..out.len()]);
        }
        return;
    }
    // Goes through the blocks of columns, some rows of each in turn.
    let mut sums = [const { Sums::new() }; COLUMNS / LANES];
    for segment in 0..segments {
        for row in (0..*extent).step_by(ROWS) {
            for (block, sums) in sums.iter_mut().enumerate().take(width.div_ceil(LANES)) {
                let first = block * LANES;
                let x = &x[summed.offset(segment) + row * stride + first..];
                sums.add(isa, x, *stride, ROWS.min(extent - row), LANES.min(width - first));
            }
        }
    }
    for (out, sums) in out.chunks_mut(LANES).zip(sums) {
        out.copy_from_slice(&sums.finish(isa)[..out.len()]);
    }
}

/// The sum of contiguous runs.
#[inline(always)]
fn one<T: Float>(isa: Isa, task: &Task, x: &[T]) -> T {
    let Task { summed, last, .. } = task;
    match summed.count() {
        1 => sum(isa, &x[..*last]),
        count => {
            let mut sums = Sums::new();
            for segment in 0..count {
                add_slice(isa, &mut sums, &x[summed.offset(segment).min(x.len())..][..*last]);
            }
            sums.total(isa)
        }
    }
}

dispatch! {
    /// Folds `first..first + out.len()`.
    fn folds<const FUSED: bool, T: Element, F: Fold<T>>(
        isa, fold: F, task: &Task, x: &[T], first: usize, out: &mut [T],
    ) {
        let Task { summed, rows, last, by_columns, .. } = task;
        task.each(first, out, |start, out| {
            let x = &x[start.min(x.len())..];
            out.fill(fold.none());
            for segment in 0..summed.count() {
                let x = &x[summed.offset(segment).min(x.len())..];
                if !by_columns {
                    out[0] = fold.with(out[0], along(fold, &x[..*last]));
                    continue;
                }
                fold_rows(fold, x, rows.stride, rows.extent, out);
            }
        });
    }
}

impl<T: Element, F: Fold<T>> Body for Folded<T, F> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let (task, fold, Machine { team, isa, .. }) =
            (self.axes.task(sizes, x.len(), out.len()), self.fold, machine);
        let part = |task: &Task, x: &[T], out: &mut [T]| folds(*isa, fold, task, x, 0, out);
        if let Some((parts, rest)) = task.parts(team, x, fold.none(), &part) {
            part(&rest, &parts[..rest.last], out);
            return Ok(());
        }
        let piece = task.piece();
        pieces(team, out, piece, &|index, out| folds(*isa, fold, &task, x, index * piece, out));
        Ok(())
    }
}

impl<T: Float> Body for Summed<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let task = self.axes.task(sizes, x.len(), out.len());
        let divisor = if self.is_mean { task.terms.max(1) } else { 1 };
        let Machine { team, isa, .. } = machine;
        let part = |task: &Task, x: &[T], out: &mut [T]| sums(*isa, task, 1, x, 0, out);
        if let Some((parts, rest)) = task.parts(team, x, T::ZERO, &part) {
            sums(*isa, &rest, divisor, &parts[..rest.last], 0, out);
            return Ok(());
        }
        let piece = task.piece();
        pieces(team, out, piece, &|index, out| sums(*isa, &task, divisor, x, index * piece, out));
        Ok(())
    }
}
