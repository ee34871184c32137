//! How much of what goes over the links in a step is hidden behind what is computed. It is a measurement, and is of use only where little
//! else runs.
//!
//! What computes is either the processor, or a device beside it, for which the processor waits: all roles share this machine's few cores, and
//! what the system does to cut and copy packets takes them away from products.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use paddle::attribute::network;
use paddle::cluster::{Cluster, with_operators_of};
use paddle::event::EventKind;
use paddle::operator::{Inputs, Operator, Output, Sample};
use paddle::reader::{DataSet, Reader};
use paddle::{Momentum, Network, Options, Parameters, Trainable, Trainer};

use super::job::{Job, STEPS};
use super::site::Site;
use super::{LIMIT, SERVERS};

#[network]
pub mod networks {
    /// What a device computes for a while.
    #[operator(row_wise, gradient = of_computed)]
    pub fn computed(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    fn of_computed(grad: _) -> _ {
        computed(computed(grad))
    }

    /// Six layers of four megabytes.
    pub fn on_processor(x: Tensor<f32, _, 1024>) -> Tensor<f32> {
        let h = fc(fc(fc(x, 1024, act = relu), 1024, act = relu), 1024, act = relu);
        mean(square(fc(fc(fc(h, 1024, act = relu), 1024, act = relu), 1024) - 0.5))
    }

    /// The same, of which the processor computes next to nothing.
    pub fn on_device(x: Tensor<f32, _, 1024>) -> Tensor<f32> {
        let h = computed(fc(computed(fc(computed(fc(x, 1024)), 1024)), 1024));
        mean(square(computed(fc(computed(fc(computed(fc(h, 1024)), 1024)), 1024)) - 0.5))
    }

    /// Twenty-five layers, of one megabyte each but for the first one, computed as long.
    pub fn deep_on_device(x: Tensor<f32, _, 1024>) -> Tensor<f32> {
        let mut h = fc(x, 512, param = "entry");
        for i in 0..6 {
            let second = fc(fc(h, 512, param = "first{i}"), 512, param = "second{i}");
            h = fc(computed(fc(second, 512, param = "third{i}")), 512, param = "fourth{i}");
        }
        mean(square(h - 0.5))
    }

    /// Two stages: what goes from one to the other is a megabyte of each row.
    pub fn in_stages(x: Tensor<f32, _, 1024>) -> Tensor<f32> {
        let h = computed(reshape(reshape(x, [1024, 1]) * parameter(256, param = "first"), [262144]));
        mean(square(fc(computed(to_device(h, 1)), 1, param = "second") - 0.5))
    }
}

/// Milliseconds that a device takes for a layer of a shard. An operator is called for 4096 elements or a row at once, which is a shard here.
const LAYER: &str = "PADDLE_FAULTS_LAYER";

fn wait() {
    let milliseconds = std::env::var(LAYER).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    thread::sleep(Duration::from_millis(milliseconds));
}

impl Operator for networks::computed {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        wait();
        output.get::<f32>()?.assign(&inputs.get::<f32>(0)?);
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f64>()?.assign(&inputs.get::<f64>(0)?);
        Ok(())
    }

    fn samples(&self, _: Sample) -> Vec<Sample> {
        Vec::new()
    }
}

/// With this variable a process is one of such a job.
const MEASUREMENT: &str = "PADDLE_FAULTS_OVERLAP";
const TRAINERS: u32 = 2;
/// The steps that are measured, and those before them.
const MEASURED: usize = 12;
const BEFORE: usize = 4;

/// What trains.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Servers,
    Asynchronous,
    AllReduce,
    Stages,
}

/// What is trained, by whom, and over which links.
#[derive(Clone, Copy)]
struct Measurement {
    mode: Mode,
    net: &'static str,
    rows: usize,
    shards: usize,
    /// Milliseconds for a layer.
    layer: u64,
    /// The bytes that go over a link in a step, each way.
    bytes: usize,
    /// Gigabits a second.
    rates: [f64; 2],
}

/// The bytes of all parameters of the networks of six layers, and of the deep one.
const ALL: usize = size_of::<f32>() * 6 * (1024 * 1024 + 1024);
const ALL_OF_DEEP: usize = size_of::<f32>() * (1024 * 512 + 512 + 24 * (512 * 512 + 512));

/// A server sends to two trainers, and has half of the parameters. Of two equals each has half of the sums, and then half of the values.
const MEASUREMENTS: [Measurement; 8] = {
    use Mode::*;
    let servers = Measurement {
        mode: Servers,
        net: "on_processor",
        rows: 2048,
        shards: 2,
        layer: 0,
        bytes: ALL,
        rates: [4.0, 2.0],
    };
    let device = Measurement { net: "on_device", rows: 8, layer: 20, ..servers };
    let deep = Measurement { net: "deep_on_device", bytes: ALL_OF_DEEP, ..device };
    let equals = Measurement { mode: AllReduce, bytes: ALL / 2, rates: [2.0, 1.0], ..device };
    [
        servers,
        device,
        deep,
        Measurement { mode: Asynchronous, rows: 4, shards: 1, ..device },
        Measurement { mode: Asynchronous, rows: 4, shards: 1, ..deep },
        equals,
        Measurement { bytes: ALL_OF_DEEP / 2, net: "deep_on_device", ..equals },
        Measurement {
            mode: Stages,
            net: "in_stages",
            rows: 16,
            shards: 16,
            layer: 10,
            bytes: 16 << 20,
            ..equals
        },
    ]
};

/// The settings with which two processes train as equals.
pub(crate) fn equals() -> [(&'static str, String); 2] {
    let place = MEASUREMENTS.iter().position(|measurement| measurement.mode == Mode::AllReduce);
    [(MEASUREMENT, place.unwrap().to_string()), (LAYER, "0".to_string())]
}

/// Takes part in such a measurement, as whatever the environment says. False if it says nothing of one.
pub(crate) fn run() -> bool {
    let place = std::env::var(MEASUREMENT).ok().and_then(|place| place.parse::<usize>().ok());
    let Some(measurement) = place.and_then(|place| MEASUREMENTS.get(place)) else { return false };
    match measurement.net {
        "on_processor" => train(&networks::on_processor(), measurement),
        "on_device" => train(&networks::on_device(), measurement),
        "deep_on_device" => train(&networks::deep_on_device(), measurement),
        _ => train(&networks::in_stages(), measurement),
    }
    true
}

fn train<S: Trainable<Row = [f32; 1024]>>(net: &Network<S>, measurement: &Measurement) {
    with_operators_of(net).unwrap();
    // In servers and trainers it does not return.
    let cluster = match measurement.mode {
        Mode::Servers | Mode::Asynchronous => Cluster::ranks(SERVERS).unwrap().unwrap(),
        Mode::AllReduce | Mode::Stages => Cluster::all_reduce_ranks().unwrap().unwrap(),
    };
    let cluster = match measurement.mode {
        Mode::Asynchronous => cluster.asynchronous(u64::from(TRAINERS)),
        Mode::Stages => cluster.stages(),
        _ => cluster,
    };
    let number = |k: usize, j: usize| ((k * j) % 13) as f32 / 13.0;
    let batch: Vec<[f32; 1024]> =
        (0..measurement.rows).map(|k| std::array::from_fn(|j| number(k, j))).collect();
    let mut parameters = Parameters::create_with_seed(net, 7).unwrap();
    let mut trainer = Trainer::new(Momentum::new(0.001)).on(&cluster);
    let folder = PathBuf::from(std::env::var_os("PADDLE_FAULTS_FOLDER").unwrap());
    let mut steps = (cluster.rank() == 0).then(|| fs::File::create(folder.join(STEPS)).unwrap());
    let begun = Instant::now();
    let options = Options::default().shards(measurement.shards);
    // At the end of a pass all values are waited for, so there is one.
    let rows = batch.iter().cycle().take((BEFORE + MEASURED) * measurement.rows);
    let reader = rows.passes(1).batch(measurement.rows);
    let trained = trainer.train(net, &mut parameters, reader, options, |event| {
        if let (EventKind::EndIteration { .. }, Some(steps)) = (event.kind(), &mut steps) {
            writeln!(steps, "{}", begun.elapsed().as_micros())
                .map_err(|error| paddle::Error::Handler(error.into()))?;
        }
        Ok(())
    });
    trained.unwrap();
    if steps.is_some() {
        fs::write(folder.join("end"), "").unwrap();
    }
}

/// The median time of a step in milliseconds. The links let so many gigabits a second through.
fn measure(site: &Site, place: usize, rate: Option<f64>) -> f64 {
    let Measurement { mode, layer, .. } = MEASUREMENTS[place];
    let servers = if let Mode::Servers | Mode::Asynchronous = mode { 1 + SERVERS as usize } else { 0 };
    let hosts = servers + TRAINERS as usize;
    let shaped = if servers > 0 { 1..hosts } else { 0..hosts };
    let settings = vec![(MEASUREMENT, place.to_string()), (LAYER, layer.to_string())];
    let mut job = Job::of(site, "overlap", hosts, 0, settings);
    job.wait_for_steps(1, LIMIT);
    if let Some(rate) = rate {
        shaped.clone().for_each(|host| site.shape(host, rate * 1e3));
    }
    job.wait_for_steps(BEFORE + MEASURED, Duration::from_secs(600));
    shaped.for_each(|host| site.heal(host));
    let steps = job.steps();
    let times = steps[BEFORE - 1..].windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e3);
    let mut times: Vec<_> = times.collect();
    times.sort_by(f64::total_cmp);
    job.end();
    match mode {
        // Steps that are under way together end together.
        Mode::Asynchronous => times.iter().sum::<f64>() / times.len() as f64,
        _ => times[times.len() / 2],
    }
}

/// The table. Of what goes over a link, both ways one behind the other, that part is hidden by which a step does not take longer than without
/// a limit.
pub(crate) fn table(site: &Site, only: Option<usize>) {
    println!(
        "| trained by | network | Gbit/s | step without a limit, ms | step, ms | both ways, ms | hidden, % |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (place, Measurement { mode, net, bytes, rates, .. }) in MEASUREMENTS.into_iter().enumerate() {
        if only.is_some_and(|only| only != place) {
            continue;
        }
        let base = measure(site, place, None);
        for rate in rates {
            let step = measure(site, place, Some(rate));
            let both = 2.0 * 8e3 * bytes as f64 / (rate * 1e9);
            let hidden = 100.0 * (1.0 - (step - base) / both);
            println!("| {mode:?} | {net} | {rate} | {base:.0} | {step:.0} | {both:.0} | {hidden:.0} |");
        }
    }
}
