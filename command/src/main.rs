//! The command `paddle`: shows, runs, serves, checks, compares and converts models.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::{Failure, Verdict};

mod array;
mod check;
mod colour;
mod columns;
mod completions;
mod convert;
mod decompile;
mod diff;
mod failure;
mod graph;
mod info;
mod inputs;
mod json_rows;
mod model;
mod picture;
mod run;
mod serve;
mod show;

/// Shows, runs, serves, checks, compares and converts models: PaddlePaddle's, and those of the library `paddle`.
#[derive(Parser)]
#[command(name = "paddle", version, after_help = EXIT_CODES)]
struct Paddle {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done; `check` has found no problems, `diff` no differences
  1  `check` has found problems, `diff` differences
  2  wrong arguments, files that cannot be used, or a run that failed: the message is on standard error";

#[derive(Subcommand)]
enum Command {
    Show(show::Show),
    Info(info::Info),
    Run(run::Run),
    Serve(serve::Serve),
    Check(check::Check),
    Diff(diff::Diff),
    Convert(convert::Convert),
    Decompile(decompile::Decompile),
    Completions(completions::Completions),
}

fn main() -> ExitCode {
    let Paddle { command } = Paddle::parse();
    let mut out = io::stdout().lock();
    let result = match command {
        Command::Show(show) => show.run(&mut out),
        Command::Info(info) => info.run(&mut out),
        Command::Run(run) => run.run(&mut out),
        Command::Serve(serve) => serve.run(&mut out),
        Command::Check(check) => check.run(&mut out),
        Command::Diff(diff) => diff.run(&mut out),
        Command::Convert(convert) => convert.run(),
        Command::Decompile(decompile) => decompile.run(&mut out),
        Command::Completions(completions) => completions.run(&mut Paddle::command(), &mut out),
    };
    match result.and_then(|verdict| Ok(out.flush().map(|()| verdict)?)) {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Found) => ExitCode::from(1),
        // Who reads has seen enough.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // There is nobody to tell if standard error is closed, too.
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::from(2)
        }
    }
}
