//! A cluster of processes of which one dies, stands still, is cut off, loses packets or has a slow link: the bits are those of
//! one machine.
//!
//! By default one job on the loopback has one fault after the other. With `PADDLE_FAULTS=all` each role has each fault in a job of
//! its own, in network namespaces, which needs root; `PADDLE_FAULTS=partition` is that fault alone. The last lines are a table.
//! `PADDLE_FAULTS=overlap` measures how much of what goes over shaped links is hidden behind what is computed, and `overlap-0` the first of its
//! measurements alone.
//! `PADDLE_FAULTS=masters` are the deaths of masters that go on from the store, `storage` a job whose store takes nothing for a while,
//! `garbage` one at whose ports anything is said, `certificates` one that has some, and `etcd` one whose master is found there.

#[path = "cluster_faults/commits.rs"]
mod commits;
#[path = "cluster_faults/etcd.rs"]
mod etcd;
#[path = "cluster_faults/garbage.rs"]
mod garbage;
#[path = "cluster_faults/job.rs"]
mod job;
#[path = "cluster_faults/master.rs"]
mod master;
#[path = "cluster_faults/overlap.rs"]
mod overlap;
#[path = "cluster_faults/site.rs"]
mod site;
#[path = "cluster_faults/storage.rs"]
mod storage;
#[path = "cluster_faults/tls.rs"]
mod tls;
#[path = "support/unreliable.rs"]
mod unreliable;

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use job::{ENOUGH, Job, STEPS};
use paddle::cluster::Cluster;
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Options, Parameters, Trainer};
use site::Site;
use unreliable::{batch, cost};

const SERVERS: u32 = 2;
const TRAINERS: u32 = 3;
const SHARDS: u64 = 6;
/// The rows of the data set, those of a batch, and the passes.
const ROWS: u64 = 403;
const BATCH: u64 = 7;
const PASSES: u32 = 8;

/// A training, on a cluster or on one machine.
struct Training {
    net: paddle::Network<cost::Spec>,
    parameters: Parameters,
    trainer: Trainer<Adam>,
    steps: u64,
    /// All costs, to the bit.
    costs: String,
}

impl Training {
    fn new(cluster: Option<&Cluster>) -> Self {
        let net = cost();
        let parameters = Parameters::create_with_seed(&net, 1).unwrap();
        let trainer = Trainer::new(Adam::new(0.01)).seed(3).on(cluster);
        Training { net, parameters, trainer, steps: 0, costs: String::new() }
    }

    fn step(&mut self) {
        let rows = batch(&self.net, self.steps);
        let options = Options::default().shards(SHARDS as usize);
        let outcome = self.trainer.step_with(&self.net, &mut self.parameters, rows, &options).unwrap();
        write!(self.costs, "{:08x} ", outcome.cost().to_bits()).unwrap();
        self.steps += 1;
    }

    /// Trains on passes over a data set.
    fn passes(&mut self, passes: usize, done: &mut dyn FnMut()) {
        let Training { net, parameters, trainer, .. } = self;
        let rows: Vec<_> = (0..).flat_map(|step| batch(net, step)).take(ROWS as usize).collect();
        let reader = rows.iter().passes(passes).batch(BATCH as usize);
        let options = Options::default().shards(SHARDS as usize);
        let trained = trainer.train(net, parameters, reader, options, |event| {
            if let EventKind::EndIteration { cost, .. } = event.kind() {
                write!(self.costs, "{:08x} ", cost.to_bits()).unwrap();
                self.steps += 1;
                done();
            }
            Ok(())
        });
        trained.unwrap();
    }

    /// All costs and all parameters, to the bit.
    fn bits(&self) -> String {
        let mut bits = format!("{} steps: {}\n", self.steps, self.costs);
        for name in self.parameters.names() {
            let values = self.parameters.get::<f32>(name).unwrap();
            write!(bits, "{name}:").unwrap();
            values.iter().for_each(|value| write!(bits, " {:08x}", value.to_bits()).unwrap());
            bits.push('\n');
        }
        bits
    }
}

/// What the master does: steps, until there are enough.
fn run_master(cluster: &Cluster, folder: PathBuf) {
    let mut steps = std::fs::File::create(folder.join(STEPS)).unwrap();
    let mut done = move || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        writeln!(steps, "{}", now.as_micros()).unwrap();
    };
    let mut training = Training::new(Some(cluster));
    match std::env::var("PADDLE_FAULTS_PASSES").unwrap().parse().unwrap() {
        0 => {
            while !folder.join(ENOUGH).exists() {
                training.step();
                done();
            }
        }
        passes => training.passes(passes, &mut done),
    }
    std::fs::write(folder.join("end"), training.bits()).unwrap();
}

/// The bits of one machine after so many steps.
fn alone(steps: u64) -> String {
    let mut training = Training::new(None);
    (0..steps).for_each(|_| training.step());
    training.bits()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Kill,
    /// Longer than a lease.
    Freeze,
    /// Another process takes the place before it goes on.
    Replace,
    Partition,
    /// 5 % of the packets in each direction.
    Loss,
    /// 2 megabits a second.
    Slow,
}

const ALL: [Fault; 6] =
    [Fault::Kill, Fault::Freeze, Fault::Replace, Fault::Partition, Fault::Loss, Fault::Slow];

/// The rank of a master, a server and a trainer.
const ROLES: [(&str, usize); 3] = [("master", 0), ("server", 1), ("trainer", 1 + SERVERS as usize)];

/// A fault from its beginning to its end.
fn disturb(job: &mut Job<'_>, site: &Site, fault: Fault, rank: usize, time: Duration) {
    match fault {
        Fault::Kill => job.signal(rank, "-KILL"),
        Fault::Freeze => {
            job.signal(rank, "-STOP");
            job.watch_for(time);
            job.signal(rank, "-CONT");
        }
        Fault::Replace => {
            job.signal(rank, "-STOP");
            job.watch_for(Duration::from_millis(500));
            job.replace(rank);
            job.watch_for(time);
            job.thaw_zombies();
        }
        Fault::Partition | Fault::Loss | Fault::Slow => {
            match fault {
                Fault::Partition => site.lose(rank, 1.0),
                Fault::Loss => site.lose(rank, 0.05),
                _ => site.shape(rank, 2.0),
            }
            job.watch_for(time);
            site.heal(rank);
        }
    }
}

/// The time after which a job that makes no step has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// Steps before a fault, and behind it.
const CALM: usize = 20;

/// Ends a job, and compares it with one machine. Returns the number of steps.
fn end(mut job: Job<'_>) -> u64 {
    let (bits, log) = job.finish();
    let steps = bits.split(' ').next().and_then(|steps| steps.parse().ok()).unwrap();
    assert!(bits == alone(steps), "the bits after {steps} steps are not those of one machine");
    commits::check(&log, 1, |_, batch| self::batch(&cost(), batch).len() as u64, steps);
    steps
}

/// What the master says of a job at an address.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: master\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Each sample is committed once in each pass, whatever dies.
fn accounts() {
    let site = Site::loopback();
    let mut job = Job::start(&site, "accounts", PASSES, Vec::new());
    let kills: [(usize, &str); 5] =
        [(20, "trainer"), (60, "server"), (150, "trainer"), (200, "server"), (280, "trainer")];
    for (step, role) in kills {
        job.wait_for_steps(step, LIMIT);
        let (_, rank) = ROLES.into_iter().find(|(name, _)| *name == role).unwrap();
        job.signal(rank, "-KILL");
    }
    job.wait_for_steps(300, LIMIT);
    // The page lags behind by a moment.
    job.watch_for(Duration::from_millis(300));
    let metrics = metrics(&site.metrics());
    let value = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("paddle_{name} ")));
        line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
    };
    assert!(value("steps_total") >= 300.0 && value("samples_total") > 2000.0, "{metrics}");
    assert_eq!((value("recoveries_total"), value("deaths_total{role=\"server\"}")), (2.0, 2.0), "{metrics}");
    assert_eq!(value("deaths_total{role=\"trainer\"}"), 3.0, "{metrics}");
    assert_eq!(value("members{role=\"server\"}"), 2.0, "{metrics}");
    for role in ["master", "server", "trainer"] {
        for direction in ["sent", "received"] {
            assert!(
                value(&format!("bytes_total{{role=\"{role}\",direction=\"{direction}\"}}")) > 0.0,
                "{metrics}"
            );
        }
    }
    let (bits, log) = job.finish();
    let mut training = Training::new(None);
    training.passes(PASSES as usize, &mut || ());
    assert!(bits == training.bits(), "the bits are not those of one machine");
    let batches = ROWS.div_ceil(BATCH);
    let rows = |_, batch| if (batch + 1) % batches == 0 { ROWS - (batches - 1) * BATCH } else { BATCH };
    commits::check(&log, u64::from(PASSES), rows, batches);
    println!(
        "cluster_faults: {} samples in {PASSES} passes, each committed once in each; {} kills",
        ROWS,
        kills.len()
    );
}

/// One fault after the other, on the loopback.
fn some() {
    let site = Site::loopback();
    let mut job = Job::start(&site, "some", 0, Vec::new());
    job.wait_for_steps(CALM, LIMIT);
    let time = Duration::from_millis(2500);
    for (fault, role) in [
        (Fault::Kill, "trainer"),
        (Fault::Freeze, "trainer"),
        (Fault::Kill, "server"),
        (Fault::Freeze, "server"),
        (Fault::Replace, "server"),
        (Fault::Kill, "master"),
    ] {
        let (_, rank) = ROLES.into_iter().find(|(name, _)| *name == role).unwrap();
        disturb(&mut job, &site, fault, rank, time);
        if role == "master" {
            // What it leaves is not taken for what the next one does.
            std::fs::write(job.folder().join(STEPS), "").unwrap();
            job.watch_for(Duration::from_millis(300));
        }
        let so_far = if role == "master" { 0 } else { job.steps().len() };
        job.wait_for_steps(so_far + CALM, LIMIT);
    }
    let restarts = job.restarts;
    println!("cluster_faults: {} steps, {restarts} processes started again", end(job));
}

/// A fault in a job of its own, and its line of the table.
fn one(site: &Site, fault: Fault, (role, rank): (&str, usize)) {
    let begun = Instant::now();
    let mut job = Job::start(site, &format!("{fault:?}-{role}"), 0, Vec::new());
    job.wait_for_steps(CALM, LIMIT);
    let before = job.steps().len();
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    disturb(&mut job, site, fault, rank, Duration::from_secs(4));
    let during = job.steps().len().saturating_sub(before);
    let healed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    if (fault, role) == (Fault::Kill, "master") {
        job.watch_for(Duration::from_millis(300));
        job.wait_for_steps(CALM, LIMIT);
    } else {
        job.wait_for_steps(before + during + CALM, LIMIT);
    }
    let steps = job.steps();
    let longest = steps.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap();
    let first = steps.iter().find(|&&step| step > healed).map(|step| step.saturating_sub(healed));
    let after = first.map_or("-".to_string(), |time| format!("{:.2}", time.as_secs_f64()));
    let (restarts, lasted) = (job.restarts, healed.saturating_sub(at));
    let steps = end(job);
    println!(
        "| {fault:?} | {role} | {:.1} | {during} | {:.2} | {after} | {restarts} | {steps} | the same | {:.1} |",
        lasted.as_secs_f64(),
        longest.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
    );
}

fn main() {
    if overlap::run() {
        return;
    }
    // In servers and trainers it does not return.
    if let Some(cluster) = Cluster::ranks(SERVERS).unwrap() {
        let folder = PathBuf::from(std::env::var_os("PADDLE_FAULTS_FOLDER").unwrap());
        if !master::run(&cluster, &folder) {
            run_master(&cluster, folder);
        }
        return;
    }
    let wanted = match std::env::var("PADDLE_FAULTS") {
        Ok(wanted) => wanted.to_lowercase(),
        Err(_) => {
            accounts();
            some();
            master::deaths();
            storage::storage();
            garbage::garbage();
            tls::certificates();
            return etcd::coordinated();
        }
    };
    match wanted.as_str() {
        "masters" => return master::deaths(),
        "etcd" => return etcd::coordinated(),
        "certificates" => return tls::certificates(),
        "storage" => return storage::storage(),
        "garbage" => return garbage::garbage(),
        _ => {}
    }
    let site = match Site::namespaces(1 + (SERVERS + TRAINERS) as usize) {
        Ok(site) => site,
        Err(why) => {
            println!("NOT RUN: faults of the network need network namespaces: {why}");
            return some();
        }
    };
    if let Some(which) = wanted.strip_prefix("overlap") {
        return overlap::table(&site, which.strip_prefix('-').and_then(|place| place.parse().ok()));
    }
    println!(
        "| fault | role | lasts, s | steps meanwhile | longest step, s | first step behind it, s | restarts | steps | bits | run, s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for fault in ALL {
        for role in ROLES {
            // Two processes cannot listen at the master's address.
            let is_possible = (fault, role.0) != (Fault::Replace, "master");
            let name = format!("{fault:?}").to_lowercase();
            if is_possible && (wanted == "all" || wanted == name || wanted == format!("{name}-{}", role.0)) {
                one(&site, fault, role);
            }
        }
    }
}
