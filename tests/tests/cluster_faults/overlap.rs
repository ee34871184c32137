//! How much of what goes over the links in a step is hidden behind what trainers compute. It is a measurement, and is of use only where
//! little else runs.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use paddle::attribute::network;
use paddle::cluster::Cluster;
use paddle::{Momentum, Options, Parameters, Trainer};

use super::job::{ENOUGH, Job, STEPS};
use super::site::Site;
use super::{LIMIT, SERVERS, metrics};

#[network]
pub mod networks {
    /// Six layers of four megabytes.
    pub fn layers(x: Tensor<f32, _, 1024>) -> Tensor<f32> {
        let h = fc(fc(fc(x, 1024, act = relu), 1024, act = relu), 1024, act = relu);
        mean(square(fc(fc(fc(h, 1024, act = relu), 1024, act = relu), 1024) - 0.5))
    }
}

/// With this variable a master trains that network on batches of so many rows.
const ROWS: &str = "PADDLE_FAULTS_ROWS";
const TRAINERS: u32 = 2;
/// The elements of all parameters.
const ELEMENTS: usize = 6 * (1024 * 1024 + 1024);
/// The file with the time in which trainers have waited until each step.
const WAITS: &str = "waits";
/// The steps that are measured, and those before them.
const MEASURED: usize = 9;
const BEFORE: usize = 3;

/// Trains as the master of such a job. False if it is none.
pub(crate) fn run(cluster: &Cluster, folder: &Path) -> bool {
    let Ok(rows) = std::env::var(ROWS) else { return false };
    let (net, rows) = (networks::layers(), rows.parse::<usize>().unwrap());
    let number = |k: usize, j: usize| ((k * j) % 13) as f32 / 13.0;
    let batch: Vec<[f32; 1024]> = (0..rows).map(|k| std::array::from_fn(|j| number(k, j))).collect();
    let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
    let mut trainer = Trainer::new(Momentum::new(0.01)).on(cluster);
    let options = Options::default().shards(TRAINERS as usize);
    let [mut steps, mut waits] = [STEPS, WAITS].map(|file| fs::File::create(folder.join(file)).unwrap());
    let address = std::env::var("PADDLE_METRICS").unwrap();
    let begun = Instant::now();
    let mut cost = 0.0;
    while !folder.join(ENOUGH).exists() {
        cost = trainer.step_with(&net, &mut parameters, &batch, &options).unwrap().cost();
        // Trainers say it now and then, so it is a moment late.
        let metrics = metrics(&address);
        let waited = metrics.lines().find_map(|line| line.strip_prefix("paddle_waited_seconds_total "));
        writeln!(waits, "{}", waited.unwrap()).unwrap();
        writeln!(steps, "{}", begun.elapsed().as_micros()).unwrap();
    }
    fs::write(folder.join("end"), cost.to_string()).unwrap();
    true
}

/// The median time of a step, and the time in which a trainer waits for values in one, in seconds. The links let so many gigabits a second
/// through.
fn measure(site: &Site, rows: usize, rate: Option<f64>) -> [f64; 2] {
    let hosts = 1 + SERVERS as usize + TRAINERS as usize;
    let mut job = Job::of(site, "overlap", hosts, 0, vec![(ROWS, rows.to_string())]);
    job.wait_for_steps(1, LIMIT);
    if let Some(rate) = rate {
        (1..hosts).for_each(|host| site.shape(host, rate * 1e3));
    }
    job.wait_for_steps(BEFORE + MEASURED, Duration::from_secs(600));
    (1..hosts).for_each(|host| site.heal(host));
    let (steps, waits) = (job.steps(), job.text(WAITS));
    let times = steps[BEFORE - 1..BEFORE + MEASURED].windows(2);
    let mut times: Vec<_> = times.map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let waits: Vec<f64> = waits.lines().map(|line| line.parse().unwrap()).collect();
    let waited = (waits[BEFORE + MEASURED - 1] - waits[BEFORE - 1]) / MEASURED as f64 / f64::from(TRAINERS);
    job.finish();
    [times[times.len() / 2], waited]
}

/// The table. In a step, each trainer receives all parameters once, and each server sends as much: that is the time of the values. The
/// gradients take as long behind them, the other way. What is hidden is told in two ways: of the values, by what trainers wait for, which is
/// never nothing where servers compute on the same processors; of both, by how much longer a step takes than without a limit.
pub(crate) fn table(site: &Site) {
    println!(
        "| rows | Gbit/s | step, ms | values, ms | waited for, ms | hidden of the values, % | of both, % |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for rows in [512, 2048] {
        let [base, waited] = measure(site, rows, None).map(|seconds| 1e3 * seconds);
        println!("| {rows} | – | {base:.0} | – | {waited:.0} | – | – |");
        for rate in [4.0, 2.0, 1.0, 0.5] {
            let [step, waited] = measure(site, rows, Some(rate)).map(|seconds| 1e3 * seconds);
            let bytes = ELEMENTS * size_of::<f32>() * TRAINERS as usize / SERVERS as usize;
            let way = 8e3 * bytes as f64 / (rate * 1e9);
            let hidden = |visible: f64, of: f64| 100.0 * (1.0 - visible / of);
            let [values, both] = [hidden(waited, way), hidden(step - base, 2.0 * way)];
            println!("| {rows} | {rate} | {step:.0} | {way:.0} | {waited:.0} | {values:.0} | {both:.0} |");
        }
    }
}
