//! The program of this system: the benchmark `workloads`, built as this one is.

use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::saved::Saved;
use crate::worker::Program;

/// How the columns and lines of this system are called.
pub(crate) const OURS: &str = "ours";

/// The benchmark `workloads`.
pub(crate) struct Workloads {
    path: PathBuf,
}

impl Workloads {
    /// Asks cargo to build it, and where it is.
    pub(crate) fn build() -> Result<Self, String> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments =
            ["bench", "--bench", "workloads", "--no-run", "--message-format", "json-render-diagnostics"];
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit());
        if cfg!(feature = "models") {
            command.args(["--features", "models"]);
        }
        let output = command.output().map_err(|error| format!("cargo cannot be run: {error}"))?;
        if !output.status.success() {
            return Err("the benchmark `workloads` cannot be built".to_string());
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let mut paths = messages.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let ours = message["target"]["name"] == "workloads";
            message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
        });
        let path = paths.next().ok_or("cargo does not say where the benchmark `workloads` is")?;
        Ok(Workloads { path })
    }

    /// The names of all workloads.
    pub(crate) fn names(&self) -> Result<Vec<String>, String> {
        let output = Command::new(&self.path).arg("--list").output();
        let output = output.map_err(|error| format!("{} cannot be run: {error}", self.path.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
    }

    /// The program that runs one of them.
    pub(crate) fn program(&self, workload: &str, precision: &str, threads: NonZeroUsize) -> Program {
        let mut command = Command::new(&self.path);
        command.args(["--workload", workload, "--precision", precision, "--threads", &threads.to_string()]);
        Program { framework: OURS.to_string(), name: OURS.to_string(), command }
    }

    /// The program that runs a model that was saved.
    pub(crate) fn of_model(&self, model: &Saved, batch: NonZeroUsize, threads: NonZeroUsize) -> Program {
        let mut command = Command::new(&self.path);
        command.arg("--model").arg(&model.prefix);
        command.args(["--batch", &batch.to_string(), "--threads", &threads.to_string()]);
        Program { framework: OURS.to_string(), name: OURS.to_string(), command }
    }
}
