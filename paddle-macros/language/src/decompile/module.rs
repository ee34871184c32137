//! The text of a module: its functions, and the network that calls them.

use paddle_core::ops::Program;
use paddle_core::program::{SymbolId, VarId};

use super::factor::Function;
use super::names::{Names, Naming, identifier};
use super::parameters::Parameters;
use super::print::Printer;
use super::sizes;
use super::tree::Body;

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
        self.written(&format!("pub fn {name}"), inputs, results, &[], &names, body)
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
            inputs,
            results,
            &function.sums,
            &names,
            &function.body,
        )
    }

    fn written(
        &self,
        head: &str,
        inputs: Vec<String>,
        results: Vec<String>,
        sums: &[(String, String)],
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
        for (name, sum) in sums {
            text.push_str(&format!("        let {name} = {sum};\n"));
        }
        let mut printer = Printer { program: self.program, names, parameters: self.parameters, text };
        printer.body(body, 2);
        printer.text.push_str("    }\n");
        printer.text
    }
}
