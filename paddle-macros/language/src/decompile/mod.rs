//! Programs as source: the way back from a program to a module of the language.
//!
//! | file | |
//! | --- | --- |
//! | `graph` | what reads and writes each value |
//! | `statements` | blocks → the tree: what each operator is; `control`: branches and loops |
//! | `table` | operators that a layer becomes by itself, found in core's tables of layers |
//! | `patterns/` | what consists of several operators, or is written otherwise: a file for each kind |
//! | `library` | layers that are written in the language |
//! | `inline` | which values have names |
//! | `loops` | what iterations give, as assignments |
//! | `factor`, `shape`, `chains` | what is repeated, as functions, and their calls as loops |
//! | `names`, `parameters` | names of variables, and of parameters |
//! | `module`, `print` | the tree → text |

mod chains;
mod constants;
mod control;
mod error;
mod factor;
mod graph;
mod inline;
mod library;
mod loops;
mod module;
mod names;
mod parameters;
mod patterns;
mod print;
mod row_sizes;
mod rows;
mod shape;
mod sizes;
mod spread;
mod statements;
mod table;
mod tree;

use paddle_core::ops::Program;
use paddle_core::program::{BlockId, SymbolId, VarId};

pub use error::{Lack, NotWritable};

use crate::compile::on_a_thread;
use loops::Variables;
use module::Module;
use names::Naming;
use parameters::Parameters;
use statements::Blocks;
use tree::{Call, Expr, Statement};

/// A program as a Rust file with a module of one network, which computes the same. `module_name` is the module's name;
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
pub fn decompile(program: &Program, module_name: &str) -> Result<String, NotWritable> {
    let written = on_a_thread(|| items(program, &Form::default()));
    let items = written.unwrap_or_else(|error| {
        let why = format!("there is no thread to write it on: {error}");
        Err(NotWritable { lacks: vec![Lack::of_value(module_name, why)] })
    })?;
    let name = names::identifier(module_name);
    Ok(format!("use paddle::attribute::network;\n\n#[network]\npub mod {name} {{\n{items}}}\n"))
}

/// What the items of a module depend on, beside the program.
#[derive(Default)]
pub(crate) struct Form {
    /// The name of the network, if it has one.
    pub(crate) name: Option<String>,
    /// Names that other items of the module have.
    pub(crate) reserved: Vec<String>,
    /// Whether the network may be called by others, so that no name of a parameter may depend on where it is.
    pub(crate) is_called: bool,
}

/// A program as items of a module: its network, and the functions that it calls.
pub(crate) fn items(program: &Program, form: &Form) -> Result<String, NotWritable> {
    let blocks = Blocks::new(program);
    let mut body = blocks.body(BlockId::GLOBAL);
    body.results = program.outputs().iter().map(|output| blocks.whole(*output)).collect();
    let mut lacks = row_sizes::bind(program, &mut body);
    inline::drop_unread(&mut body, &|_| false);
    // An input that is not read has to be one by intention.
    let is_unread = |input: &&VarId| blocks.graph.reads(**input) == 0;
    let unread = program.inputs().iter().filter(is_unread);
    let copies = unread.map(|input| Call::of("assign", vec![Expr::Value(*input)]).into());
    body.statements.extend(copies.map(|value| Statement::Let { outputs: vec![None], value }));
    for tap in program.taps() {
        let tapped = Call::of("tap", vec![blocks.value(tap.var), Expr::Text(tap.name.clone())]);
        body.statements.push(Statement::Let { outputs: vec![None], value: tapped.into() });
    }
    let given = names::all_given(&blocks.graph);
    let parameters = Parameters::of(program, form.is_called);
    let mut functions = factor::factor(program, &parameters, &form.reserved, &mut body);
    chains::chain(&functions, &mut body);
    inline::inline(&mut body, &|var| given.contains_key(&var));
    functions.iter_mut().for_each(|function| inline::inline(&mut function.body, &|_| false));
    let variables = Variables::of(&mut body, program.vars().len());
    body.walk(&mut |value| {
        if let Expr::Lack(lack) = value {
            lacks.push(Lack::clone(lack));
        }
    });
    lacks.extend(parameters.lacks());
    let outputs = program.outputs();
    let usual = match outputs.first().is_some_and(|first| program.ty(*first).is_scalar()) {
        true => "cost",
        false => "predict",
    };
    let function = form.name.as_deref().unwrap_or(usual);
    let types: Vec<(VarId, Option<String>)> =
        program.inputs().iter().map(|input| (*input, sizes::input(program, program.ty(*input)))).collect();
    for (input, _) in types.iter().filter(|(_, ty)| ty.is_none()) {
        let why = format!("no input is {}", program.show(program.ty(*input)));
        lacks.push(Lack::of_value(&program.var(*input).name, why));
    }
    if !lacks.is_empty() {
        return Err(NotWritable { lacks });
    }
    let sizes = (0..program.symbols().len() as u32).map(|at| sizes::symbol_name(program, SymbolId(at)));
    let reserved = functions.iter().map(|function| function.name.clone()).chain([function.to_string()]);
    let reserved = sizes.chain(reserved).chain(form.reserved.iter().cloned()).collect();
    let naming = Naming { variables: &variables, given: &given, reserved };
    let module = Module { program, parameters: &parameters, naming: &naming };
    Ok(module.items((function, types), &functions, &body))
}
