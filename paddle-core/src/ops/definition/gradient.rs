//! The context in which gradient rules append operators.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::ops::{Fill, Number, Op, Operator, Program, Reduce, ReduceKind, Reshape, Scale};
use crate::program::{BlockId, BuildError, Located, Role, RowsId, Site, Type, VarId};

/// Why a program has no gradient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradientError {
    /// The operator's source place, where it is known.
    pub place: Option<Located>,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for GradientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for GradientError {}

impl From<BuildError> for GradientError {
    fn from(error: BuildError) -> Self {
        GradientError { place: None, message: error.to_string() }
    }
}

/// The pass that gradient rules are part of: appends the gradient of one block to another.
pub(crate) type Differentiate = fn(
    &mut Program,
    active: &BTreeSet<VarId>,
    forward: BlockId,
    into: BlockId,
    seeds: &[(VarId, VarId)],
) -> Result<BTreeMap<VarId, VarId>, GradientError>;

/// The operator that is differentiated: its values, the gradients of its outputs, and the block for new operators.
pub struct Gradient<'a> {
    pub(crate) program: &'a mut Program,
    /// Values that depend on some parameter, or on an input whose gradient is wanted.
    pub(crate) active: &'a BTreeSet<VarId>,
    /// The block to which the gradient's operators are appended.
    pub(crate) block: BlockId,
    pub(crate) operator: Operator,
    /// The gradients of the outputs. `None` where the cost does not depend on the output.
    pub(crate) grads: Vec<Option<VarId>>,
    /// Gradients of values that the operator's blocks read from outside.
    pub(crate) captured: Vec<(VarId, VarId)>,
    pub(crate) differentiate: Differentiate,
}

impl Gradient<'_> {
    /// The program so far.
    pub fn program(&self) -> &Program {
        self.program
    }

    /// The operator that is differentiated.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// The type of a value.
    pub fn ty(&self, var: VarId) -> &Type {
        self.program.ty(var)
    }

    /// The `k`-th input of the operator.
    pub fn input(&self, k: usize) -> VarId {
        self.operator.inputs[k]
    }

    /// The `k`-th output of the operator.
    pub fn output(&self, k: usize) -> VarId {
        self.operator.outputs[k]
    }

    /// Whether the gradient of input `k` is wanted.
    pub fn wants(&self, k: usize) -> bool {
        self.is_active(self.input(k))
    }

    /// Whether the value depends on some parameter.
    pub fn is_active(&self, var: VarId) -> bool {
        self.active.contains(&var)
    }

    /// Whether the cost depends on output `k`.
    pub fn has_grad(&self, k: usize) -> bool {
        self.grads[k].is_some()
    }

    /// The gradient of output `k`; zeros where the cost does not depend on it.
    pub fn grad(&mut self, k: usize) -> Result<VarId, GradientError> {
        match self.grads[k] {
            Some(grad) => Ok(grad),
            None => {
                let ty = self.ty(self.output(k)).clone();
                let zeros = self.emit(Fill { value: Number::Float(0.0), ty }, &[])?;
                self.grads[k] = Some(zeros);
                Ok(zeros)
            }
        }
    }

    fn site(&self) -> Site {
        Site { role: Role::Backward, place: self.operator.site.place }
    }

    /// Appends an operator with one output.
    pub fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, GradientError> {
        self.append_one(self.block, op.into(), inputs)
    }

    /// Appends an operator with several outputs.
    pub fn emit_all(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<Vec<VarId>, GradientError> {
        self.append(self.block, op.into(), inputs)
    }

    /// Appends an operator with one output to a block.
    pub fn emit_into(
        &mut self,
        block: BlockId,
        op: impl Into<Op>,
        inputs: &[VarId],
    ) -> Result<VarId, GradientError> {
        self.append_one(block, op.into(), inputs)
    }

    fn append_one(&mut self, block: BlockId, op: Op, inputs: &[VarId]) -> Result<VarId, GradientError> {
        Ok(self.append(block, op, inputs)?[0])
    }

    fn append(&mut self, block: BlockId, op: Op, inputs: &[VarId]) -> Result<Vec<VarId>, GradientError> {
        let site = self.site();
        Ok(self.program.append_op(block, op, inputs, site)?)
    }

    /// Appends an operator that owns blocks.
    pub fn emit_blocks(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        blocks: &[BlockId],
    ) -> Result<Vec<VarId>, GradientError> {
        let site = self.site();
        Ok(self.program.append_block_op(self.block, op, inputs, blocks, site)?)
    }

    /// `-value`.
    pub fn negate(&mut self, value: VarId) -> Result<VarId, GradientError> {
        self.emit(Scale { scale: -1.0, bias: 0.0 }, &[value])
    }

    /// Sums `grad` over the axes along which input `k` was broadcast.
    pub fn sum_to_input(&mut self, grad: Option<VarId>, k: usize) -> Result<Option<VarId>, GradientError> {
        let Some(grad) = grad.filter(|_| self.wants(k)) else {
            return Ok(None);
        };
        let (from, to) = (self.ty(grad).clone(), self.ty(self.input(k)).clone());
        if (from.rows, &from.dims) == (to.rows, &to.dims) {
            return Ok(Some(grad));
        }
        let lead = from.rank() - to.rank();
        let (from_shape, to_shape) = (self.program.shape(&from), self.program.shape(&to));
        let repeated: Vec<i64> = (lead..from.rank())
            // Only an axis of size 1 was repeated. All other sizes are equal, some of them only once they are bound.
            .filter(|&axis| {
                to_shape[axis - lead].constant() == Some(1) && from_shape[axis].constant() != Some(1)
            })
            .map(|axis| axis as i64)
            .collect();
        // One sum over all axes reads the gradient once. Then the axes of size 1 are put back.
        let axes: Vec<i64> = (0..lead as i64).chain(repeated.iter().copied()).collect();
        if axes.is_empty() {
            return Ok(Some(grad));
        }
        let (kind, keep_dim) = (ReduceKind::Sum, lead == 0);
        let mut sum = self.emit(Reduce { kind, axes, keep_dim }, &[grad])?;
        if lead > 0 && !repeated.is_empty() {
            sum = self.emit(Reshape { dims: to.dims }, &[sum])?;
        }
        Ok(Some(sum))
    }

    /// A block below the current one that differentiates `forward`.
    pub fn gradient_block(&mut self, forward: BlockId) -> Result<BlockId, GradientError> {
        Ok(self.program.create_gradient_block(self.block, forward)?)
    }

    /// Adds a parameter to a block.
    pub fn block_parameter(&mut self, block: BlockId, name: &str, ty: Type) -> Result<VarId, GradientError> {
        Ok(self.program.create_block_parameter(block, name, ty)?)
    }

    /// The value on the rows that `block` runs on.
    pub fn localize(&mut self, block: BlockId, value: VarId) -> Result<VarId, GradientError> {
        let site = self.site();
        Ok(self.program.localize(block, value, site)?)
    }

    /// The counterpart of a row space in another block: `of` stands to the rows of block `from` as the result stands to
    /// the rows of block `to`.
    pub fn counterpart(&mut self, of: RowsId, from: RowsId, to: RowsId) -> RowsId {
        let outside = self.program.outside_of(of, from);
        outside.map_or(of, |outside| self.program.local_rows(outside, to))
    }

    /// Appends the gradient of `forward` to `into`. It starts from gradients of the values of `forward`, and returns
    /// the gradients of its parameters and of the values that it captures.
    pub fn differentiate(
        &mut self,
        forward: BlockId,
        into: BlockId,
        seeds: &[(VarId, VarId)],
    ) -> Result<BTreeMap<VarId, VarId>, GradientError> {
        let mut grads = (self.differentiate)(self.program, self.active, forward, into, seeds)?;
        let block = self.program.block(forward);
        grads.retain(|&var, _| self.program.var(var).block != forward || block.params.contains(&var));
        Ok(grads)
    }

    /// Sets a block's results.
    pub fn set_results(&mut self, block: BlockId, results: Vec<VarId>) -> Result<(), GradientError> {
        Ok(self.program.set_results(block, &results)?)
    }

    /// Adds to the gradient of a value that the operator's blocks read from outside.
    pub fn add_captured(&mut self, value: VarId, grad: VarId) {
        self.captured.push((value, grad));
    }

    /// An error with the operator's place.
    pub fn refuse(&self, message: String) -> GradientError {
        let place = self.operator.site.place.map(|place| self.program.locate(place));
        GradientError { place, message }
    }

    /// The error for the gradient of a gradient.
    pub fn second_order(&self) -> GradientError {
        self.refuse(format!(
            "`{}` is a gradient; gradients of gradients are not supported",
            self.operator.op.name()
        ))
    }
}
