//! A profile as tables.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use paddle_core::plan::{LaunchProfile, MemoryKind, PlanProfile};

use super::Profile;
use super::trace::part;
use crate::columns::{bytes, write_columns};

/// The launches that are shown, unless all are asked for.
const SHOWN: usize = 30;

/// The values at the peak of the arena that are shown, unless all are asked for.
const SHOWN_VALUES: usize = 10;

/// The columns of numbers.
const NUMBERS: usize = 6;

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut launches: Vec<&LaunchProfile> = self.launches().collect();
        launches.sort_by_key(|launch| Reverse(launch.time));
        let (steps, count) = (self.steps(), launches.len());
        let in_launches: Duration = launches.iter().map(|launch| launch.time).sum();
        let plural = if steps == 1 { "" } else { "s" };
        let step = time(seconds(self.time()) / steps as f64);
        let batches: Duration = self.plans.iter().map(|plan| plan.begin).sum();
        let [shared, taking] =
            [in_launches, batches].map(|part| percent(seconds(part), seconds(self.time())));
        let clock = if self.by_device() { " by the device's clock" } else { "" };
        write!(
            f,
            "{steps} step{plural}, {step} each: {shared} in {count} launches{clock}, {taking} in taking batches, "
        )?;
        writeln!(f, "the rest around them")?;
        if let Some(peaks) = self.peaks() {
            let (gflops, gigabytes) = (peaks.flops_per_second / 1e9, peaks.bytes_per_second / 1e9);
            writeln!(
                f,
                "peaks of the backend, as measured: {gflops:.1} GFLOP/s in f32, {gigabytes:.1} GB/s"
            )?;
        }
        let shown = if f.alternate() { count } else { SHOWN };
        let head = ["time/step", "share", "calls", "bytes", "GFLOP/s", "floor", "part", "place", "operators"];
        let mut lines = vec![head.map(str::to_string).to_vec()];
        lines.extend(launches.iter().take(shown).map(|launch| self.line(launch)));
        writeln!(f)?;
        write_columns(f, &lines, NUMBERS)?;
        if let Some(others) = launches.get(shown..).filter(|others| !others.is_empty()) {
            let total: Duration = others.iter().map(|launch| launch.time).sum();
            let (count, share) = (others.len(), percent(seconds(total), seconds(self.whole())));
            writeln!(f, "  and {count} other launches, {share} of the time; {{:#}} shows them")?;
        }
        self.plans.iter().try_for_each(|plan| write_memory(f, plan))
    }
}

impl Profile {
    /// Whether launches are measured by the device's own clock.
    fn by_device(&self) -> bool {
        self.plans.iter().any(|plan| plan.by_device)
    }

    /// What shares are shares of. Where a device has a clock of its own, a step that waits for each launch says nothing.
    fn whole(&self) -> Duration {
        if self.by_device() { self.launches().map(|launch| launch.time).sum() } else { self.time() }
    }

    fn line(&self, launch: &LaunchProfile) -> Vec<String> {
        let steps = self.steps() as f64;
        let rate = launch.flops as f64 / seconds(launch.time) / 1e9;
        let calls = launch.calls as f64 / steps;
        let floor = self.share_of_floor(launch);
        vec![
            time(seconds(launch.time) / steps),
            percent(seconds(launch.time), seconds(self.whole())),
            if calls.fract() == 0.0 { format!("{calls}") } else { format!("{calls:.1}") },
            bytes(launch.bytes as f64 / steps),
            if launch.flops > 0 && rate.is_finite() { format!("{rate:.2}") } else { "-".to_string() },
            floor.map_or("-".to_string(), |floor| percent(floor, 1.0)),
            part(launch).to_string(),
            launch.place.as_ref().map_or("-".to_string(), |place| place.to_string()),
            // The last, as a chain may have many operators.
            format!("{} -> {}", launch.operators.join(" + "), launch.value),
        ]
    }
}

fn write_memory(f: &mut fmt::Formatter<'_>, plan: &PlanProfile) -> fmt::Result {
    let memory = &plan.memory;
    let mut parts = vec![format!("arena {}", bytes(memory.arena as f64))];
    for kind in
        [MemoryKind::Tape, MemoryKind::Pool, MemoryKind::Parameter, MemoryKind::State, MemoryKind::Fallback]
    {
        let used = memory.bytes(kind);
        if used > 0 {
            parts.push(format!("{} {}", kind.name(), bytes(used as f64)));
        }
    }
    writeln!(f, "\nmemory: {}", parts.join(", "))?;
    let Some(peak) = memory.peak else { return Ok(()) };
    let at = &plan.launches[peak.launch as usize];
    let place = at.place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
    let (used, operators) = (bytes(peak.bytes as f64), at.operators.join(" + "));
    writeln!(
        f,
        "most of the arena is in use at launch {}, {} `{operators}`{place}: {used}",
        peak.launch,
        part(at)
    )?;
    let variables = memory.at_peak();
    let shown = if f.alternate() { variables.len() } else { SHOWN_VALUES };
    let lines: Vec<Vec<String>> = variables
        .iter()
        .take(shown)
        .map(|variable| {
            let life = format!("launches {} to {}", variable.first, variable.last);
            vec![bytes(variable.bytes as f64), variable.name.clone(), life]
        })
        .collect();
    write_columns(f, &lines, 1)?;
    if let Some(others) = variables.get(shown..).filter(|others| !others.is_empty()) {
        let total: usize = others.iter().map(|variable| variable.bytes).sum();
        writeln!(f, "  and {} other values, {}", others.len(), bytes(total as f64))?;
    }
    Ok(())
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// A share of a whole; nothing of nothing.
fn percent(part: f64, whole: f64) -> String {
    format!("{:.1} %", if whole > 0.0 { 100.0 * part / whole } else { 0.0 })
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", 1e3 * s),
        s => format!("{:.2} µs", 1e6 * s),
    }
}
