//! The master dies, again and again, and each that is started in its place goes on from the store: the bits are those of one
//! machine, and each sample is committed once in each pass.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use paddle::cluster::{Cluster, dist_train};
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Options, Parameters, Trainer};

use super::job::{COMMITS, Job};
use super::site::Site;
use super::unreliable::{batch, cost};
use super::{BATCH, ROWS, SERVERS, SHARDS, TRAINERS, commits};

pub(crate) const PASSES: u32 = 6;
const BATCHES: u64 = ROWS.div_ceil(BATCH);

/// With this variable a master trains in one call of `dist_train`. It is the seed of the job.
const SEED: &str = "PADDLE_FAULTS_SEED";
/// The file of the user's own checkpoint.
const CHECKPOINT: &str = "PADDLE_FAULTS_CHECKPOINT";

/// The bits of all parameters after a training.
fn train(cluster: Option<Cluster>, seed: u64) -> String {
    let net = cost();
    let mut parameters = Parameters::create_with_seed(&net, 1).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.01)).seed(seed);
    let rows: Vec<_> = (0..).flat_map(|step| batch(&net, step)).take(ROWS as usize).collect();
    let reader = rows.iter().passes(PASSES as usize).batch(BATCH as usize);
    let mut options = Options::default().shards(SHARDS as usize);
    if let Ok(path) = env::var(CHECKPOINT) {
        options = options.checkpoint(path);
    }
    match cluster {
        Some(cluster) => dist_train(&net, &mut parameters, trainer, reader, cluster.options(options)),
        None => trainer.train(&net, &mut parameters, reader, options, |_| Ok(())),
    }
    .unwrap();
    let mut bits = String::new();
    for name in parameters.names() {
        let values = parameters.get::<f32>(name).unwrap();
        write!(bits, "{name}:").unwrap();
        values.iter().for_each(|value| write!(bits, " {:08x}", value.to_bits()).unwrap());
        bits.push('\n');
    }
    bits
}

/// Waits until the log of commits has the step with this number behind the last beginning.
pub(crate) fn wait_for_version(job: &mut Job<'_>, version: u64) {
    let begun = Instant::now();
    loop {
        let log = job.text(COMMITS);
        let since = log.rfind("resume ").map_or("", |begin| &log[begin..]);
        if since.contains(&format!("commit version={version} ")) {
            return;
        }
        job.watch_for(Duration::from_millis(10));
        if begun.elapsed() > Duration::from_secs(60) {
            job.fail(&format!("step {version} is not done"));
        }
    }
}

/// The settings of a job whose master trains in one call.
pub(crate) fn settings() -> Vec<(&'static str, String)> {
    vec![(SEED, "3".to_string())]
}

/// The bits of one machine.
pub(crate) fn alone() -> String {
    train(None, 3)
}

/// How many masters have begun.
pub(crate) fn beginnings(job: &Job<'_>) -> usize {
    job.text(COMMITS).matches("resume ").count()
}

/// Waits until so many masters have begun.
pub(crate) fn wait_for_beginning(job: &mut Job<'_>, count: usize) {
    let begun = Instant::now();
    while beginnings(job) < count {
        job.watch_for(Duration::from_millis(10));
        if begun.elapsed() > Duration::from_secs(60) {
            job.fail("no master goes on");
        }
    }
}

/// Kills the master when it has done a step, and waits for the one that follows. Returns where that goes on.
pub(crate) fn kill(job: &mut Job<'_>, version: u64) -> u64 {
    wait_for_version(job, version);
    let before = beginnings(job);
    job.signal(0, "-KILL");
    wait_for_beginning(job, before + 1);
    let log = job.text(COMMITS);
    let line = log[log.rfind("resume ").unwrap()..].lines().next().unwrap();
    line.rsplit_once("version=").unwrap().1.parse().unwrap()
}

/// Ends a job, and compares it with one machine.
fn end(job: &mut Job<'_>, alone: &str) {
    let (bits, log) = job.finish();
    assert!(bits == alone, "the bits are not those of one machine:\n{}", job.text("log"));
    let rows = |_, batch| if (batch + 1) % BATCHES == 0 { ROWS - (BATCHES - 1) * BATCH } else { BATCH };
    commits::check(&log, u64::from(PASSES), rows, BATCHES);
}

/// No option says that there are checkpoints.
fn by_itself(alone: &str) {
    let site = Site::loopback();
    let mut job = Job::start(&site, "master", PASSES, settings());
    // Before there is any other checkpoint than the one with which the job began.
    assert_eq!(kill(&mut job, 40), 0);
    assert_eq!(kill(&mut job, 150), 100);
    // The second one has written none but that with which it began.
    assert_eq!(kill(&mut job, 170), 100);
    job.signal(1, "-KILL");
    job.signal(4, "-KILL");
    assert_eq!(kill(&mut job, 315), 300);

    // Another job must not take the place of one that has not ended.
    let mut other = site.command(0);
    other.env("RANK", "0").env("WORLD_SIZE", (1 + SERVERS + TRAINERS).to_string()).env(SEED, "4");
    other.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", "1").env("PADDLE_FAULTS_FOLDER", job.folder());
    for variable in ["store", "secret"] {
        other.env(format!("PADDLE_{}", variable.to_uppercase()), job.folder().join(variable));
    }
    let refused = other.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("another job, which has not ended"), "{said}");

    end(&mut job, alone);
    // The same once more is another job.
    fs::remove_file(job.folder().join(COMMITS)).unwrap();
    job.start_all();
    end(&mut job, alone);
    assert!(job.text(COMMITS).contains(" version=0\n") && !job.text("log").contains("panicked"));
}

/// The user's own checkpoints, at the end of each pass, are newer or older than those of the job.
fn beside_the_users(alone: &str) {
    let site = Site::loopback();
    let file = env::temp_dir().join(format!("paddle-master-{}.checkpoint", std::process::id()));
    let mut job = Job::start(
        &site,
        "users",
        PASSES,
        vec![(SEED, "3".to_string()), (CHECKPOINT, file.display().to_string())],
    );
    assert_eq!(kill(&mut job, 150), 2 * BATCHES);
    assert_eq!(kill(&mut job, 225), 2 * BATCHES + 100);
    end(&mut job, alone);
    let said = job.text("log");
    for expected in ["the checkpoint of the options, of step 116,", "the job's own checkpoint, of step 216"] {
        assert!(said.contains(expected), "{said}");
    }
    for path in [file.clone(), paddle::checkpoint::previous(&file)] {
        fs::remove_file(path).unwrap();
    }
}

/// What the master of such a job does. False if this is none.
pub(crate) fn run(cluster: &Cluster, folder: &Path) -> bool {
    let Ok(seed) = env::var(SEED) else { return false };
    let bits = train(Some(cluster.clone()), seed.parse().unwrap());
    fs::write(folder.join("end"), bits).unwrap();
    true
}

/// Jobs whose masters are killed.
pub(crate) fn deaths() {
    let alone = alone();
    let begun = Instant::now();
    by_itself(&alone);
    beside_the_users(&alone);
    println!(
        "cluster_faults: 6 masters were killed in 2 jobs, {:.1} s; the bits are the same",
        begun.elapsed().as_secs_f64()
    );
}
