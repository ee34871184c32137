//! Reductions: a thread for each result if there are few terms, a workgroup if there are more, and several threads all over the card,
//! whose results a workgroup joins, if there are many.

use std::sync::Arc;

use paddle_core::ops::{Reduce, ReduceKind};
use paddle_core::plan::{Extent, OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::expand::is_along;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Long, Register, Signed, Truth, Unsigned, Variable, each, for_each, lane, scalar, when,
    workgroup, workgroups,
};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel, product};
use crate::gpu::tensor::{Call, Element, Tensor, words};

/// The number of terms up to which a thread adds them up alone.
const FEW: usize = 16;

/// The number of terms up to which a workgroup adds them up alone.
const SOME: usize = 2048;

/// The threads all over the card among which the terms of all results are shared, about.
const THREADS: usize = 1 << 16;

/// What no terms give.
fn none(kind: ReduceKind, dtype: DType) -> Element {
    let whole = |value: i64, of_32: i32| match dtype {
        DType::I64 => Element::Long(Long::of(value)),
        _ => Element::Signed(Signed::of(of_32)),
    };
    match (kind, dtype) {
        (ReduceKind::Any, _) => Element::Truth(Truth::of(false)),
        (ReduceKind::All, _) => Element::Truth(Truth::of(true)),
        (ReduceKind::Max, DType::F32) => Element::Float(Float::constant(f32::NEG_INFINITY)),
        (ReduceKind::Min, DType::F32) => Element::Float(Float::constant(f32::INFINITY)),
        (ReduceKind::Prod, DType::F32) => Element::Float(Float::constant(1.0)),
        (ReduceKind::Max, _) => whole(i64::MIN, i32::MIN),
        (ReduceKind::Min, _) => whole(i64::MAX, i32::MAX),
        (ReduceKind::Prod, _) => whole(1, 1),
        (ReduceKind::Sum | ReduceKind::Mean, _) => Element::zero(dtype),
    }
}

fn join(kind: ReduceKind, x: Element, y: Element) -> Element {
    match (kind, x, y) {
        (ReduceKind::Any, Element::Truth(x), Element::Truth(y)) => Element::Truth(x | y),
        (ReduceKind::All, Element::Truth(x), Element::Truth(y)) => Element::Truth(x & y),
        // What is not a number is left out.
        (ReduceKind::Max, Element::Float(x), Element::Float(y)) => {
            Element::Float(Float::choose(y.greater(x), y, x))
        }
        (ReduceKind::Min, Element::Float(x), Element::Float(y)) => {
            Element::Float(Float::choose(y.less(x), y, x))
        }
        (ReduceKind::Max, Element::Signed(x), Element::Signed(y)) => {
            Element::Signed(Signed::choose(y.greater(x), y, x))
        }
        (ReduceKind::Min, Element::Signed(x), Element::Signed(y)) => {
            Element::Signed(Signed::choose(y.less(x), y, x))
        }
        (ReduceKind::Max, Element::Long(x), Element::Long(y)) => Element::Long(Long::choose(x.less(y), y, x)),
        (ReduceKind::Min, Element::Long(x), Element::Long(y)) => Element::Long(Long::choose(y.less(x), y, x)),
        (ReduceKind::Prod, Element::Float(x), Element::Float(y)) => Element::Float(x * y),
        (ReduceKind::Prod, Element::Signed(x), Element::Signed(y)) => Element::Signed(x * y),
        (ReduceKind::Prod, Element::Long(x), Element::Long(y)) => Element::Long(x * y),
        (_, Element::Float(x), Element::Float(y)) => Element::Float(x + y),
        (_, Element::Signed(x), Element::Signed(y)) => Element::Signed(x + y),
        (_, Element::Long(x), Element::Long(y)) => Element::Long(x + y),
        (kind, x, y) => panic!("{kind:?} of {x:?} and {y:?}"),
    }
}

/// A variable of any type.
enum Any {
    Float(Variable<Float>),
    Signed(Variable<Signed>),
    Truth(Variable<Truth>),
    Long(Variable<Unsigned>, Variable<Unsigned>),
}

impl Any {
    fn new(first: Element) -> Any {
        match first {
            Element::Float(value) => Any::Float(Variable::new(value)),
            Element::Signed(value) => Any::Signed(Variable::new(value)),
            Element::Truth(value) => Any::Truth(Variable::new(value)),
            Element::Long(value) => Any::Long(Variable::new(value.low), Variable::new(value.high)),
        }
    }

    fn get(&self) -> Element {
        match self {
            Any::Float(variable) => Element::Float(variable.get()),
            Any::Signed(variable) => Element::Signed(variable.get()),
            Any::Truth(variable) => Element::Truth(variable.get()),
            Any::Long(low, high) => Element::Long(Long { low: low.get(), high: high.get() }),
        }
    }

    fn set(&self, to: Element) {
        match (self, to) {
            (Any::Float(variable), Element::Float(value)) => variable.set(value),
            (Any::Signed(variable), Element::Signed(value)) => variable.set(value),
            (Any::Truth(variable), Element::Truth(value)) => variable.set(value),
            (Any::Long(low, high), Element::Long(value)) => {
                low.set(value.low);
                high.set(value.high);
            }
            (_, other) => panic!("a variable of another type than {other:?}"),
        }
    }
}

impl Compile for Reduce {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, kind, dtype) = (call.shape(0).to_vec(), self.kind, call.dtype(0));
        let (along, kept): (Vec<usize>, Vec<usize>) =
            (0..shape.len()).partition(|&axis| is_along(&self.axes, axis));
        let extents = |axes: &[usize]| -> Vec<Extent> { axes.iter().map(|&axis| shape[axis]).collect() };
        let (terms, results) = (extents(&along), extents(&kept));
        let known = terms.iter().try_fold(1usize, |product, extent| match extent {
            Extent::Fixed(size) => product.checked_mul(*size),
            Extent::Bound(_) => None,
        });
        // The element that is a term of a result.
        let source = |result: &[Unsigned], term: Unsigned| {
            let mut at = vec![Unsigned::of(0); shape.len()];
            for (&axis, place) in along.iter().zip(position(term, &terms)) {
                at[axis] = place;
            }
            for (&axis, &place) in kept.iter().zip(result) {
                at[axis] = place;
            }
            element(&at, &shape)
        };
        let finish = |value: Element| match (kind, value) {
            (ReduceKind::Mean, Element::Float(sum)) => {
                let count = scalar(&terms);
                let count = Unsigned::choose(count.is(Unsigned::of(0)), Unsigned::of(1), count);
                Element::Float(sum / count.to_float())
            }
            (_, value) => value,
        };
        if known.is_some_and(|terms| terms <= FEW) {
            return Ok(Kernel::new().stage(Grid::Items(results.clone()), || {
                let (x, out) = (call.input(0), call.output(0));
                each(scalar(&results), |result| {
                    let at = position(result, &results);
                    let sum = Any::new(none(kind, dtype));
                    for_each(Unsigned::of(0), scalar(&terms), Unsigned::of(1), |term| {
                        sum.set(join(kind, sum.get(), x.load(source(&at, term))));
                    });
                    out.store(result, finish(sum.get()));
                });
            }));
        }
        let share =
            |from: &dyn Fn(Unsigned, Unsigned) -> Element, count: Unsigned, shared: &SharedElements| {
                let out = call.output(0);
                for_each(workgroup(), scalar(&results), workgroups(), |result| {
                    let sum = Any::new(none(kind, dtype));
                    for_each(lane(), count, Unsigned::of(LANES), |term| {
                        sum.set(join(kind, sum.get(), from(result, term)));
                    });
                    let all = shared.fold(sum.get(), |x, y| join(kind, x, y));
                    when(lane().is(Unsigned::of(0)), || out.store(result, finish(all)));
                });
            };
        let alone = Kernel::new().stage(Grid::Groups(results.clone()), || {
            let x = call.input(0);
            let term = |result, term| x.load(source(&position(result, &results), term));
            share(&term, scalar(&terms), &SharedElements::new(dtype));
        });
        let is_many = {
            let terms = terms.clone();
            move |sizes: &[usize]| product(&terms, sizes) > SOME
        };
        let kernel = alone.if_sizes(
            0,
            Arc::new({
                let is_many = is_many.clone();
                move |sizes| !is_many(sizes)
            }),
        );
        if known.is_some_and(|terms| terms <= SOME) {
            return Ok(kernel);
        }
        // Neighbouring threads read neighbours: those of one result, or those of one share of the terms.
        let is_by_result = along.last() == shape.len().checked_sub(1).as_ref();
        let count = results.iter().try_fold(1usize, |product, extent| match extent {
            Extent::Fixed(size) => product.checked_mul(*size),
            Extent::Bound(_) => None,
        });
        let shares = (THREADS / count.unwrap_or(THREADS).max(1)).clamp(32, 1024) as u32;
        let all = [results.clone(), vec![Extent::Fixed(shares as usize)]].concat();
        let ty = OperandType::new(dtype, all.clone());
        let partial = || Tensor::new(call.scratch_number(0), &ty);
        let words = [all.clone(), vec![Extent::Fixed(words(dtype))]].concat();
        let split = kernel.scratch_if(words, Arc::new(is_many.clone()));
        let split = split.stage(Grid::Items(all.clone()), || {
            let (x, to, u) = (call.input(0), partial(), Unsigned::of);
            each(to.elements(), |index| {
                let (result, first) = match is_by_result {
                    true => (index / u(shares), index % u(shares)),
                    false => (index % scalar(&results), index / scalar(&results)),
                };
                let at = position(result, &results);
                let sum = Any::new(none(kind, dtype));
                for_each(first, scalar(&terms), u(shares), |term| {
                    sum.set(join(kind, sum.get(), x.load(source(&at, term))));
                });
                to.store(index, sum.get());
            });
        });
        let joined = split.stage(Grid::Groups(results.clone()), || {
            let (from, u) = (partial(), Unsigned::of);
            let term = |result: Unsigned, share: Unsigned| {
                from.load(match is_by_result {
                    true => result * u(shares) + share,
                    false => share * scalar(&results) + result,
                })
            };
            share(&term, u(shares), &SharedElements::new(dtype));
        });
        Ok(joined.if_sizes(1, Arc::new(is_many)))
    }
}
