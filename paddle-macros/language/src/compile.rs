//! Compilation at run time: a source → the programs of its networks.

use std::io;
use std::thread;

use paddle_core::ops::Program;
use paddle_core::program::SymbolId;
use proc_macro2::Span;

use crate::ast::{OutsideSize, SizeOrigin, text};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::files::Files;
use crate::lower::Lowered;
use crate::messages::Message;
use crate::options::Options;
use crate::parse::{Form, Source};
use crate::report::{Blame, Extent, Report, Sink};
use crate::source::Sources;

/// A network of a source.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The name of its `pub fn`; `network` for a closure.
    pub name: String,
    /// Its program.
    pub program: Program,
}

/// The result of compiling a source without mistakes.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The networks, in the order of the source.
    pub topologies: Vec<Topology>,
    /// Warnings: places where the user may have meant something else.
    pub warnings: Diagnostics,
    /// The error for [`only`](Self::only) if there are several networks.
    several: Diagnostics,
}

impl Compiled {
    /// The only network.
    ///
    /// # Errors
    /// The source has several networks. [`Options::network`] chooses one.
    pub fn only(mut self) -> Result<Topology, Diagnostics> {
        match self.topologies.pop() {
            Some(only) if self.topologies.is_empty() => Ok(only),
            _ => Err(self.several),
        }
    }
}

/// The stack for the deepest source that is accepted, with a reserve.
const STACK: usize = 64 << 20;

/// Compiles a source. The source is a closure, which is one network and has its inputs as parameters, or the items of a
/// module, whose `pub fn`s are networks.
///
/// The language is that of the guides, and the messages are those that rustc prints for the same source in a crate.
/// [`Options`] gives what rustc would know about the code around it.
///
/// ```
/// use paddle_language::{Options, compile};
///
/// let source = "
///     fn line(x: _) -> _ { fc(x, 1) }
///     pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> _ { mean(square(line(x) - y)) }
///     pub fn price(x: Tensor<f32, _, 13>) -> _ { line(x) }
/// ";
/// let compiled = compile(source, &Options::new().file("line.rs"))?;
/// let names: Vec<&str> = compiled.topologies.iter().map(|topology| topology.name.as_str()).collect();
/// assert_eq!(names, ["cost", "price"]);
/// assert!(compiled.topologies[1].program.find("line.fc.w").is_some());
/// # Ok::<(), paddle_language::Diagnostics>(())
/// ```
///
/// # Errors
/// All mistakes that are found, each with its place, followed by the warnings.
pub fn compile(source: &str, options: &Options) -> Result<Compiled, Diagnostics> {
    let compiled = on_a_thread(|| compile_here(source, options));
    compiled.unwrap_or_else(|error| {
        let text = format!("there is no thread to compile it on: {error}");
        Err(Diagnostics::of([at_the_beginning(Message::Limit { text }, &Files::default())]))
    })
}

/// Runs what walks trees by recursion, which needs a known stack. `proc_macro2` frees its source texts when the thread ends.
///
/// # Errors
/// There is no thread.
pub(crate) fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("paddle-language".into()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, work);
        thread.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Compiles on the present thread, as the macros have to: rustc's tokens are those of one thread.
pub(crate) fn compile_here(source: &str, options: &Options) -> Result<Compiled, Diagnostics> {
    let mut sources = Sources::new(options);
    let analysis = sources.analyse(source);
    let Sources { files, mut reports, mut doubts, .. } = sources;
    reports.extend(analysis.reports);
    doubts.extend(analysis.doubts);
    let errors = |reports: &[Report]| -> Vec<Diagnostic> {
        reports.iter().map(|report| Diagnostic::of(Severity::Error, report, &files)).collect()
    };
    let warnings: Vec<Diagnostic> =
        doubts.iter().map(|doubt| Diagnostic::of(Severity::Warning, doubt, &files)).collect();
    let source = match analysis.source {
        Some(source) if reports.is_empty() => source,
        _ => return Err(Diagnostics::of(errors(&reports).into_iter().chain(warnings))),
    };
    let named = analysis.lowered.into_iter().map(|(at, lowered)| {
        let ident = &source.network.functions[at].ident;
        (name(&source, &text(ident)), Extent::from(ident.span()), lowered)
    });
    let (mut named, mut sink): (Vec<_>, _) = (named.collect(), Sink::default());
    let names: Vec<String> = named.iter().map(|(name, ..)| format!("`{name}`")).collect();
    let which = |asked: String| {
        Diagnostics::of([at_the_beginning(Message::WhichNetwork { asked, names: names.join(", ") }, &files)])
    };
    if let Some(chosen) = &options.network {
        named.retain(|(name, ..)| name == chosen);
        if named.is_empty() {
            return Err(which(format!("there is no network `{chosen}`")));
        }
    }
    let several = which("one network is asked for, and `Options::network` says which".into());
    let topologies = named.into_iter().filter_map(|(name, at, lowered)| {
        Some(Topology { name, program: closed(lowered, at, options, &mut sink)? })
    });
    let topologies = topologies.collect();
    match sink.finish() {
        reports if reports.is_empty() => {
            Ok(Compiled { topologies, warnings: Diagnostics::of(warnings), several })
        }
        reports => Err(Diagnostics::of(errors(&reports).into_iter().chain(warnings))),
    }
}

fn name(source: &Source, function: &str) -> String {
    match source.form {
        Form::Expression => "network".into(),
        Form::Module { .. } => function.into(),
    }
}

fn at_the_beginning(message: Message, files: &Files) -> Diagnostic {
    let blame = Blame { at: Span::call_site().into(), calls: Vec::new(), inside: None };
    Diagnostic::of(Severity::Error, &Report { message, blame }, files)
}

/// The program of a topology with values for its outside sizes; `None` if a mistake has been reported. `at` is the name
/// of the topology.
fn closed(lowered: Lowered, at: Extent, options: &Options, sink: &mut Sink) -> Option<Program> {
    let program = lowered.program?;
    let before = sink.len();
    for (name, _) in program.outside_constants() {
        if let Some((_, place)) = lowered.sizes.constants.iter().find(|(known, _)| known == name) {
            code_around(place, "write its elements out in this source", sink);
        }
    }
    let mut values: Vec<(SymbolId, i64)> = Vec::new();
    for (symbol, size) in &lowered.sizes.outside {
        match options.sizes.get(&size.name) {
            Some(value) => values.push((*symbol, *value)),
            None => {
                let instead = format!("give it, `Options::size(\"{}\", ..)`", size.name);
                code_around(size, &instead, sink);
            }
        }
    }
    if sink.len() > before || values.is_empty() {
        return (sink.len() == before).then_some(program);
    }
    let value = |symbol| values.iter().find(|(known, _)| *known == symbol).map(|(_, value)| *value);
    let name = |symbol: SymbolId| program.symbols()[symbol.0 as usize].name.clone();
    for (check, blame) in program.checks().iter().zip(&lowered.sizes.blames) {
        if check.condition.evaluate(&value) == Some(false) {
            let message = Message::Shape { text: check.explain(&name, &value) };
            sink.push(Report { message, blame: blame.clone() });
        }
    }
    if sink.len() > before {
        return None;
    }
    let bound = program.bind(&values);
    bound.map_err(|error| sink.error(at, Message::Shape { text: error.to_string() })).ok()
}

/// Reports a size or constant of the surrounding code whose value is not known here.
fn code_around(size: &OutsideSize, instead: &str, sink: &mut Sink) {
    let at = match &size.origin {
        SizeOrigin::Path(path) => Extent::of(path),
        SizeOrigin::Generic(ident) | SizeOrigin::RunTime(ident) => ident.span().into(),
    };
    let what = format!("the value of `{}`", size.name);
    sink.error(at, Message::CodeAround { what, instead: instead.to_string() });
}
