//! Compilation at run time, where there is no rustc: for a notebook, a server, a file that users edit. The feature
//! `language` enables it, because it brings the front end and a parser of Rust into the program:
//!
//! ```toml
//! paddle-rs = { version = "0.1", features = ["language"] }
//! ```
//!
//! The source is a closure, as for [`network!`](crate::network!), or a module. Mistakes have the same texts and places
//! as with rustc. But the code around the source is missing, so [`Options`] has to give what it would provide: the
//! sizes of paths (`crate::WIDTH`), of const parameters and of captured variables, and the sources of imports.
//!
//! ```
//! use paddle::language::{Options, compile};
//! use paddle::{Parameters, Sgd, Trainer};
//!
//! // As it may stand in a file.
//! let source = "
//!     const WORDS: usize;
//!     fn line(x: _) -> _ { fc(x, 1) }
//!     pub fn cost(x: Tensor<f32, _, WORDS>, y: Tensor<f32, _, 1>) -> _ { mean(square(line(x) - y)) }
//!     pub fn price(x: Tensor<f32, _, WORDS>) -> _ { line(x) }
//! ";
//! let options = Options::new().file("line.rs").network("cost").size("WORDS", 2);
//! let cost = compile::<(Vec<f32>, f32)>(source, &options)?;
//! let mut parameters = Parameters::create(&cost)?;
//! let rows = [(vec![1.0, 2.0], 5.0), (vec![2.0, 1.0], 4.0)];
//! let mut trainer = Trainer::new(Sgd::new(0.05));
//! let first = trainer.step(&cost, &mut parameters, &rows)?.cost();
//! assert!(trainer.step(&cost, &mut parameters, &rows)?.cost() < first);
//!
//! let wrong = compile::<[f32; 2]>("|x: Tensor<f32, _, 2>| sofmax(x)", &Options::new().file("line.rs")).unwrap_err();
//! assert_eq!((wrong[0].id, wrong[0].place.start.line, wrong[0].place.start.column), ("unknown-layer", 1, 24));
//! assert!(wrong.to_string().starts_with("error: there is no layer or `fn` `sofmax`; did you mean `softmax`?\n --> line.rs:1:24\n"));
//! # Ok::<(), paddle::Error>(())
//! ```
//!
//! [`decompile`] is the way back: a program, such as that of a model which PaddlePaddle saved, as the source of a module.

pub use paddle_language::{
    Compiled, Diagnostic, Diagnostics, Found, Lack, NotWritable, Options, Place, Position, Severity,
    Topology, decompile, networks_of,
};

use crate::batch::Row;
use crate::network::{Dynamic, Network};

/// Compiles a source to a network: the only one, or the one that [`Options::network`] chooses. Rows have the type `R`,
/// which is compared with the inputs when a batch is made; `()` is for a network that is fed with arrays.
///
/// If the source declares operators, [`Network::with_operators`] links them.
///
/// # Errors
/// All mistakes of the source, also those in its other networks. It is an error, too, if there are several networks and
/// none is chosen.
pub fn compile<R: Row + 'static>(
    source: &str,
    options: &Options,
) -> Result<Network<Dynamic<R>>, Diagnostics> {
    let Topology { name, program } = paddle_language::compile(source, options)?.only()?;
    Ok(Network::of_source(&name, program))
}

/// Compiles a source to the programs of all its networks, with warnings. [`Network::from_program`] turns a program into
/// a network.
///
/// ```
/// use paddle::language::{Options, compile_all};
/// use paddle::{Dynamic, Network, Parameters};
///
/// let source = "
///     fn line(x: _) -> _ { fc(x, 1) }
///     pub fn cost(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> _ { mean(square(line(x) - y)) }
///     pub fn price(x: Tensor<f32, _, 2>) -> _ { line(x) }
/// ";
/// let compiled = compile_all(source, &Options::new())?;
/// assert!(compiled.warnings.is_empty());
/// let networks = compiled.topologies.into_iter().map(|topology| Network::<Dynamic>::from_program(topology.program));
/// let [cost, price] = &networks.collect::<Result<Vec<_>, _>>()?[..] else { panic!("two networks") };
/// // One set of parameters for both.
/// assert!(Parameters::create((cost, price))?.get::<f32>("line.fc.w").is_ok());
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// All mistakes of the source.
pub fn compile_all(source: &str, options: &Options) -> Result<Compiled, Diagnostics> {
    paddle_language::compile(source, options)
}
