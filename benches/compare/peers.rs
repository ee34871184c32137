//! The twins in other frameworks, as far as a Python has these.

use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::saved::Saved;
use crate::worker::Program;

/// What the Python that was found can run.
pub(crate) struct Peers {
    python: PathBuf,
    /// What `catalogue.py` prints, or why it could not.
    catalogue: Result<Value, String>,
}

impl Peers {
    /// Asks the Python of `PADDLE_PYTHON`, or `python3`, which frameworks it has.
    pub(crate) fn find() -> Self {
        let python = env::var_os("PADDLE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
        let catalogue = catalogue(&python);
        Peers { python, catalogue }
    }

    /// What there is, and what is missing.
    pub(crate) fn description(&self) -> String {
        let catalogue = match &self.catalogue {
            Ok(catalogue) => catalogue,
            Err(reason) => {
                return format!("peers: none, as {reason}; set PADDLE_PYTHON to a Python that has them");
            }
        };
        let entries = |of: &str, between: &str| {
            let entries = catalogue[of].as_object().into_iter().flatten();
            let text = |(name, value): (&String, &Value)| {
                format!("{name}{between}{}", value.as_str().unwrap_or("?"))
            };
            entries.map(text).collect::<Vec<_>>().join("; ")
        };
        let (found, missing) = (entries("versions", " "), entries("missing", ": "));
        let found = if found.is_empty() { "none" } else { &found };
        let missing = if missing.is_empty() { String::new() } else { format!("\nmissing: {missing}") };
        format!("peers: {found} (Python {}){missing}", catalogue["python"].as_str().unwrap_or("?"))
    }

    /// Whether a workload has a twin.
    pub(crate) fn have(&self, workload: &str) -> bool {
        self.twins(workload).next().is_some()
    }

    /// The programs that run the twins of a workload.
    pub(crate) fn programs(
        &self,
        workload: &str,
        precision: &str,
        threads: NonZeroUsize,
    ) -> impl Iterator<Item = Program> {
        let is_bf16 = precision == "bf16";
        // The others compute in f32 only.
        let takes_part = move |framework: &str| !is_bf16 || framework == "torch";
        self.twins(workload).filter(move |(framework, _)| takes_part(framework)).map(
            move |(framework, mode)| {
                let mut command = Command::new(&self.python);
                command.arg(folder().join(format!("with_{framework}.py")));
                command.args([workload, mode, &threads.to_string()]);
                if is_bf16 {
                    command.args(["--precision", precision]);
                }
                let name = format!("{framework} {}", mode.replace('+', " "));
                Program { framework: framework.to_string(), name, command }
            },
        )
    }

    /// The programs that run a model that was saved.
    pub(crate) fn of_model(&self, model: &Saved, batch: NonZeroUsize, threads: NonZeroUsize) -> Vec<Program> {
        let program = |(framework, mode): (&str, &str)| {
            let mut command = Command::new(&self.python);
            let file = if framework == "paddle" { &model.prefix } else { &model.onnx };
            command.arg(folder().join("saved.py")).args([framework, mode]).arg(file);
            command.args([batch.to_string(), threads.to_string()]).args(&model.inputs);
            let name = format!("{framework} {}", mode.replace('+', " "));
            Program { framework: framework.to_string(), name, command }
        };
        self.twins("saved").map(program).collect()
    }

    /// Framework and mode of the twins of a workload.
    fn twins(&self, workload: &str) -> impl Iterator<Item = (&str, &str)> {
        let twins = self.catalogue.as_ref().ok().and_then(|catalogue| catalogue["twins"].as_array());
        let of_workload = twins.into_iter().flatten().filter(move |twin| twin["workload"] == workload);
        of_workload.filter_map(|twin| Some((twin["framework"].as_str()?, twin["mode"].as_str()?)))
    }
}

/// Where the Python files are.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers")
}

fn catalogue(python: &Path) -> Result<Value, String> {
    let output = Command::new(python).arg(folder().join("catalogue.py")).output();
    let output = output.map_err(|error| format!("`{}` cannot be run: {error}", python.display()))?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "`{}` fails: {}",
            python.display(),
            printed.lines().last().unwrap_or("it says nothing")
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("what `{}` prints is no JSON: {error}", python.display()))
}
