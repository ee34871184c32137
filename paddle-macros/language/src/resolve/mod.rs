//! Name resolution: what each name means, and whether a call fits what it calls. It fills in the tree.
//!
//! Every `fn` is resolved once, whether it is called or not.

mod call;
mod cycles;
mod items;
mod pattern;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::layers::Layer;
use proc_macro2::{Ident, TokenStream};

use crate::ast::{
    Arm, Binding, BindingId, Block, Constant, ConstantType, DimExpr, DimKind, Expr, ExprKind, FunctionId,
    Meaning, Method, Network, Pattern, PatternKind, Place, SizeOrigin, Statement, Target, TargetKind,
    TypeExpr, TypeKind, UnitId, text,
};
use crate::habits;
use crate::messages::{Message, did_you_mean};
use crate::report::Sink;
use cycles::{Edge, mark_all_by_caller, mark_by_caller};
use items::{Item, Items, Signature};

/// The advice for an unknown variable.
const NO_VARIABLE: &str = "; of the Rust code around it a network sees `const`s, by their paths (`crate::SIZE`), and sizes that are captured, \
     `network!(move |..| ..)?`; \
     what changes is fed as an input";

/// The meaning of a name in scope.
#[derive(Clone, Copy)]
enum Entry {
    Variable(BindingId),
    Constant(BindingId),
    /// A parameter that holds the name of an activation, or a word.
    Keyword(BindingId),
    /// A closure, and the number of its arguments.
    Closure(BindingId, usize),
    /// A variable whose value has a mistake, so that it may be of any kind.
    Unknown(BindingId),
}

struct Scope {
    names: BTreeMap<String, Entry>,
    /// Whether the scope is a closure, which captures variables of outer scopes by value.
    closure: bool,
    /// The line on which the block begins.
    line: usize,
}

/// A loop whose body is being resolved.
struct Loop {
    /// The number of scopes around it.
    scopes: usize,
    /// The names that it assigns.
    assigned: BTreeSet<String>,
}

struct Resolver<'a> {
    sink: &'a mut Sink,
    bindings: Vec<Binding>,
    /// The signatures of the `fn`s of all units.
    functions: Vec<Signature>,
    items: Items,
    /// The unit that is being resolved.
    unit: UnitId,
    /// The unit of the invocation.
    here: UnitId,
    scopes: Vec<Scope>,
    /// Variables whose block has ended, and the line on which it began.
    ended: Vec<(String, usize)>,
    /// The dimensions that types of the present `fn` have named so far.
    dimensions: BTreeSet<String>,
    /// The `fn` that is being resolved.
    current: FunctionId,
    /// The closures whose definitions are being resolved.
    defining: Vec<String>,
    /// The loops around the present expression, in the present `fn` or closure.
    loops: Vec<Loop>,
    edges: Vec<Edge>,
    /// The `const`s that depend on sizes of the caller.
    by_caller: BTreeSet<BindingId>,
    /// The captured variables of Rust; `None` if nothing may be captured.
    captured: Option<Vec<(Ident, BindingId)>>,
}

/// Resolves every name of the network. Returns whether sub-networks can be inlined, that is, whether there is no
/// recursion.
pub(crate) fn resolve(network: &mut Network, sink: &mut Sink) -> bool {
    let mut resolver = Resolver {
        sink,
        bindings: Vec::new(),
        functions: network.functions.iter().map(Signature::of).collect(),
        items: Items::of(network),
        unit: UnitId(0),
        here: UnitId(network.units.len().saturating_sub(1)),
        scopes: Vec::new(),
        ended: Vec::new(),
        dimensions: BTreeSet::new(),
        current: FunctionId(0),
        defining: Vec::new(),
        loops: Vec::new(),
        edges: Vec::new(),
        by_caller: BTreeSet::new(),
        captured: network.captures.map(|_| Vec::new()),
    };
    for unit in 0..network.units.len() {
        resolver.unit(UnitId(unit), network);
    }
    let captured = resolver.captured.take();
    if let (Some(at), Some([])) = (network.captures, captured.as_deref()) {
        let what = "`move` of a network that captures nothing".to_string();
        resolver.sink.error(at, Message::NotOfTheLanguage { what, instead: "leave it out".into() });
    }
    cycles::order_constants(&mut network.constants, resolver.sink);
    let here = UnitId(network.units.len() - 1);
    let captured = captured.into_iter().flatten();
    network.constants.extend(captured.map(|(ident, binding)| {
        let origin = SizeOrigin::RunTime(ident.clone());
        let size = Constant::of_the_caller(ident, here, origin, TokenStream::new());
        Constant { binding: Some(binding), ..size }
    }));
    let is_finite = !cycles::report_recursion(&resolver.functions, &resolver.edges, resolver.sink);
    network.bindings = resolver.bindings;
    is_finite
}

impl Resolver<'_> {
    fn unit(&mut self, unit: UnitId, network: &mut Network) {
        self.unit = unit;
        self.push(false, 0);
        for import in &network.units[unit.0].imports {
            let Some((from, name)) = &import.item else { continue };
            let mut constants = network.constants.iter();
            let constant = constants.find(|other| other.unit == *from && text(&other.ident) == *name);
            if let (Some(binding), Some(scope)) =
                (constant.and_then(|found| found.binding), self.scopes.last_mut())
            {
                scope.names.insert(text(&import.ident), Entry::Constant(binding));
            }
        }
        for constant in network.constants.iter_mut().filter(|constant| constant.unit == unit) {
            constant.binding = Some(self.declare(&constant.ident, Entry::Constant));
        }
        for constant in network.constants.iter_mut().filter(|constant| constant.unit == unit) {
            self.constant(constant);
        }
        let constants = network.constants.iter_mut().filter(|constant| constant.unit == unit);
        mark_all_by_caller(constants, &mut self.by_caller);
        for (at, function) in network.functions.iter_mut().enumerate() {
            if function.unit != unit {
                continue;
            }
            self.current = FunctionId(at);
            self.ended.clear();
            self.dimensions.clear();
            self.push(false, function.body.at.start.start().line);
            for size in &mut function.generics {
                size.binding = Some(self.declare(&size.ident, Entry::Constant));
                mark_by_caller(size, &mut self.by_caller);
            }
            self.params(&mut function.params);
            if let Some(ty) = &mut function.result {
                self.ty(ty);
            }
            self.block(&mut function.body);
            self.scopes.pop();
            if let Some((ident, to)) =
                function.operator.as_mut().and_then(|operator| operator.gradient.as_mut())
            {
                *to = self.gradient(ident);
            }
        }
        self.scopes.pop();
    }

    /// Resolves the gradient function of an operator.
    fn gradient(&mut self, ident: &Ident) -> Option<FunctionId> {
        let name = text(ident);
        match self.items.find(self.unit, &name) {
            Some(Item::Function(to)) => return Some(to),
            Some(Item::Broken) => return None,
            None if self.items.may_have_others() => return None,
            None => {}
        }
        let hint = self.items.hint(&name, self.items.names(self.unit), None, "");
        self.sink.error(ident.span(), Message::UnknownLayer { name, hint });
        None
    }

    fn push(&mut self, closure: bool, line: usize) {
        self.scopes.push(Scope { names: BTreeMap::new(), closure, line });
    }

    /// Ends a block. Its variables are remembered for a better message.
    fn end(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.ended.extend(scope.names.into_keys().map(|name| (name, scope.line)));
        }
    }

    fn declare(&mut self, ident: &Ident, entry: impl Fn(BindingId) -> Entry) -> BindingId {
        let id = BindingId(self.bindings.len());
        let entry = entry(id);
        self.bindings.push(Binding { name: text(ident), read: false, unit: self.unit, shown: None });
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(text(ident), entry);
        }
        id
    }

    /// The meaning of a name, and whether a closure captures it.
    fn find(&self, name: &str) -> Option<(Entry, bool)> {
        let mut captured = false;
        for scope in self.scopes.iter().rev() {
            if let Some(entry) = scope.names.get(name) {
                return Some((*entry, captured));
            }
            captured |= scope.closure;
        }
        None
    }

    /// Marks the variables in an expression as used, though its meaning is unknown.
    fn mention(&mut self, expr: &Expr) {
        if let ExprKind::Name { ident, .. } = &expr.kind
            && let Some((Entry::Variable(id) | Entry::Unknown(id), _)) = self.find(&text(ident))
        {
            self.bindings[id.0].read = true;
        }
        expr.parts().into_iter().for_each(|part| self.mention(part));
    }

    fn names_in_scope(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().flat_map(|scope| scope.names.keys()).map(String::as_str)
    }

    fn ty(&mut self, ty: &mut TypeExpr) {
        match &mut ty.kind {
            TypeKind::Tensor { dims, .. } | TypeKind::Sequence { dims, .. } => {
                for dim in dims {
                    self.dim(dim);
                }
            }
            TypeKind::Tuple(parts) => {
                for part in parts {
                    self.ty(part);
                }
            }
            TypeKind::Constant(ty) => self.constant_type(ty),
            TypeKind::Infer | TypeKind::Activation | TypeKind::Word | TypeKind::Invalid => {}
        }
    }

    /// Resolves a name in a type: a `const`, or else a dimension.
    fn dim(&mut self, dim: &mut DimExpr) {
        match &mut dim.kind {
            DimKind::Name { ident, constant } => {
                *constant = match self.find(&text(ident)) {
                    Some((Entry::Constant(id), _)) => Some(id),
                    _ => {
                        self.dimensions.insert(text(ident));
                        None
                    }
                };
            }
            DimKind::Binary(_, x, y) => {
                self.dim(x);
                self.dim(y);
            }
            DimKind::Part(part) => self.expr(part),
            DimKind::Any | DimKind::Size(_) | DimKind::Outside(_) => {}
        }
    }

    fn block(&mut self, block: &mut Block) {
        self.push(false, block.at.start.start().line);
        for statement in &mut block.statements {
            match statement {
                Statement::Let { pattern, ty, value, .. } => self.binding(pattern, ty, value),
                Statement::Const(constant) => {
                    self.constant(constant);
                    constant.binding = Some(self.declare(&constant.ident, Entry::Constant));
                    mark_by_caller(constant, &mut self.by_caller);
                }
                Statement::Expr { value, .. } => self.expr(value),
            }
        }
        if let Some(tail) = &mut block.tail {
            self.expr(tail);
        }
        self.end();
    }

    fn constant(&mut self, constant: &mut Constant) {
        self.constant_type(&mut constant.ty);
        self.expr(&mut constant.value);
    }

    fn constant_type(&mut self, ty: &mut ConstantType) {
        match ty {
            ConstantType::Array(element, length) => {
                self.constant_type(element);
                self.expr(length);
            }
            ConstantType::Tuple(parts) => parts.iter_mut().for_each(|part| self.constant_type(part)),
            ConstantType::Number { .. } | ConstantType::Text | ConstantType::Invalid => {}
        }
    }

    fn binding(&mut self, pattern: &mut Pattern, ty: &mut Option<TypeExpr>, value: &mut Option<Expr>) {
        if let Some(ty) = ty {
            self.ty(ty);
        }
        let (before, mut closure) = (self.sink.len(), None);
        match value.as_mut().map(|value| &mut value.kind) {
            Some(ExprKind::Closure(definition)) if matches!(pattern.kind, PatternKind::Name { .. }) => {
                closure = Some(definition.params.len());
                if let PatternKind::Name { ident, .. } = &pattern.kind {
                    self.defining.push(text(ident));
                }
                self.push(true, definition.body.at.start.start().line);
                let loops = std::mem::take(&mut self.loops);
                self.params(&mut definition.params);
                if let Some(ty) = &mut definition.result {
                    self.ty(ty);
                }
                self.expr(&mut definition.body);
                self.loops = loops;
                self.scopes.pop();
                self.defining.pop();
            }
            _ => {
                if let Some(value) = value {
                    self.expr(value);
                }
            }
        }
        let invalid = value.as_ref().is_some_and(|value| matches!(value.kind, ExprKind::Invalid));
        self.no_duplicates(std::iter::once(&*pattern));
        if let Some(value) = value {
            self.shadowed_state(pattern, value);
        }
        match closure {
            Some(arity) => self.pattern(pattern, &|id| Entry::Closure(id, arity)),
            None if invalid || self.sink.len() > before => self.pattern(pattern, &Entry::Unknown),
            None => self.pattern(pattern, &Entry::Variable),
        }
    }

    /// Reports a `let` in a loop that hides the variable it is computed from, unless the loop assigns that variable.
    fn shadowed_state(&mut self, pattern: &Pattern, value: &Expr) {
        match &pattern.kind {
            PatternKind::Tuple(parts) => parts.iter().for_each(|part| self.shadowed_state(part, value)),
            PatternKind::Invalid(_) | PatternKind::Wildcard => {}
            PatternKind::Name { ident, .. } => {
                let name = text(ident);
                let declared = self.scopes.iter().rposition(|scope| scope.names.contains_key(&name));
                let Some(Entry::Variable(outer)) = declared.map(|at| self.scopes[at].names[&name]) else {
                    return;
                };
                // The outermost loop that began after the declaration.
                let around = self.loops.iter().find(|around| declared < Some(around.scopes));
                if around.is_some_and(|around| !around.assigned.contains(&name)) && value.reads(outer) {
                    self.sink.error(ident.span(), Message::ShadowedState { name });
                }
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Number { .. }
            | ExprKind::Text { .. }
            | ExprKind::Template { .. }
            | ExprKind::Outside(_)
            | ExprKind::Nothing
            | ExprKind::Invalid => {}
            ExprKind::Name { ident, meaning } => *meaning = self.name(ident),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                for part in parts {
                    self.expr(part);
                }
            }
            ExprKind::Repeated { x, times: y }
            | ExprKind::Index { x, index: y }
            | ExprKind::Range { start: x, end: y, .. }
            | ExprKind::Binary { x, y, .. } => {
                self.expr(x);
                self.expr(y);
            }
            ExprKind::Negate { x, .. }
            | ExprKind::Not { x, .. }
            | ExprKind::Part { x, .. }
            | ExprKind::Paren(x)
            | ExprKind::Kept(x) => self.expr(x),
            ExprKind::Cut { x, places } => {
                self.expr(x);
                places.iter_mut().flat_map(Place::parts_mut).for_each(|part| self.expr(part));
            }
            ExprKind::Method { x, method, .. } => {
                self.expr(x);
                if let Method::Zipped(other) = method {
                    self.expr(other);
                }
            }
            ExprKind::Assign { target, value, .. } => {
                // One mistake: a closure cannot be assigned, and is not a value.
                let name = target.name().unwrap_or_default();
                let to_closure = matches!(self.find(&name), Some((Entry::Closure(..), _)));
                if !(to_closure && matches!(value.kind, ExprKind::Closure(_))) {
                    self.expr(value);
                }
                self.target(target);
            }
            ExprKind::Update { target, value, .. } => {
                self.expr(value);
                self.target(target);
                target.bindings().iter().for_each(|id| self.bindings[id.0].read = true);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Closure(_) => {
                let what = "a closure in this place".to_string();
                let instead = "bind it by itself, `let f = |x| ..`, and call it".to_string();
                self.sink.error(expr.at, Message::NotSupported { what, instead });
            }
            ExprKind::If { condition, yes, no, .. } => {
                self.expr(condition);
                self.block(yes);
                if let Some((_, no)) = no {
                    self.expr(no);
                }
            }
            ExprKind::While { condition, body, .. } => {
                self.expr(condition);
                self.loops.push(Loop { scopes: self.scopes.len(), assigned: body.assigned_names() });
                self.block(body);
                self.loops.pop();
            }
            ExprKind::For { pattern, items, body, .. } => {
                self.expr(items);
                self.loops.push(Loop { scopes: self.scopes.len(), assigned: body.assigned_names() });
                self.push(false, body.at.start.start().line);
                self.pattern(pattern, &Entry::Variable);
                self.no_duplicates(std::iter::once(&*pattern));
                self.block(body);
                self.loops.pop();
                self.end();
            }
            ExprKind::Match { value, arms, .. } => {
                self.expr(value);
                for Arm { case, guard, body } in arms {
                    self.push(false, case.at.start.start().line);
                    self.case(case, true);
                    if let Some(guard) = guard {
                        self.expr(guard);
                    }
                    self.expr(body);
                    self.end();
                }
            }
            ExprKind::Block(block) => self.block(block),
        }
    }

    /// Resolves a name that is read.
    fn name(&mut self, ident: &Ident) -> Meaning {
        let name = text(ident);
        let item = self.items.find(self.unit, &name);
        let message = match self.find(&name) {
            Some((
                Entry::Variable(id) | Entry::Constant(id) | Entry::Keyword(id) | Entry::Unknown(id),
                _,
            )) => {
                self.bindings[id.0].read = true;
                return Meaning::Variable(id);
            }
            Some((Entry::Closure(..), _)) => Message::NotAValue { name, what: "a closure".into() },
            // The name may be a constant of a module with mistakes, which has its own messages.
            None if matches!(item, Some(Item::Broken)) => return Meaning::Unresolved,
            None if item.is_some() => Message::NotAValue { name, what: "a `fn`".into() },
            None if self.dimensions.contains(&name) => return Meaning::Dimension,
            None if self.ended.iter().any(|(ended, _)| *ended == name) => self.out_of_block(name),
            None if Layer::find(&name).is_some() || self.items.in_library(&name).is_some() => {
                Message::NotAValue { name, what: "a layer".into() }
            }
            None if self.items.may_have_others() => return Meaning::Unresolved,
            None if self.captured.is_some() && self.unit == self.here => return self.capture(ident),
            None => {
                let hint =
                    self.items.hint(&name, self.names_in_scope(), habits::of_value(&name), NO_VARIABLE);
                Message::UnknownVariable { name, hint }
            }
        };
        self.sink.error(ident.span(), message);
        Meaning::Unresolved
    }

    /// Resolves a variable of the surrounding Rust code. rustc checks that it exists.
    fn capture(&mut self, ident: &Ident) -> Meaning {
        let id = BindingId(self.bindings.len());
        self.bindings.push(Binding { name: text(ident), read: true, unit: self.here, shown: None });
        if let Some(scope) = self.scopes.first_mut() {
            scope.names.insert(text(ident), Entry::Constant(id));
        }
        self.by_caller.insert(id);
        self.captured.iter_mut().for_each(|captured| captured.push((ident.clone(), id)));
        Meaning::Variable(id)
    }

    fn out_of_block(&self, name: String) -> Message {
        let line = self.ended.iter().rev().find(|(ended, _)| *ended == name).map_or(0, |(_, line)| *line);
        Message::OutOfBlock { name, line: line.to_string() }
    }

    fn target(&mut self, target: &mut Target) {
        match &mut target.kind {
            TargetKind::Tuple(parts) => {
                for part in parts {
                    self.target(part);
                }
            }
            TargetKind::Invalid => {}
            TargetKind::Name { ident, binding } => {
                let name = text(ident);
                let message = match self.find(&name) {
                    Some((Entry::Variable(id) | Entry::Unknown(id), false)) => {
                        *binding = Some(id);
                        return;
                    }
                    Some((Entry::Variable(_) | Entry::Unknown(_), true)) => {
                        let why =
                            "a closure captures values, not variables; give the new value out as its result";
                        Message::Assign { name, why: why.into() }
                    }
                    Some((Entry::Constant(_), _)) => Message::Assign { name, why: "it is a `const`".into() },
                    Some((Entry::Keyword(_), _)) => {
                        Message::Assign { name, why: "it stands for a name".into() }
                    }
                    Some((Entry::Closure(..), _)) => Message::Assign { name, why: "it is a closure".into() },
                    None if self.ended.iter().any(|(ended, _)| *ended == name) => self.out_of_block(name),
                    None => {
                        let hint = did_you_mean(&name, self.names_in_scope());
                        Message::UnknownVariable { name, hint }
                    }
                };
                self.sink.error(ident.span(), message);
            }
        }
    }
}
