//! Memory that cannot be had is an error, and nothing else happens: the same call, once there is memory, gives what it would have
//! given.
//!
//! Each scenario runs with its first large allocation failing, then with its second, until none is left to fail. An allocation
//! that ends the process is found with `-- --nocapture`: the last line names the scenario and the number.

mod allocator;
mod sizes;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use allocator::{Fails, failing};
use ndarray::{Array1, Array2};
use paddle::attribute::network;
use paddle::core::convert;
use paddle::operator::{Inputs, Operator, Output, Sample};
use paddle::reader::{DataSet, Item, Reader};
use paddle::{
    Adagrad, Adam, Batch, Error, Load, Momentum, Network, Options, Parameters, Sgd, Trainable, Trainer,
    Updater, checkpoint, infer, infer_with, load_inference_model,
};
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::cpu::multiplier::Multiplier;

const ROWS: usize = 20_000;

#[network]
mod nets {
    use super::operators::halved;

    /// Dropout draws by the number of the step.
    pub fn plain(x: Tensor<f32, _, 4>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let hidden = dropout(fc(x, 64, act = tanh), 0.2);
        let wide = fc(hidden, 512, act = relu);
        mean(softmax_with_cross_entropy(fc(wide, 3, param = "classes"), y))
    }

    pub fn shared(x: Tensor<f32, _, 4>) -> _ {
        tap(fc(x, 64, param = "shared"), "hidden")
    }

    /// Few of many rows of tables are looked up. The update of the second takes memory behind that of the first.
    pub fn table(ids: Tensor<i64, _, 1>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let both = embedding(ids, [20000, 4], param = "one") + embedding(ids, [20000, 4], param = "other");
        mean(square(fc(both, 1, param = "table") - y))
    }

    /// What the normalisation keeps comes before the tape grows.
    pub fn branches(x: Tensor<f32, _, 3>, times: Tensor<f32, _, 1>) -> Tensor<f32> {
        let x = batch_norm(fc(x, 3));
        let mut h = if times > 2.5 { fc(x, 3, act = tanh, param = "yes") } else { fc(x, 3, param = "no") };
        let mut i = times;
        while i > 0.0 {
            h = fc(h, 3, param = "step", act = tanh);
            i -= 1.0;
        }
        mean(square(h))
    }

    pub fn sequences(words: Seq<i64>, other: Seq<Tensor<f32, 2>>) -> Tensor<f32> {
        let word = embedding(words, [50, 4]);
        let mut h = fc(sequence_pool(other, average), 4, param = "first");
        for token in word {
            h = fc(h + token, 4, act = tanh, param = "token");
        }
        mean(square(h)) + mean(square(sequence_pool(lstm(fc(other, 12, param = "in"), 3), last)))
    }

    /// Sequences that operators make, and that loops collect.
    pub fn made(x: Seq<f32>, count: Tensor<i64, _>) -> _ {
        let first = sequence_slice(x, 0, minimum(sequence_length(x), count));
        let range = sequence_range(count);
        (first, range, sequence_filter(x, x > 0.5), sequence_pool(x, sum))
    }

    pub fn labels(x: Seq<Tensor<f32, 6>>, label: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        mean(linear_chain_crf(x, label))
    }

    pub fn custom(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        let h = halved(fc(x, 8), x > 0.5);
        mean(square(h))
    }
}

#[network]
mod operators {
    /// Half of each number. The truth values are looked at.
    #[operator(row_wise, gradient = halved_gradient)]
    pub fn halved(x: Tensor<f32, _, D>, is: Tensor<bool, _, E>) -> Tensor<f32, _, D>;

    fn halved_gradient(grad: _) -> _ {
        0.5 * grad
    }
}

impl Operator for operators::halved {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        inputs.get::<bool>(1)?;
        output.get::<f32>()?.assign(&inputs.get::<f32>(0)?.mapv(|x| x / 2.0));
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f64>()?.assign(&inputs.get::<f64>(0)?.mapv(|x| x / 2.0));
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        vec![op]
    }
}

/// Runs an action with each of its large allocations failing, and then again. `make` makes what it works on, `look` says what has
/// become of it. Returns how many allocations there are.
fn survives<T, L: PartialEq + std::fmt::Debug>(
    scenario: &str,
    make: impl Fn() -> T,
    mut act: impl FnMut(&mut T) -> Result<(), Error>,
    look: impl Fn(&T) -> L,
) -> usize {
    // `matrixmultiply` ends the process where it has no memory to pack tiles into.
    let multiplier = Multiplier::from_environment(Isa::from_environment().unwrap()).unwrap();
    assert_eq!(multiplier, Multiplier::Own, "run this with PADDLE_MATMUL=own");
    let mut whole = make();
    act(&mut whole).unwrap();
    let expected = look(&whole);
    for number in 0.. {
        for fails in [Fails::Only(number), Fails::From(number)] {
            eprintln!("{scenario}: {fails:?}");
            let mut state = make();
            let (result, failed) = failing(fails, || catch_unwind(AssertUnwindSafe(|| act(&mut state))));
            let result = result.unwrap_or_else(|_| panic!("{scenario}, {fails:?}: a panic"));
            match result {
                // What is rounded up is tried again as it is.
                Ok(()) => assert!(failed <= 1, "{scenario}, {fails:?}: {failed} allocations failed"),
                Err(error) => {
                    assert!(failed > 0, "{scenario}: {error}");
                    let wanted = error.out_of_memory();
                    let wanted = wanted.unwrap_or_else(|| panic!("{scenario}, {fails:?}: {error:#?}"));
                    let bytes = wanted.bytes.unwrap_or_default();
                    assert!(bytes >= allocator::LARGE && !wanted.what.is_empty(), "{error}");
                    act(&mut state).unwrap_or_else(|error| panic!("{scenario}, {fails:?}, again: {error}"));
                }
            }
            assert!(look(&state) == expected, "{scenario}, {fails:?}: other bits");
            if failed == 0 {
                return number;
            }
        }
    }
    0
}

fn bits(parameters: &Parameters) -> Vec<u32> {
    let values = |name| parameters.get::<f32>(name).unwrap();
    parameters.names().flat_map(values).map(f32::to_bits).collect()
}

fn number(k: usize) -> f32 {
    ((k * 37) % 101) as f32 / 101.0
}

fn plain_rows() -> Vec<nets::plain::Row> {
    let row = |k| nets::plain().row([0, 1, 2, 3].map(|j| number(k + 7 * j)), (k % 3) as i64);
    (0..ROWS).map(row).collect()
}

/// A network, its parameters and a trainer.
struct Training<S: Trainable, U> {
    net: Network<S>,
    parameters: Parameters,
    trainer: Trainer<U>,
    batch: Batch<S>,
}

impl<S: Trainable, U: Updater> Training<S, U> {
    fn new(net: Network<S>, updater: U, rows: &[S::Row]) -> Self {
        let parameters = Parameters::create(&net).unwrap();
        let batch = Batch::from_rows(&net, rows).unwrap();
        Training { net, parameters, trainer: Trainer::new(updater), batch }
    }

    fn step(&mut self, options: &Options) -> Result<(), Error> {
        let Training { net, parameters, trainer, batch } = self;
        trainer.step_with(net, parameters, &*batch, options).map(|_| ())
    }

    /// The bits of everything.
    fn look(&self) -> (Vec<u32>, Vec<u32>, u64) {
        let states = self.trainer.states(&self.parameters);
        let state =
            |(name, slot): (&str, &str)| self.trainer.state::<f32>(&self.parameters, name, slot).unwrap();
        let states = states.flat_map(state).map(f32::to_bits).collect();
        (bits(&self.parameters), states, self.trainer.steps(&self.net).unwrap())
    }
}

/// The first step; and one on many rows behind one on few, from which there is memory.
fn steps<S: Trainable, U: Updater + Clone>(
    scenario: &str,
    net: fn() -> Network<S>,
    updater: U,
    rows: &[S::Row],
    options: &Options,
) {
    let first = || Training::new(net(), updater.clone(), rows);
    let count = survives(scenario, first, |training| training.step(options), Training::look);
    assert!(count >= 1, "{count}");
    let second = || {
        let mut training = first();
        training.trainer.step_with(&training.net, &mut training.parameters, &rows[..5], options).unwrap();
        training
    };
    let scenario = format!("{scenario}, later");
    let count = survives(&scenario, second, |training| training.step(options), Training::look);
    assert!(count >= 1, "{count}");
}

#[test]
fn parameters_are_created() {
    let count = survives(
        "create",
        || None,
        |parameters| {
            *parameters = Some(Parameters::create(&nets::plain())?);
            Ok(())
        },
        |parameters| parameters.as_ref().map(bits),
    );
    assert!(count >= 1, "{count}");
}

#[test]
fn parameters_are_read_and_set() {
    let (net, name) = (nets::plain(), nets::params::wide::w);
    // Of another layout than the parameter, so it is copied.
    let values = Array2::from_shape_fn((512, 64), |(j, i)| (j * i) as f32);
    let count = survives(
        "get and set",
        || Parameters::create(&net).unwrap(),
        |parameters| {
            parameters.get::<f32>(name)?;
            parameters.set(name, &values.t())
        },
        bits,
    );
    assert!(count >= 2, "{count}");
}

#[test]
fn training_steps() {
    steps("plain", nets::plain, Adam::new(0.01), &plain_rows(), &Options::default());
    steps("numbers", nets::plain, Adam::new(0.01), &plain_rows(), &Options::default().check_numbers());
}

#[test]
fn training_steps_in_shards() {
    steps("shards", nets::plain, Momentum::new(0.01), &plain_rows(), &Options::default().shards(3));
    let options = Options::default().shards(2);
    steps("sequences in shards", nets::sequences, Adam::new(0.01), &sequence_rows(), &options);
}

#[test]
fn training_steps_on_rows_of_tables() {
    let row = |k: usize| nets::table().row((k * k % 20_000) as i64, number(k));
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    steps("table", nets::table, Sgd::new(0.1), &rows, &Options::default());
    steps("table, adagrad", nets::table, Adagrad::new(0.1), &rows, &Options::default());
}

#[test]
fn training_steps_of_branches_and_loops() {
    let row = |k: usize| nets::branches().row([number(k), number(3 * k), 0.5], (k % 5) as f32);
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    steps("branches", nets::branches, Adam::new(0.01), &rows, &Options::default());
}

fn sequence_rows() -> Vec<nets::sequences::Row> {
    let row = |k: usize| {
        let words = (0..k % 4).map(|j| ((k + j) % 50) as i64).collect();
        let other = (0..1 + k % 3).map(|j| [number(k + j), number(k)]).collect();
        nets::sequences().row(words, other)
    };
    (0..ROWS).map(row).collect()
}

#[test]
fn training_steps_of_sequences() {
    steps("sequences", nets::sequences, Adam::new(0.01), &sequence_rows(), &Options::default());
    let row = |k: usize| {
        let x = (0..1 + k % 3).map(|j| [0, 1, 2, 3, 4, 5].map(|i| number(k + i * j))).collect();
        nets::labels().row(x, (0..1 + k % 3).map(|j| ((k + j) % 6) as i64).collect())
    };
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    steps("labels", nets::labels, Adam::new(0.01), &rows, &Options::default());
}

#[test]
fn operators_of_ones_own() {
    let rows: Vec<_> = (0..ROWS).map(|k| nets::custom().row([0, 1, 2, 3].map(|j| number(k + j)))).collect();
    steps("custom", nets::custom, Adam::new(0.01), &rows, &Options::default());
}

#[test]
fn inference() {
    let net = nets::shared();
    let rows: Vec<_> = (0..ROWS).map(|k| net.row([number(k); 4])).collect();
    let count = survives(
        "infer",
        || (Parameters::create(&net).unwrap(), None),
        |(parameters, outputs)| {
            *outputs = Some(infer_with(&net, parameters, &rows, &["hidden"])?);
            Ok(())
        },
        |(_, outputs)| {
            let outputs = outputs.as_ref().unwrap();
            [0, 1].map(|k| outputs.at::<f32>(k).unwrap().to_owned())
        },
    );
    assert!(count >= 4, "{count}");
}

#[test]
fn sequences_that_are_made() {
    let net = nets::made();
    let row = |k: usize| net.row((0..k % 7).map(|j| number(k + j)).collect(), (k % 5) as i64);
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    let count = survives(
        "made sequences",
        || (Parameters::create(&net).unwrap(), None),
        |(parameters, outputs)| {
            *outputs = Some(infer(&net, parameters, &rows)?);
            Ok(())
        },
        |(_, outputs)| {
            let outputs = outputs.as_ref().unwrap();
            let floats = [0, 2, 3].map(|k| outputs.at::<f32>(k).unwrap().to_owned());
            let offsets = [0, 1, 2].map(|k| outputs.offsets(k).unwrap().to_vec());
            (floats, offsets, outputs.at::<i64>(1).unwrap().to_owned())
        },
    );
    assert!(count >= 8, "{count}");
}

#[test]
fn batches() {
    let (net, rows) = (nets::sequences(), sequence_rows());
    let count = survives(
        "rows",
        || Batch::new(&net).unwrap(),
        |batch| Ok(batch.fill(&rows)?),
        |batch| format!("{batch:?}"),
    );
    assert!(count >= 4, "{count}");

    let offsets: Vec<usize> = (0..=ROWS).collect();
    let words = Array1::from_shape_fn(ROWS, |k| (k % 50) as i64);
    let other = Array2::from_shape_fn((2, ROWS), |(j, k)| (j * k) as f32);
    let count = survives(
        "arrays",
        || Batch::new(&net).unwrap(),
        |batch| {
            batch.set_sequences("words", &words, &offsets)?;
            Ok(batch.set_sequences("other", &other.t(), &offsets)?)
        },
        |batch| format!("{batch:?}"),
    );
    assert!(count >= 4, "{count}");
}

#[test]
fn readers() {
    let rows = plain_rows();
    let read = |options: Options| {
        let new = || Training::new(nets::plain(), Adam::new(0.01), &rows[..2]);
        survives(
            "reader",
            new,
            |Training { net, parameters, trainer, .. }| {
                let reader = rows.iter().passes(1).shuffle(ROWS).cache(1).batch(ROWS);
                trainer.train(net, parameters, reader, options.clone(), |_| Ok(())).map(drop)
            },
            Training::look,
        )
    };
    let count = read(Options::default());
    assert!(count >= 6, "{count}");
}

#[test]
fn a_reader_that_is_out_of_memory_loses_no_sample() {
    let rows = vec![7_u64; ROWS];
    for number in 0..6 {
        let mut reader = rows.iter().passes(1).shuffle(ROWS).cache(1).batch(ROWS);
        let (first, failed) = failing(Fails::From(number), || reader.next());
        assert!(failed > 0 && matches!(first, Some(Item::Failed(_))), "{number}");
        let Some(Item::Data(batch)) = reader.next() else { panic!("{number}: no batch") };
        assert_eq!(batch.len(), ROWS);
    }
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("paddle-memory-{}-{name}", std::process::id()))
}

#[test]
fn files_of_parameters() {
    let net = nets::plain();
    let other = Parameters::create_with_seed(&net, 7).unwrap();
    type Save = fn(&Parameters, &PathBuf) -> Result<(), Error>;
    type Read = fn(&mut Parameters, &PathBuf) -> Result<(), Error>;
    let formats: [(&str, Save, Read); 2] = [
        ("safetensors", |p, path| p.save(path), |p, path| p.load(path, Load::Strict).map(|_| ())),
        ("pdiparams", |p, path| p.save_pdiparams(path), |p, path| p.load_pdiparams(path)),
    ];
    for (format, save, read) in formats {
        let path = path(format);
        let count = survives(
            &format!("save {format}"),
            || drop(fs::write(&path, "before")),
            |()| save(&other, &path),
            |()| fs::read(&path).unwrap(),
        );
        assert!(count >= 2, "{count}");
        let new = || Parameters::create(&net).unwrap();
        let count = survives(&format!("load {format}"), new, |parameters| read(parameters, &path), bits);
        assert!(count >= 2, "{count}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn checkpoints() {
    let path = path("checkpoint");
    let rows = &plain_rows()[..10];
    let options = Options::default();
    let new = |steps| {
        let mut training = Training::new(nets::plain(), Adam::new(0.01), rows);
        (0..steps).for_each(|_| training.step(&options).unwrap());
        training
    };
    let count = survives(
        "save a checkpoint",
        || new(2),
        |Training { net, parameters, trainer, .. }| checkpoint::save(&path, parameters, ((trainer, &*net),)),
        |_| fs::read(&path).unwrap(),
    );
    assert!(count >= 4, "{count}");
    let count = survives(
        "resume",
        || new(1),
        |Training { net, parameters, trainer, .. }| trainer.resume(net, parameters, &path).map(drop),
        Training::look,
    );
    assert!(count >= 6, "{count}");
    fs::remove_file(path).unwrap();
}

#[test]
fn models_of_paddle() {
    let net = nets::shared();
    let wire = convert::to_wire(net.program().unwrap()).main.encode_to_vec();
    let path = path("model");
    Parameters::create_with_seed(&net, 3).unwrap().save_pdiparams(&path).unwrap();
    let values = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    survives(
        "model",
        || None,
        |loaded| {
            *loaded = Some(load_inference_model(&wire, &values)?.1);
            Ok(())
        },
        |loaded| loaded.as_ref().map(bits),
    );
}
