//! The user's own operators: a declaration becomes a definition, which every use of the operator carries.

use paddle_core::ops::{Arguments, Custom, Definition, LinkedKernel, Number};
use paddle_core::program::{VarId, Words};

use super::Lowering;
use super::call::Argument;
use crate::ast::{Call, CustomOperator, Function, FunctionId, Network, PatternKind, TypeKind, text};
use crate::messages::Message;
use crate::report::{Extent, Sink};
use crate::values::{Slot, Value};

/// The names that parameters of a gradient may have, apart from the inputs and numbers of the operator: the output, and
/// its gradient.
const OUT: &str = "out";
const GRAD: &str = "grad";

/// The declared operator, with the default values of its numbers; `None` if a mistake has been reported.
pub fn declare(network: &Network, function: FunctionId, is_known: bool, sink: &mut Sink) -> Option<Custom> {
    let function = &network.functions[function.0];
    let operator = function.operator.as_ref()?;
    let mut lowering = Lowering::new(network, is_known, sink);
    lowering.unit = function.unit;
    lowering.constants();
    let numbers = lowering.numbers(function, Vec::new())?;
    lowering.custom(function, operator, &numbers)
}

/// The values of an operator's numbers, by name.
type Numbers<'a> = Vec<(String, Value<'a>)>;

impl<'a> Lowering<'a, '_> {
    /// Lowers a call of an operator.
    pub(super) fn operator_call(
        &mut self,
        function: &'a Function,
        operator: &'a CustomOperator,
        call: &'a Call,
        at: Extent,
    ) -> Value<'a> {
        let (mut inputs, mut extents, mut words, mut given) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for Argument { param, argument, value } in self.arguments(call, function.positional()) {
            match &param.ty {
                Some(ty) if matches!(ty.kind, TypeKind::Constant(_)) => {
                    let name = param.name().unwrap_or_default();
                    let declared = format!("`{name}` of `{}`", text(&call.ident));
                    given.push((name, self.ascribe(ty, value, &argument.words(), &declared, argument.at)));
                }
                _ => {
                    inputs.push(self.materialize(&value, argument.at));
                    extents.push(argument.at);
                    words.push(argument.words());
                }
            }
        }
        let Some(numbers) = self.numbers(function, given) else { return Value::Unknown };
        self.calls.push(self.frame(call, at));
        let custom = self.custom(function, operator, &numbers);
        self.calls.pop();
        // A wrong number of inputs has been reported.
        let inputs = inputs.into_iter().collect::<Option<Vec<VarId>>>();
        let inputs = inputs.filter(|_| call.positional.len() == function.positional().count());
        let (Some(custom), Some(inputs)) = (custom, inputs) else { return Value::Unknown };
        self.append_custom(
            custom,
            &inputs,
            Words { operator: text(&call.ident), inputs: words },
            &extents,
            at,
        )
    }

    fn append_custom(
        &mut self,
        custom: Custom,
        inputs: &[VarId],
        words: Words,
        extents: &[Extent],
        at: Extent,
    ) -> Value<'a> {
        let site = self.site(at.start);
        match self.program.append_op_in_words(self.block, custom, inputs, site, &words) {
            Ok(outputs) => {
                self.note_checks(at);
                outputs.first().map_or(Value::Unknown, |&output| Value::Var(output))
            }
            Err(error) => {
                self.build_error(error, at, extents);
                Value::Unknown
            }
        }
    }

    /// All numbers of an operator, in the order of their declaration; `None` if a mistake has been reported.
    fn numbers(&mut self, function: &'a Function, mut given: Numbers<'a>) -> Option<Numbers<'a>> {
        let mut numbers = Vec::new();
        for param in function.named() {
            let name = param.name()?;
            let at = param.pattern.at;
            let value = match given.iter().position(|(other, _)| *other == name) {
                Some(found) => given.swap_remove(found).1,
                None => self.default(param, param.default.as_ref()?),
            };
            match value {
                Value::Constant(_) => numbers.push((name, value)),
                Value::Size(size) => {
                    self.undecided(&size, at);
                    return None;
                }
                _ => return None,
            }
        }
        Some(numbers)
    }

    /// The operator with the given numbers.
    fn custom(
        &mut self,
        function: &'a Function,
        operator: &'a CustomOperator,
        numbers: &Numbers<'a>,
    ) -> Option<Custom> {
        if !operator.is_right {
            return None;
        }
        let mut inner = Lowering::new(self.network, self.is_known, self.sink);
        inner.unit = function.unit;
        inner.calls.clone_from(&self.calls);
        inner.is_definition = true;
        inner.constants();
        let with_gradient = !self.is_definition;
        inner.definition(function, operator, numbers, with_gradient)?;
        let program = std::mem::take(&mut inner.program);
        let definition = match Definition::new(program) {
            Ok(definition) => definition,
            Err(error) => {
                let (name, why) = (text(&function.ident), error.to_string());
                inner.error(function.ident.span(), Message::NoOperator { name, why });
                return None;
            }
        };
        let number = |(name, value): &(String, Value<'a>)| match value {
            Value::Constant(constant) => Some((name.clone(), constant.number)),
            _ => None,
        };
        let arguments: Option<Vec<(String, Number)>> = numbers.iter().map(number).collect();
        Some(Custom {
            name: operator.name.clone(),
            row_wise: operator.row_wise,
            arguments: Arguments::new(arguments?),
            definition,
            kernel: LinkedKernel::none(),
        })
    }

    /// Lowers the definition of an operator into the present program.
    fn definition(
        &mut self,
        function: &'a Function,
        operator: &'a CustomOperator,
        numbers: &Numbers<'a>,
        with_gradient: bool,
    ) -> Option<()> {
        let inputs = self.inputs(function.positional()).into_iter().collect::<Option<Vec<_>>>()?;
        let mut values: Numbers<'a> =
            inputs.iter().map(|input| (text(&input.ident), Value::Var(input.var))).collect();
        let Some(TypeKind::Tensor { dtype, dims }) = function.result.as_ref().map(|ty| &ty.kind) else {
            return None;
        };
        let ty = self.declared_type(OUT, *dtype, dims, 0)?;
        let gradient = operator.gradient.as_ref().filter(|_| with_gradient);
        for name in [OUT, GRAD].into_iter().take(if gradient.is_some() { 2 } else { 1 }) {
            let Ok(var) = self.program.create_input(name, ty.clone()) else {
                self.error(function.ident.span(), Message::Duplicate { name: name.to_string() });
                return None;
            };
            values.push((name.to_string(), Value::Var(var)));
        }
        let Some((ident, to)) = gradient else { return Some(()) };
        values.extend(numbers.iter().cloned());
        let network = self.network;
        let gradient = &network.functions[(*to)?.0];
        for param in gradient.positional() {
            let name = param.name().unwrap_or_default();
            if !values.iter().any(|(known, _)| *known == name) {
                let known: Vec<String> = values.iter().map(|(known, _)| format!("`{known}`")).collect();
                let (operator, known) = (text(&function.ident), known.join(", "));
                let message = Message::GradientParameter { gradient: text(ident), name, operator, known };
                self.error(ident.span(), message);
                return None;
            }
        }
        let value = self.gradient(gradient, &values, ident.span().into());
        let mut outputs = Vec::new();
        for part in match value {
            Value::Tuple(parts) => parts,
            Value::Unknown => return None,
            value => vec![value],
        } {
            outputs.push(self.materialize(&part, gradient.ident.span().into())?);
        }
        self.program.set_outputs(&outputs).ok()
    }

    /// The value of a gradient function. Its parameters get the values of the same names.
    fn gradient(&mut self, gradient: &'a Function, values: &Numbers<'a>, at: Extent) -> Value<'a> {
        let of = |name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        self.unit = gradient.unit;
        self.dims.clear();
        if let Some(operator) = &gradient.operator {
            let var = |name: &str| match of(name) {
                Some(Value::Var(var)) => Some(var),
                _ => None,
            };
            let names: Vec<String> = gradient.positional().filter_map(|param| param.name()).collect();
            let Some(inputs) = names.iter().map(|name| var(name)).collect::<Option<Vec<_>>>() else {
                return Value::Unknown;
            };
            let given = gradient.named().filter_map(|param| {
                let name = param.name()?;
                Some((name.clone(), of(&name)?))
            });
            let Some(numbers) = self.numbers(gradient, given.collect()) else { return Value::Unknown };
            let Some(custom) = self.custom(gradient, operator, &numbers) else { return Value::Unknown };
            let words = names.iter().map(|name| format!("`{name}`")).collect();
            let words = Words { operator: text(&gradient.ident), inputs: words };
            return self.append_custom(custom, &inputs, words, &[], at);
        }
        for param in &gradient.params {
            let PatternKind::Name { ident, binding: Some(binding), .. } = &param.pattern.kind else {
                continue;
            };
            let Some(value) = of(&text(ident)) else { continue };
            let what = format!("`{}` of `{}`", text(ident), text(&gradient.ident));
            let value = match &param.ty {
                Some(ty) => self.ascribe(ty, value, &format!("`{}`", text(ident)), &what, at),
                None => value,
            };
            self.env.insert(*binding, Slot { value, at: param.pattern.at });
        }
        self.defaults(gradient, &|name| of(name).is_some());
        self.body(&gradient.body, &gradient.result)
    }
}
