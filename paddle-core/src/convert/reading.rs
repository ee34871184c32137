//! One operator of the wire while it is read: its slots, and what the rules for operators and control flow append.

use super::error::{ConvertError, Fault};
use super::from_wire::{Reader, one};
use crate::ops::{Cast, Fill, Number, Op};
use crate::program::{BlockId, DType, Dim, Site, Type, VarId};
use crate::wire::OpDesc;

/// A constant of more elements than this is no attribute.
const MOST_CONSTANTS: usize = 1 << 16;

/// One operator while it is read.
pub(super) struct Reading<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) desc: &'a OpDesc,
    /// The block of the wire.
    pub(super) block: usize,
    pub(super) site: Site,
}

impl<'a> Reading<'_, 'a> {
    pub(super) fn id(&self) -> BlockId {
        // A block's operators are read after it was entered.
        self.reader.versions.id(self.block).unwrap_or(BlockId(u32::MAX))
    }

    /// The variables in an input slot.
    pub(super) fn inputs(&self, slot: &str) -> Result<Vec<VarId>, Fault> {
        self.desc.input(slot).iter().map(|name| self.read(name)).collect()
    }

    /// The only variable in an input slot.
    pub(super) fn input(&self, slot: &'static str) -> Result<VarId, Fault> {
        self.read(one(self.desc.input(slot), slot)?)
    }

    pub(super) fn read(&self, name: &str) -> Result<VarId, Fault> {
        self.reader.versions.read(&self.reader.blocks, self.block, name)
    }

    pub(super) fn ty(&self, var: VarId) -> &Type {
        self.reader.program.ty(var)
    }

    /// Whether one of these optional slots holds something.
    pub(super) fn has(&self, slots: &[&str]) -> bool {
        slots.iter().any(|slot| !self.desc.input(slot).is_empty())
    }

    pub(super) fn bool(&self, name: &str, default: bool) -> Result<bool, Fault> {
        Ok(self.desc.attr_bool(name)?.unwrap_or(default))
    }

    pub(super) fn axis(&self, var: VarId, axis: i64) -> Option<usize> {
        let rank = self.ty(var).rank() as i64;
        usize::try_from(if axis < 0 { axis.checked_add(rank)? } else { axis })
            .ok()
            .filter(|&a| (a as i64) < rank)
    }

    /// The fault that a value has no such axis.
    pub(super) fn no_axis(&self, var: VarId, attribute: &'static str, axis: i64) -> Fault {
        let message = format!("there is no axis {axis} of {} dimensions", self.ty(var).rank());
        Fault::Attribute { attribute, message }
    }

    /// The elements of a value that the program says: a constant.
    pub(super) fn constant_of(&self, var: VarId) -> Option<Vec<Number>> {
        let program = &self.reader.program;
        let ops = &program.block(program.var(var).block).ops;
        let operator = ops.iter().rev().find(|operator| operator.outputs.contains(&var))?;
        match &operator.op {
            Op::Fill(Fill { value, ty }) => {
                let size = |count: Option<usize>, dim: &Dim| {
                    count?.checked_mul(usize::try_from(dim.constant()?).ok()?)
                };
                let count = ty.dims.iter().fold(Some(1), size).filter(|_| ty.rows.is_none())?;
                (count <= MOST_CONSTANTS).then(|| vec![*value; count])
            }
            Op::AssignValue(op) => Some(op.values.clone()),
            Op::Assign(_) | Op::Reshape(_) => self.constant_of(operator.inputs[0]),
            Op::Cast(Cast { dtype: DType::I32 | DType::I64 }) => {
                let whole = |value: Number| value.as_i64().map(Number::Int);
                self.constant_of(operator.inputs[0])?.into_iter().map(whole).collect()
            }
            _ => None,
        }
    }

    /// The only whole number of a constant in an input slot.
    pub(super) fn constant_int(&self, slot: &'static str) -> Result<Option<i64>, Fault> {
        let numbers = self.constant_of(self.input(slot)?);
        Ok(numbers.and_then(|numbers| if let [one] = numbers[..] { one.as_i64() } else { None }))
    }

    /// Appends an operator with one output, which no variable holds.
    pub(super) fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, Fault> {
        self.emit_in(self.id(), op, inputs)
    }

    /// The same, in another block.
    pub(super) fn emit_in(
        &mut self,
        block: BlockId,
        op: impl Into<Op>,
        inputs: &[VarId],
    ) -> Result<VarId, Fault> {
        let op = op.into();
        let name = op.name();
        Ok(self.reader.append(block, op, inputs, &[], &[name], self.site)?[0])
    }

    /// Appends an operator whose outputs are the new versions of these variables. Those that last get them as values.
    pub(super) fn define(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        blocks: &[BlockId],
        names: &[&'a str],
    ) -> Result<bool, ConvertError> {
        let id = self.id();
        let values = self.reader.append(id, op.into(), inputs, blocks, names, self.site)?;
        for (&name, value) in names.iter().zip(values) {
            match self.reader.lasting(self.block, name) {
                Some(lasting) => self.reader.store(self.block, name, lasting, value, self.site)?,
                None => self.reader.versions.write(&self.reader.blocks, self.block, name, value)?,
            }
        }
        Ok(true)
    }

    /// Appends operators of which each but the first takes the result of the one before, the last one's output being the
    /// variable in slot `Out`.
    pub(super) fn out_of_chain(&mut self, ops: Vec<Op>, inputs: &[VarId]) -> Result<bool, ConvertError> {
        let mut inputs = inputs.to_vec();
        let last = ops.len().saturating_sub(1);
        for (i, op) in ops.into_iter().enumerate() {
            if i == last {
                return self.out(op, &inputs);
            }
            inputs = vec![self.emit(op, &inputs)?];
        }
        Ok(false)
    }

    /// Appends an operator whose only output is the variable in slot `Out`.
    pub(super) fn out(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.define(op, inputs, &[], &[one(desc.output("Out"), "Out")?])
    }
}
