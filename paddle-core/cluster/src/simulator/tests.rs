use super::seeds::{each, number, seeds};
use super::*;

#[test]
fn clusters_without_faults_train_as_one_machine() {
    for seed in 0..40 {
        let (servers, trainers) = ((seed % 4) as u32 + 1, (seed % 7) as u32 + 1);
        let report = run(Scenario::quiet(seed, servers, trainers, 20, 12));
        let report = report.unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}"));
        assert_eq!(report.masters, 1);
    }
}

fn small() -> std::ops::Range<u64> {
    seeds(number("PADDLE_CLUSTER_SEEDS", 300))
}

/// Runs all seeds of `small` and prints the sums of what the reports say. The last of them is that of the traces: a change that is to
/// change nothing leaves it as it is.
fn run_small(scenario: impl Fn(u64) -> Scenario + Sync) {
    let mut sum = [0u64; 6];
    let mut wrong = Vec::new();
    each(
        small(),
        |seed| run(scenario(seed)),
        |seed, outcome| match outcome {
            Ok(Report { events, deaths, goings_back, masters, steps, trace, .. }) => {
                let of_run = [events, deaths, goings_back, u64::from(masters), steps, trace];
                sum = std::array::from_fn(|i| sum[i].wrapping_add(of_run[i]));
            }
            Err(violation) => wrong.push((seed, violation)),
        },
    );
    println!("events, deaths, goings back, masters, steps, traces: {sum:?}");
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

#[test]
fn clusters_with_all_faults_train_as_one_machine() {
    run_small(Scenario::of_seed);
}

#[test]
fn asynchronous_training_with_all_faults_applies_each_step_once() {
    run_small(Scenario::asynchronous);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..20 {
        let traces = [(); 2].map(|()| run(Scenario::of_seed(seed)).map(|report| report.trace));
        assert_eq!(traces[0], traces[1]);
        assert_ne!(traces[0], run(Scenario::of_seed(seed + 1)).map(|report| report.trace));
    }
}

/// `PADDLE_CLUSTER_LARGE_SEEDS` says how many clusters.
#[test]
fn a_thousand_trainers_and_a_hundred_servers_train_as_one_machine() {
    let steps = number("PADDLE_CLUSTER_STEPS", 3) as u32;
    let mut sum = [0; 3];
    each(
        seeds(number("PADDLE_CLUSTER_LARGE_SEEDS", 1)),
        |seed| run(Scenario::large(seed, 100, 1000, steps)),
        |seed, outcome| {
            let report = outcome.unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}"));
            println!("seed {seed}: {report:?}");
            assert_eq!(report.steps, u64::from(steps), "seed {seed}");
            sum = std::array::from_fn(|i| sum[i] + [report.events, report.deaths, report.goings_back][i]);
        },
    );
    println!("events, deaths, goings back: {sum:?}");
}

/// Each of these is a bug of PaddlePaddle's or one that a change of these machines could bring.
#[test]
fn each_planted_bug_is_caught() {
    use crate::planted::Bug::*;
    use Mutant::*;
    let inside = [
        EarlierSteps,
        AnyVersion,
        NoEpochs,
        NoIncarnations,
        PartOfCover,
        NoLease,
        LostRequest,
        NoAttempts,
        SaveOfLaterStep,
        PartOfMeasures,
        MeasuresOfBefore,
        PartTwice,
        ReportBeforePush,
    ];
    let around = [
        DigestOfNothing,
        SavedBeforeWritten,
        WrongKey,
        OneHeartbeat,
        AddedTwice,
        TornValues,
        OrderOfArrival,
        PartialRollback,
        OneManifest,
        UnconditionalPut,
    ];
    let mut missed = Vec::new();
    let synchronous = around.into_iter().chain(inside.map(Inside)).map(|mutant| (mutant, false));
    for (mutant, alone) in synchronous.chain([SeenTwice, TooStale].map(|bug| (Inside(bug), true))) {
        let scenario = if alone { Scenario::asynchronous } else { Scenario::of_seed };
        let caught = (0..300).find_map(|seed| Some((seed, run_with(scenario(seed), Some(mutant)).err()?)));
        match caught {
            Some((seed, violation)) => println!("{mutant:?}: seed {seed}: {}", violation.what),
            None => missed.push(mutant),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn a_step_that_kills_its_trainers_fails_and_the_job_goes_on() {
    for seed in 0..20 {
        let mut scenario = Scenario::quiet(seed, 2, 3, 10, 6);
        scenario.settings.deaths = 3;
        scenario.training.batches[4].kind = model::Kind::Deadly;
        // With the faults it is not a quiet one.
        scenario.faults.push((0, scenario::Fault::Straggle { rank: 0, time: 0 }));
        let report = run(scenario).unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}"));
        // One more may die if it computes what is late, too.
        assert!((3..=4).contains(&report.deaths), "seed {seed}: {report:?}");
    }
}

#[test]
fn workers_that_are_told_to_stop_hand_back_what_they_hold() {
    use crate::message::Role::{Server, Trainer};
    for seed in 0..40 {
        for role in [Server, Trainer] {
            let mut scenario = Scenario::quiet(seed, 2, 3, 40, 6);
            scenario.compute = (20_000, 60_000);
            let drain = scenario::Fault::Drain { role, rank: 1, patience: 10_000_000 };
            scenario.faults.push((500_000, drain));
            let report = run(scenario).unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}"));
            assert_eq!(report.deaths, 0, "seed {seed}: the lease of the {role:?} was waited for");
            assert_eq!(report.goings_back, 1 + u64::from(role == Server));
        }
    }
}

/// A trainer that is twenty times as slow as the others would make every step twenty times as long.
#[test]
fn what_is_late_is_computed_by_another_trainer_too() {
    for seed in 0..10 {
        let mut scenario = Scenario::quiet(seed, 2, 4, 20, 8);
        scenario.compute = (80_000, 100_000);
        let quick = run(scenario.clone()).unwrap().time;
        scenario.faults.push((0, scenario::Fault::Straggle { rank: 0, time: 0 }));
        scenario.faults.push((10_000, scenario::Fault::Straggle { rank: 0, time: 100_000_000 }));
        let slow = run(scenario).unwrap().time;
        assert!(slow > quick * 3 / 2 && slow < quick * 8, "seed {seed}: {quick} {slow}");
    }
}

/// Without news of a death it takes a lease to find out; what is done again adds to it.
#[test]
fn a_killed_process_costs_no_more_than_a_lease_and_what_is_done_again() {
    use crate::message::Role::{Master, Server, Trainer};
    for (role, bound) in [(Trainer, 2_600_000), (Server, 3_500_000), (Master, 3_500_000)] {
        let mut times = Vec::new();
        for seed in 1..60 {
            let mut scenario = Scenario::quiet(seed, 3, 3, 40, 6);
            scenario.compute = (20_000, 60_000);
            // It stays away for longer than a lease, or comes back soon.
            let down = if seed % 2 == 0 && role != Master { 2_100_000 } else { 200_000 };
            scenario.faults.push((400_000 + seed * 1_000, scenario::Fault::Kill { role, rank: 0, down }));
            let report = run(scenario).unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}"));
            times.push(report.longest);
        }
        times.sort_unstable();
        println!("{role:?}: median {} us, most {} us", times[times.len() / 2], times[times.len() - 1]);
        assert!(times.iter().all(|&time| time < bound), "{role:?}: {times:?}");
    }
}
