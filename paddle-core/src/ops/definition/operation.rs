//! The trait that every operator implements.

use super::{
    Before, Combination, Composition, ControlFlow, Form, Gradient, GradientError, Sample, Statistics,
};
use crate::ops::{
    AccuracyClass, Effects, Infer, Linear, Mismatch, OfShards, Op, Operator, Program, Schema, Slot,
};
use crate::program::{BuildError, Dim, ParameterGradient, RowsId, Type, VarId};

/// A mode of a network that does not train all of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The network runs in test.
    Test,
    /// The parameters that the operator changes are frozen.
    Frozen,
}

/// The definition of an operator: its schema, its two rules, and samples.
///
/// The schema has what is true of all operators of a name. The other methods are for properties that depend on
/// attributes or types, and for properties that few operators have.
pub trait Operation {
    /// Name, slots, accuracy, effects.
    fn schema(&self) -> &'static Schema;

    /// Whether PaddlePaddle lacks the operator: it has none of this name, or one with another meaning.
    fn is_ours(&self) -> bool {
        false
    }

    /// The word for the operator in messages, if that is not its name.
    fn called(&self) -> &str {
        self.schema().name
    }

    /// The shape rule: infers the types of the outputs from those of the inputs, or says what does not fit.
    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch>;

    /// The gradient rule: appends the operators that compute the gradients of the inputs from those of the outputs, and
    /// returns the gradients. `None` stands for an input that has no gradient, or whose gradient is not wanted.
    ///
    /// Every operator that gradients pass through has a rule, except gradients themselves.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = g.operator().inputs.len();
        let passes = |k| self.schema().effects.differentiable && self.input(k).passes_gradient;
        if (0..inputs).any(passes) { Err(g.second_order()) } else { Ok(vec![None; inputs]) }
    }

    /// The properties of input `k`. They are those of its slot in the schema, unless they depend on attributes.
    fn input(&self, k: usize) -> Slot {
        self.schema().input(k)
    }

    /// How near the results are to the exact ones. The schema has it, unless it depends on attributes.
    fn accuracy(&self) -> AccuracyClass {
        self.schema().accuracy
    }

    /// The inputs in which the outputs are linear. The schema has them, unless they depend on attributes.
    fn linear(&self) -> Linear {
        self.schema().effects.linear
    }

    /// How `output` over all rows follows from the outputs for shards of the rows. The schema has it, unless it depends
    /// on attributes or types.
    ///
    /// The output of a row-wise operator keeps the rows, if its values have one kind of rows.
    fn of_shards(&self, program: &Program, operator: &Operator, output: usize) -> OfShards {
        of_shards_by_rows(self.schema().effects, program, operator, output)
    }

    /// For an output whose elements are neighbours in the first input, in the same order: the number of elements in front of
    /// them. `None` for all others. The schema has it, unless it depends on attributes or types.
    fn begins_at(&self, _program: &Program, _operator: &Operator, _output: usize) -> Option<usize> {
        self.schema().effects.same_elements.then_some(0)
    }

    /// For an operator whose result has the elements of its first input with the axes in another order: the axis of the input
    /// that each axis of the result is. `None` for all others.
    fn reordered(&self) -> Option<&[i64]> {
        None
    }

    /// The kind of computation, if passes treat it specially.
    fn form(&self, _program: &Program, _operator: &Operator) -> Option<Form> {
        None
    }

    /// The sizes whose product is the number of multiplications, for an operator that is a sum of products. `None` for all
    /// others.
    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        multiplications_of_contraction(program, operator)
    }

    /// The questions that passes ask an operator that owns blocks.
    fn control(&self) -> Option<&dyn ControlFlow> {
        None
    }

    /// The operator that replaces this one in a mode, with the same first inputs and outputs. `None` if this one stays.
    /// A replacement for [`Mode::Frozen`] changes no bit of the frozen parameters.
    fn in_mode(&self, _mode: Mode) -> Option<Op> {
        None
    }

    /// The first output as a composition, in which operators of their own compute what follows from parameters alone;
    /// `None` if there is none. It is used where nothing reads the other outputs, in programs without gradients.
    fn composed(&self, _c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        Ok(None)
    }

    /// The only output that is not intermediate, by other operators, for programs of those who lack this one. `None` if there is no such
    /// form. Those may be lacking in turn, but never this one with the same attributes. It has no errors of a run: ids that are out of
    /// range, sequences of different lengths.
    fn written_out(&self, _c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        Ok(None)
    }

    /// The input that it reads as the transpose of a matrix, and the operator that takes the transpose itself.
    fn turned(&self) -> Option<(usize, Op)> {
        None
    }

    /// One operator for this one and some of those that compute what it reads; `None` if there is none. It is used in programs
    /// without gradients, on devices that have a kernel for it, and only where nothing else reads the values in between.
    fn combined(&self, _operator: &Operator, _before: Before<'_>) -> Option<Combination> {
        None
    }

    /// For an operator that moves statistics by a batch: each statistic, and the value by which it becomes less. `s` has what
    /// replaces the operator in [`Mode::Frozen`], whose outputs say what the batch's statistics are.
    fn moved(&self, _s: &mut Statistics<'_>) -> Result<Vec<ParameterGradient>, BuildError> {
        Ok(Vec::new())
    }

    /// The row spaces that the operator makes: tokens of new sequences, which exist once it has run.
    fn makes(&self, _program: &Program, _operator: &Operator) -> Vec<RowsId> {
        Vec::new()
    }

    /// The name of the stream of random numbers, if that is not the name of the operator's result.
    fn random_stream(&self) -> Option<&str> {
        None
    }

    /// Small cases that drive the generic tests of every backend.
    ///
    /// A gradient may have none here. The tests of gradients run it behind the samples of the operator that it
    /// differentiates, and the tests of backends have samples of gradients of their own.
    ///
    /// It is inline, and so compiled where it is called: only tests call it.
    #[inline]
    fn samples() -> Vec<Sample>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

// What operators do unless they say otherwise. Within the trait each operator would have a copy of it.

fn of_shards_by_rows(effects: Effects, program: &Program, operator: &Operator, output: usize) -> OfShards {
    let rows = program.ty(operator.outputs[output]).rows;
    let is_aligned = |input: &VarId| program.ty(*input).rows.is_none_or(|of_input| Some(of_input) == rows);
    match effects.row_wise && !operator.inputs.iter().all(is_aligned) {
        true => OfShards::Other,
        false => effects.of_output(output),
    }
}

fn multiplications_of_contraction(program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
    let [first, _] = operator.contraction(program)?.factors;
    let summed = program.shape(program.ty(operator.inputs[first.input]));
    let summed = first.axes.iter().map(|&axis| summed[axis].clone());
    Some(program.shape(program.ty(operator.outputs[0])).into_iter().chain(summed).collect())
}
