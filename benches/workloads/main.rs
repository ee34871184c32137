//! The workloads that this system is compared by with others, one JSON line each.
//!
//! ```text
//! cargo bench --bench workloads -- --workload W1 --threads 1
//! cargo bench --bench workloads -- --workload W4 --profile
//! cargo bench --bench workloads -- --workload W1 --precision bf16
//! ```
//!
//! With `PEER_SERVE=1` in the environment it runs steps on command from standard input, so that its rounds can be
//! interleaved with those of other programs, as `cargo bench --bench compare` does.
//!
//! `NOTES.md` beside this folder has what was measured.

mod adaptive;
mod arguments;
mod catalogue;
mod decoder64;
mod documents;
mod gan;
mod images;
mod initial;
mod lenet;
mod lstm;
mod mlp;
mod process;
mod random;
mod ranking;
mod regression;
mod resnet;
mod separable;
mod serve;
mod transformer;
mod unet;
mod workload;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arguments::{Arguments, USAGE};
use paddle::Cpu;
use workload::{CHECKED, POOL, Workload};

/// The runs of which the median counts.
const RUNS: usize = 5;

type Run<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match measure_all(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(arguments: &Arguments) -> Run {
    let all = catalogue::names();
    if arguments.list {
        println!("{}", all.join("\n"));
        return Ok(());
    }
    let names = if arguments.workloads.is_empty() { &all } else { &arguments.workloads };
    for name in names {
        let mut workload = catalogue::workload(name, Cpu::with_threads(arguments.threads)?)?;
        workload.compute_in(arguments.precision);
        if arguments.profile {
            print_profile(&mut *workload)?;
        } else if env::var_os("PEER_SERVE").is_some_and(|value| value == "1") {
            serve::serve(name, arguments.threads, &mut *workload)?;
        } else {
            measure(name, arguments.threads, &mut *workload)?;
        }
    }
    Ok(())
}

/// Runs the checked steps and returns the results that are compared, as members of a JSON object.
fn check(workload: &mut dyn Workload) -> Run<String> {
    let mut losses = Vec::with_capacity(CHECKED);
    for step in 0..CHECKED {
        losses.push(workload.step(step % POOL)?);
    }
    let [first, early, last] = workload.compared().map(|step| losses[step]);
    Ok(format!("\"loss_first\":{first},\"loss_early\":{early},\"loss_last\":{last}"))
}

/// Runs `steps` steps, `from` being the first one's number, and returns how many seconds they took.
fn run(workload: &mut dyn Workload, from: usize, steps: usize) -> Run<f64> {
    let (start, mut apart) = (Instant::now(), Duration::ZERO);
    for step in from..from + steps {
        let before = Instant::now();
        workload.prepare(step)?;
        apart += before.elapsed();
        workload.step(step % POOL)?;
    }
    Ok((start.elapsed() - apart).as_secs_f64())
}

/// As many steps as take about a second.
fn steps_per_run(workload: &mut dyn Workload) -> Run<usize> {
    let mut steps = 3;
    loop {
        let seconds = run(workload, CHECKED, steps)?;
        if seconds > 0.2 {
            return Ok(((steps as f64 / seconds) as usize).max(3));
        }
        steps *= 4;
    }
}

fn measure(name: &str, threads: usize, workload: &mut dyn Workload) -> Run {
    let losses = check(workload)?;
    let steps = steps_per_run(workload)?;
    let (mut rates, mut cpu) = (Vec::with_capacity(RUNS), f64::INFINITY);
    for _ in 0..RUNS {
        let before = process::cpu_seconds();
        rates.push(steps as f64 / run(workload, CHECKED, steps)?);
        cpu = cpu.min((process::cpu_seconds() - before) / steps as f64);
    }
    rates.sort_by(f64::total_cmp);
    let (least, median, most) = (rates[0], rates[RUNS / 2], rates[RUNS - 1]);
    println!(
        "{{\"framework\":\"paddle-rust\",\"workload\":\"{name}\",\"threads\":{threads},\
         \"steps_per_s\":{median:.2},\"ms_per_step\":{:.6},{losses},\
         \"steps_per_s_min\":{least:.2},\"steps_per_s_max\":{most:.2},\
         \"cpu_ms_per_step_min\":{:.6},\"peak_rss_mb\":{:.1}}}",
        1000.0 / median,
        1000.0 * cpu,
        process::peak_megabytes(),
    );
    Ok(())
}

fn print_profile(workload: &mut dyn Workload) -> Run {
    check(workload)?;
    let steps = steps_per_run(workload)?;
    for profile in workload.profile(steps)? {
        println!("{profile:#}");
    }
    Ok(())
}
