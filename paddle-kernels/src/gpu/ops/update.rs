//! Updates of parameters: a thread for each element, and then the powers. Of tables, a thread for each element of the rows that
//! were looked up.

use paddle_core::ops::{MOST_STATES, Once, Real, Rule, Update, UpdateRows, WithRule};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{
    Float, Long, Register, Truth, Unsigned, Variable, each, fail, for_each, scalar, when,
};
use crate::gpu::kernel::{Grid, Kernel, product};
use crate::gpu::sort::{Sorted, bits_below, sort};
use crate::gpu::tensor::Call;
use crate::messages::entry_out_of_range;

/// The number of slots in front of the states: parameter, gradient, learning rate.
const FIRST_STATE: usize = 3;

impl Compile for Update {
    fn is_supported(&self, _: &[DType]) -> bool {
        !self.with_rule(IsScaled)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let kernel = Kernel::new().stage(Grid::Items(shape), || {
            let step = self.with_rule(Prepared { update: self, call, first_state: FIRST_STATE });
            let gradient = call.input(1);
            each(gradient.elements(), |index| step(index, gradient.float(index)));
        });
        Ok(advance_powers(kernel, self, call, FIRST_STATE + self.states().len()))
    }
}

/// Adds the stage that advances the powers of an update; they are inputs from `behind` on.
fn advance_powers(kernel: Kernel, update: &Update, call: Call<'_>, behind: usize) -> Kernel {
    let powers = update.powers();
    if !powers.iter().any(|power| power.advances) {
        return kernel;
    }
    kernel.stage(Grid::Items(vec![Extent::Fixed(1)]), || {
        each(Unsigned::of(1), |index| {
            for (k, power) in powers.iter().enumerate().filter(|(_, power)| power.advances) {
                let value = call.input(behind + k);
                value.set(index, value.float(index) * Float::of(power.rate));
            }
        });
    })
}

impl Compile for UpdateRows {
    fn is_supported(&self, _: &[DType]) -> bool {
        self.update.is_supported(&[])
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
        kernel = advance_powers(kernel, &self.update, call, behind);
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
