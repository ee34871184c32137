//! What an operator says of itself.

use super::{ControlFlow, Form, Gradient, GradientError, Sample};
use crate::ops::{AccuracyClass, Infer, Linear, Mismatch, OfShards, Op, Operator, Program, Schema, Slot};
use crate::program::{RowsId, Type, VarId};

/// A network that does not train all of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It runs in test.
    Test,
    /// What the operator changes is frozen.
    Frozen,
}

/// An operator's definition: its schema, two rules and samples.
///
/// What is true of every operator of a name is data of its schema. The other methods are for what depends on attributes or
/// types, and for what few operators are.
pub trait Operation {
    /// Name, slots, accuracy, effects.
    fn schema(&self) -> &'static Schema;

    /// Whether PaddlePaddle has no such operator: none of its name, or one that means something else.
    fn is_ours(&self) -> bool {
        false
    }

    /// What it is called in messages, where that is not its name.
    fn called(&self) -> &str {
        self.schema().name
    }

    /// The shape rule: the types of the outputs from those of the inputs, or what does not fit.
    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch>;

    /// The gradient rule: appends the operators that compute the gradients of the inputs from those of the outputs,
    /// and says where they are. `None` for an input that has none, or is not wanted.
    ///
    /// An operator that gradients pass through has a rule, unless it is a gradient itself.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = g.operator().inputs.len();
        let passes = |k| self.schema().effects.differentiable && self.input(k).passes_gradient;
        if (0..inputs).any(passes) { Err(g.second_order()) } else { Ok(vec![None; inputs]) }
    }

    /// What is true of input `k`, where that depends on attributes. Else it is what the schema says of its slot.
    fn input(&self, k: usize) -> Slot {
        self.schema().input(k)
    }

    /// How near to the exact results its results are, where that depends on attributes.
    fn accuracy(&self) -> AccuracyClass {
        self.schema().accuracy
    }

    /// In which inputs the outputs are linear, where that depends on attributes.
    fn linear(&self) -> Linear {
        self.schema().effects.linear
    }

    /// What `output` over all rows is to what the operator gives for shards of them, where that depends on attributes or
    /// types.
    ///
    /// What is row-wise keeps the rows, where its values have one kind of them.
    fn of_shards(&self, program: &Program, operator: &Operator, output: usize) -> OfShards {
        let effects = self.schema().effects;
        let rows = program.ty(operator.outputs[output]).rows;
        let is_aligned =
            |input: &VarId| program.ty(*input).rows.is_none_or(|of_input| Some(of_input) == rows);
        match effects.row_wise && !operator.inputs.iter().all(is_aligned) {
            true => OfShards::Other,
            false => effects.of_output(output),
        }
    }

    /// What it computes, where passes do something with it.
    fn form(&self, _program: &Program, _operator: &Operator) -> Option<Form> {
        None
    }

    /// What passes ask of an operator that owns blocks.
    fn control(&self) -> Option<&dyn ControlFlow> {
        None
    }

    /// What it is in a mode, where that is something else: an operator of the same first inputs and outputs. Of what is frozen
    /// it changes no bit.
    fn in_mode(&self, _mode: Mode) -> Option<Op> {
        None
    }

    /// The tokens whose sequences it makes: row spaces that are there when it has run.
    fn makes(&self, _program: &Program, _operator: &Operator) -> Vec<RowsId> {
        Vec::new()
    }

    /// What tells its random numbers from those of others, where that is not the name of its result.
    fn stream(&self) -> Option<&str> {
        None
    }

    /// Whether it leaves rows of a table that were not looked up as if the step had not been theirs.
    fn is_lazy(&self) -> bool {
        false
    }

    /// Small cases that the generic tests of every backend are driven by.
    ///
    /// A gradient may have none here. The tests of gradients run it behind the samples of what it differentiates, and those
    /// of backends have samples of gradients themselves.
    fn samples() -> Vec<Sample>
    where
        Self: Sized,
    {
        Vec::new()
    }
}
