//! The workloads that this system is compared by with others, one JSON line each.
//!
//! ```text
//! cargo bench --bench workloads -- --workload W1 --threads 1
//! cargo bench --bench workloads -- --workload W4 --profile
//! cargo bench --bench workloads -- --workload W1 --precision bf16
//! cargo bench --bench workloads -- --model models/resnet18 --batch 32
//! cargo bench --bench workloads --features wgpu -- --workload W1 --device wgpu:0 --batch 1024
//! ```
//!
//! With `PEER_SERVE=1` in the environment it runs steps on command from standard input, so that its rounds can be
//! interleaved with those of other programs, as `cargo bench --bench compare` does.
//!
//! `NOTES.md` beside this folder has what was measured.

mod adaptive;
mod arguments;
mod catalogue;
mod convnext;
mod decoder64;
mod documents;
mod efficient;
mod gan;
mod grouped;
mod images;
mod initial;
mod lenet;
mod lstm;
mod mixer;
mod mlp;
mod process;
mod random;
mod ranking;
mod recommender;
mod regression;
mod resnet;
#[cfg(feature = "models")]
mod saved;
#[cfg(not(feature = "models"))]
#[path = "without_saved.rs"]
mod saved;
mod seconds;
mod separable;
mod serve;
mod temporal;
mod transformer;
mod translation;
mod unet;
mod volumes;
mod workload;

use std::env;
use std::error::Error;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arguments::Arguments;
use clap::Parser;
use paddle::{Cpu, Device, device_of};
use workload::{CHECKED, POOL, Workload};

type Run<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match measure_all(&Arguments::parse()) {
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
    let names = match (&arguments.model, arguments.workloads.is_empty()) {
        (Some(model), _) => &vec![model.display().to_string()],
        (None, true) => &all,
        (None, false) => &arguments.workloads,
    };
    for name in names {
        let batch = arguments.batch.map(NonZeroUsize::get);
        let (rows, mut workload) = match &arguments.model {
            Some(model) => {
                let rows = batch.unwrap_or(1);
                (rows, saved::workload(device(arguments)?, model, rows)?)
            }
            None => {
                let (rows, make) = catalogue::workload(name)?;
                let rows = batch.unwrap_or(rows);
                (rows, make(device(arguments)?, rows)?)
            }
        };
        workload.compute_in(arguments.precision);
        if arguments.profile {
            print_profile(arguments, &mut *workload)?;
            continue;
        }
        let Arguments { device, threads, precision, .. } = arguments;
        let subject = format!(
            "\"framework\":\"paddle-rust\",\"workload\":\"{name}\",\"device\":\"{device}\",\"threads\":{threads},\
             \"batch\":{rows},\"precision\":\"{precision}\""
        );
        if env::var_os("PEER_SERVE").is_some_and(|value| value == "1") {
            serve::serve(&subject, &mut *workload)?;
        } else {
            measure(&subject, arguments, &mut *workload)?;
        }
    }
    Ok(())
}

/// What runs the workloads. Only a processor lets one choose how many threads it has.
fn device(arguments: &Arguments) -> Run<Device> {
    match arguments.device.as_str() {
        "cpu" => Ok(processor(arguments.threads.get())?),
        name => Ok(device_of(name)?),
    }
}

/// The processor, as whatever devices are in this build.
fn processor<D: From<Cpu>>(threads: usize) -> Result<D, paddle::Error> {
    Ok(Cpu::with_threads(threads)?.into())
}

/// Runs the checked steps and returns the results that are compared and the time of the first step, in which kernels are
/// compiled, as members of a JSON object.
fn check(workload: &mut dyn Workload) -> Run<String> {
    let (start, mut first_step) = (Instant::now(), Duration::ZERO);
    let mut losses = Vec::with_capacity(CHECKED);
    for step in 0..CHECKED {
        losses.push(workload.step(step % POOL)?);
        if step == 0 {
            first_step = start.elapsed();
        }
    }
    let [first, early, last] = workload.compared().map(|step| losses[step]);
    Ok(format!(
        "\"loss_first\":{first},\"loss_early\":{early},\"loss_last\":{last},\"first_step_ms\":{:.3}",
        1e3 * first_step.as_secs_f64()
    ))
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

/// As many steps as take about so long.
fn steps_per_run(workload: &mut dyn Workload, time: Duration) -> Run<usize> {
    let (mut steps, wanted) = (3, time.as_secs_f64());
    loop {
        let seconds = run(workload, CHECKED, steps)?;
        if seconds > 0.2 * wanted {
            return Ok(((steps as f64 * wanted / seconds) as usize).max(3));
        }
        steps *= 4;
    }
}

fn measure(subject: &str, arguments: &Arguments, workload: &mut dyn Workload) -> Run {
    let checked = check(workload)?;
    let steps = steps_per_run(workload, arguments.seconds)?;
    let runs = arguments.runs.get();
    let (mut rates, mut cpu) = (Vec::with_capacity(runs), f64::INFINITY);
    for _ in 0..runs {
        let before = process::cpu_seconds();
        rates.push(steps as f64 / run(workload, CHECKED, steps)?);
        cpu = cpu.min((process::cpu_seconds() - before) / steps as f64);
    }
    rates.sort_by(f64::total_cmp);
    let (least, median, most) = (rates[0], rates[runs / 2], rates[runs - 1]);
    println!(
        "{{{subject},\"steps_per_s\":{median:.2},\"ms_per_step\":{:.6},{checked},\
         \"steps_per_s_min\":{least:.2},\"steps_per_s_max\":{most:.2},\
         \"cpu_ms_per_step_min\":{:.6},\"peak_rss_mb\":{:.1}}}",
        1000.0 / median,
        1000.0 * cpu,
        process::peak_megabytes(),
    );
    Ok(())
}

fn print_profile(arguments: &Arguments, workload: &mut dyn Workload) -> Run {
    check(workload)?;
    let steps = steps_per_run(workload, arguments.seconds)?;
    for profile in workload.profile(steps)? {
        println!("{profile:#}");
    }
    Ok(())
}
