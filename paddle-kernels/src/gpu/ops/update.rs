//! Updates of parameters: a thread for each element, and then the powers. Of tables, a thread for each element of the rows that
//! were looked up.

use paddle_core::ops::{MOST_STATES, Once, Real, Rule, Update, UpdateRows, WithRule};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Float, LANES, Long, Truth, Unsigned, Variable, each, fail, for_each, scalar, when};
use crate::gpu::kernel::{Grid, Kernel, product};
use crate::gpu::tensor::Call;
use crate::messages::entry_out_of_range;

/// The number of slots in front of the states: parameter, gradient, learning rate.
const FIRST_STATE: usize = 3;

impl Compile for Update {
    fn is_supported(&self, _: &[DType]) -> bool {
        !self.with_rule(IsScaled)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(compile_all(&[(self, call)]))
    }
}

/// Compiles updates, as many to a form as the device takes operands. The threads of a workgroup are of one parameter.
pub(super) fn compile_all(updates: &[(&Update, Call<'_>)]) -> Kernel {
    let Some((_, call)) = updates.first() else { return Kernel::new() };
    let operands = updates.iter().map(|(_, call)| call.inputs()).max().unwrap_or(1);
    let mut kernel = Kernel::new();
    for updates in updates.chunks((call.abilities.operands / operands).max(1)) {
        // Parameters have known shapes.
        let threads = |call: &Call<'_>| product(call.shape(0), &[]).next_multiple_of(LANES as usize);
        let all = updates.iter().map(|(_, call)| threads(call)).sum();
        kernel = kernel.stage(Grid::Items(vec![Extent::Fixed(all)]), || {
            each(Unsigned::of(u32::try_from(all).unwrap_or(u32::MAX)), |thread| {
                let mut first = 0;
                for (update, call) in updates {
                    let gradient = call.input(1);
                    let at = thread - Unsigned::of(first);
                    when(at.less(gradient.elements()), || {
                        let step =
                            update.with_rule(Prepared { update, call: *call, first_state: FIRST_STATE });
                        step(at, gradient.float(at));
                    });
                    first += threads(call) as u32;
                }
            });
        });
    }
    let powers: Vec<_> =
        updates.iter().map(|&(update, call)| (update, call, FIRST_STATE + update.states().len())).collect();
    advance_powers(kernel, &powers)
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
        self.update.is_supported(&[])
    }

    /// The thread of the first place that names a row adds up the gradients of all places, lookup by lookup, and updates the
    /// row.
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
        for at in 0..lookups.len() {
            let [rows, _] = lookups[at];
            kernel = kernel
                .stage(Grid::Items(call.shape(rows).to_vec()), || update_first(self, call, &lookups, at));
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
fn update_first(op: &UpdateRows, call: Call<'_>, lookups: &[[usize; 2]], at: usize) {
    let u = Unsigned::of;
    let count = call.shape(0)[0];
    let inputs: Vec<_> = lookups.iter().map(|&[rows, ids]| (call.input(rows), call.input(ids))).collect();
    let step = op.update.with_rule(Prepared { update: &op.update, call, first_state: FIRST_STATE + 1 });
    let size = scalar(&call.shape(0)[1..]);
    let (rows, ids) = &inputs[at];
    each(rows.elements(), |index| {
        let place = index / size;
        let column = index - place * size;
        let id = ids.load(place).long();
        let counts = id.is_index(scalar(&[count])) & !id.is(Long::of(op.padding_idx));
        let is_first = Variable::new(counts);
        when(counts, || {
            for (_, earlier) in &inputs[..at] {
                for_each(u(0), earlier.elements(), u(1), |other| {
                    when(earlier.load(other).long().is(id), || is_first.set(Truth::of(false)));
                });
            }
            for_each(u(0), place, u(1), |other| {
                when(ids.load(other).long().is(id), || is_first.set(Truth::of(false)));
            });
        });
        when(is_first.get(), || {
            let total = Variable::new(Float::constant(0.0));
            for (rows, ids) in &inputs[at..] {
                let sum = Variable::new(Float::constant(0.0));
                for_each(u(0), ids.elements(), u(1), |other| {
                    when(ids.load(other).long().is(id), || {
                        sum.set(sum.get() + rows.float(other * size + column))
                    });
                });
                total.set(total.get() + sum.get());
            }
            step(id.low * size + column, total.get());
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

/// Reads what all elements share, and gives what writes the step of an element from its gradient.
struct Prepared<'a> {
    update: &'a Update,
    call: Call<'a>,
    first_state: usize,
}

impl WithRule for Prepared<'_> {
    type Output = Box<dyn Fn(Unsigned, Float)>;

    fn with<R: Rule>(self, rule: R) -> Self::Output {
        let Prepared { update, call, first_state } = self;
        let (zero, one) = (Float::constant(0.0), Float::constant(1.0));
        let parameter = call.input(0);
        let states: Vec<_> = (0..R::STATES).map(|k| call.input(first_state + k)).collect();
        let first = Unsigned::of(0);
        let mut once = Once { rate: call.input(2).float(first), powers: [one; 2], trust: one };
        for (k, power) in once.powers.iter_mut().enumerate().take(update.powers().len()) {
            *power = call.input(first_state + update.states().len() + k).float(first);
        }
        let shared = rule.shared(once);
        Box::new(move |index, gradient| {
            let mut old = [zero; MOST_STATES];
            old.iter_mut().zip(&states).for_each(|(old, state)| *old = state.float(index));
            let (p, new) = R::step(&shared, parameter.float(index), gradient, old);
            parameter.set(index, p);
            states.iter().zip(new).for_each(|(state, value)| state.set(index, value));
        })
    }
}
