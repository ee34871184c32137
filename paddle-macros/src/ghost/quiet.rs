//! Proves that rustc has nothing to say about a ghost. Then only editors get it: checking it would be a fifth of
//! rustc's work on a network.
//!
//! The proof covers source as it usually is: names are lower case, each value of a variable may be read later on, what
//! is assigned is `mut`, what is `mut` is assigned, and each `fn` is called. If the proof fails, rustc gets the ghost
//! and judges by itself.

use std::collections::BTreeSet;

use paddle_language::ast::{
    BindingId, Block, Constant, DimExpr, DimKind, Expr, ExprKind, Function, FunctionId, Meaning, Network,
    Pattern, PatternKind, Piece, Statement, Target, TargetKind, TypeExpr, TypeKind, text,
};
use proc_macro2::{Ident, Span};

/// The `const`s that a quiet ghost reads, which rustc still has to know; `None` if the ghost is not quiet.
pub(crate) fn quiet(network: &Network) -> Option<Vec<Ident>> {
    let is_here = |id: &FunctionId| network.is_here(network.functions[id.0].unit);
    let here: BTreeSet<FunctionId> = (0..network.functions.len()).map(FunctionId).filter(is_here).collect();
    let mut reading = Reading::default();
    let (mut read, mut left) = (BTreeSet::new(), here.clone());
    left.retain(|id| network.functions[id.0].public);
    while let Some(id) = left.pop_last() {
        if here.contains(&id) && read.insert(id) {
            reading.function(&network.functions[id.0]);
            left.append(&mut reading.called);
        }
    }
    let mut functions = network.imports().filter(|import| !network.is_constant(import));
    let is_quiet =
        !reading.loud && read == here && functions.all(|import| reading.names.contains(&text(&import.ident)));
    is_quiet.then(|| {
        let constants = network.constants.iter();
        let constants = constants.filter(|Constant { by_caller, binding, .. }| {
            !by_caller && binding.is_some_and(|binding| reading.read.contains(&binding))
        });
        constants.filter_map(|constant| name(constant, network)).collect()
    })
}

/// The name of a `const`, without its place: an editor should find the user's token only once.
fn name(Constant { ident, unit, .. }: &Constant, network: &Network) -> Option<Ident> {
    let item = Some((*unit, text(ident)));
    let ident = match network.is_here(*unit) {
        true => ident,
        false => &network.imports().find(|import| import.item == item)?.ident,
    };
    let mut name = ident.clone();
    name.set_span(Span::mixed_site().resolved_at(ident.span()));
    Some(name)
}

/// More deeply nested loops are left to rustc: each loop is read twice for each reading of the loop around it.
const MOST_LOOPS: usize = 4;

/// The walk over functions, each from its end to its start.
#[derive(Default)]
struct Reading {
    /// Whether rustc may have something to say.
    loud: bool,
    /// The variables whose values may be read behind the present place.
    live: BTreeSet<BindingId>,
    mutable: BTreeSet<BindingId>,
    assigned: BTreeSet<BindingId>,
    /// The number of loops around the present expression.
    loops: usize,
    /// The variables that have been read so far.
    read: BTreeSet<BindingId>,
    /// The functions that were called since the last one was read, and the names of all calls.
    called: BTreeSet<FunctionId>,
    names: BTreeSet<String>,
}

impl Reading {
    fn function(&mut self, function: &Function) {
        let Function { ident, operator, lints, params, result, body, .. } = function;
        self.loud |= operator.is_some() || !lints.is_empty() || !is_usual(ident);
        self.block(body);
        params.iter().flat_map(|param| &param.ty).chain(result).for_each(|ty| self.ty(ty));
        for param in params.iter().rev() {
            self.declare(&param.pattern);
            param.default.iter().for_each(|default| self.expr(default));
        }
        self.loud |= self.mutable != self.assigned;
    }

    fn block(&mut self, block: &Block) {
        block.tail.iter().for_each(|tail| self.expr(tail));
        block.statements.iter().rev().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Let { pattern, ty, value: Some(value), .. } => {
                self.declare(pattern);
                self.expr(value);
                ty.iter().for_each(|ty| self.ty(ty));
            }
            Statement::Expr { value, .. } => {
                // rustc may warn that a computation without effect is unused.
                self.loud |= !matches!(value.kind, ExprKind::Call(_)) && !value.is_control_flow();
                self.expr(value);
            }
            Statement::Let { value: None, .. } | Statement::Const(_) => self.loud = true,
        }
    }

    /// Handles the declaration of variables.
    fn declare(&mut self, pattern: &Pattern) {
        match &pattern.kind {
            PatternKind::Name { ident, mutable, binding: Some(binding) } => {
                let is_read = self.live.remove(binding) || text(ident).starts_with('_');
                self.loud |= !is_read || !is_usual(ident);
                if mutable.is_some() {
                    self.mutable.insert(*binding);
                }
            }
            PatternKind::Tuple(parts) => parts.iter().for_each(|part| self.declare(part)),
            PatternKind::Wildcard => {}
            PatternKind::Name { binding: None, .. } | PatternKind::Invalid(_) => self.loud = true,
        }
    }

    /// Handles an assignment.
    fn assign(&mut self, target: &Target) {
        match &target.kind {
            TargetKind::Name { binding: Some(binding), .. } => {
                self.loud |= !self.live.remove(binding);
                self.assigned.insert(*binding);
            }
            TargetKind::Tuple(parts) => parts.iter().for_each(|part| self.assign(part)),
            TargetKind::Name { binding: None, .. } | TargetKind::Invalid => self.loud = true,
        }
    }

    fn read(&mut self, binding: BindingId) {
        self.live.insert(binding);
        self.read.insert(binding);
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name { meaning, .. } => match meaning {
                Meaning::Variable(binding) | Meaning::Activation(binding) => self.read(*binding),
                Meaning::Unresolved => self.loud = true,
                _ => {}
            },
            ExprKind::Template { pieces, .. } => {
                for piece in pieces {
                    if let Piece::Variable(binding) = piece {
                        self.read(*binding);
                    }
                }
            }
            ExprKind::Assign { target, value, .. } => {
                self.assign(target);
                self.expr(value);
            }
            ExprKind::Update { target, value, .. } => {
                self.assign(target);
                target.bindings().into_iter().for_each(|binding| self.read(binding));
                self.expr(value);
            }
            ExprKind::Call(call) => {
                expr.parts().into_iter().rev().for_each(|part| self.expr(part));
                self.names.insert(text(&call.ident));
                match call.callee {
                    Meaning::Function(id) => drop(self.called.insert(id)),
                    Meaning::Activation(binding) => self.read(binding),
                    // A closure captures the values of variables at its definition.
                    Meaning::Variable(_) | Meaning::Unresolved => self.loud = true,
                    _ => {}
                }
            }
            ExprKind::If { condition, yes, no, .. } => {
                let behind = self.live.clone();
                self.block(yes);
                let of_yes = std::mem::replace(&mut self.live, behind);
                no.iter().for_each(|(_, no)| self.expr(no));
                self.live.extend(of_yes);
                self.expr(condition);
            }
            ExprKind::While { condition, body, .. } => self.repeated(|reading| {
                let behind = reading.live.clone();
                reading.block(body);
                reading.live.extend(behind);
                reading.expr(condition);
            }),
            ExprKind::For { pattern, items, body, .. } => {
                self.repeated(|reading| {
                    let behind = reading.live.clone();
                    reading.block(body);
                    reading.declare(pattern);
                    reading.live.extend(behind);
                });
                self.expr(items);
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Closure(_) | ExprKind::Match { .. } | ExprKind::Invalid => self.loud = true,
            _ => expr.parts().into_iter().rev().for_each(|part| self.expr(part)),
        }
    }

    /// Reads a body that may run several times: a variable read at its start may be read after its end.
    fn repeated(&mut self, iteration: impl Fn(&mut Self)) {
        self.loops += 1;
        if self.loops > MOST_LOOPS {
            self.loud = true;
        } else {
            let loud = self.loud;
            iteration(self);
            self.loud = loud;
            iteration(self);
        }
        self.loops -= 1;
    }

    /// Reads the `const`s in a type.
    fn ty(&mut self, ty: &TypeExpr) {
        match &ty.kind {
            TypeKind::Tensor { dims, .. } | TypeKind::Sequence { dims, .. } => {
                dims.iter().for_each(|dim| self.dim(dim));
            }
            TypeKind::Tuple(parts) => parts.iter().for_each(|part| self.ty(part)),
            TypeKind::Infer
            | TypeKind::Constant(_)
            | TypeKind::Activation
            | TypeKind::Word
            | TypeKind::Invalid => {}
        }
    }

    fn dim(&mut self, dim: &DimExpr) {
        match &dim.kind {
            DimKind::Name { constant: Some(constant), .. } => self.read(*constant),
            DimKind::Binary(_, x, y) => [x, y].into_iter().for_each(|dim| self.dim(dim)),
            DimKind::Part(part) => self.expr(part),
            DimKind::Name { .. } | DimKind::Any | DimKind::Size(_) | DimKind::Outside(_) => {}
        }
    }
}

/// Whether rustc accepts the name of a variable or function without a warning.
fn is_usual(ident: &Ident) -> bool {
    let name = text(ident);
    let name = name.trim_start_matches('_');
    !name.contains("__") && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
