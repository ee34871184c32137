//! What a trainer sends, and when: the gradients of the last shard of a subtree leave while backward goes on.

use std::collections::BTreeMap;

use super::{Piece, Placement};
use crate::ops::{Operator, Program, Send, SendBarrier};
use crate::passes::accumulate::{Home, Joins, SITE, accumulate, send_rows, when};
use crate::passes::scalar_input::create_scalar;
use crate::program::{BuildError, DType, ParameterGradient, Role, VarId};

/// The number of elements that are sent together, at least: gradients that are smaller wait for those behind them.
pub const BUNDLE: usize = 1 << 16;

/// Adds the sums of gradients, and what sends them, each bundle of gradients behind the operator that computes the last of them.
pub(in crate::passes) fn send(program: &mut Program, placement: &Placement) -> Result<(), BuildError> {
    let computed = program.block(Program::GLOBAL).ops.len();
    send_rows(program, &|parameter| {
        let home = |Piece { name, server, rows, .. }: &Piece| Home {
            piece: name.clone(),
            server: *server,
            rows: rows.clone(),
        };
        placement.of(parameter).map(home).collect()
    })?;
    let joins = Joins::create(program)?;
    let sends = create_scalar(program, "sends", DType::Bool)?;
    // For each bundle, the operator that computes the last of its gradients.
    let operators = &program.block(Program::GLOBAL).ops;
    // Outputs are known before anything is sent, also where a gradient is known sooner, as by how much statistics move.
    let is_forward = |operator: &Operator| matches!(operator.site.role, Role::Forward | Role::Loss);
    let forward = operators[..computed].iter().rposition(is_forward).unwrap_or(0);
    let places = written(&operators[..computed]);
    let ready = |value: VarId| places.get(&value).map_or(forward, |&at| at.max(forward));
    let last = |values: &mut dyn Iterator<Item = VarId>| values.map(ready).max().unwrap_or(forward);
    let sent_rows = operators[computed..].iter();
    let mut behind: Vec<usize> =
        sent_rows.map(|operator| last(&mut operator.inputs.iter().copied())).collect();
    for bundle in bundles(program, &ready) {
        let sums = accumulate(program, &joins, &bundle)?;
        when(program, sends, |program, block| {
            for pair in &sums {
                let parameter = program.var(pair.parameter).name.clone();
                for piece in placement.of(&parameter) {
                    let [begin, end] = [piece.rows.start as i64, piece.rows.end as i64];
                    let op = Send { piece: piece.name.clone(), to: piece.server.into(), begin, end };
                    program.append_op(block, op, &[pair.gradient], SITE)?;
                }
            }
            program.append_op(block, SendBarrier, &[], SITE).map(drop)
        })?;
        let last = last(&mut bundle.iter().map(|pair| pair.gradient));
        let added = program.block(Program::GLOBAL).ops.len() - computed - behind.len();
        behind.extend(std::iter::repeat_n(last, added));
    }
    move_up(&mut program.block_mut(Program::GLOBAL).ops, computed, &behind);
    program.append_op(Program::GLOBAL, SendBarrier, &[], SITE).map(drop)
}

/// Where each value is written.
fn written(operators: &[Operator]) -> BTreeMap<VarId, usize> {
    let outputs = operators.iter().enumerate();
    outputs.flat_map(|(at, operator)| operator.outputs.iter().map(move |&output| (output, at))).collect()
}

/// The gradients in the order in which they are ready, in bundles.
fn bundles(program: &Program, ready: &dyn Fn(VarId) -> usize) -> Vec<Vec<ParameterGradient>> {
    let mut gradients = program.gradients().to_vec();
    gradients.sort_by_key(|pair| ready(pair.gradient));
    let (mut bundles, mut size) = (Vec::<Vec<_>>::new(), BUNDLE);
    for pair in gradients {
        if size >= BUNDLE {
            bundles.push(Vec::new());
            size = 0;
        }
        let dims = program.ty(pair.gradient).dims.iter();
        let elements = dims.map(|dim| dim.constant().unwrap_or(1).max(0) as usize).product();
        size = size.saturating_add(elements);
        if let Some(bundle) = bundles.last_mut() {
            bundle.push(pair);
        }
    }
    bundles
}

/// Moves the operators from `from` on up, each behind the operator that `behind` says.
fn move_up(operators: &mut Vec<Operator>, from: usize, behind: &[usize]) {
    let mut moved: BTreeMap<usize, Vec<Operator>> = BTreeMap::new();
    for (operator, &behind) in operators.split_off(from).into_iter().zip(behind) {
        moved.entry(behind).or_default().push(operator);
    }
    for (at, operator) in std::mem::take(operators).into_iter().enumerate() {
        operators.push(operator);
        operators.extend(moved.remove(&at).into_iter().flatten());
    }
    operators.extend(moved.into_values().flatten());
}
