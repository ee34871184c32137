//! Expressions.

use paddle_core::layers::Layer;
use paddle_core::ops::{BinaryKind, CompareKind, LogicalKind, Number};
use paddle_core::program::DType;
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::Parser;
use super::break_continue::{left, staying};
use super::indexing::{is_method, wrong_arguments};
use super::item::names;
use super::outside_sizes::instead;
use super::std_constants;
use crate::ast::{
    Block, Call, Closure, Expr, ExprKind, Infix, Meaning, Named, Statement, Target, TargetKind,
};
use crate::habits;
use crate::messages::{Message, did_you_mean};
use crate::report::Extent;

impl Parser<'_> {
    /// Parses an expression whose value is used.
    pub(super) fn expr(&mut self, expr: syn::Expr) -> Expr {
        if let syn::Expr::Assign(_) = expr {
            let instead = "write it as a statement of its own, ended by `;`; a comparison is `==`";
            let kind = self.invalid(&expr, "an assignment as a value", instead);
            return Expr { kind, at: Extent::of(&expr) };
        }
        self.statement(expr)
    }

    /// Parses an expression or an assignment.
    pub(super) fn statement(&mut self, expr: syn::Expr) -> Expr {
        let at = Extent::of(&expr);
        let kind = self.kind(expr);
        Expr { kind, at }
    }

    pub(super) fn boxed(&mut self, expr: syn::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn kind(&mut self, expr: syn::Expr) -> ExprKind {
        match expr {
            syn::Expr::Lit(literal) => self.literal(literal.lit),
            syn::Expr::Path(path) => match path.path.get_ident() {
                Some(ident) if path.qself.is_none() => {
                    ExprKind::Name { ident: ident.clone(), meaning: Meaning::Unresolved }
                }
                _ => self.named_outside(&path),
            },
            syn::Expr::Paren(paren) => ExprKind::Paren(self.boxed(*paren.expr)),
            syn::Expr::Group(group) => self.kind(*group.expr),
            syn::Expr::Tuple(tuple) => {
                ExprKind::Tuple(tuple.elems.into_iter().map(|part| self.expr(part)).collect())
            }
            syn::Expr::Array(array) => {
                ExprKind::Array(array.elems.into_iter().map(|part| self.expr(part)).collect())
            }
            syn::Expr::Binary(syn::ExprBinary { op: syn::BinOp::Mul(op), right, .. }) if is_power(&right) => {
                let instead = "write `square(x)`, or `pow(x, 3.0)`";
                self.invalid(&op, "`**`", instead)
            }
            syn::Expr::Unary(unary) => match unary.op {
                syn::UnOp::Neg(op) => ExprKind::Negate { op: op.span(), x: self.boxed(*unary.expr) },
                syn::UnOp::Not(op) => ExprKind::Not { op: op.span(), x: self.boxed(*unary.expr) },
                other => self.invalid(&other, "this operator", "write the value itself"),
            },
            syn::Expr::Binary(binary) => self.binary(binary),
            syn::Expr::Assign(assign) => {
                let target = self.target(*assign.left);
                let value = self.boxed(*assign.right);
                ExprKind::Assign { target, op: assign.eq_token.to_token_stream(), value }
            }
            syn::Expr::Call(call) => self.call(call),
            syn::Expr::Closure(closure) => {
                self.plain_closure(&closure);
                let params = closure.inputs.into_iter().map(|input| self.param(input)).collect();
                let result = match closure.output {
                    syn::ReturnType::Default => None,
                    syn::ReturnType::Type(_, ty) => Some(self.ty(&ty)),
                };
                ExprKind::Closure(Closure { params, result, body: Box::new(self.statement(*closure.body)) })
            }
            syn::Expr::If(branch) => self.branch(branch),
            syn::Expr::While(repeat) => {
                self.no_label(&repeat.label);
                let (at, bound) = (Extent::of(&repeat), bound_in(&repeat.cond));
                let condition = self.boxed(*repeat.cond);
                let (mut body, leaves) = self.loop_body(repeat.body);
                body.statements.splice(0..0, bound.into_iter().map(Statement::unknown));
                let condition = staying(condition, &leaves);
                left(ExprKind::While { span: repeat.while_token.span, condition, body }, &leaves, at)
            }
            syn::Expr::Block(block) => {
                self.no_label(&block.label);
                ExprKind::Block(self.block(block.block))
            }
            syn::Expr::ForLoop(repeat) => self.unrolled(repeat),
            syn::Expr::Match(choice) => self.choice(choice),
            syn::Expr::Repeat(repeat) => {
                ExprKind::Repeated { x: self.boxed(*repeat.expr), times: self.boxed(*repeat.len) }
            }
            syn::Expr::Index(index) => self.indexed(*index.expr, *index.index),
            syn::Expr::MethodCall(call) if is_method(&call) => self.method(call),
            syn::Expr::Field(syn::ExprField { base, member: syn::Member::Unnamed(index), .. }) => {
                ExprKind::Part { x: self.boxed(*base), at: index.index as usize }
            }
            syn::Expr::Range(range) => self.range(range),
            other => self.rest_of_rust(other),
        }
    }

    /// Reports an expression that the language does not have.
    fn rest_of_rust(&mut self, expr: syn::Expr) -> ExprKind {
        match &expr {
            syn::Expr::Macro(call) => {
                self.foreign_macro(&call.mac);
                ExprKind::Invalid
            }
            syn::Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let at = Extent { start: call.method.span(), end: call.paren_token.span.close() };
                let message = wrong_arguments(call).unwrap_or_else(|| {
                    let instead = match (Layer::find(&name), habits::of_method(&name)) {
                        (Some(layer), _) => format!("write `{}(x, ..)`", layer.name),
                        (None, Some(instead)) => instead.to_string(),
                        (None, None) => {
                            let hint = did_you_mean(&name, Layer::all().map(|l| l.name));
                            format!("call a layer: `layer(x, ..)`{hint}")
                        }
                    };
                    Message::Method { name, instead }
                });
                self.sink.error(at, message);
                ExprKind::Invalid
            }
            syn::Expr::Break(leave) => {
                let is_plain = leave.label.is_none() && leave.expr.is_none();
                self.leave(leave, leave.break_token.span, true, is_plain)
            }
            syn::Expr::Continue(go_on) => {
                self.leave(go_on, go_on.continue_token.span, false, go_on.label.is_none())
            }
            syn::Expr::Return(give) => {
                self.invalid(&give.return_token, "`return`", "end the block with the value, without `;`")
            }
            syn::Expr::Loop(repeat) => {
                self.invalid(&repeat.loop_token, "`loop`", "use `while` with a condition")
            }
            syn::Expr::Cast(cast) => {
                let instead = "numbers adapt to what they are combined with, and a value is `cast(x, f32)`";
                self.invalid(cast, "`as`", instead)
            }
            syn::Expr::Reference(reference) => {
                self.invalid(&reference.and_token, "`&`", "values are used as they are, any number of times")
            }
            syn::Expr::Field(field) => {
                let habit = match &field.member {
                    syn::Member::Named(name) => habits::of_field(&name.to_string()),
                    syn::Member::Unnamed(_) => None,
                };
                let instead = habit.unwrap_or("bind the parts of a tuple: `let (a, b) = ..`");
                self.invalid(field, "a field", instead)
            }
            syn::Expr::Try(test) => {
                let instead = "layers and sub-networks do not fail: leave it out";
                self.invalid(&test.question_token, "`?`", instead)
            }
            syn::Expr::Struct(made) => self.invalid(made, "a struct", "several values are a tuple: `(a, b)`"),
            syn::Expr::Let(test) => self.invalid(test, "`let` in a condition", "write a comparison"),
            other => {
                self.invalid(other, "this expression", "use values, operators, layers, `if` and `while`")
            }
        }
    }

    pub(super) fn invalid(&mut self, at: &impl ToTokens, what: &str, instead: &str) -> ExprKind {
        self.foreign(at, what, instead);
        ExprKind::Invalid
    }

    /// A path to a number of the standard library, or to a `const` of Rust.
    fn named_outside(&mut self, path: &syn::ExprPath) -> ExprKind {
        let literal = path.path.to_token_stream();
        match std_constants::number(&path.path).filter(|_| path.qself.is_none()) {
            Some(Ok((value, dtype))) => ExprKind::Number { value, dtype: Some(dtype), literal },
            Some(Err(hint)) => {
                let path_text = literal.to_string().replace(' ', "");
                self.error(path, Message::NoSuchNumber { path: path_text, hint });
                ExprKind::Invalid
            }
            None => self.outside(&path.qself, &path.path).map_or(ExprKind::Invalid, ExprKind::Outside),
        }
    }

    fn rust_path(&mut self, path: &syn::ExprPath) -> ExprKind {
        let text = path.to_token_stream().to_string().replace(' ', "");
        let instead = instead(&path.path);
        self.error(path, Message::RustPath { path: text, instead });
        ExprKind::Invalid
    }

    pub(super) fn no_label(&mut self, label: &Option<syn::Label>) {
        if let Some(label) = label {
            self.foreign(label, "a label", "remove it");
        }
    }

    fn literal(&mut self, literal: syn::Lit) -> ExprKind {
        let tokens = literal.to_token_stream();
        let (value, suffix) = match &literal {
            syn::Lit::Int(int) => match (int.suffix(), int.base10_parse::<i64>()) {
                // `1f32` has digits of an integer, but is a float.
                (suffix @ ("f32" | "f64"), Ok(value)) => (Number::Float(value as f64), suffix),
                (suffix, Ok(value)) => (Number::Int(value), suffix),
                (_, Err(_)) => return self.too_large(&literal),
            },
            syn::Lit::Float(float) => match float.base10_parse::<f64>() {
                Ok(value) if value.is_finite() => (Number::Float(value), float.suffix()),
                _ => return self.too_large(&literal),
            },
            syn::Lit::Bool(truth) => (Number::Bool(truth.value), ""),
            syn::Lit::Str(text) => {
                return ExprKind::Text { value: text.value(), literal: text.token() };
            }
            other => {
                return self.invalid(
                    other,
                    "this literal",
                    "write a number, `true`, `false` or a name in quotes",
                );
            }
        };
        let dtype = match suffix {
            "" => None,
            "usize" => Some(DType::I64),
            name => match DType::from_name(name) {
                Some(dtype) => Some(dtype),
                None => {
                    let hint = did_you_mean(name, DType::ALL.map(DType::name));
                    let found = name.to_string();
                    self.error(&literal, Message::UnknownElementType { found, hint });
                    return ExprKind::Invalid;
                }
            },
        };
        ExprKind::Number { value, dtype, literal: tokens }
    }

    fn too_large(&mut self, literal: &syn::Lit) -> ExprKind {
        let text = format!(
            "`{}` is too large: whole numbers have 64 bits, others go to 1.8e308",
            literal.to_token_stream()
        );
        self.error(literal, Message::Constant { text });
        ExprKind::Invalid
    }

    fn binary(&mut self, binary: syn::ExprBinary) -> ExprKind {
        use syn::BinOp;
        let op: TokenStream = binary.op.to_token_stream();
        let arithmetic = |kind| Some((Infix::Arithmetic(kind), false));
        let update = |kind| Some((Infix::Arithmetic(kind), true));
        let compare = |kind| Some((Infix::Compare(kind), false));
        let logical = |kind| Some((Infix::Logical(kind), false));
        let found = match binary.op {
            BinOp::Add(_) => arithmetic(BinaryKind::Add),
            BinOp::Sub(_) => arithmetic(BinaryKind::Sub),
            BinOp::Mul(_) => arithmetic(BinaryKind::Mul),
            BinOp::Div(_) => arithmetic(BinaryKind::Div),
            BinOp::Rem(_) => arithmetic(BinaryKind::Mod),
            BinOp::AddAssign(_) => update(BinaryKind::Add),
            BinOp::SubAssign(_) => update(BinaryKind::Sub),
            BinOp::MulAssign(_) => update(BinaryKind::Mul),
            BinOp::DivAssign(_) => update(BinaryKind::Div),
            BinOp::RemAssign(_) => update(BinaryKind::Mod),
            BinOp::Lt(_) => compare(CompareKind::LessThan),
            BinOp::Le(_) => compare(CompareKind::LessEqual),
            BinOp::Gt(_) => compare(CompareKind::GreaterThan),
            BinOp::Ge(_) => compare(CompareKind::GreaterEqual),
            BinOp::Eq(_) => compare(CompareKind::Equal),
            BinOp::Ne(_) => compare(CompareKind::NotEqual),
            BinOp::And(_) => logical(LogicalKind::And),
            BinOp::Or(_) => logical(LogicalKind::Or),
            _ => None,
        };
        match found {
            Some((Infix::Arithmetic(kind), true)) => {
                let target = self.target(*binary.left);
                ExprKind::Update { kind, op, target, value: self.boxed(*binary.right) }
            }
            Some((kind, _)) => {
                ExprKind::Binary { kind, op, x: self.boxed(*binary.left), y: self.boxed(*binary.right) }
            }
            None => {
                self.invalid(&binary.op, "this operator", "truth values are combined by `&&`, `||` and `!`")
            }
        }
    }

    fn target(&mut self, expr: syn::Expr) -> Target {
        let at = Extent::of(&expr);
        let kind = match expr {
            syn::Expr::Path(path) if path.path.get_ident().is_some() && path.qself.is_none() => {
                TargetKind::Name { ident: path.path.segments[0].ident.clone(), binding: None }
            }
            syn::Expr::Tuple(tuple) => {
                TargetKind::Tuple(tuple.elems.into_iter().map(|part| self.target(part)).collect())
            }
            syn::Expr::Paren(paren) => return self.target(*paren.expr),
            other => {
                self.foreign(
                    &other,
                    "assigning to this",
                    "assign to a variable that was declared by `let mut`",
                );
                TargetKind::Invalid
            }
        };
        Target { kind, at }
    }

    fn call(&mut self, call: syn::ExprCall) -> ExprKind {
        let parens = Extent { start: call.paren_token.span.open(), end: call.paren_token.span.close() };
        let ident = match *call.func {
            syn::Expr::Path(path) => match path.path.get_ident() {
                Some(ident) if path.qself.is_none() => ident.clone(),
                _ => return self.rust_path(&path),
            },
            other => {
                return self.invalid(&other, "calling this", "call a layer, a `fn` or a closure by its name");
            }
        };
        let open = call.args.trailing_punct();
        let (mut positional, mut named, mut behind) = (Vec::new(), Vec::new(), false);
        for argument in call.args {
            match argument {
                syn::Expr::Assign(assign) => match *assign.left {
                    syn::Expr::Path(path) if path.path.get_ident().is_some() => {
                        let ident = path.path.segments[0].ident.clone();
                        named.push(Named { ident, value: self.expr(*assign.right) });
                    }
                    other => {
                        self.foreign(&other, "this as the name of an argument", "write `name = value`");
                    }
                },
                value if named.is_empty() => positional.push(self.expr(value)),
                value => {
                    if !std::mem::replace(&mut behind, true) {
                        let instead = "arguments by position come before those by name";
                        self.foreign(&value, "an argument in this place", instead);
                    }
                    positional.push(self.expr(value));
                }
            }
        }
        ExprKind::Call(Call { ident, callee: Meaning::Unresolved, positional, named, parens, open })
    }

    fn branch(&mut self, branch: syn::ExprIf) -> ExprKind {
        let span = branch.if_token.span;
        let bound = bound_in(&branch.cond);
        let condition = self.boxed(*branch.cond);
        let mut yes: Block = self.block(branch.then_branch);
        yes.statements.splice(0..0, bound.into_iter().map(Statement::unknown));
        let no = branch.else_branch.map(|(token, other)| (token.span(), self.boxed(*other)));
        ExprKind::If { span, condition, yes, no }
    }
}

/// The names that a `let` in a condition binds. The language has no such `let`; uses of the names are not reported
/// again.
fn bound_in(condition: &syn::Expr) -> Vec<Ident> {
    struct Bound(Vec<Ident>);
    impl Visit<'_> for Bound {
        fn visit_expr_let(&mut self, test: &syn::ExprLet) {
            self.0.extend(names(&test.pat));
        }
    }
    let mut bound = Bound(Vec::new());
    bound.visit_expr(condition);
    bound.0
}

/// Whether this is the right side of `x ** 2`, which Rust parses as a product with a dereferenced value.
fn is_power(right: &syn::Expr) -> bool {
    matches!(right, syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), .. }))
}
