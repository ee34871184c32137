//! One operator of the wire while it is read: its slots, and the operators that rules append for it.

use std::collections::BTreeMap;

use super::{ConvertError, Fault, Reader, one};
use crate::convert::blocks::owned;
use crate::convert::derived;
use crate::convert::draft::{At, Known, Merged};
use crate::convert::to_wire::block_attributes;
use crate::ops::{Attributes, Cast, Number, Op, Reshape};
use crate::program::{BlockId, DType, Definition, Dim, RowsId, Site, Type, VarId};
use crate::wire::{OpDesc, OpVar};

/// One operator while it is read.
pub(super) struct Reading<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) desc: &'a OpDesc,
    /// The index of the block on the wire.
    pub(super) block: usize,
    pub(super) site: Site,
    /// Why a rule does not know this form, if it says so.
    pub(super) lack: Option<&'static str>,
    /// The rows that are an ordinary axis of what is read.
    pub(super) merges: Merged,
    /// Tokens that are read as those of other sequences, and what they are then.
    pub(super) aligned: BTreeMap<VarId, VarId>,
}

impl<'r, 'a> Reading<'r, 'a> {
    pub(super) fn new(reader: &'r mut Reader<'a>, desc: &'a OpDesc, block: usize, site: Site) -> Self {
        Reading { reader, desc, block, site, lack: None, merges: Merged::None, aligned: BTreeMap::new() }
    }
}

impl<'a> Reading<'_, 'a> {
    pub(super) fn id(&self) -> BlockId {
        // A block is entered before its operators are read.
        self.reader.versions.id(self.block).unwrap_or(BlockId(u32::MAX))
    }

    /// The answer of a rule that does not know the form of its operator: what is lacking.
    pub(super) fn lacks(&mut self, what: &'static str) -> Result<bool, ConvertError> {
        self.lack = Some(what);
        Ok(false)
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
        let value = self.reader.versions.read(&self.reader.blocks, self.block, name)?;
        let draft = &self.reader.draft;
        let merged =
            draft.merged.get(&(self.id(), value)).filter(|_| draft.is_merged(self.ty(value), self.merges));
        let value = merged.copied().unwrap_or(value);
        Ok(self.aligned.get(&value).copied().unwrap_or(value))
    }

    /// The place where its operators go.
    pub(super) fn at(&mut self) -> At<'_> {
        let block = self.id();
        At { draft: &mut self.reader.draft, block, site: self.site }
    }

    pub(super) fn ty(&self, var: VarId) -> &Type {
        self.reader.draft.program.ty(var)
    }

    /// Whether one of these optional slots holds something.
    pub(super) fn has(&self, slots: &[&str]) -> bool {
        slots.iter().any(|slot| !self.desc.input(slot).is_empty())
    }

    pub(super) fn bool(&self, name: &str, default: bool) -> Result<bool, Fault> {
        Ok(self.desc.attr_bool(name)?.unwrap_or(default))
    }

    /// Whether the operator computes as in inference.
    pub(super) fn is_test(&self) -> Result<bool, Fault> {
        Ok(!self.reader.trains && self.bool("is_test", false)?)
    }

    pub(super) fn axis(&self, var: VarId, axis: i64) -> Option<usize> {
        self.reader.draft.axis(var, axis)
    }

    /// The fault of an axis that a value does not have.
    pub(super) fn no_axis(&self, var: VarId, attribute: &'static str, axis: i64) -> Fault {
        self.reader.draft.no_axis(var, attribute, axis)
    }

    /// The known elements of a value.
    pub(super) fn known(&self, var: VarId) -> Option<&[Known]> {
        self.reader.draft.known_of(var)
    }

    /// The elements of a constant.
    pub(super) fn constant_of(&self, var: VarId) -> Option<Vec<Number>> {
        self.reader.draft.constant_of(var)
    }

    /// The type with these sizes. If the first is the number of rows of a row space, the type has these rows.
    pub(super) fn type_of(&self, dtype: DType, dims: Vec<Dim>) -> Type {
        self.reader.draft.type_of(dtype, dims)
    }

    /// What `value` is a transposition of, and the order of its axes that makes `perm` of `value`.
    pub(super) fn undone(&self, value: VarId, perm: &[i64]) -> (VarId, Vec<i64>) {
        self.reader.draft.undone(value, perm)
    }

    /// The value with the rows of the batch, if its first axis has their number.
    pub(super) fn with_rows(&mut self, value: VarId) -> Result<VarId, Fault> {
        self.at().with_rows(value)
    }

    /// The block in an attribute, if this operator can own it.
    pub(super) fn owned(&self, attribute: &'static str) -> Result<usize, Fault> {
        let is_taken = |block: usize| self.reader.versions.id(block).is_some();
        owned(&self.reader.blocks, self.desc, attribute, self.block, is_taken)
    }

    pub(super) fn types(&self, vars: &[VarId]) -> Vec<Type> {
        vars.iter().map(|&var| self.ty(var).clone()).collect()
    }

    /// A size as a list of one number.
    pub(super) fn size_value(&mut self, size: &Dim) -> Result<VarId, Fault> {
        self.at().size_value(size)
    }

    /// The only element of the value in a slot, converted to a scalar of this element type.
    pub(super) fn scalar(&mut self, slot: &'static str, dtype: DType) -> Result<VarId, Fault> {
        let mut value = self.input(slot)?;
        if self.ty(value).dtype != dtype {
            value = self.emit(Cast { dtype }, &[value])?;
        }
        match self.ty(value).rank() {
            0 => Ok(value),
            _ => self.emit(Reshape { dims: Vec::new() }, &[value]),
        }
    }

    /// Appends an operator with several outputs, which no variable holds.
    pub(super) fn emit_all(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        count: usize,
    ) -> Result<Vec<VarId>, Fault> {
        self.at().emit_all(op, inputs, count)
    }

    /// Appends an operator with one output, which no variable holds.
    pub(super) fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, Fault> {
        self.at().emit(op, inputs)
    }

    /// Appends an operator with one output, which no variable holds, to another block.
    pub(super) fn emit_in(
        &mut self,
        block: BlockId,
        op: impl Into<Op>,
        inputs: &[VarId],
    ) -> Result<VarId, Fault> {
        self.at().emit_in(block, op, inputs)
    }

    /// Appends an operator whose outputs are the new versions of these variables. Variables that outlive the run store
    /// them.
    pub(super) fn define(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        blocks: &[BlockId],
        names: &[&'a str],
    ) -> Result<bool, ConvertError> {
        self.define_by(op.into(), inputs, blocks, names)
    }

    fn define_by(
        &mut self,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        names: &[&'a str],
    ) -> Result<bool, ConvertError> {
        let values = self.reader.draft.append(self.id(), op, inputs, blocks, names, self.site)?;
        for (&name, value) in names.iter().zip(values) {
            self.write(name, value)?;
        }
        Ok(true)
    }

    /// Makes a value the new version of a variable.
    pub(super) fn write(&mut self, name: &'a str, value: VarId) -> Result<(), Fault> {
        let rows = self.with_rows(value)?;
        if rows != value && self.reader.draft.program.var(value).definition == Definition::Operator {
            // The variable's name is that of its value as others read it.
            self.reader.draft.program.swap_names(rows, value);
        }
        let value = rows;
        match self.reader.lasting(self.block, name) {
            Some(lasting) => self.reader.store(self.block, name, lasting, value, self.site),
            None => self.reader.versions.write(&self.reader.blocks, self.block, name, value),
        }
    }

    /// Appends the operator by its definition.
    ///
    /// Returns false if PaddlePaddle's operator has another form than ours: it has an input or the value of an
    /// attribute that ours lacks, or works along sequences that no type has.
    pub(super) fn defined(&mut self) -> Result<bool, ConvertError> {
        let Some(op) = derived::named(&self.desc.r#type) else { return Ok(false) };
        if !block_attributes(&op).is_empty() {
            return Err(Fault::NoHeader.into());
        }
        if !op.operation().is_ours() {
            let slots = op.schema().inputs;
            let is_of_ours = |found: &OpVar| slots.iter().any(|slot| slot.name == found.parameter);
            if self.desc.inputs.iter().any(|found| !is_of_ours(found) && !found.arguments.is_empty())
                || !derived::is_of_our_form(self.desc, &op)?
            {
                return Ok(false);
            }
            for slot in slots.iter().filter(|slot| slot.has_offsets) {
                let value = self.input(slot.name)?;
                if self.rows_of(value).is_none() {
                    return Ok(false);
                }
            }
        }
        let op = self.with_attributes(&op)?;
        self.same_slots(op)
    }

    /// The operator of this kind with the attributes that are written. Others have their defaults.
    pub(super) fn attributes_of<T: Attributes + Into<Op> + Clone>(&self) -> Result<T, Fault> {
        derived::attributes_of(&self.reader.draft.program, self.desc)
    }

    /// An operator with the attributes that are written. Others have their defaults.
    pub(super) fn with_attributes(&self, op: &Op) -> Result<Op, Fault> {
        derived::with_attributes(&self.reader.draft.program, self.desc, op)
    }

    /// Appends an operator whose slots on the wire have our names.
    pub(super) fn same_slots(&mut self, op: Op) -> Result<bool, ConvertError> {
        let schema = op.schema();
        let mut inputs = Vec::new();
        for slot in schema.inputs {
            match slot.is_variadic {
                true => inputs.extend(self.inputs(slot.name)?),
                false => inputs.push(self.input(slot.name)?),
            }
        }
        let (desc, mut names) = (self.desc, Vec::new());
        for slot in schema.outputs {
            match slot.is_variadic {
                true => names.extend(desc.output(slot.name).iter().map(String::as_str)),
                false => names.push(one(desc.output(slot.name), slot.name)?),
            }
        }
        self.define(op, &inputs, &[], &names)
    }

    /// The rows to which the sequences of a value belong, if it has sequences.
    pub(super) fn rows_of(&self, value: VarId) -> Option<RowsId> {
        self.ty(value).rows.and_then(|rows| self.reader.draft.program.rows_of_sequences(rows))
    }

    /// Whether a value has all tokens of its sequences.
    pub(super) fn is_whole(&self, value: VarId) -> bool {
        let program = &self.reader.draft.program;
        program.ty(value).rows.is_some_and(|rows| program.rows_of_whole_sequences(rows).is_some())
    }

    /// Appends a chain of operators, each of which takes the result of the previous one. The last output is the
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

    /// Makes a value that no variable holds that of the variable in slot `Out`.
    pub(super) fn out_value(&mut self, value: VarId) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.named_value(one(desc.output("Out"), "Out")?, value)
    }

    /// Makes a value that no variable holds that of a variable.
    pub(super) fn named_value(&mut self, name: &'a str, value: VarId) -> Result<bool, ConvertError> {
        let var = self.reader.draft.program.var(value);
        if var.definition == Definition::Operator && var.name != name {
            let fresh = self.reader.draft.fresh(name);
            self.reader.draft.program.rename(value, &fresh);
        }
        self.write(name, value)?;
        Ok(true)
    }

    /// Appends an operator whose only output is the variable in slot `Out`.
    pub(super) fn out(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<bool, ConvertError> {
        self.out_of(op.into(), inputs)
    }

    fn out_of(&mut self, op: Op, inputs: &[VarId]) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.define_by(op, inputs, &[], &[one(desc.output("Out"), "Out")?])
    }
}
