//! Compiles a group of element-wise operators to the steps of a program.

use paddle_core::ops::{Coefficients, Number, Op};
use paddle_core::plan::{Extent, Group, GroupOp, Layout, Operand, OperandType, Unsupported};
use paddle_core::program::DType;

use super::loops::{self, Loop};
use super::{Constant, LINE, LONGEST_TILE, Link, Place, Program, SCRATCH, Saved, Spread, Step};
use crate::cpu::broadcast::{Broadcast, Form};
use crate::cpu::kernel::{Compiled, unsupported};
use crate::cpu::operands::Signature;
use crate::cpu::ops::{compiler, fill};

/// Compiles a group of element-wise operators. Where the elements are in memory makes no difference to it, so it is
/// compiled as one in row-major order.
pub(in crate::cpu) fn compile(group: &Group) -> Result<Compiled, Unsupported> {
    match group.types().find(|ty| !ty.layout.is_row_major()) {
        None => compile_in_memory(group),
        Some(OperandType { layout, shape, .. }) => {
            let mut group = group.clone();
            let Group { inputs, outputs, temporaries, .. } = &mut group;
            for ty in inputs.iter_mut().chain(outputs).chain(temporaries) {
                *ty = in_memory(ty, layout, shape.len())?;
            }
            compile_in_memory(&group)
        }
    }
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

fn compile_in_memory(group: &Group) -> Result<Compiled, Unsupported> {
    let mut compiler = Compiler::new(group)?;
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
    temporaries: Vec<Option<Place>>,
    /// The last operator that reads a temporary.
    last_use: Vec<usize>,
    /// Scratch tiles whose values are not read any more.
    free: Vec<usize>,
    signature: Signature,
}

impl<'a> Compiler<'a> {
    fn new(group: &'a Group) -> Result<Self, Unsupported> {
        let Some(layout) = group.outputs.first() else {
            return unsupported("a group of element-wise operators without an output");
        };
        if group.outputs.iter().any(|output| output.shape != layout.shape) {
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
        let writes = group.outputs.iter().enumerate().map(|(o, out)| (group.inputs.len() + o, out.clone()));
        Ok(Compiler {
            group,
            program: Program {
                constants: Vec::new(),
                spreads: Vec::new(),
                saved: Vec::new(),
                steps: Vec::new(),
                layout: layout.clone(),
                reads: Vec::new(),
                writes: group.outputs.clone(),
                widest: layouts.map(|layout| layout.dtype.bytes()).max().unwrap_or(1),
                scratch: 0,
                tile: LONGEST_TILE,
            },
            inputs: vec![None; group.inputs.len()],
            temporaries: vec![None; group.temporaries.len()],
            last_use,
            free: Vec::new(),
            signature: Signature { reads: Vec::new(), writes: writes.collect(), in_place: true },
        })
    }

    fn operator(&mut self, index: usize, op: &GroupOp) -> Result<(), Unsupported> {
        let not_here = || unsupported(&format!("`{}` in this group of element-wise operators", op.op.name()));
        let [output] = op.outputs[..] else { return not_here() };
        let from = op.inputs.iter().map(|operand| self.source(*operand)).collect::<Result<Vec<_>, _>>()?;
        // Loops rely on the types of their operands, and on results that overlap no operand.
        let is_select = matches!(op.op, Op::Select(_));
        let (condition, values) = op.inputs.split_at(usize::from(is_select && !op.inputs.is_empty()));
        let dtype = self.layout(*values.first().unwrap_or(&output)).dtype;
        let result = match &op.op {
            Op::Cast(cast) => cast.dtype,
            Op::Compare(_) | Op::Predicate(_) => DType::Bool,
            _ => dtype,
        };
        let alike = values.iter().all(|operand| self.layout(*operand).dtype == dtype)
            && condition.iter().all(|operand| self.layout(*operand).dtype == DType::Bool);
        let complete = op.inputs.len() == op.op.schema().inputs.len() && !op.inputs.contains(&output);
        if !alike || !complete || self.layout(output).dtype != result {
            return unsupported(&format!("`{}` on these operands", op.op.name()));
        }
        let Some(link) = compiler(&op.op).link(dtype) else { return not_here() };
        let (run, coefficients) = match link {
            Link::Loop(run, coefficients) => (run, coefficients),
            Link::Constant(value) => {
                let constant = self.constant(value, dtype)?;
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

    fn layout(&self, operand: Operand) -> &'a OperandType {
        match operand {
            Operand::Input(i) => &self.group.inputs[i],
            Operand::Output(o) => &self.group.outputs[o],
            Operand::Temporary(t) => &self.group.temporaries[t],
        }
    }

    /// The place of an operand that a step reads.
    fn source(&mut self, operand: Operand) -> Result<Place, Unsupported> {
        match operand {
            Operand::Output(o) => Ok(Place::Write(o)),
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
            if self.group.outputs.contains(layout) {
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
            Operand::Output(o) => Ok(Place::Write(o)),
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

    fn constant(&mut self, value: Number, dtype: DType) -> Result<Place, Unsupported> {
        let Some(bits) = fill::bits(value, dtype) else {
            return unsupported(&format!("`{value}` as {dtype}"));
        };
        let to = self.lasting_scratch();
        self.program.constants.push(Constant { bits, bytes: dtype.bytes(), to });
        Ok(Place::Scratch(to))
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

    fn finish(mut self) -> Result<Compiled, Unsupported> {
        let Program { scratch, widest, tile, .. } = &mut self.program;
        if let Some(bytes) = SCRATCH.checked_div(*scratch) {
            *tile = (bytes / LINE * LINE / *widest).min(*tile);
        }
        if *tile == 0 {
            return unsupported("a group of element-wise operators with hundreds of values at a time");
        }
        Ok((self.signature, Box::new(self.program)))
    }
}
