//! Cycles: recursion of `fn`s, and of `const`s.

use std::collections::BTreeSet;

use super::items::Signature;
use crate::ast::{BindingId, Constant, ExprKind, FunctionId, Meaning, SizeOrigin, text};
use crate::messages::Message;
use crate::report::{Extent, Sink};

/// A call of one `fn` in another.
pub(super) struct Edge {
    pub(super) from: FunctionId,
    pub(super) to: FunctionId,
    pub(super) at: Extent,
}

/// Reports each cycle of calls once, at the call that closes it. Returns whether there is a cycle.
pub(super) fn report_recursion(functions: &[Signature], edges: &[Edge], sink: &mut Sink) -> bool {
    let before = sink.len();
    let mut done = vec![false; functions.len()];
    for start in 0..functions.len() {
        visit(FunctionId(start), &mut Vec::new(), &mut done, functions, edges, sink);
    }
    sink.len() > before
}

fn visit(
    at: FunctionId,
    path: &mut Vec<FunctionId>,
    done: &mut [bool],
    functions: &[Signature],
    edges: &[Edge],
    sink: &mut Sink,
) {
    if std::mem::replace(&mut done[at.0], true) {
        return;
    }
    path.push(at);
    for edge in edges.iter().filter(|edge| edge.from == at) {
        let Some(begin) = path.iter().position(|on_path| *on_path == edge.to) else {
            visit(edge.to, path, done, functions, edges, sink);
            continue;
        };
        let name = |id: &FunctionId| format!("`{}`", functions[id.0].name);
        let cycle = match &path[begin..] {
            [one] => format!("{} calls itself", name(one)),
            [first, others @ ..] => {
                let others: Vec<String> = others.iter().chain([first]).map(name).collect();
                format!("{} calls {}", name(first), others.join(", which calls "))
            }
            [] => continue,
        };
        sink.error(edge.at, Message::Recursion { cycle });
    }
    path.pop();
}

/// Sorts the `const`s so that each one follows those that it uses.
pub(super) fn order_constants(constants: &mut Vec<Constant>, sink: &mut Sink) {
    let mut ordered: Vec<Constant> = Vec::with_capacity(constants.len());
    while !constants.is_empty() {
        let waits = |constant: &Constant| {
            let needs = mentioned(constant);
            constants.iter().any(|other| other.binding.is_some_and(|id| needs.contains(&id)))
        };
        match constants.iter().position(|constant| !waits(constant)) {
            Some(at) => ordered.push(constants.remove(at)),
            None => {
                let constant = constants.remove(0);
                let name = text(&constant.ident);
                let text = format!("`{name}` is made of itself; give it a value of its own");
                sink.error(constant.value.at, Message::Constant { text });
            }
        }
    }
    *constants = ordered;
}

/// Marks the `const`s of a unit that depend on sizes of the caller. They may use each other in any order.
pub(super) fn mark_all_by_caller<'c>(
    constants: impl Iterator<Item = &'c mut Constant>,
    by_caller: &mut BTreeSet<BindingId>,
) {
    let mut constants: Vec<&mut Constant> = constants.collect();
    loop {
        let before = by_caller.len();
        constants.iter_mut().for_each(|constant| mark_by_caller(constant, by_caller));
        if by_caller.len() == before {
            return;
        }
    }
}

/// Marks a `const` that depends on a size of the caller. `by_caller` has the marked ones so far.
pub(super) fn mark_by_caller(constant: &mut Constant, by_caller: &mut BTreeSet<BindingId>) {
    constant.by_caller = match &constant.value.kind {
        ExprKind::Outside(size) => !matches!(size.origin, SizeOrigin::Path(_)),
        _ => mentioned(constant).iter().any(|id| by_caller.contains(id)),
    };
    if constant.by_caller {
        by_caller.extend(constant.binding);
    }
}

/// The names in the value and in the type of a `const`.
fn mentioned(constant: &Constant) -> Vec<BindingId> {
    let mut names = Vec::new();
    let mut left = vec![&constant.value];
    left.extend(constant.ty.lengths());
    while let Some(expr) = left.pop() {
        if let ExprKind::Name { meaning: Meaning::Variable(id), .. } = expr.kind {
            names.push(id);
        }
        left.extend(expr.parts());
    }
    names
}
