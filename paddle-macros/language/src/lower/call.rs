//! Calls of sub-networks, which are inlined.

use std::rc::Rc;

use super::Lowering;
use super::binding::Bound;
use super::expr::CALL_DEPTH;
use super::types::ITSELF;
use super::unroll::LIMIT;
use crate::ast::{Call, Expr, Function, Meaning, Named, Param, PatternKind, Piece, UnitId, text};
use crate::messages::Message;
use crate::parameter_names::{Base, Said, is_path, is_whole_name};
use crate::report::{Extent, Frame};
use crate::values::{Dims, Env, Value};

/// An argument of a sub-network, and the parameter that takes it.
pub(super) struct Argument<'a> {
    pub(super) param: &'a Param,
    pub(super) argument: &'a Expr,
    pub(super) value: Value<'a>,
}

/// A sub-network to be inlined.
struct Called<'a, T> {
    /// The segment that the call adds to parameter names.
    segment: Base,
    /// The syntax tree of the body, which identifies the sub-network.
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
                // A library layer is named like any layer: by its binding.
                let is_layer = network.is_library(function.unit);
                let is_bound = !matches!(self.binding, Bound::Nothing);
                let names_itself = is_layer && is_bound && network.has_parameters(id);
                let arguments = self
                    .in_arguments(names_itself, |lowering| lowering.arguments(call, function.positional()));
                let name = text(&function.ident);
                let segment = if is_layer { self.binding.base(&name) } else { Base::of(&name) };
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
                    let called =
                        Called { segment: Base::of(&text(&call.ident)), body: closure, unit: self.unit };
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
                // The arguments may still have mistakes of their own.
                call.positional.iter().for_each(|argument| drop(self.expr(argument)));
                Value::Unknown
            }
            Meaning::Initializer(_) | Meaning::Choice(_) | Meaning::Word | Meaning::Dimension => {
                Value::Unknown
            }
        }
    }

    /// Lowers the arguments of a call, and pairs them with the parameters. This happens in the scope of the call.
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

    /// Binds the parameters that the call does not give to their defaults.
    pub(super) fn defaults(&mut self, function: &'a Function, is_given: &dyn Fn(&str) -> bool) {
        for param in function.named() {
            let is_given = param.name().is_some_and(|name| is_given(&name));
            let Some(default) = param.default.as_ref().filter(|_| !is_given) else { continue };
            let value = self.default(param, default);
            self.bind_param(param, value, default.at);
        }
    }

    /// The value of a parameter that the call does not give.
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
            // From here on, mistakes would only repeat this one.
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
            // A library layer takes the name as a whole, as layers do that are not written in the language.
            Some((name, None)) if is_layer && !self.network.is_library(self.unit) => Said::Path(name),
            Some((name, None)) | Some((_, Some(name))) => Said::Segment(name),
        };
        if let Err(why) = self.names.enter(&segment, identity, said) {
            self.nameless(why, &text(&call.ident), at);
        }
        let outer_env = std::mem::replace(&mut self.env, env);
        let outer_dims = std::mem::replace(&mut self.dims, dims);
        let outer_binding = std::mem::take(&mut self.binding);
        // Arguments are checked in the unit of the caller, before the sub-network is entered.
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

    /// The frame that messages show for a call.
    pub(super) fn frame(&self, call: &Call, at: Extent) -> Frame {
        Frame { name: text(&call.ident), arguments: call.argument_words(), call: at, unit: self.unit }
    }

    /// Binds a parameter. The value keeps its name, which belongs to the scope of the call.
    pub(super) fn bind_param(&mut self, param: &'a Param, value: Value<'a>, at: Extent) {
        if let (PatternKind::Name { .. }, Value::Var(var)) = (&param.pattern.kind, &value) {
            self.named.insert(*var);
        }
        self.bind(&param.pattern, value, at);
    }

    /// The name given by an argument `param`; `None` if a mistake has been reported.
    pub(super) fn parameter_name(&mut self, expr: &'a Expr) -> Option<String> {
        self.name_of_parameters(expr, is_path)
    }

    fn name_of_parameters(&mut self, expr: &'a Expr, is_name: fn(&str) -> bool) -> Option<String> {
        match self.expr(expr) {
            Value::Text(name) if is_name(&name) => Some(name),
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

    /// The whole name of a parameter; `None` if a mistake has been reported.
    pub(super) fn whole_name(&mut self, expr: &'a Expr) -> Option<String> {
        let name = self.name_of_parameters(expr, is_whole_name)?;
        match self.names.given(&name) {
            Ok(path) => Some(path.name),
            Err(why) => {
                self.nameless(why, &name, expr.at);
                None
            }
        }
    }

    /// Fills in the variables of a template.
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
