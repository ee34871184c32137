//! The place where a rule appends its operators.

use super::{Draft, Known};
use crate::convert::error::Fault;
use crate::ops::compositions::{Emit, EmitLoops};
use crate::ops::{
    AssignValue, Binary, BinaryKind, Cast, Concat, Fill, Number, Op, Program, Range, Reshape, Scale, Size,
    Slice,
};
use crate::program::{BlockId, DType, Dim, Site, Type, VarId};

/// The place where a rule appends operators.
pub(in crate::convert) struct At<'d> {
    pub(in crate::convert) draft: &'d mut Draft,
    pub(in crate::convert) block: BlockId,
    pub(in crate::convert) site: Site,
}

impl Emit for At<'_> {
    type Error = Fault;

    fn ty(&self, var: VarId) -> &Type {
        self.ty(var)
    }

    fn emit(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, Fault> {
        self.emit(op, inputs)
    }
}

impl EmitLoops for At<'_> {
    fn program(&mut self) -> &mut Program {
        &mut self.draft.program
    }

    fn block(&self) -> BlockId {
        self.block
    }

    fn create_parameter(&mut self, body: BlockId, name: &str, ty: Type) -> Result<VarId, Fault> {
        self.draft.block_parameter(body, name, &ty)
    }

    fn within<T>(
        &mut self,
        body: BlockId,
        append: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let outside = std::mem::replace(&mut self.block, body);
        let appended = append(self);
        self.block = outside;
        appended
    }

    fn emit_all(&mut self, op: Op, inputs: &[VarId], outputs: usize) -> Result<Vec<VarId>, Fault> {
        self.emit_all(op, inputs, outputs)
    }

    fn emit_loop(
        &mut self,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        called: &str,
        outputs: usize,
    ) -> Result<Vec<VarId>, Fault> {
        self.draft.append(self.block, op, inputs, blocks, &vec![called; outputs], self.site)
    }
}

impl At<'_> {
    pub(in crate::convert) fn ty(&self, var: VarId) -> &Type {
        self.draft.ty(var)
    }

    /// Appends an operator with several outputs, which no variable holds.
    pub(in crate::convert) fn emit_all(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        count: usize,
    ) -> Result<Vec<VarId>, Fault> {
        self.append(self.block, op.into(), inputs, count)
    }

    /// Appends an operator with one output, which no variable holds.
    pub(in crate::convert) fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, Fault> {
        self.emit_in(self.block, op, inputs)
    }

    /// Appends an operator with one output, which no variable holds, to another block.
    pub(in crate::convert) fn emit_in(
        &mut self,
        block: BlockId,
        op: impl Into<Op>,
        inputs: &[VarId],
    ) -> Result<VarId, Fault> {
        Ok(self.append(block, op.into(), inputs, 1)?[0])
    }

    /// Appends an operator whose outputs, so many, no variable holds.
    pub(in crate::convert) fn append(
        &mut self,
        block: BlockId,
        op: Op,
        inputs: &[VarId],
        outputs: usize,
    ) -> Result<Vec<VarId>, Fault> {
        let names = vec![op.name(); outputs];
        self.draft.append(block, op, inputs, &[], &names, self.site)
    }

    /// A number as a value without dimensions.
    pub(in crate::convert) fn number(&mut self, value: f64, dtype: DType) -> Result<VarId, Fault> {
        let value = if dtype.is_float() { Number::Float(value) } else { Number::Int(value as i64) };
        self.emit(Fill { value, ty: Type::scalar(dtype) }, &[])
    }

    /// 0, 1, 2, … before a size: i64 `[size]`.
    pub(in crate::convert) fn count_to(&mut self, size: Dim) -> Result<VarId, Fault> {
        let ty = Type { dtype: DType::I64, rows: None, dims: vec![size] };
        self.emit(Range { start: Number::Int(0), step: Number::Int(1), ty }, &[])
    }

    /// Numbers of the program, rounded to the element type.
    pub(in crate::convert) fn numbers<'n>(
        &mut self,
        values: impl IntoIterator<Item = &'n f64>,
        ty: Type,
    ) -> Result<VarId, Fault> {
        let values = values.into_iter().map(|&value| Number::Float(value)).collect();
        self.emit(AssignValue { values, ty }.rounded(), &[])
    }

    /// An element-wise operator of two values.
    pub(in crate::convert) fn binary(
        &mut self,
        kind: BinaryKind,
        x: VarId,
        y: VarId,
    ) -> Result<VarId, Fault> {
        self.emit(Binary { kind }, &[x, y])
    }

    /// `scale · x + bias`.
    pub(in crate::convert) fn scaled(&mut self, x: VarId, scale: f64, bias: f64) -> Result<VarId, Fault> {
        self.emit(Scale { scale, bias }, &[x])
    }

    /// A value with another shape behind its rows.
    pub(in crate::convert) fn shaped(&mut self, x: VarId, dims: Vec<Dim>) -> Result<VarId, Fault> {
        self.emit(Reshape { dims }, &[x])
    }

    /// A part along an axis: so many elements from the first one on.
    pub(in crate::convert) fn part(
        &mut self,
        x: VarId,
        axis: usize,
        from: i64,
        count: i64,
    ) -> Result<VarId, Fault> {
        let (axes, strides) = (vec![axis as i64], Vec::new());
        self.emit(Slice { axes, starts: vec![from], ends: vec![from + count], strides }, &[x])
    }

    /// The sizes of a value as a list of numbers.
    pub(in crate::convert) fn shape_value(&mut self, dims: &[Dim]) -> Result<VarId, Fault> {
        let parts = dims.iter().map(|dim| self.size_value(dim)).collect::<Result<Vec<VarId>, Fault>>()?;
        let shape = match parts.is_empty() {
            true => self.emit(Fill::zeros(Type::new(DType::I32, [0])), &[])?,
            false => self.emit(Concat { axis: 0 }, &parts)?,
        };
        self.know(shape, dims);
        Ok(shape)
    }

    /// A size as a list of one number: a constant, or the number of elements of a value with this size.
    pub(in crate::convert) fn size_value(&mut self, size: &Dim) -> Result<VarId, Fault> {
        let one = Type::new(DType::I32, [1]);
        if let Some(size) = size.constant() {
            return self.emit(Fill { value: Number::Int(size), ty: one }, &[]);
        }
        let ty = self.draft.type_of(DType::F64, vec![size.clone()]);
        let counted = self.emit(Fill::zeros(ty), &[])?;
        let count = self.emit(Size { axes: Vec::new() }, &[counted])?;
        let count = self.emit(Cast { dtype: DType::I32 }, &[count])?;
        self.emit(Reshape { dims: one.dims }, &[count])
    }

    /// A size as a list of one number of this type.
    pub(in crate::convert) fn size_as(&mut self, size: &Dim, dtype: DType) -> Result<VarId, Fault> {
        let size = self.size_value(size)?;
        self.emit(Cast { dtype }, &[size])
    }

    /// Notes the elements of a value.
    pub(in crate::convert) fn know(&mut self, value: VarId, dims: &[Dim]) {
        self.draft.known.insert(value, dims.iter().cloned().map(Known::of).collect());
    }
}
