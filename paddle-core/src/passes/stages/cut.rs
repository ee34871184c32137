//! `cut`: the part of a program that one device has.

use std::collections::BTreeSet;

use super::place::{Devices, owner_in_global, read_from_global};
use crate::ops::{GradientError, Op, Operator, Program, ReceiveValue, SendValue};
use crate::program::{Role, Type, VarId};

/// The part of a device, and whether it sends something before it goes back.
pub(super) fn cut(
    program: &Program,
    devices: &Devices,
    device: u32,
) -> Result<(Program, bool), GradientError> {
    let mut own = program.clone();
    let mut kept: Vec<bool> = Vec::new();
    let mut passes_on = false;
    for (at, operator) in program.block(Program::GLOBAL).ops.iter().enumerate() {
        let mut keep = devices.of_operator(at).is_none_or(|of| of == device);
        if let Op::ToDevice(op) = &operator.op
            && op.from != op.device
        {
            let value = program.var(operator.outputs[0]).name.clone();
            let [to, from] = [op.device, op.from].map(|number| number as u32);
            let replaced = if to == device {
                let ty = program.ty(operator.outputs[0]);
                let op = ReceiveValue { value, from: from.into(), ty: Type { rows: None, ..ty.clone() } };
                let inputs = like(program, operator, ty)?;
                Some(Operator { op: op.into(), inputs, ..operator.clone() })
            } else if from == device {
                keep = true;
                passes_on |= operator.site.role != Role::Backward;
                let op = SendValue { value, to: to.into() };
                Some(Operator { op: op.into(), outputs: Vec::new(), ..operator.clone() })
            } else {
                None
            };
            match replaced {
                Some(replaced) => own.block_mut(Program::GLOBAL).ops[at] = replaced,
                None => keep = false,
            }
        }
        kept.push(keep);
    }
    let is_own = |var: VarId| devices.of_var(var).unwrap_or(0) == device;
    let outputs: Vec<VarId> = program.outputs().iter().copied().filter(|&output| is_own(output)).collect();
    for pair in program.gradients() {
        if !is_own(pair.gradient) {
            own.forget_gradient(pair.parameter);
        }
    }
    let mut needed: BTreeSet<VarId> =
        own.gradients().iter().map(|pair| pair.gradient).chain(outputs.iter().copied()).collect();
    // What nothing needs is left out: constants, and what only the other part of the step reads.
    let operators = &own.block(Program::GLOBAL).ops;
    let mut read_back: BTreeSet<usize> = BTreeSet::new();
    for (at, operator) in operators.iter().enumerate().rev() {
        let has_effect = operator.op.effects().exchanges && !matches!(operator.op, Op::ReceiveValue(_));
        let is_needed = has_effect
            || read_back.contains(&at)
            || operator.outputs.iter().any(|output| needed.contains(output));
        kept[at] &= is_needed;
        if kept[at] {
            needed.extend(read_from_global(&own, operator));
            // A gradient block needs the operator that ran its forward block.
            let forward = operator.blocks.iter().filter_map(|&block| own.block(block).forward);
            read_back.extend(forward.filter_map(|block| owner_in_global(&own, block)));
        }
    }
    own.set_outputs(&outputs).map_err(|error| GradientError { place: None, message: error.to_string() })?;
    let mut kept = kept.into_iter();
    own.retain(|_| kept.next() == Some(true));
    Ok((own, passes_on))
}

/// What a received value has its rows of: an input of the network, which every device has.
fn like(program: &Program, operator: &Operator, ty: &Type) -> Result<Vec<VarId>, GradientError> {
    let Some(rows) = ty.rows else { return Ok(Vec::new()) };
    let found = program.inputs().iter().find(|&&input| program.ty(input).rows == Some(rows));
    match found {
        Some(&input) => Ok(vec![input]),
        None => {
            let message = format!(
                "a value with the rows {} cannot go to another device: no input of the network has these rows",
                program.show_rows(rows)
            );
            let place = operator.site.place.map(|place| program.locate(place));
            Err(GradientError { place, message })
        }
    }
}
