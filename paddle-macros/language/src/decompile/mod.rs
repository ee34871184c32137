//! Programs as source: the way back from a program to a module of the language.
//!
//! | file | |
//! | --- | --- |
//! | `graph` | what reads and writes each value |
//! | `statements` | blocks → the tree: branches, loops, and what each operator is |
//! | `table` | operators that a layer becomes by itself, found in core's tables of layers |
//! | `patterns/` | what consists of several operators, or is written otherwise: a file for each kind |
//! | `inline` | which values have names |
//! | `loops` | what iterations give, as assignments |
//! | `names`, `parameters` | names of variables, and of parameters |
//! | `print` | the tree → text |

mod constants;
mod error;
mod graph;
mod inline;
mod loops;
mod names;
mod parameters;
mod patterns;
mod print;
mod sizes;
mod statements;
mod table;
mod tree;

use paddle_core::ops::Program;
use paddle_core::program::{BlockId, VarId};

pub use error::{Lack, NotWritable};

use loops::Variables;
use names::Names;
use parameters::Parameters;
use print::Printer;
use statements::Blocks;
use tree::{Call, Expr, Statement};

/// A program as a Rust file with a module of one network, which computes the same. `module` is the name of the module;
/// it is changed if it is no name in Rust. The network has the name `predict`, or `cost` if the program gives a scalar
/// first.
///
/// Parameters have the names of the program, so that values fit which were saved with it.
///
/// ```
/// use paddle_language::{Options, compile, decompile, networks_of};
///
/// let source = "|x: Tensor<f32, _, 2>| { let y = fc(x, 3, act = relu); softmax(y) }";
/// let program = compile(source, &Options::new())?.only()?.program;
/// let text = decompile(&program, "small").unwrap();
/// assert_eq!(text, "\
/// use paddle::attribute::network;
///
/// #[network]
/// pub mod small {
///     pub fn predict(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 3> {
///         let y = fc(x, 3, act = relu);
///         softmax(y)
///     }
/// }
/// ");
/// let [module] = &networks_of(&text, &Options::new())?[..] else { panic!("one module") };
/// assert!(compile(&module.source, &Options::new())?.topologies[0].program.find("y.w").is_some());
/// # Ok::<(), paddle_language::Diagnostics>(())
/// ```
///
/// # Errors
/// All parts of the program that the language cannot say, each with its place: operators of a training, of users and of
/// other systems, inputs and parameters whose names or types the language does not have.
pub fn decompile(program: &Program, module: &str) -> Result<String, NotWritable> {
    let blocks = Blocks::new(program);
    let mut body = blocks.body(BlockId::GLOBAL);
    for tap in program.taps() {
        let tapped = Call::of("tap", vec![blocks.value(tap.var), Expr::Text(tap.name.clone())]);
        body.statements.push(Statement::Let { outputs: vec![None], value: tapped.into() });
    }
    let usual = names::usual();
    let is_given = |var: VarId| names::given(&program.var(var).name, &usual).is_some();
    inline::inline(&mut body, &is_given);
    let variables = Variables::of(&mut body, program.vars().len());
    let parameters = Parameters::of(program, &body);
    let mut lacks = Vec::new();
    body.walk(&mut |value| {
        if let Expr::Lack(lack) = value {
            lacks.push(Lack::clone(lack));
        }
    });
    lacks.extend(parameters.lacks());
    let outputs = program.outputs();
    let function = match outputs.first().is_some_and(|first| program.ty(*first).is_scalar()) {
        true => "cost",
        false => "predict",
    };
    let names = Names::of(program, &body, variables, function);
    let inputs = inputs(program, &names, &mut lacks);
    if !lacks.is_empty() {
        return Err(NotWritable { lacks });
    }
    let results: Vec<String> = outputs.iter().map(|output| sizes::result(program, program.ty(*output))).collect();
    let results = if let [only] = &results[..] { only.clone() } else { format!("({})", results.join(", ")) };
    let mut printer = Printer { program, names: &names, parameters: &parameters, text: String::new() };
    printer.text.push_str("use paddle::attribute::network;\n\n#[network]\n");
    printer.text.push_str(&format!("pub mod {} {{\n", names::identifier(module)));
    for symbol in program.symbols().iter().filter(|symbol| symbol.outside) {
        printer.text.push_str(&format!("    const {}: usize;\n\n", symbol.name));
    }
    printer.text.push_str(&signature(function, &inputs, &results));
    printer.body(&body, 2);
    printer.text.push_str("    }\n}\n");
    Ok(printer.text)
}

/// The inputs as parameters of a function.
fn inputs(program: &Program, names: &Names<'_>, lacks: &mut Vec<Lack>) -> Vec<String> {
    let mut written = Vec::new();
    for &input in program.inputs() {
        match sizes::input(program, program.ty(input)) {
            Some(ty) => written.push(format!("{}: {ty}", names.name(input))),
            None => {
                let why = format!("no input is {}", program.show(program.ty(input)));
                lacks.push(Lack::of_value(&program.var(input).name, why));
            }
        }
    }
    written
}

/// The head of a function, on one line or on several.
fn signature(name: &str, inputs: &[String], results: &str) -> String {
    let one = format!("    pub fn {name}({}) -> {results} {{\n", inputs.join(", "));
    if one.len() <= 101 {
        return one;
    }
    let lines: Vec<String> = inputs.iter().map(|input| format!("        {input},\n")).collect();
    format!("    pub fn {name}(\n{}    ) -> {results} {{\n", lines.concat())
}
