//! Expressions: operators on values, and assignments.

use std::rc::Rc;

use paddle_core::ops::{
    Binary, BinaryKind, Compare, Logical, LogicalKind, Mismatch, MismatchKind, Not, Number, Op, Reshape,
    Scale,
};
use paddle_core::program::{BuildError, DType, Dim, VarId, Words};
use proc_macro2::{Span, TokenStream};

use super::Lowering;
use super::binding::Bound;
use super::constants::Tensor;
use super::types::unknown_dimension;
use crate::ast::{Expr, ExprKind, Infix, Meaning, Target, TargetKind, text};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Slot, Value};

/// An operand of an operator.
#[derive(Clone)]
pub(super) enum Operand {
    Var(VarId),
    Constant(Constant),
    /// A size whose value is not known yet.
    Size(Dim),
}

/// The deepest nesting of expressions. Lowering recurses over them on the compiler's stack, which has room for more.
const DEPTH: usize = 600;

/// The levels of nesting that a call of a sub-network counts for.
pub(super) const CALL_DEPTH: usize = 4;

impl<'a> Lowering<'a, '_> {
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Value<'a> {
        self.depth += 1;
        let value = match self.depth > DEPTH {
            true if std::mem::replace(&mut self.is_too_deep, true) => Value::Unknown,
            true => {
                let text = "expressions and calls nest too deep here; split them with `let`".to_string();
                self.error(expr.at, Message::Limit { text });
                Value::Unknown
            }
            false => self.value(expr),
        };
        self.depth -= 1;
        value
    }

    fn value(&mut self, expr: &'a Expr) -> Value<'a> {
        match &expr.kind {
            ExprKind::Number { value, dtype, .. } => self.number(*value, *dtype, expr.at),
            ExprKind::Name { ident, meaning: Meaning::Variable(id) } => {
                match self.env.get(id).map(|slot| slot.value.clone()) {
                    Some(Value::Unassigned) => {
                        self.unassigned(ident.span(), text(ident));
                        Value::Unknown
                    }
                    Some(value) => value,
                    None => Value::Unknown,
                }
            }
            ExprKind::Tuple(parts) => {
                let value = self.tuple(parts);
                self.bounded(value, expr.at)
            }
            ExprKind::Paren(inner) => self.expr(inner),
            ExprKind::Nothing => Value::Nothing,
            ExprKind::Kept(inner) => self.kept(inner),
            ExprKind::Negate { op, x } => self.negate(*op, x),
            ExprKind::Not { op, x } => self.not(*op, x),
            ExprKind::Array(parts) => {
                let value = Value::Array(parts.iter().map(|part| self.expr(part)).collect());
                self.bounded(value, expr.at)
            }
            ExprKind::Repeated { x, times } => self.repeated(x, times),
            ExprKind::Index { x, index } => self.index(x, index),
            ExprKind::Cut { x, places } => self.cut(x, places),
            ExprKind::Method { x, method, at } => self.method(x, method, *at, expr.at),
            ExprKind::Part { x, at } => self.part(x, *at),
            ExprKind::Range { start, end, inclusive, .. } => self.range(start, end, *inclusive, expr.at),
            ExprKind::Text { value, .. } => Value::Text(value.clone()),
            ExprKind::Template { pieces, .. } => self.template(pieces, expr.at),
            ExprKind::Binary { kind, op, x, y } => self.infix(*kind, op, x, y),
            ExprKind::Assign { target, value, .. } => {
                let outer = std::mem::replace(&mut self.binding, Bound::of_target(target));
                let assigned = self.expr(value);
                self.binding = outer;
                self.assign(target, assigned, value.at);
                Value::unit()
            }
            ExprKind::Update { kind, op, target, value } => {
                self.update(*kind, op, target, value);
                Value::unit()
            }
            ExprKind::Call(call) => self.call(call, expr.at),
            ExprKind::Closure(closure) => {
                Value::Closure(closure, Rc::new((self.env.clone(), self.dims.clone())))
            }
            ExprKind::If { span, condition, yes, no } => {
                self.branch(*span, condition, yes, no.as_ref().map(|(_, no)| &**no), expr.at)
            }
            ExprKind::While { span, condition, body } => self.repeat(*span, condition, body),
            ExprKind::For { span, pattern, items, body } => self.for_each(*span, pattern, items, body),
            ExprKind::Match { value, arms, .. } => self.select(value, arms),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Name { meaning: Meaning::Layer(layer), .. } => Value::Activation(layer),
            ExprKind::Name { ident, meaning: Meaning::Word } => Value::Text(text(ident)),
            ExprKind::Name { ident, meaning: Meaning::Dimension } => match self.dims.get(&text(ident)) {
                Some(size) => size.clone().map_or(Value::Unknown, Value::size),
                None if !self.is_known => Value::Unknown,
                None => self.constant_error(expr.at, unknown_dimension(ident)),
            },
            ExprKind::Outside(size) => Value::Size(self.outside(size)),
            ExprKind::Name { .. } | ExprKind::Invalid => Value::Unknown,
        }
    }

    /// Lowers an operand to a value, a number or a size; `None` if a mistake has been reported.
    pub(super) fn operand(&mut self, expr: &'a Expr) -> Option<Operand> {
        let value = self.expr(expr);
        self.single(&value, expr.at)
    }

    pub(super) fn single(&mut self, value: &Value<'a>, at: Extent) -> Option<Operand> {
        match value {
            Value::Var(var) => self.localize(*var, at.start).map(Operand::Var),
            Value::Constant(constant) => Some(Operand::Constant(*constant)),
            Value::Size(size) => Some(Operand::Size(size.clone())),
            Value::Outside(constant) => self.outside_value(constant, at).map(Operand::Var),
            Value::Unknown | Value::Unassigned => None,
            Value::Nothing => {
                self.error(at, Message::NoValue { what: "this".into() });
                None
            }
            Value::Tuple(parts) if parts.is_empty() => {
                self.error(at, Message::NoValue { what: "this".into() });
                None
            }
            Value::Text(_) => {
                let what = "a text as a value".to_string();
                let instead =
                    "texts are compared with texts, and name parameters: `param = \"D\"`".to_string();
                self.error(at, Message::NotOfTheLanguage { what, instead });
                None
            }
            Value::Tuple(_) | Value::Array(_) => match Tensor::of(value) {
                Some(tensor) => self.constant_tensor(tensor, at).map(Operand::Var),
                None => {
                    let found = self.describe(value);
                    self.error(at, Message::Tuple { found, expected: "one value is wanted".into() });
                    None
                }
            },
            Value::Activation(layer) => {
                let (name, what) = (layer.name.to_string(), "a layer".to_string());
                self.error(at, Message::NotAValue { name, what });
                None
            }
            Value::Closure(..) => None,
        }
    }

    /// Appends an operator whose inputs the user wrote.
    pub(super) fn append(
        &mut self,
        op: impl Into<Op>,
        name: String,
        at: Span,
        operands: &[(VarId, &Expr)],
    ) -> Value<'a> {
        let inputs: Vec<VarId> = operands.iter().map(|(var, _)| *var).collect();
        let site = self.site_in(at, Some(&name));
        let words = Words { operator: name, inputs: operands.iter().map(|(_, expr)| expr.words()).collect() };
        match self.program.append_op_in_words(self.block, op, &inputs, site, &words) {
            Ok(outputs) => {
                if let [(_, first), .., (_, last)] | [(_, first @ last)] = operands {
                    self.note_checks(Extent { start: first.at.start, end: last.at.end });
                }
                outputs.first().map_or(Value::Unknown, |&output| Value::Var(output))
            }
            Err(mut error) => {
                self.hint_whole_state(&mut error, &inputs);
                let extents: Vec<Extent> = operands.iter().map(|(_, expr)| expr.at).collect();
                self.build_error(error, at.into(), &extents);
                Value::Unknown
            }
        }
    }

    /// Adds a hint to an error on loop state that began as `0`: an integer, which does not combine with a float.
    fn hint_whole_state(&self, error: &mut BuildError, inputs: &[VarId]) {
        if let BuildError::Mismatch(Mismatch { kind: MismatchKind::ElementType, message, .. }) = error
            && let Some(name) = inputs.iter().find_map(|input| self.whole_states.get(input))
        {
            message.push_str(&format!(
                "; `{name}` is a whole number because it begins as one: for a float, begin with `0.0`"
            ));
        }
    }

    fn negate(&mut self, op: Span, x: &'a Expr) -> Value<'a> {
        match self.operand(x) {
            None => Value::Unknown,
            Some(Operand::Constant(constant)) => self.negated(constant, x.at),
            Some(Operand::Size(size)) => {
                self.size_arithmetic(Infix::Arithmetic(BinaryKind::Sub), &Dim::from(0), &size, x.at)
            }
            Some(Operand::Var(var)) => {
                self.append(Scale { scale: -1.0, bias: 0.0 }, "-".into(), op, &[(var, x)])
            }
        }
    }

    fn not(&mut self, op: Span, x: &'a Expr) -> Value<'a> {
        match self.operand(x) {
            None => Value::Unknown,
            Some(Operand::Constant(Constant { number: Number::Bool(truth), dtype })) => {
                Value::Constant(Constant { number: Number::Bool(!truth), dtype })
            }
            Some(Operand::Constant(constant)) => {
                let text = format!("`{}` is a number, but `!` negates truth values", constant.number);
                self.error(x.at, Message::ElementType { text });
                Value::Unknown
            }
            Some(Operand::Size(size)) => self.undecided(&size, x.at),
            Some(Operand::Var(var)) => self.append(Not, "!".into(), op, &[(var, x)]),
        }
    }

    /// Lowers the parts of a tuple, each bound to its part of the pattern.
    fn tuple(&mut self, parts: &'a [Expr]) -> Value<'a> {
        let mut bound = match std::mem::take(&mut self.binding) {
            Bound::Parts(bound) => bound.into_iter(),
            other => {
                self.binding = other;
                return Value::Tuple(parts.iter().map(|part| self.expr(part)).collect());
            }
        };
        let mut value = |part| {
            self.binding = bound.next().unwrap_or_default();
            self.expr(part)
        };
        let values = parts.iter().map(&mut value).collect();
        self.binding = Bound::default();
        Value::Tuple(values)
    }

    fn infix(&mut self, kind: Infix, op: &'a TokenStream, x: &'a Expr, y: &'a Expr) -> Value<'a> {
        let left = self.expr(x);
        // On constants, `&&` and `||` skip the right side as in Rust: `i > 0 && SIZES[i - 1] == 64`.
        if let (Infix::Logical(kind), Value::Constant(Constant { number: Number::Bool(truth), .. })) =
            (kind, &left)
            && *truth == (kind == LogicalKind::Or)
            && self.decides(y)
        {
            return left;
        }
        let right = self.expr(y);
        if let (Infix::Compare(kind), Value::Text(_), Value::Text(_)) = (kind, &left, &right) {
            return self.compare(kind, &left, &right, x.at);
        }
        match (self.single(&left, x.at), self.single(&right, y.at)) {
            (Some(left), Some(right)) => self.binary(kind, op, (left, x), (right, y)),
            _ => Value::Unknown,
        }
    }

    fn binary(
        &mut self,
        kind: Infix,
        op: &TokenStream,
        (left, x): (Operand, &Expr),
        (right, y): (Operand, &Expr),
    ) -> Value<'a> {
        let at = Extent::of(op).start;
        let whole = Extent { start: x.at.start, end: y.at.end };
        let (left, right) = match (left, right) {
            (Operand::Constant(left), Operand::Constant(right)) => {
                return self.fold(kind, left, right, whole);
            }
            (Operand::Size(left), Operand::Size(right)) => {
                return self.size_arithmetic(kind, &left, &right, whole);
            }
            (Operand::Size(left), Operand::Constant(Constant { number: Number::Int(right), .. })) => {
                return self.size_arithmetic(kind, &left, &Dim::from(right), whole);
            }
            (Operand::Constant(Constant { number: Number::Int(left), .. }), Operand::Size(right)) => {
                return self.size_arithmetic(kind, &Dim::from(left), &right, whole);
            }
            // Next to a value, or next to a number that is not an integer, a size becomes a value that is known at run
            // time.
            (Operand::Size(size), other) => {
                let dtype = self.dtype_beside_size(&other);
                match self.size_value(&size, dtype, x.at) {
                    Some(size) => return self.binary(kind, op, (Operand::Var(size), x), (other, y)),
                    None => return Value::Unknown,
                }
            }
            (other, Operand::Size(size)) => {
                let dtype = self.dtype_beside_size(&other);
                match self.size_value(&size, dtype, y.at) {
                    Some(size) => return self.binary(kind, op, (other, x), (Operand::Var(size), y)),
                    None => return Value::Unknown,
                }
            }
            (Operand::Var(left), Operand::Var(right)) => (left, right),
            (Operand::Var(var), Operand::Constant(constant))
                if !self.program.ty(var).dtype.is_float() && kind.divides_by_zero(constant) =>
            {
                return self.constant_error(y.at, format!("{} is divided by 0", x.words()));
            }
            (Operand::Var(var), Operand::Constant(constant)) => {
                if let Some(scale) = self.affine(kind, var, constant, false) {
                    return self.append(scale, op.to_string(), at, &[(var, x)]);
                }
                let Some(constant) = self.beside(constant, var, x, y) else { return Value::Unknown };
                (var, constant)
            }
            (Operand::Constant(constant), Operand::Var(var)) => {
                if let Some(scale) = self.affine(kind, var, constant, true) {
                    return self.append(scale, op.to_string(), at, &[(var, y)]);
                }
                let Some(constant) = self.beside(constant, var, y, x) else { return Value::Unknown };
                (constant, var)
            }
        };
        let op_kind: Op = match kind {
            Infix::Arithmetic(kind) => Binary { kind }.into(),
            Infix::Compare(kind) => Compare { kind }.into(),
            Infix::Logical(kind) => Logical { kind }.into(),
        };
        let (left, right) = (self.beside_dims(left, right, at), self.beside_dims(right, left, at));
        self.append(op_kind, op.to_string(), at, &[(left, x), (right, y)])
    }

    /// The element type that a size gets next to an operand.
    fn dtype_beside_size(&self, other: &Operand) -> DType {
        match other {
            Operand::Var(var) if self.program.ty(*var).dtype != DType::Bool => self.program.ty(*var).dtype,
            Operand::Var(_) | Operand::Size(_) => DType::I64,
            Operand::Constant(constant) => constant.own_dtype(),
        }
    }

    /// Reshapes a value with one number per row, `[_]`, to `[_, 1, ..]`, so that it broadcasts to the other dimensions
    /// of `other`.
    fn beside_dims(&mut self, var: VarId, other: VarId, at: Span) -> VarId {
        let (ty, other) = (self.program.ty(var), self.program.ty(other));
        let is_bare = ty.rows.is_some() && ty.dims.is_empty();
        if !is_bare || other.rows.is_none() || other.dims.is_empty() {
            return var;
        }
        let dims = vec![Dim::from(1); other.dims.len()];
        let site = self.site(at);
        let reshaped = self.program.append_op(self.block, Reshape { dims }, &[var], site);
        // If reshaping fails, the operator reports the mistake.
        reshaped.map_or(var, |outputs| outputs[0])
    }

    /// A sum or product of a float value and a number becomes one operator, which keeps the shape.
    fn affine(&self, kind: Infix, var: VarId, constant: Constant, constant_first: bool) -> Option<Scale> {
        let dtype = self.program.ty(var).dtype;
        if !dtype.is_float() {
            return None;
        }
        let c = constant.adapt(dtype)?.as_f64();
        match (kind, constant_first) {
            (Infix::Arithmetic(BinaryKind::Add), _) => Some(Scale { scale: 1.0, bias: c }),
            (Infix::Arithmetic(BinaryKind::Sub), false) => Some(Scale { scale: 1.0, bias: -c }),
            (Infix::Arithmetic(BinaryKind::Sub), true) => Some(Scale { scale: -1.0, bias: c }),
            (Infix::Arithmetic(BinaryKind::Mul), _) => Some(Scale { scale: c, bias: 0.0 }),
            _ => None,
        }
    }

    /// A number as a value with the element type of the other operand.
    fn beside(&mut self, constant: Constant, var: VarId, of: &Expr, at: &Expr) -> Option<VarId> {
        let ty = self.program.ty(var).clone();
        let Some(number) = constant.adapt(ty.dtype) else {
            let mut text = format!(
                "`{}` is {}, but {} is {}; they need one element type",
                constant.number,
                constant.own_dtype(),
                of.words(),
                self.show(&ty)
            );
            if let Some(name) = self.whole_states.get(&var) {
                text.push_str(&format!("; `{name}` begins as a whole number: for a float, begin with `0.0`"));
            }
            self.error(at.at, Message::ElementType { text });
            return None;
        };
        self.fill(number, paddle_core::program::Type::scalar(ty.dtype), at.at)
    }

    fn update(&mut self, kind: BinaryKind, op: &'a TokenStream, target: &'a Target, value: &'a Expr) {
        let (TargetKind::Name { ident, binding: Some(id) }, right) = (&target.kind, self.operand(value))
        else {
            if let TargetKind::Tuple(_) = target.kind {
                let found = "a tuple".to_string();
                self.error(
                    target.at,
                    Message::Tuple { found, expected: format!("`{op}` changes one value") },
                );
            }
            return;
        };
        let current = match self.env.get(id).map(|slot| slot.value.clone()) {
            Some(Value::Unassigned) => {
                self.unassigned(ident.span(), text(ident));
                None
            }
            Some(current) => self.single(&current, target.at),
            None => None,
        };
        let updated = match (current, right) {
            (Some(left), Some(right)) => {
                // Messages call `+=` by its operator, `+`.
                let operator: TokenStream = op.clone().into_iter().take(1).collect();
                let name = Expr {
                    kind: ExprKind::Name { ident: ident.clone(), meaning: Meaning::Variable(*id) },
                    at: target.at,
                };
                self.binary(Infix::Arithmetic(kind), &operator, (left, &name), (right, value))
            }
            _ => Value::Unknown,
        };
        self.assign(target, updated, value.at);
    }

    /// Assigns to variables. Values take the names of the variables.
    fn assign(&mut self, target: &'a Target, value: Value<'a>, at: Extent) {
        match &target.kind {
            TargetKind::Invalid => {}
            TargetKind::Name { ident, binding } => {
                let value = match value {
                    value if value.is_unit() => {
                        self.error(at, Message::NoValue { what: "this".into() });
                        Value::Unknown
                    }
                    value => value,
                };
                if let Value::Var(var) = value {
                    self.rename(var, &text(ident));
                }
                if let Some(binding) = binding {
                    self.env.insert(*binding, Slot { value, at });
                }
            }
            TargetKind::Tuple(parts) => {
                let values = self.parts(value, parts.len(), target.at, at);
                for (part, value) in parts.iter().zip(values) {
                    self.assign(part, value, at);
                }
            }
        }
    }
}
