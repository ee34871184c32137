//! Ranks that are processes: started by the first one, by a launcher's variables, and by `mpirun`. All have the bits of one machine.

#[path = "support/unreliable.rs"]
mod unreliable;

use std::env;
use std::io;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paddle::cluster::Cluster;
use paddle::{Adam, Error, Load, Options, Parameters, Trainer};
use unreliable::{batch, cost};

/// The steps of each training.
const STEPS: u64 = 12;
/// What a rank of a launcher is to do.
const ROLE: &str = "PADDLE_TEST";

fn main() -> Result<(), Error> {
    match env::var(ROLE).as_deref() {
        Ok("launched") => {
            let cluster = Cluster::all_reduce_ranks()?.expect("a launcher has set the rank");
            println!("{}", digest(Some(&cluster), STEPS)?);
            Ok(())
        }
        Ok("dies") => {
            let cluster = Cluster::all_reduce_ranks()?.expect("a launcher has set the rank");
            if cluster.rank() == 1 {
                train(Some(&cluster), 3)?;
                // Without a farewell, as whoever is killed.
                std::process::abort()
            }
            println!("{}", digest(Some(&cluster), STEPS)?);
            Ok(())
        }
        Ok("fails") => {
            let cluster = Cluster::all_reduce(2);
            if cluster.rank() == 1 {
                train(Some(&cluster), 2)?;
                panic!("there is nothing more to read");
            }
            println!("{}", digest(Some(&cluster), STEPS)?);
            Ok(())
        }
        Ok("returns") => {
            let cluster = Cluster::all_reduce(3);
            if cluster.rank() == 1 {
                // An error that the cluster does not know, of `main` alone.
                train(Some(&cluster), 2)?.load("what is not there", Load::Strict)?;
            }
            println!("{}", digest(Some(&cluster), STEPS)?);
            Ok(())
        }
        Ok("differs") => {
            let cluster = Cluster::all_reduce_ranks()?.expect("a launcher has set the rank");
            let net = cost();
            let reader = (0..STEPS).map(|step| match cluster.rank() == 2 && step == 3 {
                true => Err(io::Error::other("the disk is gone")),
                false => Ok(batch(&net, step)),
            });
            let mut parameters = Parameters::create_with_seed(&net, 1)?;
            let mut trainer = Trainer::new(Adam::new(0.01)).on(&cluster);
            trainer.train(&net, &mut parameters, reader, Options::default().shards(6), |_| Ok(()))?;
            Ok(())
        }
        Ok("fails late") => {
            let cluster = Cluster::all_reduce(2);
            let digest = digest(Some(&cluster), STEPS)?;
            assert!(cluster.rank() == 0, "there is nothing more to do");
            println!("{digest}");
            Ok(())
        }
        _ => started_here(),
    }
}

/// Trains, and returns what the parameters are: all ranks look at them.
fn digest(cluster: Option<&Cluster>, steps: u64) -> Result<String, Error> {
    let parameters = train(cluster, steps)?;
    let mut bits = 0_u64;
    for name in parameters.names() {
        for x in &parameters.get::<f32>(name)? {
            bits = bits.rotate_left(7) ^ u64::from(x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }
    Ok(format!("{bits:016x}"))
}

fn train(cluster: Option<&Cluster>, steps: u64) -> Result<Parameters, Error> {
    let net = cost();
    let options = Options::default().shards(6);
    let mut parameters = Parameters::create_with_seed(&net, 1)?;
    let mut trainer = Trainer::new(Adam::new(0.01)).seed(3).on(cluster);
    for step in 0..steps {
        trainer.step_with(&net, &mut parameters, batch(&net, step), &options)?;
    }
    Ok(parameters)
}

fn started_here() -> Result<(), Error> {
    let cluster = Cluster::all_reduce(3);
    let together = digest(Some(&cluster), STEPS)?;
    let rank = cluster.rank();
    // The other ranks, which run this, too, end here.
    drop(cluster);
    assert_eq!(rank, 0);
    let alone = digest(None, STEPS)?;
    assert_eq!(together, alone, "started by the first rank");

    for said in launched("launched", 4).into_iter().map(outcome) {
        assert_eq!(said, Ok(alone.clone()), "started by a launcher");
    }
    let ends: Vec<_> = launched("dies", 3).into_iter().map(outcome).collect();
    for rank in [0, 2] {
        let error = ends[rank].as_ref().unwrap_err();
        assert!(error.contains("is gone"), "rank {rank}: {error}");
    }
    // What another rank has said in the end is in the error of the first one.
    let error = outcome(itself("fails")).unwrap_err();
    assert!(error.contains("rank 1 is gone") && error.contains("there is nothing more to read"), "{error}");
    // What the `main` of a rank returns ends the others soon, and is in their errors, whoever knows of it.
    let begun = Instant::now();
    let error = outcome(itself("returns")).unwrap_err();
    assert!(error.contains("rank 1 is gone") && error.contains("what is not there"), "{error}");
    for (rank, end) in launched("differs", 3).into_iter().map(outcome).enumerate() {
        let error = end.unwrap_err();
        assert!(error.contains("the disk is gone"), "rank {rank}: {error}");
        assert!(rank == 2 || error.contains("rank 2 is gone: it has failed"), "rank {rank}: {error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // The first one has all that it wants, and tells.
    let late = Command::new(env::current_exe().unwrap()).env(ROLE, "fails late").output().unwrap();
    let told = String::from_utf8_lossy(&late.stderr);
    assert!(late.status.success() && String::from_utf8_lossy(&late.stdout).trim() == alone, "{told}");
    assert!(told.contains("rank 1 has failed behind its last step"), "{told}");
    assert!(told.contains("there is nothing more to do"), "{told}");
    println!(
        "all_reduce_processes: 3 ranks, 4 of a launcher, 3 of which one died, and four groups of which one failed"
    );
    Ok(())
}

/// This program in a role, in which it starts the other ranks.
fn itself(role: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.env(ROLE, role).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// This program in all ranks of a group, as torchrun would start it.
fn launched(role: &str, size: u32) -> Vec<Child> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap().port();
    let secret = env::temp_dir().join(format!("paddle-secret-{}", std::process::id()));
    std::fs::write(&secret, "a secret").unwrap();
    let start = |rank: u32| {
        Command::new(env::current_exe().unwrap())
            .env(ROLE, role)
            .env("RANK", rank.to_string())
            .env("WORLD_SIZE", size.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .env("PADDLE_SECRET", &secret)
            .env("PADDLE_THREADS", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    // The first one comes last: the others wait for it.
    (0..size).rev().map(start).collect::<Vec<_>>().into_iter().rev().collect()
}

/// What a rank has printed, or its error.
fn outcome(child: Child) -> Result<String, String> {
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
