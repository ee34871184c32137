//! An asynchronous cluster of processes whose servers and trainers are killed while they train: each batch counts once.
//!
//! `PADDLE_KILLS` says how many are killed.

use std::process::Command;
use std::time::{Duration, Instant};

use paddle::cluster::{Cluster, WorkerStatus};
use paddle::event::EventKind;
use paddle::reader::Item;
use paddle::{Options, Parameters, Sgd, Trainer, network};

/// A pass has so many batches.
const PASS: usize = 500;

fn main() {
    // In the processes of the cluster it does not return.
    let cluster = Cluster::local(3).servers(2).asynchronous(4);
    let kills: u32 = std::env::var("PADDLE_KILLS").map_or(5, |kills| kills.parse().unwrap());
    // The gradients are the rows, so the parameters say how often each kind of row was applied.
    let net = network!(|x: Tensor<f32, _, 16>, y: Tensor<f32, _, 3>| {
        mean(fc(x, 1, bias = false, param = "x")) + mean(fc(y, 1, bias = false, param = "y"))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    for (name, size) in [("x.w", 16), ("y.w", 3)] {
        parameters.set(name, &ndarray::Array2::<f32>::zeros((size, 1))).unwrap();
    }
    let unit = |at: usize, k: usize| f32::from(u8::from(at == k));
    let row = |k: usize| {
        net.row(std::array::from_fn(|at| unit(at, k % 16)), std::array::from_fn(|at| unit(at, k % 3)))
    };
    let items = (0..).flat_map(|_| (0..PASS).map(|k| Item::Data(vec![row(k)])).chain([Item::EndPass]));

    let (mut killed, mut next, mut ended) = (0, Instant::now() + Duration::from_millis(500), 0);
    let mut trainer = Trainer::new(Sgd::new(1.0)).on(&cluster);
    let trained = trainer.train(&net, &mut parameters, items, Options::default(), |event| {
        if let EventKind::EndIteration { pass, batch, .. } = event.kind() {
            assert_eq!(PASS * pass + batch, ended, "steps end in the order of their batches");
            ended += 1;
            let workers = cluster.workers();
            if killed < kills && Instant::now() > next && !workers.is_empty() {
                let WorkerStatus { process, .. } = workers[(3 * ended + killed as usize) % workers.len()];
                assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
                killed += 1;
                next = Instant::now() + Duration::from_millis(400);
            }
        }
        if matches!(event.kind(), EventKind::EndPass { .. }) && killed == kills && Instant::now() > next {
            event.stop();
        }
        Ok(())
    });
    trained.unwrap();

    let steps = trainer.steps(&net).unwrap() as usize;
    assert_eq!(steps, ended);
    let passes = steps / PASS;
    for (name, size) in [("x.w", 16), ("y.w", 3)] {
        let found: Vec<f32> = parameters.get::<f32>(name).unwrap().iter().map(|sum| -sum).collect();
        let of_pass = |at: usize| (0..PASS).filter(|k| k % size == at).count();
        let expected: Vec<f32> = (0..size).map(|at| (passes * of_pass(at)) as f32).collect();
        assert_eq!(found, expected, "`{name}` after {steps} steps");
    }
    let restarts: u32 = cluster.workers().iter().map(|worker| worker.restarts).sum();
    assert_eq!(restarts, kills);
    println!("cluster_asynchronous: {steps} steps, {killed} kills");
}
