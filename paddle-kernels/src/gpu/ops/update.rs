//! Updates of parameters: a thread for each element, and then the powers. A rule that scales its steps adds up squares before. Of tables, a thread for each element of the rows that
//! were looked up.

use paddle_core::ops::{MOST_STATES, Once, Real, Rule, Update, UpdateRows, WithRule};
use paddle_core::plan::{Extent, OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::fold;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Long, Register, Truth, Unsigned, Variable, each, fail, for_each, lane, scalar, when,
    workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel, product};
use crate::gpu::sort::{Sorted, bits_below, sort};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::entry_out_of_range;

/// The number of slots in front of the states: parameter, gradient, learning rate.
const FIRST_STATE: usize = 3;

impl Compile for Update {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(compile_all(&[(self, call)]))
    }
}

/// Compiles updates. Those whose steps are scaled by norms come one after the other, the others together.
pub(super) fn compile_all(updates: &[(&Update, Call<'_>)]) -> Kernel {
    let (scaled, others): (Vec<_>, Vec<_>) =
        updates.iter().partition(|(update, _)| update.with_rule(IsScaled));
    let mut kernel = together(Kernel::new(), &others);
    for &&(update, call) in &scaled {
        let prepared = || Prepared { update, call, first_state: FIRST_STATE };
        kernel = scale(kernel, &call, || update.with_rule(Direction(prepared())));
        kernel = kernel.stage(Grid::Items(call.shape(0).to_vec()), || {
            let step = update.with_rule(prepared());
            let gradient = call.input(1);
            each(gradient.elements(), |index| step(index, gradient.float(index)));
        });
    }
    if !scaled.is_empty() {
        kernel = kernel.scratch(vec![Extent::Fixed(2 * PARTS + 1)]);
    }
    let powers: Vec<_> =
        updates.iter().map(|&(update, call)| (update, call, FIRST_STATE + update.states().len())).collect();
    advance_powers(kernel, &powers)
}

/// Adds the stages of updates, as many to a form as the device takes operands. The threads of a workgroup are of one parameter.
fn together(mut kernel: Kernel, updates: &[&(&Update, Call<'_>)]) -> Kernel {
    let Some((_, call)) = updates.first() else { return kernel };
    let operands = updates.iter().map(|(_, call)| call.inputs()).max().unwrap_or(1);
    for updates in updates.chunks((call.abilities.operands / operands).max(1)) {
        // Parameters have known shapes.
        let threads = |call: &Call<'_>| product(call.shape(0), &[]).next_multiple_of(LANES as usize);
        let all = updates.iter().map(|(_, call)| threads(call)).sum();
        kernel = kernel.stage(Grid::Items(vec![Extent::Fixed(all)]), || {
            each(Unsigned::of(u32::try_from(all).unwrap_or(u32::MAX)), |thread| {
                let mut first = 0;
                for &&(update, call) in updates {
                    let gradient = call.input(1);
                    let at = thread - Unsigned::of(first);
                    when(at.less(gradient.elements()), || {
                        let step = update.with_rule(Prepared { update, call, first_state: FIRST_STATE });
                        step(at, gradient.float(at));
                    });
                    first += threads(&call) as u32;
                }
            });
        });
    }
    kernel
}

/// Adds the stages that advance the powers of updates; they are inputs from a number on.
fn advance_powers(mut kernel: Kernel, updates: &[(&Update, Call<'_>, usize)]) -> Kernel {
    let advances = |update: &Update| update.powers().iter().any(|power| power.advances);
    let updates: Vec<_> = updates.iter().filter(|(update, ..)| advances(update)).collect();
    let Some((_, call, _)) = updates.first() else { return kernel };
    let powers = updates.iter().map(|(update, ..)| update.powers().len()).max().unwrap_or(1);
    for updates in updates.chunks((call.abilities.operands / powers).max(1)) {
        kernel = kernel.stage(Grid::Items(vec![Extent::Fixed(updates.len())]), || {
            each(Unsigned::of(updates.len() as u32), |thread| {
                for (number, (update, call, behind)) in (0u32..).zip(updates.iter()) {
                    when(thread.is(Unsigned::of(number)), || {
                        let first = Unsigned::of(0);
                        let powers = update.powers();
                        for (k, power) in powers.iter().enumerate().filter(|(_, power)| power.advances) {
                            let value = call.input(behind + k);
                            value.set(first, value.float(first) * Float::of(power.rate));
                        }
                    });
                }
            });
        });
    }
    kernel
}

impl Compile for UpdateRows {
    fn is_supported(&self, _: &[DType]) -> bool {
        !self.update.with_rule(IsScaled)
    }

    /// The ids of each lookup are sorted. The thread of the first place that names a row adds up the gradients of all places, lookup
    /// by lookup, and updates the row.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let lookups: Vec<[usize; 2]> = self.lookups(call.inputs()).collect();
        let count = call.shape(0)[0];
        let mut kernel = Kernel::new();
        // Positions are numbered through all lookups.
        for (at, &[_, ids]) in lookups.iter().enumerate() {
            kernel = kernel.stage(Grid::Items(call.shape(ids).to_vec()), || {
                let before = lookups[..at]
                    .iter()
                    .fold(Unsigned::of(0), |sum, &[_, ids]| sum + scalar(call.shape(ids)));
                let ids = call.input(ids);
                each(ids.elements(), |place| {
                    when(!ids.load(place).long().is_index(scalar(&[count])), || fail(before + place));
                });
            });
        }
        // What is not updated is behind all rows.
        let mut sorted = Vec::new();
        for &[_, ids] in &lookups {
            let number = |place: Unsigned| {
                let id = call.input(ids).load(place).long();
                let counts = id.is_index(scalar(&[count])) & !id.is(Long::of(self.padding_idx));
                Unsigned::choose(counts, id.low, scalar(&[count]))
            };
            let shape = call.shape(ids);
            let (stages, of_ids) = sort(kernel, call.group, shape, bits_below(&[count]), &number);
            kernel = stages;
            sorted.push(of_ids);
        }
        for at in 0..lookups.len() {
            let [rows, _] = lookups[at];
            kernel = kernel.stage(Grid::Items(call.shape(rows).to_vec()), || {
                update_first(self, call, &lookups, &sorted, at);
            });
        }
        let behind = FIRST_STATE + 1 + self.update.states().len();
        kernel = advance_powers(kernel, &[(&self.update, call, behind)]);
        let ids: Vec<_> =
            lookups.iter().map(|&[_, ids]| (call.input_number(ids), call.shape(ids).to_vec())).collect();
        Ok(kernel.explain(move |evidence, position| {
            let mut at = position;
            for (number, shape) in &ids {
                let elements = product(shape, evidence.sizes);
                if at < elements {
                    return entry_out_of_range((evidence.number)(*number, at), at, count.get(evidence.sizes));
                }
                at -= elements;
            }
            unreachable!("a position is in one of the lookups")
        }))
    }
}

/// Writes the update of the rows that are named first in lookup `at`.
fn update_first(op: &UpdateRows, call: Call<'_>, lookups: &[[usize; 2]], sorted: &[Sorted], at: usize) {
    let u = Unsigned::of;
    let count = scalar(&call.shape(0)[..1]);
    let rows: Vec<_> = lookups.iter().map(|&[rows, _]| call.input(rows)).collect();
    let step = op.update.with_rule(Prepared { update: &op.update, call, first_state: FIRST_STATE + 1 });
    let size = scalar(&call.shape(0)[1..]);
    each(rows[at].elements(), |index| {
        let place = index / size;
        let column = index - place * size;
        let row = sorted[at].number(place);
        let is_first = Variable::new(sorted[at].is_new(place) & row.less(count));
        when(is_first.get(), || {
            for earlier in &sorted[..at] {
                when(earlier.first(row).less(earlier.first(row + u(1))), || is_first.set(Truth::of(false)));
            }
        });
        when(is_first.get(), || {
            let total = Variable::new(Float::constant(0.0));
            for (rows, sorted) in rows.iter().zip(sorted).skip(at) {
                let sum = Variable::new(Float::constant(0.0));
                for_each(sorted.first(row), sorted.first(row + u(1)), u(1), |place| {
                    sum.set(sum.get() + rows.float(sorted.place(place) * size + column));
                });
                total.set(total.get() + sum.get());
            }
            step(row * size + column, total.get());
        });
    });
}

/// Whether a rule scales its step by norms.
struct IsScaled;

impl WithRule for IsScaled {
    type Output = bool;

    fn with<R: Rule>(self, _: R) -> bool {
        R::SCALED
    }
}

/// The workgroups that share the elements whose squares are added up.
const PARTS: usize = 64;

/// The sums of squares of each workgroup, of the parameter and of the direction, and behind them the trust in the direction.
fn sums_of_squares(call: &Call<'_>) -> Tensor {
    let number = call.group.inputs.len() + call.group.outputs.len();
    Tensor::new(number, &OperandType::new(DType::F32, vec![Extent::Fixed(2 * PARTS + 1)]))
}

/// The stages that find out the trust in the direction: the norm of the parameter divided by that of the direction, or 1 if one of them
/// is 0.
fn scale(
    kernel: Kernel,
    call: &Call<'_>,
    direction: impl FnOnce() -> Box<dyn Fn(Unsigned, Float) -> Float>,
) -> Kernel {
    let u = Unsigned::of;
    let parts = || u(PARTS as u32);
    let summed = kernel.stage(Grid::Groups(vec![Extent::Fixed(PARTS)]), || {
        let (parameter, gradient, sums) = (call.input(0), call.input(1), sums_of_squares(call));
        let (direction, shared) = (direction(), SharedElements::new(DType::F32));
        let count = parameter.elements();
        let share = (count + parts() - u(1)) / parts();
        for_each(workgroup(), parts(), workgroups(), |part| {
            let first = (part * share).least(count);
            let length = (first + share).least(count) - first;
            let square = |value: Float| value * value;
            let of_parameter = |at: Unsigned| square(parameter.float(first + at));
            let of_direction = |at: Unsigned| square(direction(first + at, gradient.float(first + at)));
            let of_parameter = fold(length, 0.0, of_parameter, |x, y| x + y, &shared);
            let of_direction = fold(length, 0.0, of_direction, |x, y| x + y, &shared);
            when(lane().is(u(0)), || {
                sums.set(part, of_parameter);
                sums.set(part + parts(), of_direction);
            });
        });
    });
    summed.stage(Grid::One, || {
        let (sums, shared) = (sums_of_squares(call), SharedElements::new(DType::F32));
        let norm = |first: usize| {
            let square = |part: Unsigned| sums.float(part + u(first as u32));
            fold(parts(), 0.0, square, |x, y| x + y, &shared).sqrt()
        };
        let (of_parameter, of_direction) = (norm(0), norm(PARTS));
        let zero = Float::constant(0.0);
        let are_there = of_parameter.greater(zero) & of_direction.greater(zero);
        let quotient = Float::choose(are_there, of_parameter / of_direction, Float::constant(1.0));
        when(lane().is(u(0)), || sums.set(u(2 * PARTS as u32), quotient));
    })
}

/// The operands of an update.
struct Prepared<'a> {
    update: &'a Update,
    call: Call<'a>,
    first_state: usize,
}

impl Prepared<'_> {
    /// What all elements share, but for the trust in the direction.
    fn once(&self) -> Once<Float> {
        let (one, first) = (Float::constant(1.0), Unsigned::of(0));
        let mut once = Once { rate: self.call.input(2).float(first), powers: [one; 2], trust: one };
        for (k, power) in once.powers.iter_mut().enumerate().take(self.update.powers().len()) {
            let behind = self.first_state + self.update.states().len();
            *power = self.call.input(behind + k).float(first);
        }
        once
    }

    fn states<R: Rule>(&self) -> Vec<Tensor> {
        (0..R::STATES).map(|k| self.call.input(self.first_state + k)).collect()
    }
}

/// The states of an element.
fn old(states: &[Tensor], index: Unsigned) -> [Float; MOST_STATES] {
    let mut old = [Float::constant(0.0); MOST_STATES];
    old.iter_mut().zip(states).for_each(|(old, state)| *old = state.float(index));
    old
}

/// Reads what all elements share, and gives what writes the step of an element from its gradient.
impl WithRule for Prepared<'_> {
    type Output = Box<dyn Fn(Unsigned, Float)>;

    fn with<R: Rule>(self, rule: R) -> Self::Output {
        let (parameter, states, mut once) = (self.call.input(0), self.states::<R>(), self.once());
        if R::SCALED {
            once.trust = sums_of_squares(&self.call).float(Unsigned::of(2 * PARTS as u32));
        }
        let shared = rule.shared(once);
        Box::new(move |index, gradient| {
            let (p, new) = R::step(&shared, parameter.float(index), gradient, old(&states, index));
            parameter.set(index, p);
            states.iter().zip(new).for_each(|(state, value)| state.set(index, value));
        })
    }
}

/// Likewise, and gives the direction of the step before it is scaled.
struct Direction<'a>(Prepared<'a>);

impl WithRule for Direction<'_> {
    type Output = Box<dyn Fn(Unsigned, Float) -> Float>;

    fn with<R: Rule>(self, rule: R) -> Self::Output {
        let Direction(prepared) = self;
        let (parameter, states) = (prepared.call.input(0), prepared.states::<R>());
        let shared = rule.shared(prepared.once());
        Box::new(move |index, gradient| {
            R::direction(&shared, parameter.float(index), gradient, old(&states, index))
        })
    }
}
