//! Messages that no machine of a job would send.

use super::random::Random;
use super::scenario::Scenario;
use super::world::World;
use crate::machine::{Effect, Event, Restoration};
use crate::message::*;
use crate::tree::Node;
use std::sync::Arc;

fn number(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => u64::MAX,
        1 => u64::MAX / 2,
        2 => 1 << 32,
        _ => random.below(12),
    }
}

fn small(random: &mut Random) -> u32 {
    u32::try_from(number(random)).unwrap_or(u32::MAX)
}

fn epoch(random: &mut Random) -> Epoch {
    // An epoch of the running master, mostly.
    match random.below(8) {
        0 => Epoch { election: small(random), round: small(random) },
        _ => Epoch { election: 1, round: 0 },
    }
}

fn node(random: &mut Random) -> Node {
    Node::new(small(random), small(random))
}

fn step(random: &mut Random) -> Step {
    let attempt = (1 << 32) + random.below(30);
    Step { version: number(random), attempt: if random.per_mille(200) { number(random) } else { attempt } }
}

fn manifest(random: &mut Random) -> ManifestId {
    ManifestId { version: number(random), epoch: epoch(random) }
}

fn wanted(random: &mut Random) -> Wanted {
    let plan = small(random);
    let version = random.per_mille(700).then(|| number(random));
    Wanted { plan, version, have: random.per_mille(500).then(|| number(random)) }
}

fn parts(random: &mut Random) -> Arc<[Part<u64>]> {
    let count = random.below(5);
    (0..count).map(|_| Part { piece: small(random), node: node(random), sum: random.next() }).collect()
}

fn plan(random: &mut Random) -> Arc<Plan<u64>> {
    let piece = |random: &mut Random| Piece { id: small(random), server: small(random) };
    let pieces = (0..random.below(4)).map(|_| piece(random)).collect();
    Arc::new(Plan { id: small(random), pieces, measures: random.per_mille(500), program: 0 })
}

fn results(random: &mut Random) -> Vec<(Node, u64)> {
    (0..random.below(4)).map(|_| (node(random), random.next())).collect()
}

fn task(random: &mut Random) -> Arc<Task<u64>> {
    let servers = (0..random.below(4)).map(|_| Server { process: random.below(12), address: 0 }).collect();
    let leaves = small(random);
    let run = node(random);
    let rows = vec![0; if random.per_mille(700) { run.leaves().min(100) as usize } else { 3 }];
    Arc::new(Task {
        number: (1 << 32) + number(random).min(1 << 60),
        step: step(random),
        plan: small(random) % 3,
        header: 0,
        leaves,
        run,
        rows,
        servers,
        alone: random.per_mille(300).then(|| number(random)),
    })
}

fn body(random: &mut Random) -> Body<u64> {
    match random.below(28) {
        0 => Body::Hello { sent: number(random), address: 0 },
        1 => Body::Heartbeat { sent: number(random) },
        2 => Body::Leave,
        3 => Body::AskPlan(small(random)),
        4 => Body::Alive { sent: number(random) },
        5 => Body::Farewell,
        6 => Body::Plan(plan(random)),
        7 => Body::Refused(match random.below(4) {
            0 => Refusal::Epoch,
            1 => Refusal::Unknown,
            2 => Refusal::Version(number(random)),
            _ => Refusal::Invalid,
        }),
        8 | 9 => Body::Task(task(random)),
        10 => Body::Taken(number(random)),
        11 => Body::Computed { task: (1 << 32) + random.below(40), results: results(random) },
        12 => Body::Failed { task: number(random), error: 0 },
        13 => Body::Recorded((1 << 32) + random.below(40)),
        14 => Body::Pull(wanted(random)),
        15 => {
            let part = [small(random), small(random)];
            Body::Values { wanted: wanted(random), version: number(random), part, values: 0 }
        }
        16..=18 => Body::Push {
            task: number(random),
            step: step(random),
            plan: small(random) % 3,
            leaves: small(random),
            alone: random.per_mille(500).then(|| number(random)),
            header: 0,
            number: small(random),
            parts: parts(random),
        },
        19 => Body::Pushed { task: number(random), number: small(random) },
        20 => {
            let (step, plan, leaves) = (step(random), small(random) % 3, small(random));
            let measures = (0..random.below(4)).map(|_| random.next()).collect();
            Body::Commit { step, plan, header: 0, leaves, measures }
        }
        21 => Body::Committed(number(random)),
        22 => Body::Save { manifest: manifest(random), alone: random.per_mille(500) },
        23 => Body::Saved { manifest: manifest(random), digest: 0 },
        24 => Body::Restored(manifest(random)),
        25 => Body::Measure { step: step(random), plan: small(random) % 3, header: 0, leaves: small(random) },
        26 => Body::Measured { step: step(random), measure: random.next() },
        _ => Body::Restore(Arc::new(Manifest { id: manifest(random), digests: vec![0; 3], note: 0 })),
    }
}

/// A machine takes any message in any state, answers with few effects, and has not begun to send on its own.
#[test]
fn machines_take_any_message() {
    for seed in 0..600 {
        let scenario =
            if seed % 2 == 0 { Scenario::of_seed(seed * 8) } else { Scenario::asynchronous(seed * 8) };
        let mut world = World::new(scenario, None);
        let mut random = Random::new(seed);
        world.run_until(random.range(10_000, 2_000_000));
        for to in 0..world.hosts.len() {
            for _ in 0..60 {
                let from = Sender {
                    role: [Role::Master, Role::Server, Role::Trainer][random.below(3) as usize],
                    rank: small(&mut random),
                    process: random.below(12),
                    incarnation: Incarnation { election: 1, count: small(&mut random) },
                };
                let message = Message { epoch: epoch(&mut random), from, body: body(&mut random) };
                let mut effects = Vec::new();
                world.hosts[to].step(world.now, Event::Received(message.clone()), &mut effects);
                assert!(effects.len() < 60, "{} effects after {message:?}", effects.len());
                for effect in effects {
                    let done = match effect {
                        Effect::Restore(manifest) => {
                            Event::RestoreDone { manifest: manifest.id, outcome: Restoration::Done }
                        }
                        Effect::Measure { step, .. } => Event::Measured { step, measure: random.next() },
                        Effect::Apply { step, .. } => Event::Applied(step),
                        Effect::Save(manifest) => Event::SaveDone { manifest, digest: Some(0) },
                        Effect::Compute { task, .. } => {
                            Event::Sums { task: task.number, parts: parts(&mut random).to_vec() }
                        }
                        _ => continue,
                    };
                    world.hosts[to].step(world.now, done, &mut Vec::new());
                }
                let mut effects = Vec::new();
                world.hosts[to].step(world.now, Event::Tick, &mut effects);
                let again = effects.len();
                assert!(again < 60, "{again} effects of a tick after {message:?}");
            }
        }
    }
}
