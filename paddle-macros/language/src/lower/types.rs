//! Checks of declared types of values, arguments and results.

use paddle_core::ops::{BinaryKind, Number};
use paddle_core::program::{Answer, Condition, DType, Dim, VarId};

use proc_macro2::Ident;

use super::Lowering;
use crate::ast::{ConstantType, DimExpr, DimKind, TypeExpr, TypeKind, text};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Value};

/// The word in messages for a type annotation on the value itself.
pub(super) const ITSELF: &str = "its declared type";

impl<'a> Lowering<'a, '_> {
    /// Checks a value against a declared type, and binds the dimensions that the type names. A constant takes the
    /// declared element type. `declared` says what declares the type: [`ITSELF`], or a parameter.
    pub(super) fn ascribe(
        &mut self,
        ty: &'a TypeExpr,
        value: Value<'a>,
        what: &str,
        declared: &str,
        at: Extent,
    ) -> Value<'a> {
        let value = match (&ty.kind, value) {
            (TypeKind::Tensor { .. }, Value::Outside(constant)) => {
                self.outside_value(&constant, at).map_or(Value::Unknown, Value::Var)
            }
            (_, value) => value,
        };
        // The declared type may be the type of the tokens of the value's sequences.
        let deeper = match (&ty.kind, &value) {
            (TypeKind::Sequence { levels, .. }, Value::Var(var)) => {
                let found = self.program.depth_of_sequences(self.program.ty(*var));
                found.checked_sub(*levels).filter(|more| *more > 0)
            }
            _ => None,
        };
        let found = match (&ty.kind, value) {
            (TypeKind::Infer, value) => return value,
            (TypeKind::Invalid, _) => return Value::Unknown,
            (_, Value::Unknown) => {
                self.name_unknown(ty);
                return Value::Unknown;
            }
            (TypeKind::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
                let parts =
                    types.iter().zip(parts).map(|(ty, part)| self.ascribe(ty, part, what, declared, at));
                return Value::Tuple(parts.collect());
            }
            (TypeKind::Tensor { dtype, dims }, Value::Var(var)) => {
                let found = self.show(self.program.ty(var));
                match self.matches(*dtype, dims, var) {
                    Some(depends) => {
                        self.need_dims(depends, ty, [what, &found, declared], at);
                        return Value::Var(var);
                    }
                    None => found,
                }
            }
            (TypeKind::Activation, value @ Value::Activation(_)) => return value,
            (TypeKind::Word, value @ Value::Text(_)) => return value,
            (TypeKind::Constant(ty), value) if value.is_static() => return self.typed(value, ty, at),
            (TypeKind::Constant(_), Value::Var(var)) => {
                format!("{}, a value of the network", self.show(self.program.ty(var)))
            }
            (TypeKind::Sequence { levels, dtype, dims }, Value::Var(var)) => {
                let found = self.show(self.program.ty(var));
                match self.matches_sequence(*levels, *dtype, dims, var) {
                    Some(depends) => {
                        self.need_dims(depends, ty, [what, &found, declared], at);
                        return Value::Var(var);
                    }
                    None => found,
                }
            }
            (TypeKind::Tensor { dtype, dims }, Value::Constant(constant)) if dims.is_empty() => {
                match constant.adapt(*dtype) {
                    Some(number) => return Value::Constant(Constant { number, dtype: Some(*dtype) }),
                    None => format!("the {} `{}`", constant.own_dtype(), constant.number),
                }
            }
            (_, Value::Tuple(parts)) if parts.is_empty() => "no value".to_string(),
            (_, value @ (Value::Tuple(_) | Value::Array(_) | Value::Outside(_) | Value::Text(_))) => {
                self.describe(&value)
            }
            (_, Value::Constant(constant)) => format!("the number `{}`", constant.number),
            (_, Value::Size(size)) => format!("the size `{}`", self.program.show_dim(&size)),
            (_, Value::Var(_)) => "one value".to_string(),
            (_, Value::Closure(..)) => "a closure".to_string(),
            (_, Value::Activation(layer)) => format!("the activation `{}`", layer.name),
            (_, Value::Nothing) => "nothing".to_string(),
            (_, Value::Unassigned) => "not assigned".to_string(),
        };
        let (what, declared) = (what.to_string(), declared.to_string());
        let expected = match deeper {
            Some(levels) => format!(
                "{}; for {} of {what} by itself write {}",
                self.expected(ty),
                if levels == 1 { "each sequence" } else { "each of the innermost sequences" },
                "`for part in .. { .. }`, whose value is a sequence of what its body gives"
            ),
            None => self.expected(ty),
        };
        self.error(at, Message::DeclaredType { what, found, declared, expected });
        self.name_unknown(ty);
        Value::Unknown
    }

    /// Makes the dimensions unknown that the declared type of an unknown value names.
    fn name_unknown(&mut self, ty: &TypeExpr) {
        match &ty.kind {
            TypeKind::Tensor { dims, .. } | TypeKind::Sequence { dims, .. } => {
                for dim in dims {
                    if let DimKind::Name { ident, constant: None } = &dim.kind {
                        self.dims.entry(text(ident)).or_insert(None);
                    }
                }
            }
            TypeKind::Tuple(parts) => parts.iter().for_each(|part| self.name_unknown(part)),
            TypeKind::Infer
            | TypeKind::Constant(_)
            | TypeKind::Activation
            | TypeKind::Word
            | TypeKind::Invalid => {}
        }
    }

    /// A declared type, with the values of the dimensions that it names.
    fn expected(&self, ty: &TypeExpr) -> String {
        let (TypeKind::Tensor { dims, .. } | TypeKind::Sequence { dims, .. }) = &ty.kind else {
            return show(ty);
        };
        let mut text = show(ty);
        let mut left: Vec<&DimExpr> = dims.iter().rev().collect();
        while let Some(dim) = left.pop() {
            match &dim.kind {
                DimKind::Name { ident, constant: None } => {
                    let name = self::text(ident);
                    let Some(Some(bound)) = self.dims.get(&name) else { continue };
                    let bound = self.program.show_dim(bound);
                    let note = format!(", where `{name}` is {bound}");
                    if name != bound && !text.contains(&note) {
                        text.push_str(&note);
                    }
                }
                DimKind::Binary(_, x, y) => left.extend([&**y, &**x]),
                DimKind::Name { .. }
                | DimKind::Any
                | DimKind::Size(_)
                | DimKind::Outside(_)
                | DimKind::Part(_) => {}
            }
        }
        text
    }

    /// Turns the conditions into checks.
    fn need_dims(&mut self, depends: Vec<Condition>, ty: &TypeExpr, words: [&str; 3], at: Extent) {
        for condition in depends {
            let [what, found, declared] = words.map(str::to_string);
            let message = Message::DeclaredType { what, found, declared, expected: self.expected(ty) };
            self.test(condition, at, message.to_string());
        }
    }

    /// The conditions under which a value has the declared type; `None` if it never has.
    fn matches(&mut self, dtype: DType, dims: &'a [DimExpr], var: VarId) -> Option<Vec<Condition>> {
        let ty = self.program.ty(var).clone();
        if ty.dtype != dtype || self.program.is_sequence(&ty) {
            return None;
        }
        // [1] is accepted where a scalar is wanted.
        if dims.is_empty() && ty.is_scalar() {
            return Some(Vec::new());
        }
        let shape = self.program.shape(&ty);
        if shape.len() != dims.len() {
            return None;
        }
        let rows = matches!(dims.first(), Some(DimExpr { kind: DimKind::Any, .. }));
        if rows && ty.rows.is_none() { None } else { self.sizes_match(dims, &shape) }
    }

    fn matches_sequence(
        &mut self,
        levels: usize,
        dtype: DType,
        dims: &'a [DimExpr],
        var: VarId,
    ) -> Option<Vec<Condition>> {
        let ty = self.program.ty(var).clone();
        let is_sequence = self.program.depth_of_sequences(&ty) == levels;
        let fits = ty.dtype == dtype && is_sequence && ty.dims.len() == dims.len();
        if fits { self.sizes_match(dims, &ty.dims) } else { None }
    }

    /// The conditions under which sizes are the declared ones; `_` matches any size. `None` if they never are. Binds
    /// the names of dimensions.
    fn sizes_match(&mut self, dims: &'a [DimExpr], shape: &[Dim]) -> Option<Vec<Condition>> {
        let mut depends = Vec::new();
        // Names are bound first: a computed dimension may come before the names that it uses.
        let computed = |dim: &DimExpr| matches!(dim.kind, DimKind::Binary(..));
        let (later, first): (Vec<_>, Vec<_>) = dims.iter().zip(shape).partition(|(dim, _)| computed(dim));
        for (expected, found) in first.into_iter().chain(later) {
            let expected = match &expected.kind {
                DimKind::Any => continue,
                DimKind::Name { ident, constant: None } => {
                    self.dims.entry(text(ident)).or_insert_with(|| Some(found.clone())).clone()
                }
                _ => self.dim(expected),
            };
            let Some(expected) = expected else { continue };
            match self.program.compare(&expected, found) {
                Answer::Holds => {}
                Answer::Fails => return None,
                Answer::Depends => depends.push(Condition::Equal(expected, found.clone())),
            }
        }
        Some(depends)
    }

    /// The value of a declared dimension; `None` if a mistake has been reported.
    pub(super) fn dim(&mut self, dim: &'a DimExpr) -> Option<Dim> {
        let size = self.size(dim)?;
        self.above_zero(size, dim.at)
    }

    /// The value of an operand in a declared dimension, which may also be 0 or negative.
    fn size(&mut self, dim: &'a DimExpr) -> Option<Dim> {
        match &dim.kind {
            DimKind::Size(size) => Some(Dim::from(*size)),
            DimKind::Name { ident, constant } => match constant.and_then(|id| self.env.get(&id)) {
                Some(slot) => match &slot.value {
                    Value::Constant(constant) => match constant.number {
                        Number::Int(size) => Some(Dim::from(size)),
                        _ => self.no_size(dim, format!("`{}` is not a whole number", text(ident))),
                    },
                    Value::Size(size) => Some(size.clone()),
                    _ => None,
                },
                None => match self.dims.get(&text(ident)) {
                    Some(dim) => dim.clone(),
                    // The dimension may be named by a type with a mistake.
                    None if !self.is_known => None,
                    None => self.no_size(dim, unknown_dimension(ident)),
                },
            },
            DimKind::Outside(size) => Some(self.outside(size)),
            DimKind::Part(part) => match self.expr(part) {
                Value::Constant(Constant { number: Number::Int(size), .. }) => Some(Dim::from(size)),
                Value::Size(size) => Some(size),
                Value::Unknown => None,
                found => {
                    let found = self.describe(&found);
                    self.no_size(
                        dim,
                        format!("{} is {found}, but a dimension is a whole number", part.words()),
                    )
                }
            },
            DimKind::Any => self.no_size(dim, "`_` has no size to compute with".to_string()),
            DimKind::Binary(kind, x, y) => {
                let (x, y) = (self.size(x)?, self.size(y)?);
                let result = match kind {
                    BinaryKind::Add => (&x + &y).ok(),
                    BinaryKind::Sub => (&x - &y).ok(),
                    BinaryKind::Mul => (&x * &y).ok(),
                    _ => x.floor_div(&y),
                };
                if result.is_none() {
                    let text = "this size overflows, or divides by what is not above 0".to_string();
                    return self.no_size(dim, text);
                }
                result
            }
        }
    }

    fn no_size(&mut self, dim: &DimExpr, text: String) -> Option<Dim> {
        self.error(dim.at, Message::Constant { text });
        None
    }
}

pub(super) fn unknown_dimension(ident: &Ident) -> String {
    format!("no dimension named `{}` is known here", text(ident))
}

/// A declared type in the format in which found types are printed.
fn show(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Infer | TypeKind::Invalid => "_".to_string(),
        TypeKind::Constant(ty) => format!("{}, known when the network is compiled", show_constant(ty)),
        TypeKind::Activation => "Activation: the name of an activation".to_string(),
        TypeKind::Word => "Word: a word without quotes".to_string(),
        TypeKind::Tuple(parts) => {
            format!("({})", parts.iter().map(show).collect::<Vec<_>>().join(", "))
        }
        TypeKind::Sequence { levels, dtype, dims } => {
            let token = match &dims[..] {
                [] => dtype.to_string(),
                dims => {
                    format!("Tensor<{dtype}, {}>", dims.iter().map(show_dim).collect::<Vec<_>>().join(", "))
                }
            };
            format!("{}{token}{}", "Seq<".repeat(*levels), ">".repeat(*levels))
        }
        TypeKind::Tensor { dtype, dims } => {
            format!("{dtype}[{}]", dims.iter().map(show_dim).collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn show_constant(ty: &ConstantType) -> String {
    match ty {
        ConstantType::Number { counts: true, .. } => "usize".to_string(),
        ConstantType::Number { dtype, .. } => dtype.to_string(),
        ConstantType::Text => "&str".to_string(),
        ConstantType::Array(element, _) => format!("an array of {}", show_constant(element)),
        ConstantType::Tuple(parts) => {
            format!("({})", parts.iter().map(show_constant).collect::<Vec<_>>().join(", "))
        }
        ConstantType::Invalid => "_".to_string(),
    }
}

fn show_dim(dim: &DimExpr) -> String {
    match &dim.kind {
        DimKind::Any => "_".to_string(),
        DimKind::Name { ident, .. } => text(ident),
        DimKind::Size(size) => size.to_string(),
        DimKind::Outside(size) => size.name.clone(),
        DimKind::Part(part) => part.words().trim_matches('`').to_string(),
        DimKind::Binary(kind, x, y) => {
            let op = match kind {
                BinaryKind::Add => "+",
                BinaryKind::Sub => "-",
                BinaryKind::Mul => "*",
                _ => "/",
            };
            let part = |dim: &DimExpr| match dim.kind {
                DimKind::Binary(..) => format!("({})", show_dim(dim)),
                _ => show_dim(dim),
            };
            format!("{} {op} {}", part(x), part(y))
        }
    }
}
