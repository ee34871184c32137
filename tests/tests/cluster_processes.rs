//! A cluster of processes whose servers and trainers are killed while they train: no bit changes.
//!
//! `PADDLE_KILLS` says how many are killed. The last line has the time of steps without a kill and of those with one.

#[path = "support/unreliable.rs"]
mod unreliable;

use std::process::Command;
use std::time::{Duration, Instant};

use paddle::cluster::{Cluster, WorkerStatus};
use paddle::{Adam, Options, Parameters, Trainer};
use unreliable::{batch, cost, number};

fn main() {
    // In the processes of the cluster it does not return.
    let cluster = Cluster::local(3).servers(2);
    let kills: u32 = std::env::var("PADDLE_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let net = cost();
    let options = Options::default().shards(6);
    let trainer = || Trainer::new(Adam::new(0.01)).seed(3);

    let mut together = Parameters::create_with_seed(&net, 1).unwrap();
    let mut on_cluster = trainer().on(&cluster);
    let (mut costs, mut calm, mut disturbed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut killed, mut next) = (0, Instant::now() + Duration::from_millis(500));
    while killed < kills || costs.len() < 40 {
        let step = costs.len() as u64;
        let workers = cluster.workers();
        let is_due = killed < kills && Instant::now() > next && !workers.is_empty();
        if is_due {
            let WorkerStatus { process, .. } = workers[number(step) as usize % workers.len()];
            assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
            killed += 1;
        }
        let begun = Instant::now();
        let outcome = on_cluster.step_with(&net, &mut together, batch(&net, step), &options).unwrap();
        costs.push(outcome.cost().to_bits());
        // A server that is missing is noticed by the step behind, too.
        let taken = begun.elapsed();
        match taken > Duration::from_millis(150) {
            true => disturbed.push(taken),
            false => calm.push(taken),
        }
        if is_due {
            next = Instant::now() + Duration::from_millis(100 + number(step) % 900);
        }
    }

    let mut alone = Parameters::create_with_seed(&net, 1).unwrap();
    let mut by_itself = trainer();
    for (step, cost) in costs.iter().enumerate() {
        let outcome = by_itself.step_with(&net, &mut alone, batch(&net, step as u64), &options).unwrap();
        assert_eq!(outcome.cost().to_bits(), *cost, "the cost of step {step}");
    }
    for name in alone.names() {
        let [expected, found] = [&alone, &together].map(|parameters| parameters.get::<f32>(name).unwrap());
        assert!(expected.iter().map(|x| x.to_bits()).eq(found.iter().map(|x| x.to_bits())), "{name}");
    }
    let restarts: u32 = cluster.workers().iter().map(|worker| worker.restarts).sum();
    assert_eq!(restarts, kills);
    calm.sort();
    disturbed.sort();
    let at = |times: &[Duration], percent: usize| {
        times.get((times.len() * percent / 100).min(times.len().max(1) - 1)).copied()
    };
    println!(
        "cluster_processes: {} steps, {killed} kills; calm steps: median {:?}; others: {}, median {:?}, p99 {:?}",
        costs.len(),
        at(&calm, 50).unwrap_or_default(),
        disturbed.len(),
        at(&disturbed, 50).unwrap_or_default(),
        at(&disturbed, 99).unwrap_or_default(),
    );
}
