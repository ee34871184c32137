//! Sample cases of operators.

use super::Op;
use crate::program::{DType, Program, RowsId, Type};

/// One input of a sample. Its values are drawn by the test.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleInput {
    /// Element type.
    pub dtype: DType,
    /// Number of rows, where it has rows.
    pub rows: Option<usize>,
    /// The dimensions behind the rows.
    pub dims: Vec<i64>,
    /// Values are drawn from this range, in whole numbers for integers.
    pub range: (f64, f64),
}

/// An operator on inputs of given shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The operator.
    pub op: Op,
    /// Its inputs.
    pub inputs: Vec<SampleInput>,
}

impl Sample {
    /// A case of `op`.
    pub fn of(op: impl Into<Op>) -> Self {
        Sample { op: op.into(), inputs: Vec::new() }
    }

    /// With a floating-point input of this many rows.
    pub fn rows(mut self, rows: usize, dims: &[i64]) -> Self {
        let dims = dims.to_vec();
        self.inputs.push(SampleInput { dtype: DType::F32, rows: Some(rows), dims, range: (-2.0, 2.0) });
        self
    }

    /// With a floating-point input without rows.
    pub fn dense(mut self, dims: &[i64]) -> Self {
        let dims = dims.to_vec();
        self.inputs.push(SampleInput { dtype: DType::F32, rows: None, dims, range: (-2.0, 2.0) });
        self
    }

    /// The last input drawn from this range.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        if let Some(input) = self.inputs.last_mut() {
            input.range = (low, high);
        }
        self
    }

    /// The last input of this element type.
    pub fn dtype(mut self, dtype: DType) -> Self {
        if let Some(input) = self.inputs.last_mut() {
            input.dtype = dtype;
        }
        self
    }

    /// A program that applies the operator to inputs of these shapes and returns every output.
    pub fn program(&self) -> Result<Program, crate::program::BuildError> {
        let mut program = Program::new();
        let mut batch: Option<RowsId> = None;
        let mut inputs = Vec::new();
        for (i, input) in self.inputs.iter().enumerate() {
            let mut ty = Type::new(input.dtype, input.dims.iter().copied());
            if input.rows.is_some() {
                ty.rows = Some(*batch.get_or_insert_with(|| program.create_rows("_")));
            }
            inputs.push(program.create_input(&format!("x{i}"), ty)?);
        }
        let outputs = program.append_op(Program::GLOBAL, self.op.clone(), &inputs, Default::default())?;
        program.set_outputs(&outputs)?;
        Ok(program)
    }
}
