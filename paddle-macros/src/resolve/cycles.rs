//! Things that are made of themselves: recursion of `fn`s, and of `const`s.

use super::items::Signature;
use crate::ast::{BindingId, Constant, ExprKind, FunctionId, Meaning, text};
use crate::messages::Message;
use crate::report::{Extent, Sink};

/// A call of one `fn` in another.
pub(super) struct Edge {
    pub(super) from: FunctionId,
    pub(super) to: FunctionId,
    pub(super) at: Extent,
}

/// Reports each cycle of calls once, at the call that closes it.
pub(super) fn report_recursion(functions: &[Signature], edges: &[Edge], sink: &mut Sink) {
    let mut done = vec![false; functions.len()];
    for start in 0..functions.len() {
        visit(FunctionId(start), &mut Vec::new(), &mut done, functions, edges, sink);
    }
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

/// Puts each `const` behind those that it is made of.
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

/// The names in the value of a `const`, and in its type.
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
