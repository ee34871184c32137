//! A cluster in one thread: the machines of this crate, a network and hosts with all their faults, and a training in
//! symbols whose outcome is compared with that on one machine at every step.
//!
//! ```ignore
//! let report = simulator::run(Scenario::of_seed(7))?;
//! println!("{} events", report.events);
//! ```

mod checks;
mod execute;
#[cfg(test)]
mod hostile;
mod model;
mod mutants;
mod queue;
mod random;
mod scenario;
#[cfg(test)]
mod seeds;
mod store;
#[cfg(test)]
mod tests;
mod user;
mod world;

pub use checks::Violation;
pub use scenario::Scenario;

use mutants::Mutant;
use world::World;

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// How much happened.
    pub events: u64,
    /// How long the job took, in microseconds.
    pub time: u64,
    /// A hash of all that happened, in its order.
    pub trace: u64,
    /// How often masters took workers for dead.
    pub deaths: u64,
    /// How often servers were taken to a manifest.
    pub goings_back: u64,
    /// How many masters there were.
    pub masters: u32,
    /// How many steps were committed.
    pub steps: u64,
    /// The longest time between two commits, in microseconds.
    pub longest: u64,
}

/// Runs a job to its end.
pub fn run(scenario: Scenario) -> Result<Report, Violation> {
    run_with(scenario, None)
}

/// Runs a job with a bug.
fn run_with(scenario: Scenario, mutant: Option<Mutant>) -> Result<Report, Violation> {
    let bug = match mutant {
        Some(Mutant::Inside(bug)) => Some(bug),
        _ => None,
    };
    crate::planted::PLANTED.set(bug);
    let quiet = scenario.is_quiet();
    let mut world = World::new(scenario, mutant);
    let outcome = world.run();
    crate::planted::PLANTED.set(None);
    outcome?;
    if quiet && (world.checks.deaths > 0 || world.checks.rejoins > 0 || world.goings_back > 1) {
        let what = "a worker was taken for dead or took itself for it, but there are no faults".into();
        return Err(Violation { at: world.now, what });
    }
    Ok(Report {
        events: world.events,
        time: world.now,
        trace: world.trace,
        deaths: world.checks.deaths,
        goings_back: world.goings_back,
        masters: world.store.election,
        steps: world.store.log.len() as u64,
        longest: world.longest,
    })
}
