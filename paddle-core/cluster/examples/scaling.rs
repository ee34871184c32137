//! How training on a cluster scales over links of a given speed: a model in virtual time, not a measurement.
//!
//! ```text
//! cargo run --release -p paddle-cluster --example scaling -- 1.1 94 1.3 20
//! ```
//!
//! The numbers are megabytes of parameters, and measured on one machine: the milliseconds in which a trainer computes its shards
//! of a step, the gigabytes of parameters that a server updates in a second, and the microseconds that a message takes at either end.
//!
//! There are as many servers as trainers, each pair on a machine whose link is full duplex. Parameters are cut into layers, and
//! each layer into a piece for each server. A piece takes its size over the speed of the link, first of the sender's, then of
//! the receiver's; links take one piece after the other. A step is: `request`, pull all pieces, compute forward and then
//! backward, push all gradients, `commit`, update. Backward takes two thirds of the time.
//!
//! Two ways of sending are computed: behind backward; and each layer's gradient as soon as backward has it, as it is done, with
//! each layer's values pulled in front of its forward part, as it is not done yet.

use std::env;

/// The one-way time of a small message on its way.
const LATENCY: f64 = 50e-6;
const LAYERS: usize = 20;

#[derive(Clone, Copy)]
struct Job {
    nodes: usize,
    /// Bytes of all parameters.
    bytes: f64,
    /// Bytes in a second over a link, in each direction.
    link: f64,
    /// Seconds of a trainer's computation.
    compute: f64,
    /// Bytes in a second that a server updates.
    update: f64,
    /// Seconds that a machine takes for each message.
    message: f64,
    overlaps: bool,
}

/// The links of all machines in one direction: when each is free again.
struct Links {
    free: Vec<f64>,
    rate: f64,
}

impl Links {
    fn new(nodes: usize, rate: f64) -> Self {
        Links { free: vec![0.0; nodes], rate }
    }

    /// Takes bytes that are there at a time. Returns when they are through.
    fn take(&mut self, node: usize, at: f64, bytes: f64) -> f64 {
        self.free[node] = self.free[node].max(at) + bytes / self.rate;
        self.free[node]
    }
}

/// A piece that goes from one machine to another.
struct Transfer {
    from: usize,
    to: usize,
    at: f64,
    layer: usize,
}

/// When each layer of each receiver is there.
fn transfer(job: Job, mut pieces: Vec<Transfer>) -> Vec<Vec<f64>> {
    let size = job.bytes / (LAYERS * job.nodes) as f64;
    let (mut out, mut into) = (Links::new(job.nodes, job.link), Links::new(job.nodes, job.link));
    let mut there = vec![vec![0.0_f64; LAYERS]; job.nodes];
    pieces.sort_by(|a, b| a.at.total_cmp(&b.at));
    // Each machine's pieces leave in the order in which they are there.
    let mut left: Vec<(f64, Transfer)> = Vec::new();
    for piece in pieces {
        // What stays on its machine takes no link.
        let at =
            if piece.from == piece.to { piece.at } else { out.take(piece.from, piece.at, size) + LATENCY };
        left.push((at, piece));
    }
    left.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, piece) in left {
        // The last byte comes no earlier than it was sent, and the link takes the first ones meanwhile.
        let at = match piece.from == piece.to {
            true => at,
            false => into.take(piece.to, at - size / job.link, size).max(at),
        };
        let layer = &mut there[piece.to][piece.layer];
        *layer = layer.max(at);
    }
    there
}

/// The pieces of all layers between all trainers and servers. Neighbours of a machine come first, so that not all ask the same.
fn pieces(job: Job, at: &dyn Fn(usize, usize) -> f64) -> Vec<Transfer> {
    let mut pieces = Vec::new();
    for layer in 0..LAYERS {
        for shift in 0..job.nodes {
            for from in 0..job.nodes {
                pieces.push(Transfer { from, to: (from + shift) % job.nodes, at: at(from, layer), layer });
            }
        }
    }
    pieces
}

/// The seconds of a step.
fn step(job: Job) -> f64 {
    let (forward, backward) = (job.compute / 3.0 / LAYERS as f64, job.compute * 2.0 / 3.0 / LAYERS as f64);
    // The servers hear of the step, and send values. Layers are wanted in their order.
    // The master sends a message to each trainer, and each server takes one of each.
    let all = job.message * job.nodes as f64;
    let pulled = transfer(job, pieces(job, &|_, _| 2.0 * (LATENCY + all)));
    let mut done = vec![0.0_f64; job.nodes];
    for (node, layers) in pulled.iter().enumerate() {
        let last = layers.iter().copied().fold(0.0, f64::max);
        for &layer in layers {
            done[node] = done[node].max(if job.overlaps { layer } else { last }) + forward;
        }
    }
    // Backward goes from the last layer to the first.
    let ready = |node: usize, layer: usize| match job.overlaps {
        true => done[node] + backward * (LAYERS - layer) as f64,
        false => done[node] + backward * LAYERS as f64,
    };
    let pushed = transfer(job, pieces(job, &ready));
    let end = pushed.iter().flatten().copied().fold(0.0, f64::max);
    // Servers take the gradients of all and answer, and the master takes the results of all; then it tells all servers, and
    // they answer.
    end + 4.0 * (LATENCY + all) + job.bytes / job.nodes as f64 / job.update
}

fn main() {
    let numbers: Vec<f64> = env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let &[megabytes, milliseconds, gigabytes, microseconds] = &numbers[..] else {
        eprintln!("four numbers are wanted: megabytes, milliseconds, gigabytes a second, microseconds");
        std::process::exit(2);
    };
    println!(
        "{megabytes} MB of parameters, {milliseconds} ms of computation, updates of {gigabytes} GB/s, {microseconds} µs a message"
    );
    println!(
        "| nodes | Gbit/s | step, ms | efficiency, % | overlapped, ms | efficiency, % | communication hidden, % |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for gigabits in [1.0, 10.0] {
        for nodes in [2, 4, 8, 16, 32, 64, 128, 256] {
            let job = Job {
                nodes,
                bytes: megabytes * 1e6,
                link: gigabits * 1e9 / 8.0,
                compute: milliseconds / 1e3,
                update: gigabytes * 1e9,
                message: microseconds / 1e6,
                overlaps: false,
            };
            // One machine computes and updates, and nothing else.
            let alone = job.compute + job.bytes / job.update;
            let times = [false, true].map(|overlaps| step(Job { overlaps, ..job }));
            // What would not be there with a link that takes no time.
            let free = step(Job { link: f64::INFINITY, ..job });
            let beside = times.map(|time| (time - free).max(0.0));
            let hidden = 100.0 * (1.0 - beside[1] / beside[0]);
            let [plain, overlapped] = times.map(|time| (time * 1e3, 100.0 * alone / time));
            println!(
                "| {nodes} | {gigabits} | {:.1} | {:.0} | {:.1} | {:.0} | {hidden:.0} |",
                plain.0, plain.1, overlapped.0, overlapped.1
            );
        }
    }
}
