//! The workloads that this system is compared by with others, one JSON line each.
//!
//! ```text
//! cargo bench --bench workloads -- --workload W1 --threads 1
//! cargo bench --bench workloads -- --workload W4 --profile
//! ```
//!
//! With `PEER_SERVE=1` in the environment it runs steps on command from standard input, so that its rounds can be
//! interleaved with those of other programs: `run N` runs N steps and prints their time, `quit` ends.
//!
//! `NOTES.md` beside this folder has what was measured.

mod adaptive;
mod arguments;
mod gan;
mod images;
mod lenet;
mod lstm;
mod mlp;
mod process;
mod random;
mod ranking;
mod regression;
mod resnet;
mod separable;
mod transformer;
mod workload;

use std::env;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arguments::{Arguments, USAGE};
use paddle::Cpu;
use paddle::core::plan::Backend;
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
    let all = [
        "W1",
        "W2",
        "W3",
        "W4",
        "W5",
        "W6",
        "W7",
        "W8a",
        "W8b",
        "W9",
        "encoder",
        "decoder",
        "separable",
        "separable1",
    ];
    let all = all.map(str::to_string);
    let names = if arguments.workloads.is_empty() { &all[..] } else { &arguments.workloads };
    for name in names {
        let cpu = Cpu::with_threads(arguments.threads)?;
        if arguments.profile {
            print_profile(&mut *workload(name, cpu)?)?;
        } else if env::var_os("PEER_SERVE").is_some_and(|value| value == "1") {
            serve(name, arguments.threads, &mut *workload(name, cpu)?)?;
        } else {
            measure(name, arguments.threads, &mut *workload(name, cpu)?)?;
        }
    }
    Ok(())
}

fn workload<B: Backend + Clone + 'static>(name: &str, backend: B) -> Run<Box<dyn Workload>> {
    match name {
        "W1" => Ok(mlp::training(backend)?),
        "W2" => Ok(lenet::workload(backend)?),
        "W3" => Ok(lstm::workload(backend)?),
        "W4" => Ok(regression::workload(backend)?),
        "W5" => Ok(ranking::workload(backend)?),
        "W6" => Ok(gan::workload(backend)?),
        "W7" => Ok(resnet::training(backend)?),
        "W8a" => Ok(mlp::inference(backend)?),
        "W8b" => Ok(resnet::inference(backend)?),
        "W9" => Ok(adaptive::workload(backend)?),
        "encoder" => Ok(transformer::encoder(backend)?),
        "decoder" => Ok(transformer::decoder(backend)?),
        "separable" => Ok(separable::training(backend)?),
        "separable1" => Ok(separable::inference(backend)?),
        _ => {
            let message = format!(
                "there is no workload `{name}`; there are W1 to W7, W8a, W8b, W9, encoder, decoder, separable and \
                 separable1"
            );
            Err(message.into())
        }
    }
}

/// Runs the checked steps and returns the two results that are compared.
fn check(workload: &mut dyn Workload) -> Run<(f32, f32)> {
    let mut losses = Vec::with_capacity(CHECKED);
    for step in 0..CHECKED {
        losses.push(workload.step(step % POOL)?);
    }
    let [first, last] = workload.compared();
    Ok((losses[first], losses[last]))
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
    let (first, last) = check(workload)?;
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
         \"steps_per_s\":{median:.2},\"ms_per_step\":{:.6},\"loss_first\":{first:.6},\"loss_last\":{last:.6},\
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

fn serve(name: &str, threads: usize, workload: &mut dyn Workload) -> Run {
    let (first, last) = check(workload)?;
    say(&format!(
        "{{\"ready\":true,\"framework\":\"paddle-rust\",\"workload\":\"{name}\",\"threads\":{threads},\
         \"mode\":\"plan\",\"loss_first\":{first:.6},\"loss_last\":{last:.6}}}"
    ))?;
    let mut at = CHECKED;
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["run", steps] => {
                let steps = steps.parse()?;
                let before = process::cpu_seconds();
                let seconds = run(workload, at, steps)?;
                let cpu = process::cpu_seconds() - before;
                say(&format!("{{\"dt\":{seconds:.9},\"cpu\":{cpu:.9}}}"))?;
                at += steps;
            }
            ["quit"] => return say(&format!("{{\"peak_rss_mb\":{:.1}}}", process::peak_megabytes())),
            _ => return Err(format!("found `{line}`, expected `run N` or `quit`").into()),
        }
    }
    Ok(())
}

/// Prints a line at once.
fn say(line: &str) -> Run {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
