//! Steps on command, so that rounds of several programs can be interleaved.
//!
//! A program prints a line of JSON with the losses of its checked steps as soon as it is ready. `run N` on its standard
//! input runs N steps, for which it prints the seconds by the clock and of the processor; `quit` ends it.

use std::io::{self, BufRead, Write};

use crate::workload::{CHECKED, Workload};
use crate::{Run, check, process, run};

pub(crate) fn serve(subject: &str, workload: &mut dyn Workload) -> Run {
    let checked = check(workload)?;
    say(&format!("{{\"ready\":true,{subject},\"mode\":\"plan\",{checked}}}"))?;
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
