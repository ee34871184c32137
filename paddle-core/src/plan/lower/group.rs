//! Lowering of groups: operators that are launched together.

use std::collections::BTreeMap;

use super::super::backend::{
    Backend, Body, Extent, Group, GroupOp, Layout, Operand, OperandType, Side, Unsupported,
};
use super::super::code::{Home, Instruction, Kernel, LaunchCode, Operators, Origin, Product, Slot, SlotId};
use super::super::error::PlanError;
use super::super::live::At;
use super::super::schedule::Unit;
use super::super::storage::stream;
use super::super::work::Work;
use super::Lowering;
use crate::ops::{Fill, Op, Operator, Program};
use crate::program::{BlockId, Definition, RowsId, Site, VarId};

/// The row spaces of the tokens of the sequences that an operator goes along, in the order of its offsets.
fn sequences(program: &Program, operator: &Operator) -> impl Iterator<Item = RowsId> {
    let operand = |k: usize| operator.inputs.iter().chain(&operator.outputs).nth(k);
    operator.op.schema().offsets().filter_map(move |k| program.ty(*operand(k)?).rows)
}

/// The source of an input of a group.
enum Source {
    /// A value in a layout.
    Value(VarId, Layout),
    /// A value of which only the shape is needed.
    Shape(VarId),
    /// The offsets of the sequences whose tokens these are.
    Offsets(RowsId),
}

impl<'a, B: Backend> Lowering<'a, B> {
    /// Compiles a group, and appends its launch. Appends nothing for a constant that every reader absorbs.
    pub(super) fn launch(
        &mut self,
        id: BlockId,
        unit: &Unit,
        code: &mut Vec<Instruction<Kernel<B>>>,
    ) -> Result<(), PlanError> {
        let program = self.program;
        let block = program.block(id);
        let operators: Vec<&Operator> = unit.operators.iter().map(|&i| &block.ops[i]).collect();
        let first = operators[0];
        let mut group = Group {
            body: None,
            epilogue: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            temporaries: Vec::new(),
            constants: Vec::new(),
            random_stream: match (first.op.operation().random_stream(), first.outputs.first()) {
                (Some(name), _) => stream(name),
                (None, Some(&output)) => stream(&program.var(output).name),
                (None, None) => 0,
            },
            precision: self.precision_of(first),
        };
        let mut known: BTreeMap<(VarId, Layout), Operand> = BTreeMap::new();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let (mut multiplications, mut updates) = (Vec::new(), Vec::new());
        for (operator, &at) in operators.iter().zip(&unit.operators) {
            let at = (id, at);
            let element_wise = operator.op.effects().element_wise;
            let mut reads = Vec::with_capacity(operator.inputs.len());
            for &input in &operator.inputs {
                let ty = self.operand_of(at, input);
                let key = (input, ty.layout.clone());
                let operand = match known.get(&key) {
                    Some(&operand) => operand,
                    None => match self.constant(input).filter(|_| element_wise) {
                        Some(made) => {
                            let ty = program.ty(operator.outputs[0]).with_dtype(program.ty(input).dtype);
                            let like = self.operand_of(at, operator.outputs[0]);
                            group.temporaries.push(OperandType { dtype: ty.dtype, ..like });
                            let operand = Operand::Temporary(group.temporaries.len() - 1);
                            let op = match &made.op {
                                Op::Fill(fill) => Fill { value: fill.value, ty }.into(),
                                op => op.clone(),
                            };
                            // It needs the shapes of its inputs alone.
                            let mut shapes = Vec::new();
                            for &of in &made.inputs {
                                shapes.push(Operand::Input(inputs.len()));
                                inputs.push(Source::Shape(of));
                                group.inputs.push(self.operand_type(of));
                            }
                            if !shapes.is_empty() {
                                multiplications.push(None);
                            }
                            group.epilogue.push(GroupOp { op, inputs: shapes, outputs: vec![operand] });
                            operand
                        }
                        None => {
                            if self.facts.is_kept(program, id, input) {
                                group.constants.push(inputs.len());
                            }
                            inputs.push(Source::Value(input, ty.layout.clone()));
                            group.inputs.push(ty);
                            Operand::Input(inputs.len() - 1)
                        }
                    },
                };
                known.insert(key, operand);
                reads.push(operand);
            }
            for rows in sequences(program, operator) {
                inputs.push(Source::Offsets(rows));
                group.inputs.push(self.offsets_type(rows)?);
                reads.push(Operand::Input(inputs.len() - 1));
            }
            let mut writes = Vec::with_capacity(operator.outputs.len());
            for (k, &output) in operator.outputs.iter().enumerate() {
                let ty = self.operand_of(at, output);
                let key = (output, ty.layout.clone());
                // An epilogue goes on with the first result of a body alone.
                let is_written = !element_wise && (unit.operators.len() == 1 || k > 0);
                let operand = if is_written || self.needs_memory(output, id, &unit.operators) {
                    outputs.push(key.clone());
                    group.outputs.push(ty);
                    Operand::Output(outputs.len() - 1)
                } else {
                    group.temporaries.push(ty);
                    Operand::Temporary(group.temporaries.len() - 1)
                };
                known.insert(key, operand);
                writes.push(operand);
            }
            if !reads.is_empty() {
                let sizes = operator.op.operation().multiplications(program, operator);
                multiplications.push(sizes.map(|sizes| sizes.iter().map(|size| self.extent(size)).collect()));
            }
            let op = GroupOp { op: operator.op.clone(), inputs: reads, outputs: writes };
            match element_wise {
                true => group.epilogue.push(op),
                false if unit.is_gathered => updates.push(op),
                false => group.body = Some(Body::Operator(op)),
            }
        }
        if unit.is_gathered {
            group.body = Some(Body::Updates(updates));
        }
        if outputs.is_empty() && !first.op.effects().state {
            return Ok(());
        }
        let kernel = self.compile(unit.side, &group);
        let kernel = kernel.map_err(|error| self.unsupported(first, error.message))?;
        // A transfer in front of the launch copies an operand from the other side; a transfer behind it copies an
        // output or a changed operand back.
        let mut back = Vec::new();
        let mut reads = Vec::with_capacity(inputs.len());
        for source in &inputs {
            let (var, layout) = match source {
                Source::Offsets(rows) => {
                    let slot = self.offsets(*rows)?;
                    reads.push(self.copied_to_side(slot, unit.side, code));
                    continue;
                }
                Source::Shape(var) => {
                    reads.push(self.shape_slot(*var));
                    continue;
                }
                Source::Value(var, layout) => (*var, layout),
            };
            if !operators.iter().any(|operator| operator.read().any(|read| read == var)) {
                reads.push(self.shape_slot(var));
                continue;
            }
            let slot = self.read_in(var, layout, code)?;
            let operand = self.copied_to_side(slot, unit.side, code);
            if operand != slot && operators.iter().any(|operator| operator.changed().any(|read| read == var))
            {
                back.push(self.transfer(operand, slot));
            }
            reads.push(operand);
        }
        let mut writes = Vec::with_capacity(outputs.len());
        for (output, layout) in outputs {
            let own = self.define(output)?;
            let slot = self.slot_in(own, &layout);
            let operand = self.slot_on_side(slot, unit.side);
            if operand != slot {
                back.push(self.transfer(operand, slot));
            }
            if slot != own {
                self.memory.arranged.insert(output, slot);
                back.push(self.relayout(slot, own)?);
            }
            writes.push(operand);
        }
        // A layer may be several operators in a row, which have one name.
        let mut names: Vec<String> =
            operators.iter().map(|operator| program.called(operator).to_string()).collect();
        names.dedup();
        let kinds = operators.iter().map(|operator| operator.op.operation().called().to_string()).collect();
        let Site { place, role, .. } = first.site;
        let origin = Origin::Operators(Operators { names, kinds, role, place, precision: group.precision });
        let work = Work::of_group(&group, multiplications, |dtype| self.backend.element_bytes(dtype));
        let product = operators.iter().find_map(|operator| self.product(operator));
        let launch = self.launch_code(kernel, reads, writes, origin, work);
        code.push(Instruction::Launch(LaunchCode { product, ..launch }));
        code.extend(back);
        Ok(())
    }

    /// The type of an operand of an operator.
    fn operand_of(&mut self, at: At, var: VarId) -> OperandType {
        let layout = self.arrangement.of_operand(at, var);
        OperandType { layout, ..self.operand_type(var) }
    }

    /// The slot of a value in a layout. If its own slot has another layout, appends a launch that makes a copy, unless the
    /// block or one around it has made one.
    fn read_in(
        &mut self,
        var: VarId,
        layout: &Layout,
        code: &mut Vec<Instruction<Kernel<B>>>,
    ) -> Result<SlotId, PlanError> {
        let own = self.read(var)?;
        if let Some(&slot) = self.memory.arranged.get(&var)
            && self.memory.slots[slot.0].layout == *layout
        {
            self.touch(slot);
            return Ok(slot);
        }
        let slot = self.slot_in(own, layout);
        if slot != own {
            code.push(self.relayout(own, slot)?);
            // Updates change parameters and states, so copies of these are made each time.
            if self.program.var(var).definition == Definition::Operator {
                self.memory.arranged.insert(var, slot);
            }
        }
        Ok(slot)
    }

    /// Returns the slot if its elements have the order that they have in this layout, or else a new slot that has the
    /// layout.
    fn slot_in(&mut self, slot: SlotId, layout: &Layout) -> SlotId {
        let like = &self.memory.slots[slot.0];
        let is_one = |axis: usize| like.shape[axis] == Extent::Fixed(1);
        if like.layout == *layout || layout.keeps_order(is_one) && like.layout.keeps_order(is_one) {
            return slot;
        }
        let like =
            Slot { layout: layout.clone(), home: Home::Arena, life: (self.now, self.now), ..like.clone() };
        let slot = self.add_slot(like);
        if self.grows(slot) {
            self.give_lane(slot, None);
        }
        slot
    }

    /// Compiles a group for a side.
    pub(super) fn compile(&self, side: Side, group: &Group) -> Result<Kernel<B>, Unsupported> {
        match (side, self.backend.fallback()) {
            (Side::Fallback, Some(fallback)) => fallback.compile(group).map(Kernel::Fallback),
            _ => self.backend.compile(group).map(Kernel::Own),
        }
    }

    /// The counter and the rows of a matrix product; none for other operators.
    fn product(&mut self, operator: &Operator) -> Option<Product> {
        let program = self.program;
        let [first, _] = operator.contraction(program)?.factors;
        let rows = *self.operand_type(operator.inputs[first.input]).shape.first()?;
        let place = operator.site.place.map(|place| program.locate(place));
        Some(Product { counter: self.stats.counter(place, operator.site.role), rows })
    }

    /// The operator that makes the constant that the value is, if it is one, and groups on either side may absorb it.
    pub(super) fn constant(&self, var: VarId) -> Option<&'a Operator> {
        let at = self.facts.constants.get(&var)?;
        let operator = &self.program.block(at.0).ops[at.1];
        let types = [self.program.ty(var).dtype];
        let is_supported = self.backend.supports(&operator.op, &types)
            && self.backend.fallback().is_none_or(|fallback| fallback.supports(&operator.op, &types));
        is_supported.then_some(operator)
    }

    /// Whether a value of a unit needs memory: something outside of the unit reads it, and does not absorb it.
    fn needs_memory(&self, var: VarId, id: BlockId, unit: &[usize]) -> bool {
        let constant = self.constant(var).is_some();
        let readers = self.facts.readers.get(&var).into_iter().flatten();
        let inside = |at: &At| {
            let reader = &self.program.block(at.0).ops[at.1];
            (constant && reader.op.effects().element_wise) || (at.0 == id && unit.contains(&at.1))
        };
        self.escapes(var) || readers.into_iter().any(|at| !inside(at))
    }
}
