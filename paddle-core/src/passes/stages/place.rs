//! `place`: on which device an operator is, and what has to be brought there.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::{GradientError, Op, Operator, Program, ToDevice};
use crate::program::{BlockId, BuildError, Definition, Role, VarId};

/// On which device each operator of the global block is, and each value there.
pub(super) struct Devices {
    /// None for what follows from inputs of the network and constants alone: each device computes it that needs it.
    of_operator: Vec<Option<u32>>,
    /// Inputs of the network, and what follows from them alone, are not in it: every device has them.
    of_var: BTreeMap<VarId, u32>,
}

impl Devices {
    fn new() -> Self {
        Devices { of_operator: Vec::new(), of_var: BTreeMap::new() }
    }

    /// Those of a program.
    pub(super) fn of(program: &Program) -> Self {
        let mut devices = Devices::new();
        for operator in &program.block(Program::GLOBAL).ops {
            let device = devices.device(program, operator);
            devices.add(program, operator, device);
        }
        devices
    }

    /// How many devices there are.
    pub(super) fn count(&self) -> u32 {
        self.of_operator.iter().flatten().max().map_or(1, |&last| last + 1)
    }

    pub(super) fn of_operator(&self, at: usize) -> Option<u32> {
        self.of_operator[at]
    }

    pub(super) fn of_var(&self, var: VarId) -> Option<u32> {
        self.of_var.get(&var).copied()
    }

    /// The device of the next operator.
    fn device(&self, program: &Program, operator: &Operator) -> Option<u32> {
        if let Op::ToDevice(op) = &operator.op {
            return Some(op.device as u32);
        }
        // A gradient block reads what its forward block has computed.
        let forward = operator.blocks.iter().filter_map(|&block| program.block(block).forward);
        let owner = forward.filter_map(|block| owner_in_global(program, block)).next();
        if let Some(Some(device)) = owner.and_then(|at| self.of_operator.get(at)) {
            return Some(*device);
        }
        let read = read_from_global(program, operator);
        let last = read.iter().filter_map(|&var| self.of_var(var)).max();
        let effects = operator.op.effects();
        let has_parameter = read.iter().any(|&var| program.var(var).definition == Definition::Parameter);
        let is_anywhere = effects.pure && !effects.blocks && !has_parameter;
        last.or((!is_anywhere).then_some(0))
    }

    fn add(&mut self, program: &Program, operator: &Operator, device: Option<u32>) {
        if let Some(device) = device {
            self.of_var.extend(operator.outputs.iter().map(|&output| (output, device)));
            // A parameter is where it is first used.
            for var in read_from_global(program, operator) {
                if program.var(var).definition == Definition::Parameter {
                    self.of_var.entry(var).or_insert(device);
                }
            }
        }
        self.of_operator.push(device);
    }

    /// Errors if an operator reads a value of another device.
    pub(super) fn check(&self, program: &Program) -> Result<(), GradientError> {
        for (operator, &device) in program.block(Program::GLOBAL).ops.iter().zip(&self.of_operator) {
            let Some(device) = device.filter(|_| !matches!(operator.op, Op::ToDevice(_))) else { continue };
            let mut read = read_from_global(program, operator).into_iter();
            if let Some((var, other)) =
                read.find_map(|var| Some((var, self.of_var(var).filter(|&other| other != device)?)))
            {
                let message = format!(
                    "`{}` is on device {device} and reads `{}`, which is on device {other}",
                    program.called(operator),
                    program.var(var).name
                );
                let place = operator.site.place.map(|place| program.locate(place));
                return Err(GradientError { place, message });
            }
        }
        Ok(())
    }

    /// Whether values go from lower devices to higher ones only, before the gradient comes back.
    pub(super) fn is_pipeline(&self, program: &Program) -> bool {
        let forward =
            program.block(Program::GLOBAL).ops.iter().filter(|operator| operator.site.role != Role::Backward);
        let mut brought = forward.filter_map(|operator| match &operator.op {
            Op::ToDevice(op) => Some(op),
            _ => None,
        });
        brought.all(|op| op.from <= op.device)
    }
}

/// Whether something in a network is brought to a device.
pub(super) fn says_where(program: &Program) -> bool {
    program.block(Program::GLOBAL).ops.iter().any(|operator| matches!(operator.op, Op::ToDevice(_)))
}

/// Makes every step from one device to another an operator.
pub(crate) fn place(program: &mut Program) -> Result<(), BuildError> {
    if !says_where(program) {
        return Ok(());
    }
    let mut devices = Devices::new();
    let mut brought: BTreeMap<(VarId, u32), VarId> = BTreeMap::new();
    let mut at = 0;
    while at < program.block(Program::GLOBAL).ops.len() {
        let operator = program.block(Program::GLOBAL).ops[at].clone();
        let device = devices.device(program, &operator);
        if let Op::ToDevice(op) = &operator.op {
            // Every device has what is fed.
            let from = devices.of_var(operator.inputs[0]).map_or(op.device, i64::from);
            let op = ToDevice { from, ..*op };
            program.block_mut(Program::GLOBAL).ops[at].op = op.into();
        } else if let Some(device) = device {
            for var in read_from_global(program, &operator) {
                let Some(from) = devices.of_var(var).filter(|&from| from != device) else { continue };
                let there = match brought.get(&(var, device)) {
                    Some(&there) => there,
                    None => {
                        let op = ToDevice { device: device.into(), from: from.into() };
                        let there =
                            program.insert_at(Program::GLOBAL, at, op.into(), &[var], operator.site)?[0];
                        devices.add(program, &program.block(Program::GLOBAL).ops[at].clone(), Some(device));
                        at += 1;
                        brought.insert((var, device), there);
                        there
                    }
                };
                read_instead(program, at, var, there);
            }
        }
        let operator = program.block(Program::GLOBAL).ops[at].clone();
        devices.add(program, &operator, device);
        at += 1;
    }
    Ok(())
}

/// The values of the global block that an operator reads, or the operators in its blocks do.
pub(super) fn read_from_global(program: &Program, operator: &Operator) -> BTreeSet<VarId> {
    let mut read = BTreeSet::new();
    let mut pending = vec![operator];
    while let Some(operator) = pending.pop() {
        read.extend(operator.inputs.iter().copied());
        for &block in &operator.blocks {
            let block = program.block(block);
            read.extend(block.results.iter().copied());
            pending.extend(&block.ops);
        }
    }
    read.retain(|&var| program.var(var).block == Program::GLOBAL);
    read
}

/// The operator of the global block that owns a block, or one around it.
pub(super) fn owner_in_global(program: &Program, mut block: BlockId) -> Option<usize> {
    while let Some(parent) = program.block(block).parent.filter(|&parent| parent != Program::GLOBAL) {
        block = parent;
    }
    program.block(Program::GLOBAL).ops.iter().position(|operator| operator.blocks.contains(&block))
}

/// Has an operator of the global block, and those in its blocks, read another value.
pub(super) fn read_instead(program: &mut Program, at: usize, old: VarId, new: VarId) {
    let mut pending: Vec<BlockId> = Vec::new();
    let swap = |vars: &mut Vec<VarId>| vars.iter_mut().filter(|var| **var == old).for_each(|var| *var = new);
    let operator = &mut program.block_mut(Program::GLOBAL).ops[at];
    swap(&mut operator.inputs);
    pending.extend(&operator.blocks);
    while let Some(block) = pending.pop() {
        let block = program.block_mut(block);
        swap(&mut block.results);
        for operator in &mut block.ops {
            swap(&mut operator.inputs);
            pending.extend(&operator.blocks);
        }
    }
}
