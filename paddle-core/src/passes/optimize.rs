//! `optimize`: appends the operators that update the parameters from their gradients.

use std::collections::BTreeMap;

use crate::ops::{Binary, BinaryKind, Op, Scale, Unary, UnaryKind};
use crate::program::{
    BuildError, DType, ParameterGradient, ParameterOptions, Program, Role, Site, Type, VarId,
};

/// What an updating rule is written with: one parameter, its gradient and the learning rate.
pub struct Update<'a> {
    /// The program, for the operators of the rule.
    pub program: &'a mut Program,
    /// The parameter and its gradient.
    pub pair: ParameterGradient,
    /// The learning rate: a scalar of the parameter's element type, fed anew for each step.
    pub learning_rate: VarId,
    /// What the rule's operators are to be appended with.
    pub site: Site,
}

impl Update<'_> {
    /// Appends what the parameter's options ask for: its gradient is clipped, then decay is added; the learning rate
    /// is multiplied by its factor.
    fn apply_options(&mut self) -> Result<(), BuildError> {
        let ParameterOptions { lr, decay, clip, .. } = self.program.parameter_options(self.pair.parameter);
        if let Some(bound) = clip {
            let within = Unary { kind: UnaryKind::Clip, coefficients: [-bound, bound, 0.0] };
            self.pair.gradient = self.append(within, &[self.pair.gradient])?;
        }
        if let Some(decay) = decay {
            let pull = self.append(Scale { scale: decay, bias: 0.0 }, &[self.pair.parameter])?;
            let inputs = [self.pair.gradient, pull];
            self.pair.gradient = self.append(Binary { kind: BinaryKind::Add }, &inputs)?;
        }
        if let Some(factor) = lr {
            self.learning_rate = self.append(Scale { scale: factor, bias: 0.0 }, &[self.learning_rate])?;
        }
        Ok(())
    }

    fn append(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Ok(self.program.append_op(Program::GLOBAL, op, inputs, self.site)?[0])
    }
}

/// Appends what `rule` makes of each parameter and its gradient, in the order in which the parameters were created.
///
/// Adds the inputs `learning_rate`, a scalar for each element type that parameters have (one, as a rule), and returns
/// them in the order in which they are to be fed, after the inputs of the network.
pub fn optimize(
    program: &mut Program,
    rule: &dyn Fn(&mut Update<'_>) -> Result<(), BuildError>,
) -> Result<Vec<VarId>, BuildError> {
    let mut pairs = program.gradients().to_vec();
    pairs.sort_by_key(|pair| pair.parameter);
    let (mut rates, mut inputs) = (BTreeMap::<DType, VarId>::new(), Vec::new());
    for pair in pairs {
        let dtype = program.ty(pair.parameter).dtype;
        let learning_rate = match rates.get(&dtype) {
            Some(&rate) => rate,
            None => {
                let rate = create_rate(program, dtype)?;
                rates.insert(dtype, rate);
                inputs.push(rate);
                rate
            }
        };
        let site = Site { role: Role::Optimize, place: None };
        let mut update = Update { program, pair, learning_rate, site };
        update.apply_options()?;
        rule(&mut update)?;
    }
    Ok(inputs)
}

/// Adds an input with the first free name.
fn create_rate(program: &mut Program, dtype: DType) -> Result<VarId, BuildError> {
    let mut name = "learning_rate".to_string();
    let mut suffix = 0;
    while program.find(&name).is_some() {
        suffix += 1;
        name = format!("learning_rate_{suffix}");
    }
    program.create_input(&name, Type::scalar(dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Binary, BinaryKind, Fill, Number, Reduce, ReduceKind, Sgd};
    use crate::passes::backward::backward;

    fn sgd(update: &mut Update<'_>) -> Result<(), BuildError> {
        let inputs = [update.pair.parameter, update.learning_rate, update.pair.gradient];
        update.program.append_op(Program::GLOBAL, Sgd, &inputs, update.site).map(drop)
    }

    /// `sum(x · a + b)`, where an input of the network is called `learning_rate`.
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
        let rates = optimize(&mut program, &sgd).unwrap();
        program.verify().unwrap();
        let updates = &program.block(Program::GLOBAL).ops[before..];
        let updated: Vec<_> = updates.iter().map(|op| program.var(op.inputs[0]).name.as_str()).collect();
        assert_eq!(updated, ["b", "a"]);
        assert!(updates.iter().all(|op| op.site.role == Role::Optimize));
        assert_eq!(program.inputs()[1..], rates);
        assert_eq!(program.var(rates[0]).name, "learning_rate_1");
        assert_eq!(program.show(program.ty(rates[0])), "f32[]");
    }

    #[test]
    fn without_gradients_there_is_nothing_to_do() {
        let mut program = program();
        let before = program.clone();
        assert_eq!(optimize(&mut program, &sgd), Ok(Vec::new()));
        assert_eq!(program, before);
    }
}
