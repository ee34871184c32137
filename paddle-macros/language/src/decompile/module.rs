//! The text of a module: its functions, and the network that calls them.

use std::collections::BTreeSet;

use paddle_core::ops::Program;
use paddle_core::program::{SymbolId, VarId};

use super::factor::Function;
use super::names::{Names, Naming, identifier};
use super::parameters::Parameters;
use super::print::Printer;
use super::sizes;
use super::tree::{Body, Expr};

/// The longest head of a function on one line.
const WIDTH: usize = 100;

/// What functions are written with.
pub(super) struct Module<'a> {
    pub(super) program: &'a Program,
    pub(super) parameters: &'a Parameters,
    pub(super) naming: &'a Naming<'a>,
}

impl Module<'_> {
    /// The text of the items. The network has a name, and inputs with types.
    pub(super) fn items(
        &self,
        network: (&str, Vec<(VarId, Option<String>)>),
        functions: &[Function],
        body: &Body,
    ) -> String {
        let mut text = String::new();
        for (symbol, it) in (0..).map(SymbolId).zip(self.program.symbols()) {
            if it.outside {
                text.push_str(&format!("    const {}: usize;\n\n", sizes::symbol_name(self.program, symbol)));
            }
        }
        for function in functions {
            text.push_str(&self.function(function));
            text.push('\n');
        }
        text.push_str(&self.network(network, body));
        text
    }

    fn network(&self, (name, inputs): (&str, Vec<(VarId, Option<String>)>), body: &Body) -> String {
        let named =
            |(input, _): &(VarId, Option<String>)| (*input, identifier(&self.program.var(*input).name));
        let values: Vec<(VarId, String)> = inputs.iter().map(named).collect();
        let names = Names::of(self.naming, &values, [], body);
        let typed = |(input, ty): &(VarId, Option<String>)| {
            format!("{}: {}", names.name(*input), ty.as_deref().unwrap_or("_"))
        };
        let inputs = inputs.iter().map(typed).collect();
        let outputs = self.program.outputs().iter();
        let results = outputs.map(|output| sizes::result(self.program, self.program.ty(*output))).collect();
        let mut used = BTreeSet::new();
        let numbers = sizes::numbers_of_rows(self.program);
        let all = numbers.iter().map(|(name, _)| name.clone()).collect();
        body.walk(&mut |part| {
            if let Expr::Word(word) = part {
                used.extend(sizes::named(word, &all));
            }
        });
        let numbers = numbers.iter().filter(|(name, _)| used.contains(name.as_str()));
        let numbers = numbers.map(|(name, input)| sizes::naming(name, names.name(*input)));
        // A size in front is taken for rows.
        let begins_with_a_size = |input: &&VarId| {
            let ty = self.program.ty(**input);
            ty.rows.is_none() && ty.dims.first().is_some_and(|dim| dim.as_symbol().is_some())
        };
        let inputs_of_sizes = self.program.inputs().iter().filter(begins_with_a_size);
        let whole =
            inputs_of_sizes.map(|input| (names.name(*input), format!("all_rows({})", names.name(*input))));
        let first = numbers.chain(whole.map(|(name, whole)| (name.to_string(), whole))).collect();
        self.written(&format!("pub fn {name}"), (inputs, results), first, &names, body)
    }

    fn function(&self, function: &Function) -> String {
        // As a person would call values of which nothing else is known.
        let usual = ["x", "y", "z"].into_iter().chain(std::iter::repeat("value"));
        let values = function.values.iter().zip(usual);
        let values: Vec<(VarId, String)> = values.map(|(value, usual)| (*value, usual.to_string())).collect();
        let sums = function.sums.iter().map(|(name, _)| name);
        let numbers: Vec<String> = function.numbers.iter().chain(sums).cloned().collect();
        let names = Names::of(self.naming, &values, numbers, &function.body);
        let taken = function.values.iter().map(|value| format!("{}: _", names.name(*value)));
        let inputs = taken.chain(function.numbers.iter().map(|number| format!("{number}: usize"))).collect();
        let results = function.body.results.iter().map(|_| "_".to_string()).collect();
        self.written(
            &format!("fn {}", function.name),
            (inputs, results),
            function.sums.clone(),
            &names,
            &function.body,
        )
    }

    /// The text of a function with a head. Its body begins with names of numbers.
    fn written(
        &self,
        head: &str,
        (inputs, results): (Vec<String>, Vec<String>),
        numbers: Vec<(String, String)>,
        names: &Names<'_>,
        body: &Body,
    ) -> String {
        let results = match &results[..] {
            [only] => only.clone(),
            results => format!("({})", results.join(", ")),
        };
        let one = format!("    {head}({}) -> {results} {{\n", inputs.join(", "));
        let mut text = if one.len() <= WIDTH + 1 {
            one
        } else {
            let lines: Vec<String> = inputs.iter().map(|input| format!("        {input},\n")).collect();
            format!("    {head}(\n{}    ) -> {results} {{\n", lines.concat())
        };
        for (name, is) in numbers {
            text.push_str(&format!("        let {name} = {is};\n"));
        }
        let mut printer = Printer { program: self.program, names, parameters: self.parameters, text };
        printer.body(body, 2);
        printer.text.push_str("    }\n");
        printer.text
    }
}
