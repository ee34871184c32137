//! The workloads beside their twins in other frameworks, as a table of ratios.
//!
//! ```text
//! PADDLE_PYTHON=venv/bin/python cargo bench --bench compare -- --workload unet,decoder --threads 1,2 --rounds 3
//! ```
//!
//! Models that PaddlePaddle saved are compared with PaddlePaddle and, as they are exported, with onnxruntime:
//!
//! ```text
//! venv/bin/python benches/peers/save_models.py models
//! PADDLE_PYTHON=venv/bin/python cargo bench --bench compare -- --models models --batch 1,32
//! ```
//!
//! All programs of a workload stay alive, and each round runs them in turn. So the figures of a row are from the same
//! minutes, and their ratio holds on a machine that others use, too. `../peers` has the twins, and `NOTES.md` what was
//! measured.

mod arguments;
mod machine;
mod ours;
mod peers;
mod rounds;
mod saved;
#[path = "../workloads/seconds.rs"]
mod seconds;
mod table;
mod worker;

use std::process::ExitCode;

use arguments::Arguments;
use clap::Parser;
use machine::Processors;
use ours::Workloads;
use peers::Peers;
use rounds::Comparison;
use worker::Program;

fn main() -> ExitCode {
    match compare(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let processors = Processors::find();
    let workloads = Workloads::build()?;
    let peers = Peers::find();
    println!("{}", machine::description());
    println!("{}", peers.description());
    let mut comparisons = Vec::new();
    let mut measure = |name: &str, threads, ours, peers: Vec<Program>| -> Result<(), String> {
        let wanted = peers.into_iter().filter(|program| arguments.wants(&program.name));
        let programs = processors.pin([ours].into_iter().chain(wanted).collect(), threads)?;
        let comparison = Comparison::measure(name, threads, programs, arguments)?;
        println!("\n{comparison}");
        comparisons.push(comparison);
        Ok(())
    };
    if let Some(folder) = &arguments.models {
        for model in saved::find(folder)? {
            for (&batch, &threads) in
                arguments.batch.iter().flat_map(|batch| arguments.threads.iter().map(move |t| (batch, t)))
            {
                let ours = workloads.of_model(&model, batch, threads);
                measure(&model.row(batch), threads, ours, peers.of_model(&model, batch, threads))?;
            }
        }
    } else {
        for name in &chosen(arguments, &workloads, &peers)? {
            for &threads in &arguments.threads {
                let precision = &arguments.precision;
                let ours = workloads.program(name, precision, threads);
                measure(name, threads, ours, peers.programs(name, precision, threads).collect())?;
            }
        }
    }
    println!("\n{}", table::table(&comparisons));
    Ok(())
}

/// The workloads that were asked for, or all that have a twin, or just all where no peer is installed.
fn chosen(arguments: &Arguments, workloads: &Workloads, peers: &Peers) -> Result<Vec<String>, String> {
    let known = workloads.names()?;
    if let Some(unknown) = arguments.workloads.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no workload `{unknown}`; there are {}", known.join(", ")));
    }
    if !arguments.workloads.is_empty() {
        return Ok(arguments.workloads.clone());
    }
    let (twins, others): (Vec<_>, Vec<_>) = known.into_iter().partition(|name| peers.have(name));
    Ok(if twins.is_empty() { others } else { twins })
}
