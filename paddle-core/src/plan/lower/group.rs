//! Groups: operators that are launched together, compiled.

use std::collections::BTreeMap;

use super::super::backend::{Backend, Body, Group, GroupOp, Operand, OperandType};
use super::super::code::{Instruction, LaunchCode, Operators, Origin, Product};
use super::super::error::PlanError;
use super::super::live::At;
use super::super::storage::stream;
use super::Lowering;
use crate::ops::{Fill, Op, Operator, Program};
use crate::program::{BlockId, RowsId, VarId};

/// The tokens of the sequences that an operator goes along, in the order of its offsets.
fn sequences(program: &Program, operator: &Operator) -> impl Iterator<Item = RowsId> {
    let operand = |k: usize| operator.inputs.iter().chain(&operator.outputs).nth(k);
    operator.op.schema().offsets().filter_map(move |k| program.ty(*operand(k)?).rows)
}

impl<'a, B: Backend> Lowering<'a, B> {
    /// Compiles a group. None if it is a constant that only groups with their own copy read.
    pub(super) fn launch(
        &mut self,
        id: BlockId,
        unit: &[usize],
    ) -> Result<Option<Instruction<B::Kernel>>, PlanError> {
        let program = self.program;
        let block = program.block(id);
        let first = &block.ops[unit[0]];
        let fused = first.op.effects().element_wise;
        let mut group = Group {
            body: None,
            epilogue: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            temporaries: Vec::new(),
            random_stream: match (first.op.operation().stream(), first.outputs.first()) {
                (Some(name), _) => stream(name),
                (None, Some(&output)) => stream(&program.var(output).name),
                (None, None) => 0,
            },
        };
        let mut known: BTreeMap<VarId, Operand> = BTreeMap::new();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for &i in unit {
            let operator = &block.ops[i];
            let mut reads = Vec::with_capacity(operator.inputs.len());
            for &input in &operator.inputs {
                let operand = match known.get(&input) {
                    Some(&operand) => operand,
                    None => match self.constant(input).filter(|_| fused) {
                        Some(fill) => {
                            let ty = program.ty(operator.outputs[0]).with_dtype(fill.ty.dtype);
                            let layout = OperandType { dtype: ty.dtype, ..self.layout(operator.outputs[0]) };
                            group.temporaries.push(layout);
                            let operand = Operand::Temporary(group.temporaries.len() - 1);
                            let op = Fill { value: fill.value, ty }.into();
                            group.epilogue.push(GroupOp { op, inputs: Vec::new(), outputs: vec![operand] });
                            operand
                        }
                        None => {
                            inputs.push(input);
                            group.inputs.push(self.layout(input));
                            Operand::Input(inputs.len() - 1)
                        }
                    },
                };
                known.insert(input, operand);
                reads.push(operand);
            }
            for rows in sequences(program, operator) {
                group.inputs.push(self.offsets_layout(rows)?);
                reads.push(Operand::Input(group.inputs.len() - 1));
            }
            let mut writes = Vec::with_capacity(operator.outputs.len());
            for &output in &operator.outputs {
                let layout = self.layout(output);
                let operand = if !fused || self.leaves(output, id, unit) {
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
            match fused {
                true => group.epilogue.push(op),
                false => group.body = Some(Body::Operator(op)),
            }
        }
        if outputs.is_empty() && !first.op.effects().state {
            return Ok(None);
        }
        let kernel = self.backend.compile(&group).map_err(|error| self.unsupported(first, error.message))?;
        let mut operands = Vec::with_capacity(inputs.len() + outputs.len());
        for input in inputs {
            let read = unit.iter().any(|&i| block.ops[i].read().any(|var| var == input));
            operands.push(if read { self.read(input)? } else { self.nowhere(input) });
        }
        // It is not element-wise, so it is alone in its group.
        for rows in sequences(program, first) {
            operands.push(self.offsets(rows)?);
        }
        for output in outputs {
            operands.push(self.define(output)?);
        }
        // Of one layer are many.
        let mut names: Vec<String> =
            unit.iter().map(|&i| program.called(&block.ops[i]).to_string()).collect();
        names.dedup();
        let number = self.number(Origin::Operators(Operators { names, place: first.site.place }));
        let product = unit.iter().find_map(|&i| self.product(&block.ops[i]));
        let inputs = group.inputs.len();
        Ok(Some(Instruction::Launch(LaunchCode { kernel, operands, inputs, number, product })))
    }

    /// What is counted of an operator.
    fn product(&mut self, operator: &Operator) -> Option<Product> {
        let program = self.program;
        let [first, _] = operator.contraction(program)?.factors;
        let rows = *self.layout(operator.inputs[first.input]).shape.first()?;
        let place = operator.site.place.map(|place| program.locate(place));
        Some(Product { counter: self.stats.counter(place, operator.site.role), rows })
    }

    /// The operator that makes the value, if it is a constant.
    pub(super) fn constant(&self, var: VarId) -> Option<&'a Fill> {
        let at = self.constants.get(&var)?;
        match &self.program.block(at.0).ops[at.1].op {
            Op::Fill(fill) => Some(fill),
            _ => None,
        }
    }

    /// Whether a value of a unit is read outside of it.
    pub(super) fn leaves(&self, var: VarId, id: BlockId, unit: &[usize]) -> bool {
        let constant = self.constant(var).is_some();
        let readers = self.readers.get(&var).into_iter().flatten();
        let inside = |at: &At| {
            let reader = &self.program.block(at.0).ops[at.1];
            (constant && reader.op.effects().element_wise) || (at.0 == id && unit.contains(&at.1))
        };
        self.escapes(var) || readers.into_iter().any(|at| !inside(at))
    }
}
