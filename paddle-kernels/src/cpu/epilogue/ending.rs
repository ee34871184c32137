//! Endings: epilogues that a kernel computes in registers, in front of storing its result. They are what stands behind
//! convolutions most often: a factor and a shift for each channel, another value, and a bound. An epilogue may begin with one.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ptr::null;

use paddle_core::ops::{Binary, BinaryKind, Op, Unary, UnaryKind};
use paddle_core::plan::{Extent, Group, GroupOp, Operand, OperandType};

use crate::cpu::number::Float;
use crate::cpu::vector::{Element, Factor, Vector};

/// An ending over operands of type `O`: `min(max(x · factor + shift + other, 0), bound)`. What is not there is left out.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct Ending<O, B> {
    /// One number for each channel.
    factor: O,
    shift: O,
    /// A value as large as the result.
    other: O,
    /// Whether the result is at least 0.
    is_positive: bool,
    /// An upper bound of a positive result.
    bound: B,
}

/// An ending whose operands are numbered.
pub(in crate::cpu) type Pattern = Ending<Option<usize>, Option<f64>>;

impl Pattern {
    /// The ending with which the epilogue of a group begins, if it does, and the number of operators that it has. `result` is that
    /// of the body. Types are as in memory, where channels are the last axis.
    pub(in crate::cpu) fn find(group: &Group, result: Operand) -> Option<(Pattern, usize)> {
        let mut found = None;
        let mut ending = Ending { factor: None, shift: None, other: None, is_positive: false, bound: None };
        let mut value = result;
        for (i, op) in group.epilogue.iter().enumerate() {
            // A value in between stays inside: the next operator alone reads it.
            let behind = &group.epilogue[i + 1..];
            let stays = |value| {
                matches!(value, Operand::Temporary(_)) && behind.iter().all(|op| !op.inputs.contains(&value))
            };
            let (Some((longer, next)), true) = (ending.followed_by(group, value, op), stays(value)) else {
                break;
            };
            (ending, value) = (longer, next);
            // The rest begins with a value that is nowhere but in the result of the body.
            if behind.is_empty() || matches!(value, Operand::Temporary(_)) {
                found = Some((ending, i + 1));
            }
        }
        found
    }

    /// The ending and one more operator, which reads its value, and the operator's result; `None` if that is no ending.
    fn followed_by(self, group: &Group, value: Operand, op: &GroupOp) -> Option<(Pattern, Operand)> {
        let mut ending = self;
        let shape = &group.ty(value).shape;
        let GroupOp { inputs, outputs, .. } = op;
        let [next] = outputs[..] else { return None };
        let is_begun = ending.other.is_some() || ending.is_positive;
        match (&op.op, &inputs[..]) {
            (Op::Binary(Binary { kind: BinaryKind::Mul }), &[a, Operand::Input(b)])
                if a == value && !is_begun && ending.factor.is_none() && ending.shift.is_none() =>
            {
                ending.factor = Some(b).filter(|&b| is_of_channels(&group.inputs[b], shape));
                ending.factor?;
            }
            (Op::Binary(Binary { kind: BinaryKind::Add }), &[a, b]) => {
                let (Operand::Input(with), of) = (if a == value { (b, a) } else { (a, b) }) else {
                    return None;
                };
                if of != value || ending.is_positive {
                    return None;
                }
                let ty = &group.inputs[with];
                if !is_begun && ending.shift.is_none() && is_of_channels(ty, shape) {
                    ending.shift = Some(with);
                } else if ending.other.is_none() && ty.shape == *shape {
                    ending.other = Some(with);
                } else {
                    return None;
                }
            }
            (Op::Unary(Unary { kind: UnaryKind::Relu, .. }), &[a]) if a == value && !ending.is_positive => {
                ending.is_positive = true;
            }
            (Op::Unary(Unary { kind: UnaryKind::Relu6, coefficients }), &[a])
                if a == value && !ending.is_positive =>
            {
                (ending.is_positive, ending.bound) = (true, Some(coefficients[0]));
            }
            _ => return None,
        }
        Some((ending, next))
    }

    /// The ending with other numbers of its operands.
    pub(in crate::cpu) fn renumbered(self, number: impl Fn(usize) -> Option<usize>) -> Pattern {
        let [factor, shift, other] = [self.factor, self.shift, self.other].map(|of| of.and_then(&number));
        Ending { factor, shift, other, ..self }
    }

    /// The ending whose operands are at these addresses.
    pub(in crate::cpu) fn at<T: Float>(self, address: impl Fn(usize) -> *const u8) -> InRegisters<T> {
        let at = |operand: Option<usize>| operand.map_or(null(), |operand| address(operand).cast());
        let Ending { factor, shift, other, is_positive, bound } = self;
        let bound = bound.map(T::of);
        Ending { factor: at(factor), shift: at(shift), other: at(other), is_positive, bound }
    }
}

/// Whether an operand has one number for each channel, which are the last axis.
fn is_of_channels(operand: &OperandType, shape: &[Extent]) -> bool {
    let Some((last, others)) = operand.shape.split_last() else { return false };
    Some(last) == shape.last() && others.iter().all(|&extent| extent == Extent::Fixed(1))
}

/// An ending in a launch.
pub(in crate::cpu) type InRegisters<T> = Ending<*const T, Option<T>>;

impl<T> InRegisters<T> {
    /// The ending that leaves results as they are.
    pub(in crate::cpu) const NONE: InRegisters<T> =
        Ending { factor: null(), shift: null(), other: null(), is_positive: false, bound: None };
}

impl<T: Element> InRegisters<T> {
    /// The ending of a register of channels, which begin with `channel`. `count` of them are there.
    ///
    /// # Safety
    /// The ending has these channels; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn load<V: Vector<Element = T>>(&self, channel: usize, count: usize) -> OfChannels<V> {
        // SAFETY: the caller's.
        unsafe {
            let is_scaled = !self.factor.is_null() || !self.shift.is_null();
            let factor = if self.factor.is_null() {
                V::splat(1.into())
            } else {
                load(self.factor.wrapping_add(channel), count)
            };
            let shift = if self.shift.is_null() {
                V::splat(0.into())
            } else {
                load(self.shift.wrapping_add(channel), count)
            };
            OfChannels {
                is_scaled,
                factor,
                shift,
                other: self.other,
                is_positive: self.is_positive,
                bound: self.bound,
                count,
            }
        }
    }
}

/// An ending of a register of channels.
#[derive(Clone, Copy)]
struct OfChannels<V: Vector> {
    is_scaled: bool,
    factor: V,
    shift: V,
    other: *const V::Element,
    is_positive: bool,
    bound: Option<V::Element>,
    count: usize,
}

impl<V: Vector> OfChannels<V> {
    /// The ending of a result, whose first channel is this element of all results.
    ///
    /// # Safety
    /// There is such an element; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn of(&self, result: V, element: usize) -> V {
        let mut results = [[result]];
        // SAFETY: the caller's.
        unsafe {
            scale([self], &mut results);
            if !self.other.is_null() {
                let other = load(self.other.wrapping_add(element), self.count);
                results[0][0] = results[0][0].add(other);
            }
            self.bound(&mut results);
        }
        results[0][0]
    }

    /// Bounds results.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn bound<const COUNT: usize, const WIDTH: usize>(&self, results: &mut [[V; WIDTH]; COUNT]) {
        if !self.is_positive {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            let zero = V::splat(V::Element::ZERO);
            for results in results.iter_mut() {
                for result in results {
                    *result = result.or_larger(zero);
                }
            }
            if let Some(bound) = self.bound {
                let least = zero.sub(V::splat(bound));
                for results in results.iter_mut() {
                    for result in results {
                        *result = zero.sub(zero.sub(*result).or_larger(least));
                    }
                }
            }
        }
    }
}

/// Multiplies results by the factors of their channels, and adds the shifts.
///
/// # Safety
/// The machine has the instruction set of `V`.
#[inline(always)]
unsafe fn scale<V: Vector, const COUNT: usize, const WIDTH: usize>(
    endings: [&OfChannels<V>; WIDTH],
    results: &mut [[V; WIDTH]; COUNT],
) {
    if endings[0].is_scaled {
        for results in results.iter_mut() {
            for (ending, result) in endings.iter().zip(results) {
                // SAFETY: the caller's.
                *result = unsafe { result.mul_add(ending.factor, ending.shift) };
            }
        }
    }
}

/// Where a kernel stores results.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Stored<T> {
    /// The first channel of the first result, and the distance of neighbouring results.
    pub(in crate::cpu) to: *mut T,
    pub(in crate::cpu) apart: usize,
    /// Which element of all results the first one is, and the distance of neighbouring ones.
    pub(in crate::cpu) element: usize,
    pub(in crate::cpu) elements_apart: usize,
}

/// The endings of results that have some registers of channels each. The last register may have channels that are not there.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Endings<V: Vector, const WIDTH: usize>([OfChannels<V>; WIDTH]);

impl<T: Element> InRegisters<T> {
    /// The endings of `count` channels, which begin with `channel`.
    ///
    /// # Safety
    /// The ending has these channels; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(in crate::cpu) unsafe fn load_all<V: Vector<Element = T>, const WIDTH: usize>(
        &self,
        channel: usize,
        count: usize,
    ) -> Endings<V, WIDTH> {
        // SAFETY: the caller's.
        unsafe {
            let mut endings = [self.load::<V>(channel, count); WIDTH];
            for (w, ending) in endings.iter_mut().enumerate().skip(1) {
                *ending = self.load(channel + w * V::LANES, count - w * V::LANES);
            }
            Endings(endings)
        }
    }
}

impl<V: Vector, const WIDTH: usize> Endings<V, WIDTH> {
    /// Computes the endings of results, and stores them.
    ///
    /// # Safety
    /// The results have room, and operands their elements; the machine has the instruction set of `V`.
    #[inline(always)]
    pub(in crate::cpu) unsafe fn store<const COUNT: usize>(
        &self,
        mut results: [[V; WIDTH]; COUNT],
        stored: Stored<V::Element>,
    ) {
        let Stored { to, apart, element, elements_apart } = stored;
        let Endings(endings) = self;
        // SAFETY: the caller's.
        unsafe {
            // Each question is asked once for all results, in loops so short that they are unrolled: otherwise a kernel's sums would
            // be in memory from their beginning. Other values are added behind the kernel.
            if endings[0].other.is_null() {
                scale(endings.each_ref(), &mut results);
                endings[0].bound(&mut results);
                return self.write(&results, to, apart);
            }
            self.write(&results, to, apart);
            for at in 0..COUNT {
                for (w, ending) in endings.iter().enumerate() {
                    let (lane, to) = (w * V::LANES, to.add(at * apart + w * V::LANES));
                    let result = load(to.cast_const(), ending.count);
                    let result = ending.of(result, element + at * elements_apart + lane);
                    if ending.count >= V::LANES {
                        result.store(to)
                    } else {
                        result.store_partial(to, ending.count)
                    }
                }
            }
        }
    }

    /// # Safety
    /// The results have room; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn write<const COUNT: usize>(
        &self,
        results: &[[V; WIDTH]; COUNT],
        to: *mut V::Element,
        apart: usize,
    ) {
        let last = self.0[WIDTH - 1].count;
        // SAFETY: the caller's.
        unsafe {
            if last >= V::LANES {
                for (at, result) in results.iter().enumerate() {
                    for (w, result) in result.iter().enumerate() {
                        result.store(to.add(at * apart + w * V::LANES));
                    }
                }
                return;
            }
            for (at, result) in results.iter().enumerate() {
                for (w, result) in result.iter().enumerate() {
                    let to = to.add(at * apart + w * V::LANES);
                    if w + 1 < WIDTH { result.store(to) } else { result.store_partial(to, last) }
                }
            }
        }
    }
}

/// # Safety
/// `count` elements, or all lanes, are there; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn load<V: Vector>(from: *const V::Element, count: usize) -> V {
    // SAFETY: the caller's.
    unsafe {
        match count >= V::LANES {
            true => V::load(from),
            false => V::load_partial(from, count),
        }
    }
}
