//! The command line.

use paddle::Precision;

/// What is to be measured, and how.
pub(crate) struct Arguments {
    pub(crate) workloads: Vec<String>,
    pub(crate) threads: usize,
    pub(crate) precision: Precision,
    /// Print where the time goes instead.
    pub(crate) profile: bool,
    /// Print the names of all workloads instead.
    pub(crate) list: bool,
}

pub(crate) const USAGE: &str =
    "usage: workloads [--workload W1[,W4]] [--threads N] [--precision f32|bf16] [--profile] [--list]";

impl Arguments {
    /// Reads the arguments. `--bench` is what cargo adds; words without dashes are its filters.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Arguments {
            workloads: Vec::new(),
            threads: 1,
            precision: Precision::F32,
            profile: false,
            list: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("`{argument}` needs a value"));
            match argument.as_str() {
                "--workload" => parsed.workloads = value()?.split(',').map(str::to_string).collect(),
                "--threads" => {
                    let value = value()?;
                    let threads = value.parse().ok().filter(|&threads| threads > 0);
                    parsed.threads = threads.ok_or(format!("`{value}` is not a number of threads"))?;
                }
                "--precision" => {
                    let value = value()?;
                    let known = [Precision::F32, Precision::Bf16].into_iter();
                    let found = known.into_iter().find(|precision| precision.name() == value);
                    parsed.precision = found.ok_or(format!("`{value}` is no precision"))?;
                }
                "--profile" => parsed.profile = true,
                "--list" => parsed.list = true,
                "--bench" => {}
                other if other.starts_with('-') => return Err(format!("unknown argument `{other}`")),
                _ => {}
            }
        }
        Ok(parsed)
    }
}
