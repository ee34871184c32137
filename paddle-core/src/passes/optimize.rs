//! `optimize`: appends the operators that update the parameters from their gradients. Each gradient is first clipped,
//! then decay is added, then the rule updates the parameter.

use std::collections::{BTreeMap, BTreeSet};

use super::clip::{Clip, clip};
use super::scalar_input::create_scalar;
use crate::ops::{
    self, Binary, BinaryKind, Fill, Form, Number, Op, Operator, Program, Scale, Sgd, Store, SumOfRows, Unary,
    UnaryKind, UpdateRows,
};
use crate::program::{BuildError, DType, ParameterGradient, ParameterOptions, Role, Site, Type, VarId};

/// Weight decay: each step pulls the parameters towards 0. The gradient of a penalty is added to that of the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    /// `factor · sign(p)`: the gradient of `factor · Σ|p|`.
    L1(f64),
    /// `factor · p`: the gradient of `factor / 2 · Σp²`.
    L2(f64),
}

/// What is done to gradients before the updates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Clipping of all gradients. It follows the clipping by parameters' own bounds.
    pub clip: Option<Clip>,
    /// The decay of parameters without a decay of their own.
    pub decay: Option<Decay>,
    /// Whether the updating rules apply L2 decay themselves, apart from the gradient.
    pub decoupled: bool,
}

/// The interface of an updating rule: one parameter, its gradient and the learning rate.
pub struct Update<'a> {
    /// The program that the rule appends to.
    pub program: &'a mut Program,
    /// The parameter and its gradient.
    pub pair: ParameterGradient,
    /// The learning rate: a scalar of the parameter's element type, fed anew for each step.
    pub learning_rate: VarId,
    /// The factor of L2 decay that the rule has to apply; `None` unless [`Settings::decoupled`] is set.
    pub decay: Option<f64>,
    /// The role and place of the operators that the rule appends.
    pub site: Site,
    /// The sparse form of the gradient, if it has one.
    rows: Option<LookedUp>,
}

/// A sparse gradient: the sum of rows that were looked up; all other rows are 0.
pub(super) struct LookedUp {
    /// The gradient and the ids of each lookup.
    pub(super) lookups: Vec<[VarId; 2]>,
    pub(super) padding_idx: i64,
}

impl LookedUp {
    /// The sparse form of a value of the global block. `None` unless the value is a sum of rows, or a sum of such
    /// values.
    pub(super) fn of(program: &Program, mut gradient: VarId) -> Option<LookedUp> {
        let operators = &program.block(Program::GLOBAL).ops;
        let making = |value| operators.iter().rev().find(|operator| operator.outputs.contains(&value));
        let single = |operator: &Operator| {
            let Some(Form::SumOfRows(SumOfRows { ids, rows, padding_idx })) = operator.form(program) else {
                return None;
            };
            Some(([operator.inputs[rows], operator.inputs[ids]], padding_idx))
        };
        let (mut lookups, mut padding) = (Vec::new(), BTreeSet::new());
        // In `(a + b) + c`, the last part, `c`, is found first.
        loop {
            let operator = making(gradient)?;
            let (part, rest) = match (&operator.op, &operator.inputs[..]) {
                (Op::Binary(Binary { kind: BinaryKind::Add }), &[rest, part]) => (making(part)?, Some(rest)),
                _ => (operator, None),
            };
            let (lookup, padding_idx) = single(part)?;
            lookups.push(lookup);
            padding.insert(padding_idx);
            match rest {
                Some(rest) => gradient = rest,
                None => break,
            }
        }
        lookups.reverse();
        let padding_idx = padding.pop_first().filter(|_| padding.is_empty())?;
        Some(LookedUp { lookups, padding_idx })
    }
}

impl Update<'_> {
    /// Appends an operator, and returns its outputs.
    pub fn append(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<Vec<VarId>, BuildError> {
        self.program.append_op(Program::GLOBAL, op, inputs, self.site)
    }

    /// The state in a slot with the shape of the parameter. All elements are `initial` at first.
    pub fn state(&mut self, slot: &str, initial: f64) -> Result<VarId, BuildError> {
        let ty = self.program.ty(self.pair.parameter).clone();
        self.program.create_state(self.pair.parameter, slot, Fill { value: Number::Float(initial), ty })
    }

    /// The state in a slot with one element, `[1]`.
    pub fn scalar_state(&mut self, slot: &str, initial: f64) -> Result<VarId, BuildError> {
        let ty = Type::new(self.program.ty(self.pair.parameter).dtype, [1]);
        self.program.create_state(self.pair.parameter, slot, Fill { value: Number::Float(initial), ty })
    }

    /// Appends an operator that assigns a value to the parameter or to one of its states.
    pub fn store(&mut self, into: VarId, value: VarId) -> Result<(), BuildError> {
        self.append(Store, &[into, value]).map(drop)
    }

    /// Appends an operator of the table of updates, with the states of its slots.
    ///
    /// If the gradient is sparse and the update leaves other rows as they are, only the rows that were looked up are
    /// updated, and the dense gradient is not computed.
    pub fn apply(&mut self, update: impl Into<ops::Update>) -> Result<(), BuildError> {
        self.apply_rule(update.into())
    }

    fn apply_rule(&mut self, update: ops::Update) -> Result<(), BuildError> {
        let rows = self.rows.take().filter(|_| update.keeps_rows());
        let first = rows.as_ref().map(|rows| rows.lookups[0]);
        let gradient = first.map_or(self.pair.gradient, |[gradient, _]| gradient);
        let mut inputs = vec![self.pair.parameter, gradient, self.learning_rate];
        inputs.extend(first.map(|[_, ids]| ids));
        for slot in update.states() {
            inputs.push(self.state(slot, 0.0)?);
        }
        let mut waiting = Vec::new();
        for power in update.powers() {
            let state = self.scalar_state(power.slot, power.rate)?;
            inputs.push(state);
            if !power.advances {
                waiting.push((state, power.rate));
            }
        }
        match rows {
            Some(LookedUp { lookups, padding_idx }) => {
                inputs.extend(lookups[1..].iter().flatten());
                self.append(UpdateRows { update, padding_idx }, &inputs)?;
                self.program.forget_gradient(self.pair.parameter);
            }
            None => drop(self.append(update, &inputs)?),
        }
        for (state, rate) in waiting {
            let next = self.append(Scale { scale: rate, bias: 0.0 }, &[state])?[0];
            self.store(state, next)?;
        }
        Ok(())
    }

    /// Adds decay to the gradient, or hands it to the rule.
    fn add_decay(&mut self, settings: &Settings) -> Result<(), BuildError> {
        let own = self.program.parameter_options(self.pair.parameter).decay.map(Decay::L2);
        let parameter = self.pair.parameter;
        let pull = match own.or(settings.decay) {
            None => return Ok(()),
            Some(Decay::L2(factor)) if settings.decoupled => {
                self.decay = Some(factor);
                return Ok(());
            }
            Some(Decay::L2(factor)) => self.append(Scale { scale: factor, bias: 0.0 }, &[parameter])?[0],
            Some(Decay::L1(factor)) => {
                let sign = self.append(Unary::of(UnaryKind::Sign), &[parameter])?[0];
                self.append(Scale { scale: factor, bias: 0.0 }, &[sign])?[0]
            }
        };
        let inputs = [self.pair.gradient, pull];
        self.pair.gradient = self.append(Binary { kind: BinaryKind::Add }, &inputs)?[0];
        Ok(())
    }
}

/// An updating rule: appends the update of one parameter, see [`optimize`].
pub type UpdateRule<'a> = dyn Fn(&mut Update<'_>) -> Result<(), BuildError> + 'a;

/// Appends what `rule` makes of each parameter and its gradient, in the order in which the parameters were created.
///
/// Adds an input `learning_rate`, a scalar, for each element type of the parameters (usually one). Returns these inputs
/// in the order in which they are fed, behind the inputs of the network.
pub fn optimize(
    program: &mut Program,
    settings: &Settings,
    rule: &UpdateRule<'_>,
) -> Result<Vec<VarId>, BuildError> {
    optimize_clipped(program, settings, rule, &|program, pairs| {
        clip_by_own_bounds(program, pairs, SITE)?;
        settings.clip.map_or(Ok(()), |how| clip(program, pairs, how, SITE))
    })
}

/// The place of what `optimize` appends.
const SITE: Site = Site { role: Role::Optimize, place: None };

/// Clips the gradients of parameters that have a bound of their own.
pub(super) fn clip_by_own_bounds(
    program: &mut Program,
    pairs: &mut [ParameterGradient],
    site: Site,
) -> Result<(), BuildError> {
    for pair in pairs {
        if let Some(bound) = program.parameter_options(pair.parameter).clip {
            clip(program, std::slice::from_mut(pair), Clip::Value(bound), site)?;
        }
    }
    Ok(())
}

/// Appends the operators that clip gradients.
pub(super) type ClipRule<'a> = dyn Fn(&mut Program, &mut [ParameterGradient]) -> Result<(), BuildError> + 'a;

/// Like [`optimize`], with another way to clip.
pub(super) fn optimize_clipped(
    program: &mut Program,
    settings: &Settings,
    rule: &UpdateRule<'_>,
    clips: &ClipRule<'_>,
) -> Result<Vec<VarId>, BuildError> {
    let mut pairs = program.gradients().to_vec();
    pairs.sort_by_key(|pair| pair.parameter);
    let (mut pairs, statistics): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|pair| program.parameter_options(pair.parameter).trainable);
    clips(program, &mut pairs)?;
    let (mut rates, mut inputs) = (BTreeMap::<DType, VarId>::new(), Vec::new());
    for pair in pairs {
        let dtype = program.ty(pair.parameter).dtype;
        let learning_rate = match rates.get(&dtype) {
            Some(&rate) => rate,
            None => {
                let rate = create_scalar(program, "learning_rate", dtype)?;
                rates.insert(dtype, rate);
                inputs.push(rate);
                rate
            }
        };
        let ParameterOptions { lr, .. } = *program.parameter_options(pair.parameter);
        let mut update = Update { program, pair, learning_rate, decay: None, site: SITE, rows: None };
        update.add_decay(settings)?;
        if let Some(factor) = lr {
            update.learning_rate = update.append(Scale { scale: factor, bias: 0.0 }, &[learning_rate])?[0];
        }
        update.rows = LookedUp::of(update.program, update.pair.gradient);
        rule(&mut update)?;
    }
    // Statistics follow no rule and no learning rate: what they have for a gradient is by how much they become less.
    for pair in statistics {
        let one = Fill { value: Number::Float(1.0), ty: Type::scalar(program.ty(pair.parameter).dtype) };
        let one = program.append_op(Program::GLOBAL, one, &[], SITE)?[0];
        program.append_op(Program::GLOBAL, Sgd {}, &[pair.parameter, pair.gradient, one], SITE)?;
    }
    Ok(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Fill, LookupTable, Number, Reduce, ReduceKind};
    use crate::passes::backward::backward;

    fn sgd(update: &mut Update<'_>) -> Result<(), BuildError> {
        let inputs = [update.pair.parameter, update.pair.gradient, update.learning_rate];
        update.program.append_op(Program::GLOBAL, Sgd {}, &inputs, update.site).map(drop)
    }

    /// `sum(x · a + b)`. An input of the network is called `learning_rate`.
    fn program() -> Program {
        let mut program = Program::new();
        let ty = Type::new(DType::F32, [3]);
        let x = program.create_input("learning_rate", ty.clone()).unwrap();
        let mut value = x;
        for (name, kind) in [("b", BinaryKind::Mul), ("a", BinaryKind::Add)] {
            let init = Fill { value: Number::Float(0.5), ty: ty.clone() };
            let parameter = program.create_parameter(name, init).unwrap();
            let operator = Binary { kind };
            value = program
                .append_op(Program::GLOBAL, operator, &[value, parameter], Site::default())
                .unwrap()[0];
        }
        let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
        let cost = program.append_op(Program::GLOBAL, sum, &[value], Site::default()).unwrap();
        program.set_outputs(&cost).unwrap();
        program
    }

    #[test]
    fn updates_come_last_in_the_order_of_creation() {
        let mut program = program();
        backward(&mut program).unwrap();
        let before = program.block(Program::GLOBAL).ops.len();
        let rates = optimize(&mut program, &Settings::default(), &sgd).unwrap();
        program.verify().unwrap();
        let updates = &program.block(Program::GLOBAL).ops[before..];
        let updated: Vec<_> = updates.iter().map(|op| program.var(op.inputs[0]).name.as_str()).collect();
        assert_eq!(updated, ["b", "a"]);
        assert!(updates.iter().all(|op| op.site.role == Role::Optimize));
        assert_eq!(program.inputs()[1..], rates);
        assert_eq!(program.var(rates[0]).name, "learning_rate_1");
        assert_eq!(program.show(program.ty(rates[0])), "f32[]");
    }

    /// `sum(table[a]) + sum(table[b]) ..`, one lookup for each padding. Returns the names of the operators that update
    /// the table.
    fn updates_of_a_table(paddings: &[i64]) -> Vec<String> {
        let mut program = Program::new();
        let init = Fill { value: Number::Float(0.5), ty: Type::new(DType::F32, [9, 2]) };
        let table = program.create_parameter("table", init).unwrap();
        let append = |program: &mut Program, op: Op, inputs: &[VarId]| {
            program.append_op(Program::GLOBAL, op, inputs, Site::default()).unwrap()[0]
        };
        let mut cost = None;
        for (k, &padding_idx) in paddings.iter().enumerate() {
            let ids =
                program.create_input(&format!("ids{k}"), Type::new(DType::I64, [k as i64 + 2])).unwrap();
            let found = append(&mut program, LookupTable { padding_idx }.into(), &[ids, table]);
            let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
            let sum = append(&mut program, sum.into(), &[found]);
            cost = Some(match cost {
                Some(cost) => append(&mut program, Binary { kind: BinaryKind::Add }.into(), &[cost, sum]),
                None => sum,
            });
        }
        program.set_outputs(&[cost.unwrap()]).unwrap();
        backward(&mut program).unwrap();
        optimize(&mut program, &Settings::default(), &|update| update.apply(Sgd {})).unwrap();
        program.verify().unwrap();
        let operators = program.block(Program::GLOBAL).ops.iter();
        let updates = operators.filter(|operator| operator.site.role == Role::Optimize);
        updates.map(|operator| format!("{} {}", operator.op.name(), operator.inputs.len())).collect()
    }

    #[test]
    fn every_lookup_of_a_table_updates_its_rows() {
        assert_eq!(updates_of_a_table(&[-1]), ["sgd_rows 4"]);
        assert_eq!(updates_of_a_table(&[0, 0]), ["sgd_rows 6"]);
        assert_eq!(updates_of_a_table(&[-1, -1, -1]), ["sgd_rows 8"]);
        // The two lookups leave out different rows.
        assert_eq!(updates_of_a_table(&[-1, 0]), ["sgd 3"]);
    }

    #[test]
    fn without_gradients_there_is_nothing_to_do() {
        let mut program = program();
        let before = program.clone();
        assert_eq!(optimize(&mut program, &Settings::default(), &sgd), Ok(Vec::new()));
        assert_eq!(program, before);
    }
}
