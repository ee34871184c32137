//! A cluster of processes of which one cannot begin: the job ends soon, with the error, and with the name of the process.

#[path = "support/unreliable.rs"]
mod unreliable;

use std::env;
use std::time::{Duration, Instant};

use paddle::cluster::{Cluster, ClusterError};
use paddle::{Adam, Error, Options, Parameters, Trainer};
use unreliable::{batch, cost};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In the processes of the cluster, `main` is run up to here: in one of them it fails.
    if env::var("PADDLE_ROLE").is_ok_and(|role| role == "trainer") && env::var("PADDLE_RANK")? == "1" {
        // The others are there by then.
        std::thread::sleep(Duration::from_millis(400));
        Err("the licence is missing")?;
    }
    let cluster = Cluster::local(2);
    let net = cost();
    let mut parameters = Parameters::create_with_seed(&net, 1)?;
    let mut trainer = Trainer::new(Adam::new(0.01)).on(&cluster);
    let options = Options::default().shards(2);
    let begun = Instant::now();
    // A trainer that is there computes steps alone, until the other one has failed for good.
    let mut step =
        || trainer.step_with(&net, &mut parameters, batch(&net, 0), &options).map(|outcome| outcome.cost());
    let error = loop {
        match step() {
            Ok(_) => assert!(begun.elapsed() < Duration::from_secs(60), "the job goes on"),
            Err(error) => break error,
        }
    };
    let Error::Cluster(ClusterError::Start { message }) = &error else { panic!("{error}") };
    assert!(message.contains("trainer 1") && message.contains("the licence is missing"), "{error}");
    let again = step().unwrap_err();
    assert!(matches!(again, Error::Cluster(ClusterError::Ended { .. })), "{again}");
    println!("cluster_failing: {:?}: {}", begun.elapsed(), message.lines().next().unwrap_or_default());
    Ok(())
}
