//! Things that are made of themselves: recursion of `fn`s, and of `const`s.

use crate::ast::{BindingId, Constant, Expr, ExprKind, FunctionId, Meaning, text};
use crate::messages::Message;
use crate::report::{Extent, Sink};

/// A call of one `fn` in another.
pub(super) struct Edge {
    pub(super) from: FunctionId,
    pub(super) to: FunctionId,
    pub(super) at: Extent,
}

/// Reports each cycle of calls once, at the call that closes it.
pub(super) fn report_recursion(functions: &[(String, usize)], edges: &[Edge], sink: &mut Sink) {
    let mut done = vec![false; functions.len()];
    for start in 0..functions.len() {
        visit(FunctionId(start), &mut Vec::new(), &mut done, functions, edges, sink);
    }
}

fn visit(
    at: FunctionId,
    path: &mut Vec<FunctionId>,
    done: &mut [bool],
    functions: &[(String, usize)],
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
        let name = |id: &FunctionId| format!("`{}`", functions[id.0].0);
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
            let needs = mentioned(&constant.value);
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

/// The names in the value of a `const`.
fn mentioned(expr: &Expr) -> Vec<BindingId> {
    match &expr.kind {
        ExprKind::Name { meaning: Meaning::Variable(id), .. } => vec![*id],
        ExprKind::Negate { x, .. } | ExprKind::Not { x, .. } | ExprKind::Paren(x) => mentioned(x),
        ExprKind::Binary { x, y, .. } => [mentioned(x), mentioned(y)].concat(),
        _ => Vec::new(),
    }
}
