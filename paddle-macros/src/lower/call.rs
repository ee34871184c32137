//! Calls: layers become operators, sub-networks are inlined.

use std::rc::Rc;

use paddle_core::layers::{self, Built, Given, Kind, Layer, Passed};
use paddle_core::program::{BuildError, DType, Type, VarId};

use super::Lowering;
use super::expr::CALL_DEPTH;
use super::types::ITSELF;
use super::unroll::LIMIT;
use crate::ast::{Call, Expr, ExprKind, Function, Meaning, Named, Param, PatternKind, Piece, UnitId, text};
use crate::messages::Message;
use crate::names::{Said, is_path};
use crate::place::place;
use crate::report::{Extent, Frame};
use crate::values::{Constant, Dims, Env, Value};

/// An argument of a sub-network, and the parameter that it is for.
pub(super) struct Argument<'a> {
    pub(super) param: &'a Param,
    pub(super) argument: &'a Expr,
    pub(super) value: Value<'a>,
}

/// What is inlined.
struct Called<'a, T> {
    /// Its part of the names of parameters.
    segment: String,
    /// Its source, which tells it from others.
    body: &'a T,
    unit: UnitId,
}

impl<'a> Lowering<'a, '_> {
    pub(super) fn call(&mut self, call: &'a Call, at: Extent) -> Value<'a> {
        match call.callee {
            Meaning::Layer(layer) => self.layer(layer, call, at),
            Meaning::Function(id) => {
                let network = self.network;
                let function = &network.functions[id.0];
                if let Some(operator) = &function.operator {
                    return self.operator_call(function, operator, call, at);
                }
                if !function.generics.is_empty() {
                    let what = "a call of a network that has const parameters".to_string();
                    let instead = "call a `fn`: its shapes are those of what it is called with".to_string();
                    self.error(call.ident.span(), Message::NotOfTheLanguage { what, instead });
                    return Value::Unknown;
                }
                let constants = network.constants.iter().filter_map(|constant| constant.binding);
                let env = constants.filter_map(|id| Some((id, self.env.get(&id)?.clone()))).collect();
                let arguments = self.arguments(call, function.positional());
                // A layer of the library is named as a layer is: by its binding.
                let segment = match self.binding.name().filter(|_| network.is_library(function.unit)) {
                    Some(binding) => binding.to_string(),
                    None => text(&function.ident),
                };
                let captured = (env, Dims::new());
                let is_known = |name: &str| {
                    name == "param" || function.named().any(|param| param.name().as_deref() == Some(name))
                };
                let misnamed = call.named.iter().any(|named| !is_known(&text(&named.ident)));
                let called = Called { segment, body: &function.body, unit: function.unit };
                let value = self.inline(call, at, called, arguments, captured, |lowering| {
                    lowering.defaults(function, &|name| {
                        call.named.iter().any(|named| text(&named.ident) == name)
                    });
                    lowering.body(&function.body, &function.result)
                });
                if misnamed { Value::Unknown } else { value }
            }
            Meaning::Variable(id) => match self.env.get(&id).map(|slot| slot.value.clone()) {
                Some(Value::Closure(closure, captured)) => {
                    let arguments = self.arguments(call, closure.params.iter());
                    let captured = Rc::unwrap_or_clone(captured);
                    let called = Called { segment: text(&call.ident), body: closure, unit: self.unit };
                    self.inline(call, at, called, arguments, captured, |lowering| {
                        let value = lowering.expr(&closure.body);
                        match &closure.result {
                            Some(ty) => lowering.ascribe(ty, value, "this result", ITSELF, closure.body.at),
                            None => value,
                        }
                    })
                }
                _ => Value::Unknown,
            },
            Meaning::Activation(id) => match self.env.get(&id).map(|slot| slot.value.clone()) {
                Some(Value::Activation(layer)) => self.layer(layer, call, at),
                Some(Value::Unknown) | None => Value::Unknown,
                Some(_) => {
                    self.error(call.ident.span(), Message::NotCallable { name: text(&call.ident) });
                    Value::Unknown
                }
            },
            Meaning::Unresolved => {
                // The arguments may have mistakes of their own.
                call.positional.iter().for_each(|argument| drop(self.expr(argument)));
                Value::Unknown
            }
            Meaning::Initializer(_) | Meaning::Choice(_) | Meaning::Word | Meaning::Dimension => {
                Value::Unknown
            }
        }
    }

    /// The arguments of a call of a sub-network, with the parameters that they are for. They are computed where the
    /// call stands.
    pub(super) fn arguments(
        &mut self,
        call: &'a Call,
        params: impl Iterator<Item = &'a Param>,
    ) -> Vec<Argument<'a>> {
        let mut bound: Vec<Argument<'a>> = Vec::new();
        for (param, argument) in params.zip(&call.positional) {
            bound.push(Argument { param, argument, value: self.expr(argument) });
        }
        if let Meaning::Function(id) = call.callee {
            let function = &self.network.functions[id.0];
            for Named { ident, value: argument } in &call.named {
                let named = text(ident);
                if let Some(param) = function.named().find(|param| param.name().as_ref() == Some(&named)) {
                    bound.push(Argument { param, argument, value: self.expr(argument) });
                }
            }
        }
        bound
    }

    /// Binds the parameters that are not given.
    pub(super) fn defaults(&mut self, function: &'a Function, is_given: &dyn Fn(&str) -> bool) {
        for param in function.named() {
            let is_given = param.name().is_some_and(|name| is_given(&name));
            let Some(default) = param.default.as_ref().filter(|_| !is_given) else { continue };
            let value = self.default(param, default);
            self.bind_param(param, value, default.at);
        }
    }

    /// The value of a parameter that is not given.
    pub(super) fn default(&mut self, param: &'a Param, default: &'a Expr) -> Value<'a> {
        let value = self.expr(default);
        match &param.ty {
            Some(ty) => self.ascribe(ty, value, &default.words(), ITSELF, default.at),
            None => value,
        }
    }

    /// Lowers the body of a sub-network with its parameters bound to the arguments.
    fn inline<T>(
        &mut self,
        call: &'a Call,
        at: Extent,
        Called { segment, body: source, unit }: Called<'a, T>,
        arguments: Vec<Argument<'a>>,
        (env, dims): (Env<'a>, Dims),
        body: impl FnOnce(&mut Self) -> Value<'a>,
    ) -> Value<'a> {
        self.inlined += 1;
        if self.inlined > LIMIT {
            // What is left of the calls that led here has nothing to say.
            if self.inlined == LIMIT + 1 {
                let text = format!(
                    "the sub-networks of this network are inlined at more than {LIMIT} calls; repeat with `while`"
                );
                self.error(at, Message::Limit { text });
            }
            return Value::Unknown;
        }
        let given = call.named.iter().find(|named| text(&named.ident) == "param");
        let given = given.map(|named| self.parameter_name(&named.value));
        if given == Some(None) {
            return Value::Unknown;
        }
        let is_layer = self.network.is_library(unit);
        let identity = (!is_layer).then(|| std::ptr::from_ref(source).addr());
        let given = given.flatten();
        let said = match given.as_deref().map(|name| (name, name.strip_prefix('.'))) {
            None => Said::Nothing,
            // As of the layers that are not written in the language.
            Some((name, None)) if is_layer && !self.network.is_library(self.unit) => Said::Path(name),
            Some((name, None)) | Some((_, Some(name))) => Said::Segment(name),
        };
        if let Err(why) = self.names.enter(&segment, identity, said) {
            self.nameless(why, &segment, at);
        }
        let outer_env = std::mem::replace(&mut self.env, env);
        let outer_dims = std::mem::replace(&mut self.dims, dims);
        let outer_binding = std::mem::take(&mut self.binding);
        // Arguments are checked where the call stands, before it is entered.
        for Argument { param, argument, value } in arguments {
            let value = match &param.ty {
                Some(ty) => {
                    let declared = match param.name() {
                        Some(name) => format!("`{name}` of `{}`", text(&call.ident)),
                        None => format!("this argument of `{}`", text(&call.ident)),
                    };
                    self.ascribe(ty, value, &argument.words(), &declared, argument.at)
                }
                None => value,
            };
            self.bind_param(param, value, argument.at);
        }
        self.calls.push(self.frame(call, at));
        let outer_library_call = self.library_call;
        if self.network.is_library(unit) && !self.network.is_library(self.unit) {
            let layer = self.program.create_layer(&text(&call.ident));
            self.library_call = Some((at.start, self.unit, layer));
        }
        let outer_unit = std::mem::replace(&mut self.unit, unit);
        self.depth += CALL_DEPTH;
        let value = body(self);
        if let (true, Value::Var(var)) = (is_layer, &value) {
            self.note_meaning(&text(&call.ident), call, None, *var);
        }
        self.depth -= CALL_DEPTH;
        self.unit = outer_unit;
        self.library_call = outer_library_call;
        self.calls.pop();
        self.binding = outer_binding;
        self.dims = outer_dims;
        self.env = outer_env;
        self.names.leave();
        value
    }

    /// A call that leads somewhere.
    pub(super) fn frame(&self, call: &Call, at: Extent) -> Frame {
        Frame { name: text(&call.ident), arguments: call.argument_words(), call: at, unit: self.unit }
    }

    /// Binds without renaming: the value keeps the name that it has where the call stands.
    pub(super) fn bind_param(&mut self, param: &'a Param, value: Value<'a>, at: Extent) {
        if let (PatternKind::Name { .. }, Value::Var(var)) = (&param.pattern.kind, &value) {
            self.named.insert(*var);
        }
        self.bind(&param.pattern, value, at);
    }

    fn layer(&mut self, layer: &'static Layer, call: &'a Call, at: Extent) -> Value<'a> {
        let by_position = layer.positional.iter().zip(&call.positional);
        let by_name = call.named.iter().filter_map(|named| {
            let argument = layer.named.iter().find(|argument| argument.name == text(&named.ident))?;
            Some((argument, &named.value))
        });
        let mut values = match (&call.positional[..], layer.positional) {
            // A function of a number is a number.
            ([only], [layers::Argument { kind: Kind::Value, .. }]) => {
                let value = self.expr(only);
                if let (Value::Constant(constant), []) = (&value, &call.named[..])
                    && let Some(number) = layers::of_number(layer.name, constant.number)
                {
                    return Value::Constant(Constant { number, dtype: None });
                }
                self.beside_each_other(vec![(value, only.at)])
            }
            _ => self.values(layer, call),
        };
        let (mut arguments, mut extents) = (Vec::new(), Vec::new());
        // What a misnamed argument would have changed is not known, where arguments change the shape.
        let is_known = call.named.iter().all(|named| layer.named(&text(&named.ident)).is_some());
        let mut complete = is_known || layer.has_parameters() || layer.named("axis").is_none();
        // What the last argument by position is all of, where it is.
        let left = &call.positional[layer.positional.len().saturating_sub(1)..];
        for (argument, value) in by_position.chain(by_name) {
            let operand = if argument.kind == Kind::Value { values.next() } else { None };
            let given = match operand {
                Some(operand) => operand.map(Given::Value),
                None if argument.kind == Kind::Operands => self.operands(left),
                None => self.argument(layer, argument, value),
            };
            match given {
                Some(given) => {
                    let parts: &[Expr] = match (&given, &value.kind) {
                        _ if argument.kind == Kind::Operands => left,
                        (Given::Values(_), ExprKind::Array(parts) | ExprKind::Tuple(parts)) => parts,
                        _ => &[],
                    };
                    extents.push(value.at);
                    extents.extend(parts.iter().map(|part| part.at));
                    let (name, words) = (argument.name, value.words());
                    let parts = parts.iter().map(Expr::words).collect();
                    arguments.push(Passed::new(name, given, words, parts));
                }
                None => complete = false,
            }
        }
        // The name is taken also by a call that fails: later calls keep theirs.
        let path = match layer.has_parameters() {
            true => self.parameter_path(layer, &arguments, call, at),
            false => Some(self.names.path(self.binding.name(), layer.name)),
        };
        let Some(path) = path.filter(|_| complete) else { return Value::Unknown };
        self.check_meaning(layer, call, &arguments);
        let given = arguments.iter().find_map(|passed| match passed.given {
            Given::Value(var) => Some(var),
            _ => None,
        });
        let site = self.site_in(at.start, Some(layer.name));
        let block = self.block;
        let mut build =
            layers::Call { program: &mut self.program, block, site, layer, arguments, path: path.clone() };
        match build.build() {
            Ok(built) => {
                self.note_checks(at);
                if layer.has_parameters() {
                    let first = self.blame(at);
                    self.first_uses.entry(path).or_insert(first);
                }
                match built {
                    Built::One(value) => {
                        self.note_meaning(layer.name, call, given, value);
                        self.check_activation(call, value);
                        Value::Var(value)
                    }
                    Built::Several(values) => Value::Tuple(values.into_iter().map(Value::Var).collect()),
                }
            }
            Err(BuildError::ParameterConflict { name, first, second }) => {
                let first_use = self.first_uses.get(&path).map(|first| first.beside(self.blame(at).at));
                let place = place(first_use.unwrap_or(at));
                self.error(at, Message::ParameterConflict { name, here: second, first, place });
                Value::Unknown
            }
            Err(error) => {
                let at = match extents[..] {
                    // With one argument the mistake is in it.
                    [only] => only,
                    _ => at,
                };
                self.build_error(error, at, &extents);
                Value::Unknown
            }
        }
    }

    /// The arguments by position that are values. A number adapts to a value beside it.
    fn values(&mut self, layer: &Layer, call: &'a Call) -> std::vec::IntoIter<Option<VarId>> {
        let arguments = layer.positional.iter().zip(&call.positional);
        let arguments = arguments.filter(|(argument, _)| argument.kind == Kind::Value);
        let values = arguments.map(|(_, expr)| (self.expr(expr), expr.at)).collect();
        self.beside_each_other(values)
    }

    /// Values of the program of these. Numbers adapt to a value beside them.
    fn beside_each_other(&mut self, values: Vec<(Value<'a>, Extent)>) -> std::vec::IntoIter<Option<VarId>> {
        let dtype = values.iter().find_map(|(value, _)| match value {
            Value::Var(var) => Some(self.program.ty(*var).dtype),
            _ => None,
        });
        // Functions are of floats, where nothing says what else.
        let has_sizes = values.iter().any(|(value, _)| matches!(value, Value::Size(_)));
        let dtype = dtype.or(has_sizes.then_some(DType::F32));
        let mut vars = Vec::with_capacity(values.len());
        for (value, at) in values {
            let number = match &value {
                Value::Size(size) => {
                    vars.push(dtype.and_then(|dtype| self.size_value(size, dtype, at)));
                    continue;
                }
                Value::Constant(constant) => dtype.and_then(|dtype| Some((constant.adapt(dtype)?, dtype))),
                _ => None,
            };
            vars.push(match number {
                Some((number, dtype)) => self.fill(number, Type::scalar(dtype), at),
                None => self.materialize(&value, at),
            });
        }
        vars.into_iter()
    }

    fn parameter_path(
        &mut self,
        layer: &Layer,
        arguments: &[Passed],
        call: &Call,
        at: Extent,
    ) -> Option<String> {
        let path = match call.named.iter().any(|named| text(&named.ident) == "param") {
            false => self.names.layer(self.binding.name(), layer.name),
            true => self.names.given(arguments.iter().find_map(|passed| match &passed.given {
                Given::Name(name) => Some(name.as_str()),
                _ => None,
            })?),
        };
        path.map_err(|why| self.nameless(why, layer.name, at)).ok()
    }

    /// The name that an argument `param` is; `None` when a mistake has been reported.
    pub(super) fn parameter_name(&mut self, expr: &'a Expr) -> Option<String> {
        match self.expr(expr) {
            Value::Text(name) if is_path(&name) => Some(name),
            Value::Text(found) => {
                self.error(expr.at, Message::ParameterName { found });
                None
            }
            Value::Unknown => None,
            value => {
                let found = self.describe(&value);
                self.error(expr.at, Message::ParameterName { found });
                None
            }
        }
    }

    /// A text with the values of its variables.
    pub(super) fn template(&mut self, pieces: &'a [Piece], at: Extent) -> Value<'a> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Variable(id) => match self.env.get(id).map(|slot| slot.value.clone()) {
                    Some(Value::Constant(constant)) => text.push_str(&constant.number.to_string()),
                    Some(Value::Text(part)) => text.push_str(&part),
                    Some(Value::Unknown) | None => return Value::Unknown,
                    Some(value) => {
                        let name = &self.network.bindings[id.0].name;
                        let found = format!("`{name}` is {}", self.describe(&value));
                        let instead = "name a variable of a `for`, or a `const`".to_string();
                        self.error(
                            at,
                            Message::Static { what: "a name for parameters".into(), found, instead },
                        );
                        return Value::Unknown;
                    }
                },
            }
        }
        Value::Text(text)
    }
}
