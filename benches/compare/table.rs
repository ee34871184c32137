//! The table of ratios.

use std::fmt::Write;

use crate::ours::OURS;
use crate::rounds::{Comparison, Figures, Measured};

/// From which relative difference of losses on the table says whose they are.
const SUSPICIOUS: f64 = 1e-4;

/// Which of a program's times.
struct Measure {
    name: &'static str,
    of: fn(&Figures) -> f64,
}

const CLOCK: Measure = Measure { name: "clock", of: |figures| figures.clock };
const PROCESSOR: Measure = Measure { name: "processor", of: |figures| figures.processor };

/// A table in Markdown: milliseconds a step, of each framework the best of its programs. On one thread there is a row for
/// processor time, too; on several that would count what threads wait for each other.
pub(crate) fn table(comparisons: &[Comparison]) -> String {
    let mut frameworks: Vec<&str> = Vec::new();
    for Measured { framework, .. } in comparisons.iter().flat_map(|comparison| &comparison.programs) {
        if framework != OURS && !frameworks.contains(&framework.as_str()) {
            frameworks.push(framework);
        }
    }
    let mut table = format!("| workload | threads | time | {OURS} |");
    for framework in &frameworks {
        let _ = write!(table, " {framework} |");
    }
    table.push_str(" ours ÷ best | losses differ by, first, tenth, 50th | peak, GFLOP/s |\n");
    table.push_str(&"| --- ".repeat(7 + frameworks.len()));
    table.push('|');
    for comparison in comparisons {
        let measures = if comparison.threads.get() == 1 { &[CLOCK, PROCESSOR][..] } else { &[CLOCK] };
        for measure in measures {
            table.push('\n');
            table.push_str(&row(comparison, measure, &frameworks));
        }
    }
    table
}

fn row(comparison: &Comparison, measure: &Measure, frameworks: &[&str]) -> String {
    let ours = comparison.ours().map(|figures| (measure.of)(&figures));
    let cell = |time: Option<f64>| time.map_or("–".to_string(), milliseconds);
    let mut row =
        format!("| {} | {} | {} | {} |", comparison.workload, comparison.threads, measure.name, cell(ours));
    let mut best: Option<f64> = None;
    for framework in frameworks {
        let programs: Vec<_> =
            comparison.programs.iter().filter(|program| program.framework == *framework).collect();
        let times = programs.iter().filter_map(|program| {
            let time = (measure.of)(program.result.as_ref().ok()?);
            Some((time, program.name.strip_prefix(framework).unwrap_or(&program.name).trim()))
        });
        match times.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((time, mode)) => {
                best = Some(best.map_or(time, |best| best.min(time)));
                let _ = write!(row, " {} {mode} |", milliseconds(time));
            }
            None => row.push_str(if programs.is_empty() { " – |" } else { " fails |" }),
        }
    }
    let ratio = ours.zip(best).map_or("–".to_string(), |(ours, best)| format!("{:.2}", ours / best));
    let peak = comparison.peak_gflops.map_or("–".to_string(), |peak| format!("{peak:.0}"));
    let _ = write!(row, " {ratio} | {} | {peak} |", differences(comparison));
    row
}

/// By how much the losses of any peer are away from this system's, at most: of each step that is compared.
fn differences(comparison: &Comparison) -> String {
    let Some(ours) = comparison.ours() else { return "–".to_string() };
    let peers = comparison.programs.iter().filter(|program| program.framework != OURS);
    let peers: Vec<_> =
        peers.filter_map(|peer| Some((&peer.name, peer.result.as_ref().ok()?.losses))).collect();
    let steps = ours.losses.iter().enumerate().map(|(step, own)| {
        let relative = peers.iter().map(|(name, losses)| ((own - losses[step]).abs() / own.abs(), name));
        match relative.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((difference, name)) if difference > SUSPICIOUS => format!("{difference:.0e} ({name})"),
            Some((difference, _)) => format!("{difference:.0e}"),
            None => "–".to_string(),
        }
    });
    steps.collect::<Vec<_>>().join(", ")
}

/// Three digits that count.
fn milliseconds(time: f64) -> String {
    let digits = (2.0 - time.max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{time:.digits$}")
}
