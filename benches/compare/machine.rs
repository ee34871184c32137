//! The machine that is measured on: what it is, and which of its processors programs run on.

use std::fs;
use std::num::NonZeroUsize;
use std::process::Command;
use std::thread::available_parallelism;

use crate::worker::Program;

/// The processors that this process may use, where the system says so and can keep programs on some of them.
pub(crate) struct Processors(Option<Vec<usize>>);

impl Processors {
    pub(crate) fn find() -> Self {
        let taskset = Command::new("taskset").arg("--version").output().is_ok();
        Processors(allowed().filter(|_| taskset))
    }

    /// Lets programs run on as many processors as they have threads: some frameworks have no other setting.
    pub(crate) fn pin(&self, programs: Vec<Program>, threads: NonZeroUsize) -> Result<Vec<Program>, String> {
        let there = available_parallelism().map_or(usize::MAX, NonZeroUsize::get);
        if threads.get() > there {
            return Err(format!("{threads} threads cannot be measured on {there} processors"));
        }
        Ok(programs.into_iter().map(|program| self.pinned(program, threads)).collect())
    }

    fn pinned(&self, program: Program, threads: NonZeroUsize) -> Program {
        let Program { framework, name, command: given } = program;
        let mut command = match &self.0 {
            Some(processors) => {
                let some: Vec<_> = processors.iter().take(threads.get()).map(usize::to_string).collect();
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", &some.join(",")]).arg(given.get_program());
                command
            }
            None => Command::new(given.get_program()),
        };
        command.args(given.get_args());
        for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        // The folder of the twins is a part of the package.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Program { framework, name, command }
    }
}

/// The processors that Linux lets this process use.
fn allowed() -> Option<Vec<usize>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut processors = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        processors.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(processors)
}

/// A line about the machine, with what else it is doing.
pub(crate) fn description() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown processor", |(_, model)| model);
    let count = available_parallelism().map_or(0, NonZeroUsize::get);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().map_or(String::new(), |load| format!(", load {load}"));
    format!("machine: {model}, {}, {count} processors{load}", vectors())
}

/// The widest vectors that it has.
fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return "AVX-512";
        }
        if is_x86_feature_detected!("avx2") {
            return "AVX2";
        }
    }
    std::env::consts::ARCH
}
