//! Checkpoints of two trainers that train two networks in turn: what goes on from them is what would have gone on, to the
//! last bit.

use std::fs;
use std::path::{Path, PathBuf};

use paddle::attribute::network;
use paddle::files::FileFault;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Error, Momentum, Network, Options, Parameters, Sgd, Trainer, checkpoint};

#[network]
mod gan {
    fn generate(noise: Tensor<f32, _, 3>) -> Tensor<f32, _, 2> {
        let hidden = dropout(batch_norm(fc(noise, 8, act = relu, param = "G.hidden"), param = "G.norm"), 0.2);
        fc(hidden, 2, param = "G.image")
    }

    fn judge(image: Tensor<f32, _, 2>) -> Tensor<f32, _, 1> {
        fc(dropout(fc(image, 8, act = tanh, param = "D.hidden"), 0.3), 1, param = "D.real")
    }

    pub fn d_cost(real: Tensor<f32, _, 2>, noise: Tensor<f32, _, 3>) -> Tensor<f32> {
        mean(softplus(-judge(real))) + mean(softplus(judge(generate(noise))))
    }

    pub fn g_cost(noise: Tensor<f32, _, 3>) -> Tensor<f32> {
        mean(softplus(-judge(generate(noise))))
    }
}

/// A path for a file of a test, which is not there yet.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("paddle-two-trainers-{}-{name}", std::process::id()));
    remove(&path);
    path
}

/// Removes a checkpoint, and the one before it.
fn remove(path: &Path) {
    for path in [path, &checkpoint::previous(path)] {
        let _ = fs::remove_file(path);
    }
}

fn noise(k: usize) -> [f32; 3] {
    [1.0, 2.0, 3.0].map(|phase| (phase + 0.7 * k as f32).sin())
}

/// Both networks, a trainer for each, and one set of parameters.
struct Gan {
    d: Network<gan::d_cost::Spec>,
    g: Network<gan::g_cost::Spec>,
    for_d: Trainer<Adam>,
    for_g: Trainer<Adam>,
    parameters: Parameters,
    costs: Vec<u32>,
}

impl Gan {
    fn new(seed: u64) -> Self {
        let (d, g) = (gan::d_cost(), gan::g_cost());
        let trainer = |rate, seed| Trainer::new(Adam::new(rate).betas(0.5, 0.999)).seed(seed);
        let parameters = Parameters::create_with_seed((&d, &g), seed).unwrap();
        let (for_d, for_g) = (trainer(0.02, seed + 1), trainer(0.01, seed + 2));
        Gan { d, g, for_d, for_g, parameters, costs: Vec::new() }
    }

    fn save(&mut self, path: &Path) {
        let trainings = ((&mut self.for_d, &self.d), (&mut self.for_g, &self.g));
        checkpoint::save(path, &self.parameters, trainings).unwrap();
    }

    fn resume(&mut self, path: &Path) -> Result<checkpoint::Resumed, Error> {
        let trainings = ((&mut self.for_d, &self.d), (&mut self.for_g, &self.g));
        checkpoint::resume(path, &mut self.parameters, trainings)
    }

    /// Goes on from a file with new networks, trainers and parameters.
    fn resumed(path: &Path) -> Self {
        let mut gan = Gan::new(70);
        gan.resume(path).unwrap();
        gan
    }

    /// Half a step: of D in even turns, of G in odd ones.
    fn turn(&mut self, turn: usize) {
        let Gan { d, g, for_d, for_g, parameters, costs } = self;
        let outcome = if turn.is_multiple_of(2) {
            let rows = [d.row([0.3, -0.2], noise(turn)), d.row([0.1, 0.4], noise(turn + 5))];
            for_d.step_with(d, parameters, rows, &Options::default().freeze(gan::params::G))
        } else {
            let rows = [g.row(noise(turn)), g.row(noise(turn + 9)), g.row(noise(turn + 2))];
            for_g.step_with(g, parameters, rows, &Options::default().freeze(gan::params::D))
        };
        costs.push(outcome.unwrap().cost().to_bits());
    }

    /// The same by short calls of `train`, with two batches of D to one of G.
    fn round(&mut self, round: usize) {
        let Gan { d, g, for_d, for_g, parameters, costs } = self;
        let rows: Vec<_> = (0..4).map(|k| d.row([0.3, 0.1 * k as f32], noise(round + k))).collect();
        let reader = rows.iter().passes(1).shuffle(4).seed(round as u64).batch(2);
        let of_d = Options::default().freeze(gan::params::G);
        for_d
            .train(d, parameters, reader, of_d, |event| {
                costs.extend(event.cost().map(f32::to_bits));
                Ok(())
            })
            .unwrap();
        let rows = [g.row(noise(round)), g.row(noise(round + 9))];
        let of_g = Options::default().freeze(gan::params::D);
        for_g
            .train(g, parameters, rows.iter().batch(2), of_g, |event| {
                costs.extend(event.cost().map(f32::to_bits));
                Ok(())
            })
            .unwrap();
    }

    /// Every parameter and every state of both updaters, bit for bit.
    fn bits(&self) -> Vec<(String, Vec<u32>)> {
        let bits = |array: ndarray::ArrayD<f32>| array.iter().map(|x| x.to_bits()).collect();
        let parameters = self.parameters.names();
        let mut all: Vec<_> =
            parameters.map(|name| (name.to_string(), bits(self.parameters.get(name).unwrap()))).collect();
        for (of, trainer) in [("d", &self.for_d), ("g", &self.for_g)] {
            for (name, slot) in trainer.states(&self.parameters) {
                let state = trainer.state(&self.parameters, name, slot).unwrap();
                all.push((format!("{of}: {name}@{slot}"), bits(state)));
            }
        }
        all
    }
}

/// Trains whole, and stopped at each of these turns, and compares.
fn goes_on(name: &str, turns: usize, turn: impl Fn(&mut Gan, usize)) {
    let path = path(name);
    let mut whole = Gan::new(1);
    (0..turns).for_each(|at| turn(&mut whole, at));
    assert!(whole.bits().iter().any(|(name, _)| name == "d: D.real.w@Moment1"));
    assert!(whole.bits().iter().all(|(name, _)| !name.starts_with("d: G") && !name.starts_with("g: D")));
    for stop in 0..turns {
        let mut first = Gan::new(1);
        (0..stop).for_each(|at| turn(&mut first, at));
        first.save(&path);
        // What comes after the checkpoint is lost.
        turn(&mut first, stop);
        let mut second = Gan::resumed(&path);
        (stop..turns).for_each(|at| turn(&mut second, at));
        assert_eq!(second.bits(), whole.bits(), "stopped at {stop}");
        assert!(whole.costs.ends_with(&second.costs), "stopped at {stop}");
        // The same trainers can go back, too.
        first.resume(&path).unwrap();
        (stop..turns).for_each(|at| turn(&mut first, at));
        assert_eq!(first.bits(), whole.bits(), "back to {stop}");
    }
    remove(&path);
}

#[test]
fn steps_in_turn() {
    goes_on("steps", 7, Gan::turn);
}

#[test]
fn short_calls_of_train() {
    goes_on("calls", 4, Gan::round);
}

/// Both trainers update all parameters, so both keep something of each.
#[test]
fn two_trainers_of_the_same_parameters() {
    let path = path("same");
    let net = gan::g_cost();
    let new = || {
        let parameters = Parameters::create_with_seed(&net, 3).unwrap();
        (parameters, Trainer::new(Adam::new(0.1)), Trainer::new(Momentum::new(0.1)))
    };
    let turn = |(parameters, adam, momentum): &mut (Parameters, Trainer<Adam>, Trainer<Momentum>)| {
        adam.step(&net, parameters, [noise(1), noise(2)]).unwrap();
        momentum.step(&net, parameters, [noise(3), noise(4)]).unwrap();
        parameters.get::<f32>("G.hidden.w").unwrap()
    };
    let mut whole = new();
    turn(&mut whole);
    checkpoint::save(&path, &whole.0, ((&mut whole.1, &net), (&mut whole.2, &net))).unwrap();
    let mut second = new();
    checkpoint::resume(&path, &mut second.0, ((&mut second.1, &net), (&mut second.2, &net))).unwrap();
    assert_eq!(turn(&mut second), turn(&mut whole));
    remove(&path);
}

/// One trainer of two networks, which counts the steps of each.
#[test]
fn one_trainer_of_two_networks() {
    let path = path("one");
    let (d, g) = (gan::d_cost(), gan::g_cost());
    let new = || (Parameters::create((&d, &g)).unwrap(), Trainer::new(Adam::new(0.1)));
    let turn = |(parameters, trainer): &mut (Parameters, Trainer<Adam>)| {
        trainer.step(&d, parameters, [d.row([0.5, 0.1], noise(1)), d.row([0.2, 0.4], noise(2))]).unwrap();
        trainer.step(&g, parameters, [noise(3), noise(4)]).unwrap();
        trainer.step(&g, parameters, [noise(5), noise(6)]).unwrap();
        parameters.get::<f32>("G.hidden.w").unwrap()
    };
    let mut whole = new();
    turn(&mut whole);
    checkpoint::save(&path, &whole.0, ((&mut whole.1, (&d, &g)),)).unwrap();
    let mut second = new();
    checkpoint::resume(&path, &mut second.0, ((&mut second.1, (&d, &g)),)).unwrap();
    assert_eq!((second.1.steps(&d).unwrap(), second.1.steps(&g).unwrap()), (1, 2));
    assert_eq!(turn(&mut second), turn(&mut whole));
    remove(&path);
}

#[test]
fn other_trainers_and_networks_are_refused() {
    let path = path("others");
    let mut gan = Gan::new(1);
    (0..4).for_each(|turn| gan.turn(turn));
    gan.save(&path);
    let before = gan.bits();
    let fault = |result: Result<checkpoint::Resumed, Error>| match result.unwrap_err() {
        Error::File(error) => error.fault,
        other => panic!("{other}"),
    };
    let Gan { d, g, for_d, for_g, parameters, .. } = &mut gan;
    let swapped = fault(checkpoint::resume(&path, parameters, ((&mut *for_g, &*g), (&mut *for_d, &*d))));
    assert_eq!(
        swapped.to_string(),
        "this is a checkpoint of trainers of (d_cost) and (g_cost), but (g_cost) and (d_cost) are to go on; give the \
         trainers and networks that it was saved with, in their order"
    );
    let alone = fault(for_d.resume(d, parameters, &path));
    assert!(matches!(alone, FileFault::Trainings { .. }), "{alone}");
    let joined = fault(checkpoint::resume(&path, parameters, ((&mut *for_d, (&*d, &*g)),)));
    assert!(joined.to_string().contains("but (d_cost, g_cost) are to go on"), "{joined}");
    let mut sgd = Trainer::new(Sgd::new(0.1));
    let other = fault(checkpoint::resume(&path, parameters, ((&mut *for_d, &*d), (&mut sgd, &*g))));
    assert!(matches!(other, FileFault::Updater { .. }), "{other}");
    // The first trainer's half of the file was right; nothing of it was taken.
    assert_eq!(gan.bits(), before);

    // A checkpoint of one is one of a tuple of one.
    let Gan { d, for_d, parameters, .. } = &mut gan;
    for_d.save_checkpoint(d, parameters, &path).unwrap();
    checkpoint::resume(&path, parameters, ((&mut *for_d, &*d),)).unwrap();
    assert_eq!(gan.bits(), before);
    remove(&path);
}

/// A file of the first form: that of one trainer, without names of networks.
#[test]
fn checkpoints_of_the_first_form_are_read() {
    let path = path("first-form");
    let mut gan = Gan::new(1);
    (0..3).for_each(|turn| gan.turn(turn));
    gan.for_d.save_checkpoint(&gan.d, &gan.parameters, &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let texts = &mut header["__metadata__"];
    let record = texts["paddle.checkpoint"].as_str().unwrap();
    let record: serde_json::Value = serde_json::from_str(record).unwrap();
    let (trainer, network) = (&record["trainers"][0], &record["trainers"][0]["networks"][0]);
    let mut first = serde_json::json!({ "version": 1, "seed": trainer["seed"], "states": trainer["states"] });
    for name in ["steps", "first", "pass", "batches", "means"] {
        first[name] = network[name].clone();
    }
    // It had no checksums.
    *texts = serde_json::json!({ "paddle.checkpoint": first.to_string() });
    let header = header.to_string();
    let parts: [&[u8]; 3] = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + length..]];
    fs::write(&path, parts.concat()).unwrap();

    let mut other = Gan::new(9);
    other.for_d.resume(&other.d, &mut other.parameters, &path).unwrap();
    assert_eq!(other.for_d.steps(&other.d).unwrap(), 2);
    gan.for_g = Gan::new(9).for_g;
    assert_eq!(other.bits(), gan.bits());
    remove(&path);
}
