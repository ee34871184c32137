//! Compiles a group of element-wise operators to the steps of a program.

use std::fmt::Display;

use paddle_core::ops::{Coefficients, Op};
use paddle_core::plan::{Extent, Group, GroupOp, Layout, Operand, OperandType, Unsupported};
use paddle_core::program::DType;

use super::loops::{self, Loop};
use super::{Constant, LINE, LONGEST_TILE, Link, Place, Program, SCRATCH, Saved, Spread, Step, Value};
use crate::cpu::broadcast::{Broadcast, Form};
use crate::cpu::epilogue::Pattern;
use crate::cpu::kernel::{Compiled, unsupported};
use crate::cpu::operands::Signature;
use crate::cpu::ops::{compiler, expand, fill};

/// Compiles a group of element-wise operators. Where the elements are in memory makes no difference to it, so it is
/// compiled as one in row-major order.
pub(in crate::cpu) fn compile(group: &Group) -> Result<Compiled, Unsupported> {
    let (signature, program) = compile_chain(group, None)?;
    Ok((signature, Box::new(program)))
}

/// Compiles the epilogue of a group. The body has written its `result` where the output `landing` is.
pub(in crate::cpu) fn compile_epilogue(
    group: &Group,
    result: Operand,
    landing: usize,
) -> Result<(Signature, Program), Unsupported> {
    compile_chain(group, Some((result, landing)))
}

fn compile_chain(group: &Group, body: Option<(Operand, usize)>) -> Result<(Signature, Program), Unsupported> {
    let mut group = group.clone();
    let used: Vec<Operand> =
        group.epilogue.iter().flat_map(|op| op.read().chain(op.outputs.iter().copied())).collect();
    let Group { inputs, outputs, temporaries, .. } = &mut group;
    let mut types: Vec<&mut OperandType> = Vec::new();
    let inputs = inputs.iter_mut().enumerate().map(|(i, ty)| (Operand::Input(i), ty));
    let outputs = outputs.iter_mut().enumerate().map(|(o, ty)| (Operand::Output(o), ty));
    let temporaries = temporaries.iter_mut().enumerate().map(|(t, ty)| (Operand::Temporary(t), ty));
    let is_landing = |operand| body.is_some_and(|(_, landing)| operand == Operand::Output(landing));
    for (operand, ty) in inputs.chain(outputs).chain(temporaries) {
        if used.contains(&operand) || is_landing(operand) {
            types.push(ty);
        }
    }
    let arranged = types.iter().find(|ty| !ty.layout.is_row_major());
    let arranged = arranged.map(|ty| (ty.layout.clone(), ty.shape.len()));
    if let Some((layout, rank)) = &arranged {
        for ty in types {
            *ty = in_memory(ty, layout, *rank)?;
        }
    }
    let (signature, mut program) = compile_in_memory(&group, body)?;
    if let Some((result, landing)) = body.filter(|_| arranged.is_some()) {
        let read = |input| signature.reads.iter().position(|slot| slot.0 == input);
        if let Some((ending, count)) = Pattern::find(&group, result) {
            let rest = match group.epilogue.split_off(count) {
                rest if rest.is_empty() => None,
                rest => {
                    let value = group.epilogue[count - 1].outputs[0];
                    group.epilogue = rest;
                    let (of_rest, rest) = compile_in_memory(&group, Some((value, landing)))?;
                    let number =
                        |read: usize| signature.reads.iter().position(|slot| slot.0 == of_rest.reads[read].0);
                    Some(Box::new(
                        rest.renumbered(&program, |read| number(read).expect("the whole chain reads it")),
                    ))
                }
            };
            program.ending = Some((ending.renumbered(read), rest));
        }
    }
    Ok((signature, program))
}

/// The type of an operand as it is in memory, in a group whose operands have a layout.
fn in_memory(ty: &OperandType, layout: &Layout, rank: usize) -> Result<OperandType, Unsupported> {
    let lead = rank.saturating_sub(ty.shape.len());
    let shape = [vec![Extent::Fixed(1); lead], ty.shape.clone()].concat();
    let keeps_order = || layout.keeps_order(|axis| shape[axis] == Extent::Fixed(1));
    if shape.len() != rank || ty.layout != *layout && !(ty.layout.is_row_major() && keeps_order()) {
        return unsupported("a group of element-wise operators whose values differ in layout");
    }
    let aligned = OperandType { dtype: ty.dtype, shape, layout: layout.clone() };
    Ok(OperandType::new(ty.dtype, aligned.in_memory()))
}

fn compile_in_memory(
    group: &Group,
    body: Option<(Operand, usize)>,
) -> Result<(Signature, Program), Unsupported> {
    let mut compiler = Compiler::new(group, body)?;
    for (i, op) in group.epilogue.iter().enumerate() {
        compiler.operator(i, op)?;
    }
    compiler.finish()
}

struct Compiler<'a> {
    group: &'a Group,
    program: Program,
    /// For each input that some operator reads, its place.
    inputs: Vec<Option<Place>>,
    /// The outputs that are written.
    outputs: Vec<usize>,
    temporaries: Vec<Option<Place>>,
    /// The last operator that reads a temporary.
    last_use: Vec<usize>,
    /// Scratch tiles whose values are not read any more.
    free: Vec<usize>,
    signature: Signature,
}

impl<'a> Compiler<'a> {
    fn new(group: &'a Group, body: Option<(Operand, usize)>) -> Result<Self, Unsupported> {
        let written = |o: &usize| {
            let mut written = group.epilogue.iter().flat_map(|op| &op.outputs);
            body.is_none_or(|(_, landing)| {
                landing == *o || written.any(|output| *output == Operand::Output(*o))
            })
        };
        let outputs: Vec<usize> = (0..group.outputs.len()).filter(written).collect();
        let Some(layout) = outputs.first().map(|&o| &group.outputs[o]) else {
            return unsupported("a group of element-wise operators without an output");
        };
        if outputs.iter().any(|&o| group.outputs[o].shape != layout.shape) {
            return unsupported("a group of element-wise operators whose outputs differ in shape");
        }
        let mut last_use = vec![0; group.temporaries.len()];
        for (i, op) in group.epilogue.iter().enumerate() {
            for operand in op.inputs.iter().chain(&op.outputs) {
                if let Operand::Temporary(t) = operand {
                    last_use[*t] = i;
                }
            }
        }
        let layouts = group.inputs.iter().chain(&group.outputs).chain(&group.temporaries);
        let writes = outputs.iter().map(|&o| (group.inputs.len() + o, group.outputs[o].clone()));
        let landing = body.and_then(|(_, landing)| outputs.iter().position(|&o| o == landing));
        let mut compiler = Compiler {
            group,
            program: Program {
                constants: Vec::new(),
                spreads: Vec::new(),
                saved: Vec::new(),
                steps: Vec::new(),
                layout: layout.clone(),
                reads: Vec::new(),
                writes: writes.clone().map(|(_, out)| out).collect(),
                landing,
                ending: None,
                widest: layouts.map(|layout| layout.dtype.bytes()).max().unwrap_or(1),
                scratch: 0,
                tile: LONGEST_TILE,
            },
            inputs: vec![None; group.inputs.len()],
            temporaries: vec![None; group.temporaries.len()],
            last_use,
            free: Vec::new(),
            // Outputs of a kernel with a body are not where inputs are.
            signature: Signature { reads: Vec::new(), writes: writes.collect(), in_place: body.is_none() },
            outputs,
        };
        if let (Some((Operand::Temporary(result), _)), Some(landing)) = (body, landing) {
            compiler.result(result, landing);
        }
        Ok(compiler)
    }

    /// Gives the result of the body, which is where the operand `landing` is written, its place.
    fn result(&mut self, result: usize, landing: usize) {
        let lands = Operand::Output(self.outputs[landing]);
        let first_written = self.group.epilogue.iter().position(|op| op.outputs.contains(&lands));
        // A step may not write what it reads, and what later steps read.
        self.temporaries[result] = Some(match first_written.is_none_or(|at| self.last_use[result] < at) {
            true => Place::Write(landing),
            false => {
                let to = Place::Scratch(self.scratch());
                let dtype = self.group.temporaries[result].dtype;
                self.step(loops::copy(dtype), [0.0; 3], &[Place::Write(landing)], to);
                to
            }
        });
    }

    /// The place of an output.
    fn write(&self, output: usize) -> Result<Place, Unsupported> {
        match self.outputs.iter().position(|&o| o == output) {
            Some(write) => Ok(Place::Write(write)),
            None => unsupported("a group that reads an output which it does not write"),
        }
    }

    fn operator(&mut self, index: usize, op: &GroupOp) -> Result<(), Unsupported> {
        let not_here = || unsupported(&format!("`{}` in this group of element-wise operators", op.op.name()));
        let [output] = op.outputs[..] else { return not_here() };
        let read: Vec<Operand> = op.read().collect();
        let from = read.iter().map(|operand| self.source(*operand)).collect::<Result<Vec<_>, _>>()?;
        // Loops rely on the types of their operands, and on results that overlap no operand.
        let is_select = matches!(op.op, Op::Select(_));
        let (condition, values) = read.split_at(usize::from(is_select && !read.is_empty()));
        let dtype = self.group.ty(*values.first().unwrap_or(&output)).dtype;
        let result = match &op.op {
            Op::Cast(cast) => cast.dtype,
            Op::Compare(_) | Op::Predicate(_) => DType::Bool,
            _ => dtype,
        };
        let alike = values.iter().all(|operand| self.group.ty(*operand).dtype == dtype)
            && condition.iter().all(|operand| self.group.ty(*operand).dtype == DType::Bool);
        let complete = op.inputs.len() == op.op.schema().inputs.len() && !op.inputs.contains(&output);
        if !alike || !complete || self.group.ty(output).dtype != result {
            return unsupported(&format!("`{}` on these operands", op.op.name()));
        }
        let Some(link) = compiler(&op.op).link(dtype) else { return not_here() };
        let (run, coefficients) = match link {
            Link::Loop(run, coefficients) => (run, coefficients),
            Link::Constant(_) | Link::Count(_) => {
                let value = self.value(link, op, dtype)?;
                let to = self.lasting_scratch();
                self.program.constants.push(Constant { value, dtype, to });
                let constant = Place::Scratch(to);
                if let Operand::Temporary(t) = output {
                    self.temporaries[t] = Some(constant);
                } else {
                    let to = self.destination(output)?;
                    self.step(loops::copy(dtype), [0.0; 3], &[constant], to);
                }
                return Ok(());
            }
        };
        let Some(run) = run else {
            return unsupported(&format!("`{}` of {dtype}", op.op.name()));
        };
        let to = self.destination(output)?;
        self.step(run, coefficients, &from, to);
        self.release(index);
        Ok(())
    }

    /// The place of an operand that a step reads.
    fn source(&mut self, operand: Operand) -> Result<Place, Unsupported> {
        match operand {
            Operand::Output(o) => self.write(o),
            Operand::Temporary(t) => match self.temporaries[t] {
                Some(place) => Ok(place),
                None => unsupported("a group that reads a value before it is written"),
            },
            Operand::Input(i) => {
                if self.inputs[i].is_none() {
                    self.inputs[i] = Some(self.input(i)?);
                }
                Ok(self.inputs[i].expect("set above"))
            }
        }
    }

    /// The place of an input. The input is added to the program if it is new.
    fn input(&mut self, i: usize) -> Result<Place, Unsupported> {
        let layout = &self.group.inputs[i];
        let read = self.signature.reads.len();
        self.signature.reads.push((i, layout.clone()));
        self.program.reads.push(layout.clone());
        let Some(broadcast) = Broadcast::new(&layout.shape, &self.program.layout.shape) else {
            return unsupported(&format!(
                "an operand of shape {:?} over the shape {:?}",
                layout.shape, self.program.layout.shape
            ));
        };
        if broadcast.form() == Form::Whole {
            if self.signature.in_place && self.program.writes.contains(layout) {
                let to = self.lasting_scratch();
                self.program.saved.push(Saved { read, to });
                return Ok(Place::Saved(self.program.saved.len() - 1));
            }
            return Ok(Place::Read(read));
        }
        let to = self.lasting_scratch();
        self.program.spreads.push(Spread { read, broadcast, to });
        Ok(Place::Scratch(to))
    }

    fn destination(&mut self, operand: Operand) -> Result<Place, Unsupported> {
        match operand {
            Operand::Output(o) => self.write(o),
            Operand::Temporary(t) => {
                if self.group.temporaries[t].shape != self.program.layout.shape {
                    return unsupported("a group of element-wise operators whose values differ in shape");
                }
                let place = Place::Scratch(self.scratch());
                self.temporaries[t] = Some(place);
                Ok(place)
            }
            Operand::Input(_) => unsupported("a group that writes its input"),
        }
    }

    /// The value of a constant.
    fn value(&self, link: Link, op: &GroupOp, dtype: DType) -> Result<Value, Unsupported> {
        let refuse = |value: &dyn Display| unsupported(&format!("`{value}` as {dtype}"));
        match (link, op.inputs.first()) {
            (Link::Constant(value), _) => {
                fill::bits(value, dtype).map_or_else(|| refuse(&value), |bits| Ok(Value::Bits(bits)))
            }
            (Link::Count(axes), Some(of)) if matches!(dtype, DType::F32 | DType::F64) => {
                Ok(Value::Count(expand::counted(&self.group.ty(*of).shape, &axes)))
            }
            _ => refuse(&op.op.name()),
        }
    }

    /// A tile of scratch whose value lasts for the whole launch.
    fn lasting_scratch(&mut self) -> usize {
        self.program.scratch += 1;
        self.program.scratch - 1
    }

    /// A tile of scratch for a value that lasts for some steps.
    fn scratch(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| self.lasting_scratch())
    }

    fn step(&mut self, run: Loop, coefficients: Coefficients, from: &[Place], to: Place) {
        let from = std::array::from_fn(|i| *from.get(i).unwrap_or(&from[0]));
        self.program.steps.push(Step { run, from, coefficients, to });
    }

    /// Frees the scratch of temporaries that no operator after this one reads.
    fn release(&mut self, index: usize) {
        for (t, last_use) in self.last_use.iter().enumerate() {
            if let (true, Some(Place::Scratch(scratch))) = (*last_use == index, self.temporaries[t]) {
                let is_constant = self.program.constants.iter().any(|constant| constant.to == scratch);
                if !is_constant {
                    self.free.push(scratch);
                }
            }
        }
    }

    fn finish(mut self) -> Result<(Signature, Program), Unsupported> {
        let Program { scratch, widest, tile, .. } = &mut self.program;
        if let Some(bytes) = SCRATCH.checked_div(*scratch) {
            *tile = (bytes / LINE * LINE / *widest).min(*tile);
        }
        if *tile == 0 {
            return unsupported("a group of element-wise operators with hundreds of values at a time");
        }
        Ok((self.signature, self.program))
    }
}
