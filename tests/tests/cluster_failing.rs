//! A cluster of processes of which one cannot begin: the job ends soon, with the error, and with the name of the process. So it does when
//! a process comes to the end of `main` without taking its role.

#[path = "support/unreliable.rs"]
mod unreliable;

use std::env;
use std::process::Command;
use std::time::{Duration, Instant};

use paddle::cluster::{Cluster, ClusterError};
use paddle::{Adam, Error, Options, Parameters, Trainer};
use unreliable::{batch, cost};

/// With this variable a trainer ends well, and with an error without it.
const RETURNS: &str = "PADDLE_FAILING_RETURNS";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let returns = env::var_os(RETURNS).is_some();
    // In the processes of the cluster, `main` is run up to here: in one of them it fails.
    if env::var("PADDLE_ROLE").is_ok_and(|role| role == "trainer") && env::var("PADDLE_RANK")? == "1" {
        // The others are there by then.
        std::thread::sleep(Duration::from_millis(400));
        if returns {
            return Ok(());
        }
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
    let why = if returns {
        "exit status: 0; is the cluster made at the beginning"
    } else {
        "the licence is missing"
    };
    assert!(message.contains("trainer 1") && message.contains(why), "{error}");
    let again = step().unwrap_err();
    assert!(matches!(again, Error::Cluster(ClusterError::Ended { .. })), "{again}");
    println!("cluster_failing: {:?}: {}", begun.elapsed(), message.lines().next().unwrap_or_default());
    if !returns {
        assert!(Command::new(env::current_exe()?).env(RETURNS, "1").status()?.success());
    }
    Ok(())
}
