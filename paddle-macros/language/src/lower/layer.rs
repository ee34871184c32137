//! Calls of layers, which become operators.

use paddle_core::layers::{self, Built, Given, Kind, Layer, Passed};
use paddle_core::program::{BuildError, DType, Type, VarId};

use super::Lowering;
use crate::ast::{Call, Expr, ExprKind, text};
use crate::messages::Message;
use crate::parameter_names;
use crate::report::Extent;
use crate::values::{Constant, Value};

impl<'a> Lowering<'a, '_> {
    /// Lowers the arguments of a layer. The binding names only the layer itself, if that has parameters.
    pub(super) fn in_arguments<T>(&mut self, has_parameters: bool, lower: impl FnOnce(&mut Self) -> T) -> T {
        if !has_parameters {
            return lower(self);
        }
        let inner = self.binding.in_arguments();
        let outer = std::mem::replace(&mut self.binding, inner);
        let lowered = lower(self);
        self.binding = outer;
        lowered
    }

    pub(super) fn layer(&mut self, layer: &'static Layer, call: &'a Call, at: Extent) -> Value<'a> {
        let values = match (&call.positional[..], layer.positional) {
            // An element-wise function of a constant is a constant.
            ([only], [layers::Argument { kind: Kind::Value, .. }]) => {
                let value = self.in_arguments(layer.has_parameters(), |lowering| lowering.expr(only));
                if let (Value::Constant(constant), []) = (&value, &call.named[..])
                    && let Some(number) = layers::of_number(layer.name, constant.number)
                {
                    return Value::Constant(Constant { number, dtype: None });
                }
                self.beside_each_other(vec![(value, only.at)])
            }
            _ => self.in_arguments(layer.has_parameters(), |lowering| lowering.values(layer, call)),
        };
        let (arguments, extents, complete) = self
            .in_arguments(layer.has_parameters(), |lowering| lowering.layer_arguments(layer, call, values));
        // The name is taken even if the call fails, so that later calls keep theirs.
        let is_named = call.named.iter().any(|named| text(&named.ident) == "param");
        let path = match is_named || layer.has_parameters_beside(&arguments) {
            true => self.parameter_path(layer, &arguments, call, at),
            false => Some(self.names.path(self.binding.name(), layer.name)),
        };
        let Some(parameter_names::Path { name: path, former }) = path.filter(|_| complete) else {
            return Value::Unknown;
        };
        let listed = arguments.iter().find_map(|passed| match &passed.given {
            Given::Names(names) => Some(names.clone()),
            _ => None,
        });
        self.check_meaning(layer, call, &arguments);
        let given = arguments.iter().find_map(|passed| match passed.given {
            Given::Value(var) => Some(var),
            _ => None,
        });
        let site = self.site_in(at.start, Some(layer.name));
        let block = self.block;
        let mut build = layers::Call {
            program: &mut self.program,
            block,
            site,
            layer,
            arguments,
            path: path.clone(),
            former,
            created: 0,
        };
        match build.build() {
            Ok(built) => {
                self.note_checks(at);
                if layer.has_parameters() {
                    let first = self.blame(at);
                    for name in listed.unwrap_or_else(|| vec![path]) {
                        self.first_uses.entry(name).or_insert_with(|| first.clone());
                    }
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
                let first_use = self.first_uses.get(&path).or_else(|| self.first_uses.get(&name));
                let first_use = first_use.map(|first| first.beside(self.blame(at).at));
                let place = self.network.files.place(first_use.unwrap_or(at));
                self.error(at, Message::ParameterConflict { name, here: second, first, place });
                Value::Unknown
            }
            Err(error) => {
                let at = match extents[..] {
                    // If there is only one argument, the mistake is in it.
                    [only] => only,
                    _ => at,
                };
                self.build_error(error, at, &extents);
                Value::Unknown
            }
        }
    }

    /// Builds a layer for syntax that is not a call, such as `xs.rev()`, and returns its value.
    pub(super) fn with_layer(
        &mut self,
        layer: &str,
        arguments: Vec<(&'static str, Given, &Expr)>,
        at: Extent,
    ) -> Option<VarId> {
        let layer = Layer::find(layer)?;
        let extents: Vec<Extent> = arguments.iter().map(|(.., expr)| expr.at).collect();
        let passed = arguments
            .into_iter()
            .map(|(name, given, expr)| Passed::new(name, given, expr.words(), Vec::new()));
        let arguments = passed.collect();
        let (site, block) = (self.site_in(at.start, Some(layer.name)), self.block);
        let path = self.names.path(None, layer.name);
        let parameter_names::Path { name: path, former } = path;
        let program = &mut self.program;
        match (layers::Call { program, block, site, layer, arguments, path, former, created: 0 }).build() {
            Ok(Built::One(value)) => {
                self.note_checks(at);
                Some(value)
            }
            Ok(Built::Several(_)) => None,
            Err(error) => {
                self.build_error(error, at, &extents);
                None
            }
        }
    }

    /// The arguments of a layer, their places, and whether all are known. `values` are the lowered arguments of kind
    /// `Value`.
    fn layer_arguments(
        &mut self,
        layer: &Layer,
        call: &'a Call,
        mut values: std::vec::IntoIter<Option<VarId>>,
    ) -> (Vec<Passed>, Vec<Extent>, bool) {
        let by_position = layer.positional.iter().zip(&call.positional);
        let by_name = call.named.iter().filter_map(|named| {
            let argument = layer.named.iter().find(|argument| argument.name == text(&named.ident))?;
            Some((argument, &named.value))
        });
        let (mut arguments, mut extents) = (Vec::new(), Vec::new());
        // If a named argument is unknown, the shape is unknown too, unless no argument can change it.
        let is_known = call.named.iter().all(|named| layer.named(&text(&named.ident)).is_some());
        let mut complete = is_known || layer.has_parameters() || layer.named("axis").is_none();
        // All arguments that the last positional one may take.
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
        (arguments, extents, complete)
    }

    /// The positional arguments of kind `Value`. A number adapts to a value next to it.
    fn values(&mut self, layer: &Layer, call: &'a Call) -> std::vec::IntoIter<Option<VarId>> {
        let arguments = layer.positional.iter().zip(&call.positional);
        let arguments = arguments.filter(|(argument, _)| argument.kind == Kind::Value);
        let values = arguments.map(|(_, expr)| (self.expr(expr), expr.at)).collect();
        self.beside_each_other(values)
    }

    /// Turns values into values of the program. Numbers adapt to a value next to them.
    fn beside_each_other(&mut self, values: Vec<(Value<'a>, Extent)>) -> std::vec::IntoIter<Option<VarId>> {
        let dtype = values.iter().find_map(|(value, _)| match value {
            Value::Var(var) => Some(self.program.ty(*var).dtype),
            _ => None,
        });
        // Functions work on floats, so a size without other values becomes one.
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
    ) -> Option<parameter_names::Path> {
        let path = match call.named.iter().any(|named| text(&named.ident) == "param") {
            false => self.names.layer(&self.binding.base(layer.name)),
            true => arguments.iter().find_map(|passed| match &passed.given {
                Given::Name(name) => Some(self.names.given(name)),
                // These parameters have no path in common.
                Given::Names(_) => Some(Ok(self.names.path(self.binding.name(), layer.name))),
                _ => None,
            })?,
        };
        path.map_err(|why| self.nameless(why, layer.name, at)).ok()
    }
}
