//! Programs in turn, round by round.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use paddle::Cpu;
use paddle::profile::Peaks;

use crate::arguments::Arguments;
use crate::worker::{Losses, Program, Times, Worker};

/// A workload on a number of threads, by all programs.
pub(crate) struct Comparison {
    pub(crate) workload: String,
    pub(crate) threads: NonZeroUsize,
    /// This system's first.
    pub(crate) programs: Vec<Measured>,
    /// Multiply-adds of the processor, measured in the same rounds, counted as two operations.
    pub(crate) peak_gflops: Option<f64>,
}

/// A program, and what was measured of it or why nothing was.
pub(crate) struct Measured {
    pub(crate) framework: String,
    pub(crate) name: String,
    pub(crate) result: Result<Figures, String>,
}

#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) losses: Losses,
    /// The median of the rounds, in milliseconds a step.
    pub(crate) clock: f64,
    /// The least of the rounds, in milliseconds a step of all threads.
    pub(crate) processor: f64,
}

/// A program that runs, the steps of its rounds, and what these took.
struct Running {
    worker: Worker,
    losses: Losses,
    steps: usize,
    times: Vec<Times>,
}

impl Comparison {
    pub(crate) fn measure(
        workload: &str,
        threads: NonZeroUsize,
        programs: Vec<Program>,
        arguments: &Arguments,
    ) -> Result<Self, String> {
        let backend = Cpu::with_threads(threads.get()).map_err(|error| error.to_string())?;
        let mut running = Vec::new();
        for Program { framework, name, command } in programs {
            eprintln!("{workload}, {}: {name}", counted(threads));
            let started = Running::start(command, arguments);
            running.push((framework, name, started));
        }
        let mut peak_gflops: Option<f64> = None;
        for _ in 0..arguments.rounds.get() {
            for (_, _, started) in &mut running {
                if let Ok(program) = started
                    && let Err(reason) = program.round()
                {
                    *started = Err(reason);
                }
            }
            let peak = Peaks::measure(&backend).map(|peaks| peaks.flops_per_second / 1e9);
            peak_gflops = peak_gflops.into_iter().chain(peak).reduce(f64::max);
        }
        let measured = |(framework, name, result): (String, String, Result<Running, String>)| {
            let result = result.map(|program| program.figures());
            Measured { framework, name, result }
        };
        let programs = running.into_iter().map(measured).collect();
        Ok(Comparison { workload: workload.to_string(), threads, programs, peak_gflops })
    }

    /// The figures of this system.
    pub(crate) fn ours(&self) -> Option<Figures> {
        self.programs.first()?.result.as_ref().ok().copied()
    }
}

impl Running {
    /// Starts a program, and counts its steps of a round.
    fn start(command: std::process::Command, arguments: &Arguments) -> Result<Self, String> {
        let (mut worker, losses) = Worker::start(command, arguments.patience)?;
        let steps = steps_of(&mut worker, arguments.seconds)?;
        Ok(Running { worker, losses, steps, times: Vec::new() })
    }

    fn round(&mut self) -> Result<(), String> {
        self.times.push(self.worker.run(self.steps)?);
        Ok(())
    }

    fn figures(mut self) -> Figures {
        let each = 1e3 / self.steps as f64;
        self.times.sort_by(|a, b| a.clock.total_cmp(&b.clock));
        let clock = self.times[self.times.len() / 2].clock * each;
        let processor = self.times.iter().map(|times| times.processor).fold(f64::INFINITY, f64::min) * each;
        Figures { losses: self.losses, clock, processor }
    }
}

/// How many steps take about so long.
fn steps_of(worker: &mut Worker, time: Duration) -> Result<usize, String> {
    let (mut steps, wanted) = (3, time.as_secs_f64());
    loop {
        let seconds = worker.run(steps)?.clock;
        let enough = (steps as f64 * wanted / seconds.max(1e-9)) as usize;
        if seconds > 0.3 * wanted || steps > 1 << 24 {
            return Ok(enough.max(1));
        }
        steps = enough.clamp(2 * steps, 100 * steps);
    }
}

/// A line for each program.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}; ms a step", self.workload, counted(self.threads))?;
        for Measured { name, result, .. } in &self.programs {
            match result {
                Ok(Figures { losses: [first, tenth, last], clock, processor }) => {
                    write!(f, "\n  {name:<32} {clock:>9.4} by the clock {processor:>9.4} of processor time")?;
                    write!(f, ", losses {first:.6} {tenth:.6} {last:.6}")?;
                }
                Err(reason) => write!(f, "\n  {name:<32} fails: {reason}")?,
            }
        }
        Ok(())
    }
}

fn counted(threads: NonZeroUsize) -> String {
    if threads.get() == 1 { "1 thread".to_string() } else { format!("{threads} threads") }
}
