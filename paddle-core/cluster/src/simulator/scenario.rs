//! What is trained on which cluster, and what goes wrong.

use super::model::{Batch, Kind, Training};
use super::random::Random;
use crate::master::{Mode, Settings};
use crate::message::{Piece, Plan, Request, Role};
use crate::timing::{Micros, Timing};

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process ends at once, and another one takes its place after a while.
    Kill { role: Role, rank: u32, down: Micros },
    /// The process stands still.
    Freeze { role: Role, rank: u32, time: Micros },
    /// The process stands still, and another one takes its place before it goes on.
    Replace { role: Role, rank: u32, after: Micros, time: Micros },
    /// No message gets from one process to the other.
    Cut { from: (Role, u32), to: (Role, u32), time: Micros },
    /// Messages to and from a process take long.
    Slow { role: Role, rank: u32, time: Micros },
    /// A trainer computes slowly.
    Straggle { rank: u32, time: Micros },
    /// The newest manifest is damaged.
    Damage { rank: u32 },
    /// The storage fails.
    Storage { time: Micros },
    /// A worker is told to stop. If it does not within a while, it is killed.
    Drain { role: Role, rank: u32, patience: Micros },
    /// The end of this patience.
    Impatience { process: usize },
}

/// A cluster, a training and its faults.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) training: Training,
    /// By ascending times.
    pub(crate) faults: Vec<(Micros, Fault)>,
    /// No fault lasts longer.
    pub(crate) faults_end: Micros,
    /// In a thousand, until the faults end.
    pub(crate) loss: u64,
    pub(crate) duplicates: u64,
    /// How much later than others a message may come.
    pub(crate) spread: Micros,
    /// How long a trainer computes.
    pub(crate) compute: (Micros, Micros),
    /// How far clocks are off, in a thousand.
    pub(crate) skew: u64,
    /// When the job has to be over.
    pub(crate) limit: Micros,
}

fn training(random: &mut Random, servers: u32, steps: u32, most_leaves: u64, trouble: bool) -> Training {
    let count = servers * 2 + 1;
    // Every server has a piece, and they are not in order.
    let pieces: Vec<(u64, u32)> =
        (0..count).map(|id| (random.next(), (id * 7 + 3) % servers.max(1))).collect();
    let plan = |id: u32, random: &mut Random| {
        let own: Vec<Piece> = (0..)
            .zip(&pieces)
            .filter(|&(piece, _)| id == 0 || piece % 2 == 0)
            .map(|(id, &(_, server))| Piece { id, server })
            .collect();
        Plan { id, pieces: own, measures: random.per_mille(500), program: u64::from(id) }
    };
    let plans = vec![plan(0, random), plan(1, random)];
    let mut batches = Vec::new();
    for step in 0..steps {
        let kind = match random.below(24) {
            0 if trouble => Kind::NotFinite,
            1 if trouble => Kind::Error,
            _ => Kind::Normal,
        };
        let leaves = random.range(1, most_leaves);
        let request = Request {
            plan: u32::from(random.per_mille(250)),
            header: random.next(),
            leaves: (0..leaves).map(|_| random.next()).collect(),
            pass: u64::from(step / 8),
            batch: u64::from(step % 8),
            rows: leaves * 3,
            bytes: leaves * 100,
        };
        batches.push(Batch { request, kind, fetch: random.per_mille(100) });
    }
    Training { alone: false, plans, pieces, batches }
}

impl Scenario {
    /// A cluster without faults.
    pub fn quiet(seed: u64, servers: u32, trainers: u32, steps: u32, leaves: u32) -> Self {
        let mut random = Random::new(seed);
        let settings = Settings {
            servers,
            trainers,
            mode: Mode::Synchronous,
            timing: Timing::default(),
            checkpoint_steps: random.range(1, 6),
            checkpoint_bytes: random.range(1_000, 20_000),
            deaths: 1000,
            seed,
        };
        Self {
            seed,
            settings,
            training: training(&mut random, servers, steps, u64::from(leaves), true),
            faults: Vec::new(),
            faults_end: 0,
            loss: 0,
            duplicates: 0,
            spread: 300,
            compute: (5_000, 20_000),
            skew: 0,
            limit: 120_000_000,
        }
    }

    /// As of a seed, but in asynchronous training.
    pub fn asynchronous(seed: u64) -> Self {
        let mut scenario = Self::of_seed(seed);
        scenario.settings.mode = Mode::Asynchronous { staleness: seed / 8 % 5 };
        scenario.training.alone = true;
        scenario.training.plans.iter_mut().for_each(|plan| plan.measures = false);
        for batch in &mut scenario.training.batches {
            batch.fetch = false;
            if batch.kind == Kind::NotFinite {
                batch.kind = Kind::Normal;
            }
        }
        scenario
    }

    /// A large cluster, where every trainer has a leaf of each batch. Messages get lost, and a few workers are killed.
    pub fn large(seed: u64, servers: u32, trainers: u32, steps: u32) -> Self {
        let mut random = Random::new(seed);
        let mut scenario = Self::quiet(seed, servers, trainers, 0, 1);
        scenario.training = training(&mut random, servers, steps, 1, false);
        for batch in &mut scenario.training.batches {
            batch.request.leaves = (0..trainers).map(|_| random.next()).collect();
        }
        scenario.loss = 2;
        scenario.duplicates = 2;
        for at in [30_000, 60_000] {
            let kill = |role, rank| (at, Fault::Kill { role, rank, down: 100_000 });
            scenario.faults.push(kill(Role::Trainer, trainers / 2));
            scenario.faults.push(kill(Role::Server, servers / 2));
        }
        scenario.faults_end = 10_000_000;
        scenario
    }

    /// Whether nothing goes wrong.
    pub(crate) fn is_quiet(&self) -> bool {
        self.faults.is_empty() && self.loss == 0
    }

    /// A cluster of a few machines with everything that can go wrong; one seed in eight has no faults.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xfau64.rotate_left(40));
        let servers = u32::try_from(random.range(1, 4)).unwrap_or(1);
        let trainers = u32::try_from(random.range(1, 5)).unwrap_or(1);
        let steps = u32::try_from(random.range(8, 30)).unwrap_or(8);
        let mut scenario = Self::quiet(seed, servers, trainers, steps, 9);
        if seed.is_multiple_of(8) {
            // Longer than a lease.
            scenario.compute = (60_000, 300_000);
            return scenario;
        }
        scenario.loss = random.below(60);
        scenario.duplicates = random.below(80);
        scenario.spread = random.range(300, 30_000);
        scenario.compute = (20_000, random.range(50_000, 400_000));
        scenario.skew = random.below(100);
        let time = random.range(2_000_000, 12_000_000);
        for _ in 0..random.range(1, 10) {
            let at = random.below(time);
            let fault = fault(&mut random, servers, trainers);
            scenario.faults.push((at, fault));
        }
        scenario.faults.sort_by_key(|&(at, _)| at);
        scenario.faults_end = time + 12_000_000;
        scenario.limit = scenario.faults_end + 120_000_000;
        scenario
    }
}

fn fault(random: &mut Random, servers: u32, trainers: u32) -> Fault {
    let below = |random: &mut Random, limit: u32| u32::try_from(random.below(u64::from(limit))).unwrap_or(0);
    let node = |random: &mut Random| match random.below(10) {
        0 | 1 => (Role::Master, 0),
        2..=5 => (Role::Server, below(random, servers)),
        _ => (Role::Trainer, below(random, trainers)),
    };
    let (role, rank) = node(random);
    let time = random.range(100_000, 6_000_000);
    match random.below(20) {
        0..=4 => Fault::Kill { role, rank, down: random.range(50_000, 4_000_000) },
        5 => {
            let after = random.range(300_000, 2_000_000);
            Fault::Replace { role: Role::Master, rank: 0, after, time: after + random.range(0, 500_000) }
        }
        6..=8 => Fault::Freeze { role, rank, time },
        9..=11 => {
            let after = random.range(100_000, 3_500_000);
            Fault::Replace { role, rank, after, time: after + random.range(0, 4_000_000) }
        }
        12 | 13 => {
            let to = node(random);
            Fault::Cut { from: (role, rank), to, time }
        }
        14 => Fault::Slow { role, rank, time },
        15 => Fault::Straggle { rank: below(random, trainers), time },
        16 => Fault::Damage { rank: below(random, servers) },
        17 => Fault::Storage { time },
        _ => match role {
            Role::Master => Fault::Kill { role, rank, down: 100_000 },
            _ => Fault::Drain { role, rank, patience: random.range(50_000, 4_000_000) },
        },
    }
}
