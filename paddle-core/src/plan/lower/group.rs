//! Lowering of groups: operators that are launched together.

use std::collections::BTreeMap;

use super::super::backend::{Backend, Body, Group, GroupOp, Operand, OperandType, Side, Unsupported};
use super::super::code::{Instruction, Kernel, LaunchCode, Operators, Origin, Product};
use super::super::error::PlanError;
use super::super::live::At;
use super::super::schedule::Unit;
use super::super::storage::stream;
use super::Lowering;
use crate::ops::{Fill, Op, Operator, Program};
use crate::program::{BlockId, RowsId, VarId};

/// The row spaces of the tokens of the sequences that an operator goes along, in the order of its offsets.
fn sequences(program: &Program, operator: &Operator) -> impl Iterator<Item = RowsId> {
    let operand = |k: usize| operator.inputs.iter().chain(&operator.outputs).nth(k);
    operator.op.schema().offsets().filter_map(move |k| program.ty(*operand(k)?).rows)
}

/// The source of an input of a group.
enum Source {
    Value(VarId),
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
        };
        let mut known: BTreeMap<VarId, Operand> = BTreeMap::new();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for operator in &operators {
            let element_wise = operator.op.effects().element_wise;
            let mut reads = Vec::with_capacity(operator.inputs.len());
            for &input in &operator.inputs {
                let operand = match known.get(&input) {
                    Some(&operand) => operand,
                    None => match self.constant(input).filter(|_| element_wise) {
                        Some(fill) => {
                            let ty = program.ty(operator.outputs[0]).with_dtype(fill.ty.dtype);
                            let layout =
                                OperandType { dtype: ty.dtype, ..self.operand_type(operator.outputs[0]) };
                            group.temporaries.push(layout);
                            let operand = Operand::Temporary(group.temporaries.len() - 1);
                            let op = Fill { value: fill.value, ty }.into();
                            group.epilogue.push(GroupOp { op, inputs: Vec::new(), outputs: vec![operand] });
                            operand
                        }
                        None => {
                            if self.facts.is_constant_parameter(program, input) {
                                group.constants.push(inputs.len());
                            }
                            inputs.push(Source::Value(input));
                            group.inputs.push(self.operand_type(input));
                            Operand::Input(inputs.len() - 1)
                        }
                    },
                };
                known.insert(input, operand);
                reads.push(operand);
            }
            for rows in sequences(program, operator) {
                inputs.push(Source::Offsets(rows));
                group.inputs.push(self.offsets_type(rows)?);
                reads.push(Operand::Input(inputs.len() - 1));
            }
            let mut writes = Vec::with_capacity(operator.outputs.len());
            for &output in &operator.outputs {
                let layout = self.operand_type(output);
                let operand = if unit.operators.len() == 1 && !element_wise
                    || self.needs_memory(output, id, &unit.operators)
                {
                    outputs.push(output);
                    group.outputs.push(layout);
                    Operand::Output(outputs.len() - 1)
                } else {
                    group.temporaries.push(layout);
                    Operand::Temporary(group.temporaries.len() - 1)
                };
                known.insert(output, operand);
                writes.push(operand);
            }
            let op = GroupOp { op: operator.op.clone(), inputs: reads, outputs: writes };
            match element_wise {
                true => group.epilogue.push(op),
                false => group.body = Some(Body::Operator(op)),
            }
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
            let var = match source {
                Source::Offsets(rows) => {
                    let slot = self.offsets(*rows)?;
                    reads.push(self.copied_to_side(slot, unit.side, code));
                    continue;
                }
                Source::Value(var) => *var,
            };
            if !operators.iter().any(|operator| operator.read().any(|read| read == var)) {
                reads.push(self.shape_slot(var));
                continue;
            }
            let slot = self.read(var)?;
            let operand = self.copied_to_side(slot, unit.side, code);
            if operand != slot && operators.iter().any(|operator| operator.changed().any(|read| read == var))
            {
                back.push(self.transfer(operand, slot));
            }
            reads.push(operand);
        }
        let mut writes = Vec::with_capacity(outputs.len());
        for output in outputs {
            let slot = self.define(output)?;
            let operand = self.slot_on_side(slot, unit.side);
            if operand != slot {
                back.push(self.transfer(operand, slot));
            }
            writes.push(operand);
        }
        // A layer may be several operators in a row, which have one name.
        let mut names: Vec<String> =
            operators.iter().map(|operator| program.called(operator).to_string()).collect();
        names.dedup();
        let origin = Origin::Operators(Operators { names, place: first.site.place });
        let product = operators.iter().find_map(|operator| self.product(operator));
        let launch = self.launch_code(kernel, reads, writes, origin);
        code.push(Instruction::Launch(LaunchCode { product, ..launch }));
        code.extend(back);
        Ok(())
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

    /// The constant that the value is, if it is one.
    pub(super) fn constant(&self, var: VarId) -> Option<&'a Fill> {
        let at = self.facts.constants.get(&var)?;
        match &self.program.block(at.0).ops[at.1].op {
            Op::Fill(fill) => Some(fill),
            _ => None,
        }
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
