//! Updates of parameters: one sweep over the parameter, its gradient and its states.

use std::marker::PhantomData;

use paddle_core::ops::{MOST_STATES, Once, Power, Rule, Update, WithRule};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Shares, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::{Operands, Signature};
use crate::cpu::pieces::{groups, pieces};
use crate::cpu::sum::sum;

/// Elements that one thread updates at a time.
const PIECE: usize = 1 << 14;
/// The number of squares that are summed at a time.
const BLOCK: usize = 1 << 10;
/// The largest number of parts into which the sum of all squares is cut.
const MOST_PARTS: usize = 64;
/// The number of slots in front of the states: parameter, gradient, learning rate.
const FIRST_STATE: usize = 3;
/// The largest number of powers that a rule has.
pub(super) const MOST_POWERS: usize = 2;
/// The largest number of values that change: the parameter, states, powers.
pub(super) const MOST_CHANGES: usize = 1 + MOST_STATES + MOST_POWERS;

struct ParameterUpdate<T> {
    rule: Box<dyn Elements<T>>,
    powers: Vec<Power>,
}

/// What a rule does with elements of one type. Kernels are compiled once for all rules, but for these functions.
pub(super) trait Elements<T>: Send + Sync {
    /// The number of states.
    fn states(&self) -> usize;

    /// Whether steps are scaled by a trust, which depends on all elements.
    fn is_scaled(&self) -> bool;

    /// Updates the elements of a parameter.
    fn sweep(
        &self,
        isa: Isa,
        once: Once<T>,
        parameter: &mut [T],
        gradient: &[T],
        states: [&mut [T]; MOST_STATES],
    );

    /// The sums of squares of the parameter and of the direction of its step, of a rule that is scaled.
    fn squares(
        &self,
        isa: Isa,
        once: Once<T>,
        parameter: &[T],
        gradient: &[T],
        states: [&[T]; MOST_STATES],
    ) -> [T; 2];
}

impl<T: Float, R: Rule> Elements<T> for R {
    fn states(&self) -> usize {
        R::STATES
    }

    fn is_scaled(&self) -> bool {
        R::SCALED
    }

    fn sweep(
        &self,
        isa: Isa,
        once: Once<T>,
        parameter: &mut [T],
        gradient: &[T],
        states: [&mut [T]; MOST_STATES],
    ) {
        sweep(isa, self, once, parameter, gradient, states);
    }

    fn squares(
        &self,
        isa: Isa,
        once: Once<T>,
        parameter: &[T],
        gradient: &[T],
        states: [&[T]; MOST_STATES],
    ) -> [T; 2] {
        // The compiler makes no copy for rules that are not scaled.
        if const { R::SCALED } {
            squares(isa, self, once, parameter, gradient, states)
        } else {
            unreachable!("the rule is not scaled")
        }
    }
}

/// The rule of an update, for elements of type `T`.
pub(super) fn rule_of<T: Float>(update: &Update) -> Box<dyn Elements<T>> {
    update.with_rule(For(PhantomData))
}

struct For<T>(PhantomData<T>);

impl<T: Float> WithRule for For<T> {
    type Output = Box<dyn Elements<T>>;

    fn with<R: Rule>(self, rule: R) -> Self::Output {
        Box::new(rule)
    }
}

impl Compile for Update {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let powers = self.powers();
        let (mut reads, mut writes) = (vec![single.input(1)?, single.input(2)?], vec![single.input(0)?]);
        let behind = FIRST_STATE + self.states().len();
        for k in FIRST_STATE..behind {
            writes.push(single.input(k)?);
        }
        for (k, power) in powers.iter().enumerate() {
            let slots = if power.advances { &mut writes } else { &mut reads };
            slots.push(single.input(behind + k)?);
        }
        let body: Box<dyn Body> = with_float!(single, writes[0].1.dtype, T => {
            Box::new(ParameterUpdate { rule: rule_of::<T>(self), powers })
        });
        Ok((Signature { reads, writes, in_place: false }, body))
    }

    fn gathers(&self) -> bool {
        true
    }
}

/// Updates the elements at one position.
#[inline(always)]
fn element<const FUSED: bool, T: Float, R: Rule, const N: usize>(
    shared: &R::Shared<T::Fast<FUSED>>,
    parameter: &mut T,
    gradient: T,
    states: [&mut T; N],
) {
    let mut old = [T::ZERO.fast::<FUSED>(); MOST_STATES];
    for (old, state) in old.iter_mut().zip(&states) {
        *old = state.fast::<FUSED>();
    }
    let (new, advanced) = R::step(shared, parameter.fast::<FUSED>(), gradient.fast::<FUSED>(), old);
    *parameter = T::plain(new);
    for (state, new) in states.into_iter().zip(advanced) {
        *state = T::plain(new);
    }
}

/// The numbers that all elements share, in the type in which formulas are evaluated.
#[inline(always)]
fn shared<const FUSED: bool, T: Float, R: Rule>(rule: &R, once: Once<T>) -> R::Shared<T::Fast<FUSED>> {
    let Once { rate, powers, trust } = once;
    let mut fast = [T::ZERO.fast::<FUSED>(); MOST_POWERS];
    for (fast, power) in fast.iter_mut().zip(&powers) {
        *fast = power.fast::<FUSED>();
    }
    rule.shared(Once { rate: rate.fast::<FUSED>(), powers: fast, trust: trust.fast::<FUSED>() })
}

dispatch! {
    wide if T::WIDE;
    fn sweep<const FUSED: bool, T: Float, R: Rule>(
        isa, rule: &R, once: Once<T>, parameter: &mut [T], gradient: &[T], states: [&mut [T]; MOST_STATES]
    ) {
        let shared = shared::<FUSED, T, R>(rule, once);
        let pairs = parameter.iter_mut().zip(gradient);
        let [a, b, c] = states;
        // Each number of states has its own loop, which the compiler can vectorise.
        match R::STATES {
            0 => pairs.for_each(|(p, g)| element::<FUSED, T, R, 0>(&shared, p, *g, [])),
            1 => pairs.zip(a).for_each(|((p, g), a)| element::<FUSED, T, R, 1>(&shared, p, *g, [a])),
            2 => {
                let all = pairs.zip(a.iter_mut().zip(b));
                all.for_each(|((p, g), (a, b))| element::<FUSED, T, R, 2>(&shared, p, *g, [a, b]));
            }
            _ => {
                let all = pairs.zip(a.iter_mut().zip(b.iter_mut().zip(c)));
                all.for_each(|((p, g), (a, (b, c)))| element::<FUSED, T, R, 3>(&shared, p, *g, [a, b, c]));
            }
        }
    }
}

dispatch! {
    /// The sums of squares of the parameter and of the direction of its step.
    fn squares<const FUSED: bool, T: Float, R: Rule>(
        isa, rule: &R, once: Once<T>, parameter: &[T], gradient: &[T], states: [&[T]; MOST_STATES]
    ) -> [T; 2] {
        let shared = shared::<FUSED, T, R>(rule, once);
        let mut sums = [T::ZERO; 2];
        let mut of_parameter = [T::ZERO; BLOCK];
        let mut of_direction = [T::ZERO; BLOCK];
        for start in (0..parameter.len()).step_by(BLOCK) {
            let count = BLOCK.min(parameter.len() - start);
            for i in 0..count {
                let (p, g) = (parameter[start + i], gradient[start + i]);
                let mut old = [T::ZERO.fast::<FUSED>(); MOST_STATES];
                for (old, state) in old.iter_mut().zip(&states) {
                    if let Some(state) = state.get(start + i) {
                        *old = state.fast::<FUSED>();
                    }
                }
                let direction = R::direction(&shared, p.fast::<FUSED>(), g.fast::<FUSED>(), old);
                let direction: T = T::plain(direction);
                of_parameter[i] = p * p;
                of_direction[i] = direction * direction;
            }
            sums[0] += sum(isa, &of_parameter[..count]);
            sums[1] += sum(isa, &of_direction[..count]);
        }
        sums
    }
}

impl<T: Float> ParameterUpdate<T> {
    /// The norm of the parameter divided by that of the direction; 1 if one of them is 0.
    fn trust(
        &self,
        machine: &Machine,
        once: Once<T>,
        parameter: &[T],
        gradient: &[T],
        states: [&[T]; MOST_STATES],
    ) -> T {
        let part = parameter.len().div_ceil(MOST_PARTS).max(PIECE);
        let mut sums = [[T::ZERO; 2]; MOST_PARTS];
        let parts = parameter.len().div_ceil(part);
        pieces(&machine.team, &mut sums[..parts], 1, &|index, sums| {
            let range = index * part..parameter.len().min((index + 1) * part);
            let states = states.map(|state| state.get(range.clone()).unwrap_or_default());
            let (parameter, gradient) = (&parameter[range.clone()], &gradient[range.clone()]);
            sums[0] = self.rule.squares(machine.isa, once, parameter, gradient, states);
        });
        let total = |k: usize| sums[..parts].iter().map(|sums| sums[k]).sum::<T>().sqrt();
        let (of_parameter, of_direction) = (total(0), total(1));
        let both = of_parameter > T::ZERO && of_direction > T::ZERO;
        if both { of_parameter / of_direction } else { T::of(1.0) }
    }
}

/// The parameter and the states. The rest are empty slices.
pub(super) type Changed<'a, T> = [&'a mut [T]; 1 + MOST_STATES];

/// Splits the values that change into the shared numbers, and the parameter and the states. The powers advance; the
/// shared numbers have their old values. `kept(k)` is the `k`-th of the powers that do not advance.
pub(super) fn take_powers<'a, T: Float>(
    rate: T,
    powers: &[Power],
    states: usize,
    kept: &dyn Fn(usize) -> T,
    changes: &mut [&'a mut [T]; MOST_CHANGES],
) -> (Once<T>, Changed<'a, T>) {
    let mut once = Once { rate, powers: [T::of(1.0); MOST_POWERS], trust: T::of(1.0) };
    let (mut read, mut written) = (0, 1 + states);
    for (now, power) in once.powers.iter_mut().zip(powers) {
        if power.advances {
            *now = changes[written][0];
            changes[written][0] = *now * T::of(power.rate);
            written += 1;
        } else {
            *now = kept(read);
            read += 1;
        }
    }
    let all =
        std::array::from_fn(|k| if k <= states { std::mem::take(&mut changes[k]) } else { &mut [][..] });
    (once, all)
}

impl<T: Float> Body for ParameterUpdate<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (gradient, rate) = (reads.get::<T>(0), reads.get::<T>(1)[0]);
        let mut changes = writes.at_most::<T, MOST_CHANGES>();
        let kept = |k: usize| reads.get::<T>(2 + k)[0];
        let (mut once, mut all) = take_powers(rate, &self.powers, self.rule.states(), &kept, &mut changes);
        assert!(all[..=self.rule.states()].iter().all(|one| one.len() == gradient.len()), "all of one shape");
        if self.rule.is_scaled() {
            let [parameter, states @ ..] = &all;
            once.trust =
                self.trust(machine, once, parameter, gradient, states.each_ref().map(|state| &**state));
        }
        groups(
            &machine.team,
            all.each_mut().map(|one| &mut **one),
            PIECE,
            &|index, [parameter, states @ ..]| {
                let gradient = &gradient[index * PIECE..][..parameter.len()];
                self.rule.sweep(machine.isa, once, parameter, gradient, states);
            },
        );
        Ok(())
    }

    fn shares(&self) -> Option<&dyn Shares> {
        // The trust of a scaled rule depends on all elements of its parameter.
        (!self.rule.is_scaled()).then_some(self)
    }
}

impl<T: Float> ParameterUpdate<T> {
    /// The operands that are written and advance, each with its power.
    fn advancing(&self) -> impl Iterator<Item = (usize, &Power)> {
        (1 + self.rule.states()..).zip(self.powers.iter().filter(|power| power.advances))
    }
}

#[allow(unsafe_code, reason = "shares change parts of the same operands")]
impl<T: Float> Shares for ParameterUpdate<T> {
    fn count(&self, operands: Operands<'_>) -> [usize; 2] {
        let elements = operands.split().0.get::<T>(0).len();
        [elements.div_ceil(PIECE), elements.min(PIECE)]
    }

    unsafe fn share(&self, machine: &Machine, operands: Operands<'_>, share: usize) {
        let (reads, _) = operands.split();
        let gradient = reads.get::<T>(0);
        let mut once =
            Once { rate: reads.get::<T>(1)[0], powers: [T::of(1.0); MOST_POWERS], trust: T::of(1.0) };
        let (mut read, mut written) = (2, 1 + self.rule.states());
        for (now, power) in once.powers.iter_mut().zip(&self.powers) {
            *now = match power.advances {
                // SAFETY: shares only read it.
                true => unsafe { operands.peek::<T>(written) },
                false => reads.get::<T>(read)[0],
            };
            written += usize::from(power.advances);
            read += usize::from(!power.advances);
        }
        let part = share * PIECE..gradient.len().min((share + 1) * PIECE);
        // SAFETY: no other share has this part.
        let change = |k: usize| unsafe { operands.part::<T>(k, part.clone()) };
        let states =
            std::array::from_fn(|k| if k < self.rule.states() { change(1 + k) } else { &mut [][..] });
        self.rule.sweep(machine.isa, once, change(0), &gradient[part.clone()], states);
    }

    fn finish(&self, operands: Operands<'_>) {
        for (k, power) in self.advancing() {
            // SAFETY: all shares are worked off.
            let now = unsafe { operands.part::<T>(k, 0..1) };
            now[0] *= T::of(power.rate);
        }
    }
}
