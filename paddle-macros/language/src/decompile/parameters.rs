//! The names, initialisers and options of parameters, as arguments of their layers.

use std::collections::BTreeMap;

use paddle_core::layers::Layer;
use paddle_core::ops::{Parameter, Program};
use paddle_core::program::{OpInterface, VarId};

use super::error::Lack;
use super::tree::{Call, Expr};
use crate::parameter_names::{is_path, is_whole_name};

/// What is said about parameters.
pub(super) struct Parameters {
    /// Whether a program has its own first values. One that was saved for inference begins with zeros.
    has_first_values: bool,
    /// Whether all names are said, whatever variables are called.
    are_all_said: bool,
    names: BTreeMap<VarId, String>,
}

impl Parameters {
    pub(super) fn of(program: &Program, are_all_said: bool) -> Self {
        let zeros = |parameter: VarId| {
            let is_zero =
                |it: &Parameter<'_>| it.initializer.as_initializer() == "constant(0.0)" && !it.options.chosen;
            program.parameter(parameter).as_ref().is_some_and(is_zero)
        };
        let names = program.parameters().map(|parameter| (parameter, program.var(parameter).name.clone()));
        let has_first_values = !program.parameters().all(zeros);
        Parameters { has_first_values, are_all_said, names: names.collect() }
    }

    /// The names that cannot be written.
    pub(super) fn lacks(&self) -> Vec<Lack> {
        let wrong = self.names.values().filter(|name| !is_whole_name(name) || name.starts_with('.'));
        let why = || "a name of a parameter is not empty, and begins with no `.`".to_string();
        wrong.map(|name| Lack::of_value(name, why())).collect()
    }

    /// What the names of a call's parameters have in front of their roles; `None` if they are no such names.
    fn path(&self, parameters: &[(String, VarId)]) -> Option<&str> {
        let mut paths = parameters
            .iter()
            .map(|(role, var)| self.names.get(var)?.strip_suffix(role.as_str())?.strip_suffix('.'));
        let first = paths.next()??;
        (paths.all(|path| path == Some(first)) && is_path(first) && !first.starts_with('.')).then_some(first)
    }

    /// The arguments about the parameters of a call. Those that a variable names need no `param`.
    pub(super) fn arguments(
        &self,
        program: &Program,
        call: &Call,
        variable: Option<&str>,
    ) -> Vec<(&'static str, Expr)> {
        let names = || call.parameters.iter().filter_map(|(_, var)| self.names.get(var));
        let mut arguments = Vec::new();
        match self.path(&call.parameters) {
            Some(path) if variable == Some(path) && !self.are_all_said => {}
            Some(path) => arguments.push(("param", Expr::Text(path.to_string()))),
            None if call.parameters.is_empty() => {}
            None => arguments.push((
                "param",
                Expr::List(
                    names().map(|name| Expr::Text(name.replace('{', "{{").replace('}', "}}"))).collect(),
                ),
            )),
        }
        // Those of the library have their own first values.
        if Layer::find(&call.layer).is_some() {
            arguments.extend(self.options(program, call));
        }
        arguments
    }

    /// The initialisers and options that a user has chosen.
    fn options(&self, program: &Program, call: &Call) -> Vec<(&'static str, Expr)> {
        let mut options: Vec<(&'static str, String)> = Vec::new();
        let trained = call.parameters.iter().filter(|(_, var)| program.parameter_options(*var).trainable);
        for (role, var) in trained {
            let Some(parameter) = program.parameter(*var) else { continue };
            let name = if matches!(role.as_str(), "b" | "shift") { "bias_init" } else { "init" };
            let first = match &*call.layer {
                // Its default is the same for all roles.
                "parameter" => Some(parameter.initializer.as_initializer()).filter(|it| it != "xavier()"),
                _ => parameter.chosen_initializer(),
            };
            options.extend(first.filter(|_| self.has_first_values).map(|first| (name, first)));
            for (name, number) in parameter.options.numbers() {
                options.extend(number.map(|number| (name, format!("{number:?}"))));
            }
        }
        options.sort();
        options.dedup_by_key(|(name, _)| *name);
        options.into_iter().map(|(name, value)| (name, Expr::Word(value))).collect()
    }
}
