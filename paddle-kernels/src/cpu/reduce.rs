//! `reduce_sum`, `reduce_mean`, `reduce_max`, `reduce_min`.

use std::marker::PhantomData;

use paddle_core::ops::{Reduce, ReduceKind};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::isa::dispatch;
use super::kernel::{Body, Compiled, Machine, Single, with_float};
use super::number::Float;
use super::operands::Operands;
use super::pieces::pieces;
use super::sum::{LANES, Sums, add_slice, sum, sum_rows, total};

/// More axes than this, after merging, nobody writes.
const MOST_AXES: usize = 8;
/// Terms that one thread sums at a time.
const PIECE: usize = 1 << 15;
/// A sum of everything is cut into at most this many.
const MOST_PARTS: usize = 64;

/// Neighbouring axes that are all kept or all summed over.
struct Axis {
    extents: Vec<Extent>,
    kept: bool,
}

struct Kernel<T> {
    /// Outermost first; kinds alternate. Axes of size 1 are left out.
    axes: Vec<Axis>,
    kind: ReduceKind,
    element: PhantomData<T>,
}

pub(super) fn compile(single: &Single<'_>, op: &Reduce) -> Result<Compiled, Unsupported> {
    let (x, out) = (single.input(0)?, single.output(0)?);
    let mut axes: Vec<Axis> = Vec::new();
    for (i, &extent) in x.1.shape.iter().enumerate() {
        let kept = !op.axes.is_empty() && !op.axes.contains(&(i as i64));
        match axes.last_mut() {
            _ if extent == Extent::Fixed(1) => {}
            Some(axis) if axis.kept == kept => axis.extents.push(extent),
            _ => axes.push(Axis { extents: vec![extent], kept }),
        }
    }
    if axes.len() > MOST_AXES {
        return single.refuse("over so many axes");
    }
    let (dtype, kind) = (x.1.dtype, op.kind);
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(Kernel::<T> { axes, kind, element: PhantomData }));
    Ok((single.signature([x], [out]), body))
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

    /// Where the `index`-th combination starts.
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

/// What is looked for instead of a sum.
#[derive(Clone, Copy)]
enum Extreme {
    Max,
    Min,
}

impl Extreme {
    /// That of no elements.
    #[inline(always)]
    fn of_none<T: Float>(self) -> T {
        T::of(match self {
            Extreme::Max => f64::NEG_INFINITY,
            Extreme::Min => f64::INFINITY,
        })
    }

    /// That of what was found and one more.
    #[inline(always)]
    fn with<T: Float>(self, found: T, x: T) -> T {
        match self {
            Extreme::Max => x.max(found),
            Extreme::Min => x.min(found),
        }
    }
}

/// A reduction in a launch. There is a sum for each combination of kept axes; it runs over each combination of
/// `summed` axes and each row there.
struct Task {
    kept: Grid,
    summed: Grid,
    /// The rows of a segment: their number and distance.
    rows: Sized,
    /// The last axis, which is contiguous.
    last: usize,
    /// Whether it is kept: a row has an element for each of `last` sums. If not, a row is `last` terms of one sum.
    by_columns: bool,
    /// What sums are divided by.
    divisor: usize,
    /// What is looked for, if it is no sum.
    extreme: Option<Extreme>,
}

impl<T> Kernel<T> {
    fn task(&self, sizes: &[usize], elements: usize, outputs: usize) -> Task {
        let (mut kept, mut summed) = (Grid::default(), Grid::default());
        let mut stride = 1;
        let mut axes = [Sized::default(); MOST_AXES];
        for (i, axis) in self.axes.iter().enumerate().rev() {
            let extent = axis.extents.iter().map(|extent| extent.get(sizes)).product();
            axes[i] = Sized { extent, stride };
            stride *= extent;
        }
        assert_eq!(stride, elements, "the shape that was compiled");
        for (axis, sized) in self.axes.iter().zip(axes) {
            if axis.kept { kept.push(sized) } else { summed.push(sized) }
        }
        let one = Sized { extent: 1, stride: 0 };
        let by_columns = self.axes.last().is_none_or(|axis| axis.kept);
        let last = match (self.axes.is_empty(), by_columns) {
            (true, _) => one,
            (false, true) => kept.pop(),
            (false, false) => summed.pop(),
        };
        let rows = if by_columns && summed.rank > 0 { summed.pop() } else { one };
        let terms = summed.count() * rows.extent * if by_columns { 1 } else { last.extent };
        assert_eq!(kept.count() * if by_columns { last.extent } else { 1 }, outputs, "a result of its shape");
        let divisor = if self.kind == ReduceKind::Mean { terms.max(1) } else { 1 };
        let extreme = match self.kind {
            ReduceKind::Sum | ReduceKind::Mean => None,
            ReduceKind::Max => Some(Extreme::Max),
            ReduceKind::Min => Some(Extreme::Min),
        };
        Task { extreme, kept, summed, rows, last: last.extent, by_columns, divisor }
    }
}

dispatch! {
    /// Sums `first..first + out.len()`.
    fn reduce<const FUSED: bool, T: Float>(isa, task: &Task, x: &[T], first: usize, out: &mut [T]) {
        let mut done = 0;
        while done < out.len() {
            let (at, column) = match task.by_columns {
                true => ((first + done) / task.last, (first + done) % task.last),
                false => (first + done, 0),
            };
            let start = task.kept.offset(at) + column;
            let width = match task.by_columns {
                true => LANES.min(task.last - column).min(out.len() - done),
                false => 1,
            };
            let out = &mut out[done..done + width];
            if task.by_columns {
                columns(task, &x[start.min(x.len())..], width, out);
            } else {
                out[0] = one(task, &x[start.min(x.len())..]);
            }
            if task.divisor != 1 {
                let divisor = T::of(task.divisor as f64);
                out.iter_mut().for_each(|sum| *sum /= divisor);
            }
            done += width;
        }
    }
}

/// The sums of some columns.
#[inline(always)]
fn columns<T: Float>(task: &Task, x: &[T], width: usize, out: &mut [T]) {
    let Task { summed, rows, extreme, .. } = task;
    if let Some(extreme) = extreme {
        out.fill(extreme.of_none());
        for segment in 0..summed.count() {
            let x = &x[summed.offset(segment).min(x.len())..];
            for row in 0..rows.extent {
                let terms = &x[row * rows.stride..][..width];
                out.iter_mut().zip(terms).for_each(|(out, x)| *out = extreme.with(*out, *x));
            }
        }
        return;
    }
    let sums = match summed.count() {
        1 => sum_rows(x, rows.stride, rows.extent, width),
        count => {
            let mut sums = Sums::new();
            for segment in 0..count {
                sums.add(&x[summed.offset(segment).min(x.len())..], rows.stride, rows.extent, width);
            }
            sums.finish()
        }
    };
    out.copy_from_slice(&sums[..width]);
}

/// The sum of contiguous runs.
#[inline(always)]
fn one<T: Float>(task: &Task, x: &[T]) -> T {
    let Task { summed, last, extreme, .. } = task;
    if let Some(extreme) = extreme {
        let runs = (0..summed.count()).map(|segment| &x[summed.offset(segment).min(x.len())..][..*last]);
        return runs.flatten().fold(extreme.of_none(), |found, x| extreme.with(found, *x));
    }
    match summed.count() {
        1 => sum(&x[..*last]),
        count => {
            let mut sums = Sums::new();
            for segment in 0..count {
                add_slice(&mut sums, &x[summed.offset(segment).min(x.len())..][..*last]);
            }
            total(sums.finish())
        }
    }
}

impl<T: Float> Body for Kernel<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let task = self.task(sizes, x.len(), out.len());
        let Machine { team, isa } = machine;
        if out.len() == 1 && !task.by_columns && task.summed.rank == 0 && x.len() > 2 * PIECE {
            // One sum of so much is the sum of sums of parts.
            let mut parts = [T::ZERO; MOST_PARTS];
            let part = x.len().div_ceil(MOST_PARTS).max(PIECE).next_multiple_of(LANES);
            let count = x.len().div_ceil(part);
            pieces(team, &mut parts[..count], 1, &|index, out| {
                let x = &x[index * part..];
                let x = &x[..part.min(x.len())];
                reduce(*isa, &Task { last: x.len(), divisor: 1, ..task }, x, 0, out);
            });
            reduce(*isa, &Task { last: count, ..task }, &parts, 0, out);
            return Ok(());
        }
        let terms = x.len() / out.len().max(1);
        let piece = PIECE.div_ceil(terms.max(1));
        // Whole blocks of columns, where there are several.
        let piece = if task.by_columns { piece.next_multiple_of(LANES) } else { piece };
        pieces(team, out, piece, &|index, out| reduce(*isa, &task, x, index * piece, out));
        Ok(())
    }
}
