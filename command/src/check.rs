//! `paddle check`: the mistakes in sources and the problems of models.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use paddle::language::{Diagnostic, Found, Options, Severity, compile_all, networks_of};

use crate::colour;
use crate::failure::{Failure, Verdict};
use crate::model::Model;

/// Finds mistakes in the networks of Rust files, in the words of rustc, and what a model has that cannot be run.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// Rust files, of which each `network!` and each module below `#[network]` is compiled, or models.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Takes Rust files as what `paddle::language::compile` takes: a closure, or the items of a module.
    #[arg(long)]
    bare: bool,
    /// A size that only rustc knows, of code around a network: `WIDTH=64`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = size)]
    size: Vec<(String, usize)>,
    /// The Rust file with a module that networks import from, by the path that they write: `crate::parts=src/parts.rs`.
    /// Modules of one file find each other.
    #[arg(long, value_name = "PATH=FILE", value_parser = source)]
    source: Vec<(String, PathBuf)>,
    /// A predicate of `#[cfg(..)]` that holds: `unix`, or `feature="wide"`.
    #[arg(long, value_name = "PREDICATE")]
    cfg: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  paddle check src/main.rs src/models/*.rs
  paddle check model.rs --size VOCABULARY=1000
  paddle check inflect.rs --source crate::speller::speller=parts/speller.rs
  paddle check resnet.pdmodel                     # lists all operators that are not supported

The exit code is 1 if there is a mistake or a problem. Warnings are none, and neither is what only rustc knows.";

fn size(text: &str) -> Result<(String, usize), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_string(), value.parse().map_err(|_| "expected a number of elements")?))
}

fn source(text: &str) -> Result<(String, PathBuf), String> {
    let (path, file) = text.split_once('=').ok_or("expected PATH=FILE")?;
    Ok((path.to_string(), file.into()))
}

/// What has been found in a source.
#[derive(Default)]
struct Findings {
    networks: usize,
    diagnostics: Vec<Diagnostic>,
}

impl Check {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let mut verdict = Verdict::Fine;
        for file in &self.files {
            // What is not there is no problem of a model.
            fs::metadata(file).map_err(|error| Failure::of(file, error))?;
            let of_file = match file.extension().is_some_and(|extension| extension == "rs") {
                true => self.sources(file, out)?,
                false => model(file, out)?,
            };
            if of_file == Verdict::Found {
                verdict = of_file;
            }
        }
        Ok(verdict)
    }

    /// Checks the networks of a Rust file.
    fn sources(&self, file: &Path, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let findings = self.findings(file)?;
        let is_coloured = colour::is_shown();
        for diagnostic in &findings.diagnostics {
            let text = diagnostic.to_string();
            writeln!(out, "{}", if is_coloured { colour::diagnostic(&text) } else { text })?;
        }
        let has = |id: &str| findings.diagnostics.iter().any(|diagnostic| diagnostic.id == id);
        if has(CODE_AROUND) {
            writeln!(out, "note: `--size NAME=VALUE` gives what only rustc knows\n")?;
        }
        if has("not-importable") {
            writeln!(out, "note: `--source PATH=FILE` gives the file of a module that is imported from\n")?;
        }
        let count = |severity| {
            findings.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
        };
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let counted =
            |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        writeln!(
            out,
            "{}: {}, {}, {}",
            file.display(),
            counted(findings.networks, "network"),
            counted(errors, "error"),
            counted(warnings, "warning")
        )?;
        Ok(if errors > 0 { Verdict::Found } else { Verdict::Fine })
    }

    fn findings(&self, file: &Path) -> Result<Findings, Failure> {
        let text = read(file)?;
        let mut texts = BTreeMap::from([(file.display().to_string(), text.clone())]);
        // Models that the file includes are looked for beside it.
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut options = Options::new().file(file.display().to_string()).folder(folder);
        for (name, value) in &self.size {
            options = options.size(name, *value);
        }
        for predicate in &self.cfg {
            options = options.cfg(predicate);
        }
        for (path, file) in &self.source {
            let text = read(file)?;
            options = options.source(path, file.display().to_string(), module(path, &text));
            texts.insert(file.display().to_string(), text);
        }
        let sources = match self.bare {
            true => vec![text],
            false => match networks_of(&text, &options) {
                Ok(found) => {
                    for Found { module, source, .. } in &found {
                        // The paths under which the modules of a file may see each other.
                        for path in module
                            .iter()
                            .flat_map(|name| ["super", "crate", "self"].map(|at| format!("{at}::{name}")))
                        {
                            options = options.source(path, file.display().to_string(), source);
                        }
                    }
                    found.into_iter().map(|found| found.source).collect()
                }
                Err(diagnostics) => {
                    return Ok(Findings { networks: 0, diagnostics: diagnostics.into_iter().collect() });
                }
            },
        };
        let (mut findings, mut known) = (Findings::default(), BTreeSet::new());
        for source in &sources {
            let diagnostics = match compile_all(source, &options) {
                Ok(compiled) => {
                    findings.networks += compiled.topologies.len();
                    compiled.warnings
                }
                Err(diagnostics) => diagnostics,
            };
            for mut diagnostic in diagnostics {
                // Sources that import from each other report the same mistakes.
                if known.insert(diagnostic.to_string()) {
                    with_lines_of(&texts, &mut diagnostic);
                    if diagnostic.id == CODE_AROUND {
                        diagnostic.severity = Severity::Warning;
                    }
                    findings.diagnostics.push(diagnostic);
                }
            }
        }
        Ok(findings)
    }
}

/// The id of what only rustc knows.
const CODE_AROUND: &str = "code-around";

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::of(file, error))
}

/// The source of the module that a path leads to: the one of its name in a file, or all of the file.
fn module(path: &str, text: &str) -> String {
    let (found, name) = (networks_of(text, &Options::new()).unwrap_or_default(), path.rsplit("::").next());
    let of_name = found.into_iter().find(|found| found.module.as_deref() == name);
    of_name.map_or(text.to_string(), |found| found.source)
}

/// Shows whole lines of the file, where the source of a network has only its part of them.
fn with_lines_of(texts: &BTreeMap<String, String>, diagnostic: &mut Diagnostic) {
    if let Some(text) = texts.get(&diagnostic.place.file) {
        let (first, count) = (diagnostic.place.start.line, diagnostic.lines.len());
        diagnostic.lines = text.lines().skip(first - 1).take(count).map(str::to_string).collect();
    }
}

/// Checks a model: its program, and the values of its parameters if there are any.
fn model(path: &Path, out: &mut dyn Write) -> Result<Verdict, Failure> {
    let model = Model::at(path);
    let checked = || {
        let program = model.program()?;
        if model.values()?.is_some() {
            model.load()?;
        }
        Ok::<_, Failure>(program)
    };
    match checked() {
        Ok(program) => {
            let operators: usize = program.blocks().iter().map(|block| block.ops.len()).sum();
            let parameters = program.parameters().count();
            let path = path.display();
            writeln!(out, "{path}: {operators} operators, {parameters} parameters, no problems")?;
            Ok(Verdict::Fine)
        }
        Err(failure) => {
            writeln!(out, "{failure}")?;
            Ok(Verdict::Found)
        }
    }
}
