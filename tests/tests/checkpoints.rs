//! Checkpoints: a training that was interrupted anywhere goes on as if it had not been, to the last bit.

use std::fs;
use std::path::{Path, PathBuf};

use paddle::files::FileFault;
use paddle::reader::{DataSet, Item, Reader};
use paddle::updater::schedule;
use paddle::{
    Adam, Clip, Ended, Error, Event, EventKind, Load, Options, Parameters, Sgd, Trainer, Updater, checkpoint,
};

#[paddle::attribute::network]
mod nets {
    /// Draws numbers, keeps statistics, and has a metric.
    pub fn cost(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let normal = batch_norm(fc(x, 8, param = "first"), param = "normal");
        let line = fc(dropout(tanh(normal), 0.3), 1, param = "second");
        let absolute = mean(abs(line - y));
        (mean(square(line - y)), absolute)
    }
}

type Row = nets::cost::Row;

/// A path for a file of a test, which is not there yet.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("paddle-checkpoints-{}-{name}", std::process::id()));
    remove(&path);
    path
}

/// Removes a checkpoint, and the one before it.
fn remove(path: &Path) {
    for path in [path, &checkpoint::previous(path)] {
        let _ = fs::remove_file(path);
    }
}

fn rows() -> Vec<Row> {
    (0..10).map(|k| k as f32 / 5.0).map(|x| nets::cost().row([x, 1.0 - x, x * x], x.sin())).collect()
}

/// Three passes of three batches, each in another order.
fn reader(rows: &[Row]) -> impl Iterator<Item = Item<Vec<&Row>>> {
    rows.iter().passes(3).shuffle(10).seed(5).batch(4)
}

/// A training that may have been begun elsewhere.
struct Run<U> {
    trainer: Trainer<U>,
    parameters: Parameters,
    /// The costs and metrics of steps and passes, bit for bit.
    trace: Vec<String>,
    events: usize,
}

/// How a training is interrupted at an event: by a stop or by an error.
#[derive(Clone, Copy, PartialEq)]
enum Interruption {
    Stop,
    Error,
}

impl<U: Updater> Run<U> {
    fn new(trainer: Trainer<U>, seed: u64) -> Self {
        let parameters = Parameters::create_with_seed(&nets::cost(), seed).unwrap();
        Run { trainer, parameters, trace: Vec::new(), events: 0 }
    }

    fn resumed(trainer: Trainer<U>, path: &Path) -> Self {
        let mut run = Run::new(trainer.seed(99), 77);
        run.trainer.resume(&nets::cost(), &mut run.parameters, path).unwrap();
        run
    }

    /// Trains until the event of this number.
    fn train(
        &mut self,
        reader: impl Iterator<Item = Item<Vec<&'static Row>>>,
        options: Options,
        until: Option<(usize, Interruption)>,
    ) -> Result<Ended, Error> {
        let (trace, events) = (&mut self.trace, &mut self.events);
        let handler = |event: &Event<'_>| {
            if let Some(cost) = event.cost() {
                let name = match event.kind() {
                    EventKind::EndPass { pass, .. } => format!("pass {pass}"),
                    EventKind::EndIteration { pass, batch, .. } => format!("{pass}.{batch}"),
                    other => panic!("{other:?}"),
                };
                trace.push(format!("{name}: {} {}", cost.to_bits(), event.metrics()[0].to_bits()));
            }
            *events += 1;
            match until {
                Some((at, Interruption::Stop)) if *events == at => event.stop(),
                Some((at, Interruption::Error)) if *events == at => {
                    return Err(Error::Handler("here".into()));
                }
                _ => {}
            }
            Ok(())
        };
        self.trainer.train(&nets::cost(), &mut self.parameters, reader, options, handler)
    }

    /// Every parameter and every state, bit for bit.
    fn bits(&self) -> Vec<(String, Vec<u32>)> {
        let bits = |array: ndarray::ArrayD<f32>| array.iter().map(|x| x.to_bits()).collect();
        let of = |name: &str| (name.to_string(), bits(self.parameters.get(name).unwrap()));
        let state = |(name, slot): (&str, &str)| {
            (format!("{name}@{slot}"), bits(self.trainer.state(&self.parameters, name, slot).unwrap()))
        };
        self.parameters.names().map(of).chain(self.trainer.states(&self.parameters).map(state)).collect()
    }
}

fn sgd() -> Trainer<Sgd> {
    Trainer::new(Sgd::new(schedule::exponential(0.1, 2, 0.5))).clip(Clip::GlobalNorm(1.0)).seed(3)
}

fn adam() -> Trainer<Adam> {
    Trainer::new(Adam::new(0.05)).seed(4)
}

/// Rows that live as long as the tests.
fn leaked() -> &'static [Row] {
    rows().leak()
}

/// Interrupts a training at each of its events, and goes on with another trainer, other parameters and the same reader.
fn interrupted_anywhere<U: Updater>(
    trainer: impl Fn() -> Trainer<U>,
    interruption: Interruption,
    name: &str,
) {
    let (rows, path) = (leaked(), path(name));
    let mut whole = Run::new(trainer(), 1);
    whole.train(reader(rows), Options::default(), None).unwrap();
    assert_eq!((whole.events, whole.trace.len()), (2 + 3 * (2 + 2 * 3), 12));
    for at in 1..=whole.events {
        let options = Options::default().checkpoint(&path).checkpoint_every(2);
        let mut first = Run::new(trainer(), 1);
        if interruption == Interruption::Error {
            // There is something to go on from, however early the error.
            let net = nets::cost();
            first.trainer.save_checkpoint(&net, &first.parameters, &path).unwrap();
        }
        let result = first.train(reader(rows), options, Some((at, interruption)));
        assert_eq!(result.is_ok(), interruption == Interruption::Stop, "{at}");
        let mut second = Run::resumed(trainer(), &path);
        second.train(reader(rows), Options::default(), None).unwrap();
        assert_eq!(second.bits(), whole.bits(), "{name}: interrupted at event {at}");
        // A stop comes with a checkpoint; after an error, some steps are done again.
        match interruption {
            Interruption::Stop => assert_eq!([first.trace, second.trace].concat(), whole.trace, "{at}"),
            Interruption::Error => assert!(whole.trace.ends_with(&second.trace), "{at}"),
        }
    }
    remove(&path);
}

#[test]
fn stopped_anywhere() {
    interrupted_anywhere(sgd, Interruption::Stop, "stopped-sgd");
    interrupted_anywhere(adam, Interruption::Stop, "stopped-adam");
}

#[test]
fn failed_anywhere() {
    interrupted_anywhere(sgd, Interruption::Error, "failed-sgd");
    interrupted_anywhere(adam, Interruption::Error, "failed-adam");
}

/// A call for each pass, of a reader without markers; the checkpoint is taken in the second.
#[test]
fn a_call_for_each_pass() {
    let (rows, path) = (leaked(), path("calls"));
    let pass = || rows.iter().batch(4);
    let mut whole = Run::new(adam(), 1);
    for _ in 0..3 {
        whole.train(pass(), Options::default(), None).unwrap();
    }
    for at in 1..=10 {
        let mut first = Run::new(adam(), 1);
        first.train(pass(), Options::default(), None).unwrap();
        let options = Options::default().checkpoint(&path);
        let at = first.events + at;
        first.train(pass(), options, Some((at, Interruption::Stop))).unwrap();
        let mut second = Run::resumed(adam(), &path);
        second.train(pass(), Options::default(), None).unwrap();
        second.train(pass(), Options::default(), None).unwrap();
        assert_eq!(second.bits(), whole.bits(), "{at}");
    }
    remove(&path);
}

#[test]
fn the_open_loop() {
    let (rows, path, net) = (leaked(), path("open"), nets::cost());
    let mut whole = Run::new(adam(), 1);
    for k in 0..8 {
        if k == 5 {
            whole.trainer.save_checkpoint(&net, &whole.parameters, &path).unwrap();
        }
        whole.trainer.step(&net, &mut whole.parameters, &rows[k..k + 2]).unwrap();
    }
    let mut second = Run::resumed(adam(), &path);
    for k in second.trainer.steps(&net).unwrap() as usize..8 {
        second.trainer.step(&net, &mut second.parameters, &rows[k..k + 2]).unwrap();
    }
    assert_eq!(second.bits(), whole.bits());
    remove(&path);
}

#[test]
fn frozen_parameters_have_no_states() {
    let (rows, path) = (leaked(), path("frozen"));
    let options = || Options::default().freeze(nets::params::first).checkpoint(&path);
    let mut whole = Run::new(adam(), 1);
    whole.train(reader(rows), options(), None).unwrap();
    assert!(whole.trainer.states(&whole.parameters).all(|(name, _)| !name.starts_with("first")));
    let mut first = Run::new(adam(), 1);
    first.train(reader(rows), options(), Some((14, Interruption::Stop))).unwrap();
    let mut second = Run::resumed(adam(), &path);
    second.train(reader(rows), options(), None).unwrap();
    assert_eq!(second.bits(), whole.bits());

    // One that keeps more, elsewhere, goes back to what there was.
    let mut other = Run::new(adam(), 2);
    other.train(reader(rows), Options::default(), None).unwrap();
    other.train(reader(rows), options(), None).unwrap();
    first = Run::new(adam(), 1);
    first.train(reader(rows), options(), Some((14, Interruption::Stop))).unwrap();
    other.trainer.resume(&nets::cost(), &mut other.parameters, &path).unwrap();
    other.train(reader(rows), options(), None).unwrap();
    assert_eq!(other.bits(), whole.bits());
    remove(&path);
}

/// Going back with a trainer that has trained already.
#[test]
fn back_to_an_earlier_moment() {
    let (rows, path) = (leaked(), path("back"));
    let mut run = Run::new(adam(), 1);
    run.train(reader(rows), Options::default().checkpoint(&path), Some((7, Interruption::Stop))).unwrap();
    run.train(reader(rows), Options::default(), None).unwrap();
    let once = run.bits();
    let mut whole = Run::new(adam(), 1);
    whole.train(reader(rows), Options::default(), None).unwrap();
    assert_ne!(once, whole.bits());
    run.trainer.resume(&nets::cost(), &mut run.parameters, &path).unwrap();
    run.train(reader(rows), Options::default(), None).unwrap();
    assert_eq!(run.bits(), whole.bits());
    remove(&path);
}

/// A checkpoint of the middle of the second pass, without the one before it.
fn in_the_middle(name: &str) -> PathBuf {
    let path = path(name);
    let mut run = Run::new(adam(), 1);
    run.train(reader(leaked()), Options::default().checkpoint(&path), Some((14, Interruption::Stop)))
        .unwrap();
    fs::remove_file(checkpoint::previous(&path)).unwrap();
    path
}

/// One that was written before there were checksums: of the same moment, by the same program.
const OLD: &str = "tests/saved/checkpoint-without-checksums.safetensors";

/// What is wrong with a checkpoint for this trainer; nothing is changed.
fn refused<U: Updater>(trainer: Trainer<U>, path: &Path) -> FileFault {
    let mut run = Run::new(trainer, 9);
    let before = run.bits();
    let error = run.trainer.resume(&nets::cost(), &mut run.parameters, path).unwrap_err();
    assert_eq!(run.bits(), before);
    assert_eq!(run.trainer.steps(&nets::cost()).unwrap(), 0);
    match error {
        Error::File(error) => error.fault,
        other => panic!("{other}"),
    }
}

#[test]
fn another_updater() {
    let path = in_the_middle("updater");
    let fault = refused(sgd(), &path);
    assert!(matches!(&fault, FileFault::Updater { expected, .. } if expected.is_empty()), "{fault}");
    let mut run = Run::new(sgd(), 1);
    run.train(reader(leaked()), Options::default().checkpoint(&path), None).unwrap();
    let fault = refused(adam(), &path);
    assert!(matches!(&fault, FileFault::Updater { found, .. } if found.is_empty()), "{fault}");
    remove(&path);
}

#[test]
fn another_reader() {
    let path = in_the_middle("reader");
    let rows = leaked();
    for shorter in [
        rows.iter().passes(1).batch(4),
        rows[..4].iter().passes(3).batch(4),
        rows[..0].iter().passes(1).batch(4),
    ] {
        let mut run = Run::resumed(adam(), &path);
        let error = run.train(shorter, Options::default(), None).unwrap_err();
        assert!(matches!(error, Error::Reader(_)), "{error}");
        assert!(error.to_string().contains("needs the reader that it had"), "{error}");
    }
    remove(&path);
}

#[test]
fn parameters_alone() {
    let path = path("alone");
    let parameters = Parameters::create(&nets::cost()).unwrap();
    parameters.save(&path).unwrap();
    let fault = refused(adam(), &path);
    assert!(matches!(fault, FileFault::NoCheckpoint { .. }), "{fault}");
    // The other way round, a checkpoint has the parameters.
    let path = in_the_middle("alone");
    let mut parameters = parameters;
    assert_eq!(parameters.load(&path, Load::Strict).unwrap().loaded, parameters.len());
    remove(&path);
}

/// A change of any byte of a header without checksums is refused, or changes nothing that is of account: nothing panics.
#[test]
fn damaged_checkpoints_without_checksums() {
    let (path, bytes) = (path("damaged"), fs::read(OLD).unwrap());
    let mut run = Run::new(adam(), 1);
    let net = nets::cost();
    for end in (0..bytes.len()).step_by(7) {
        fs::write(&path, &bytes[..end]).unwrap();
        let error = run.trainer.resume(&net, &mut run.parameters, &path).unwrap_err();
        assert!(matches!(error, Error::File(_)), "{error}");
    }
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    for at in 0..header {
        for change in [1, 16, 128] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            fs::write(&path, &damaged).unwrap();
            if let Err(error) = run.trainer.resume(&net, &mut run.parameters, &path) {
                assert!(matches!(error, Error::File(_)), "{error}");
            }
        }
    }
    remove(&path);
}

/// It has every element that the file has, and is where it was.
#[test]
fn a_checkpoint_from_before_there_were_checksums() {
    let (bytes, mut run) = (fs::read(OLD).unwrap(), Run::new(adam(), 9));
    let resumed = run.trainer.resume(&nets::cost(), &mut run.parameters, OLD).unwrap();
    assert!(matches!(resumed, checkpoint::Resumed::Newest));
    assert_eq!(run.trainer.steps(&nets::cost()).unwrap(), 5);
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut elements: Vec<u32> =
        bytes[header..].as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let mut found: Vec<u32> = run.bits().into_iter().flat_map(|(_, bits)| bits).collect();
    elements.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, elements);
    // The rest of its reader: one batch of the second pass, and the third.
    run.train(reader(leaked()), Options::default(), None).unwrap();
    assert_eq!(run.trainer.steps(&nets::cost()).unwrap(), 9);
    assert!(checkpoint::verify(OLD).unwrap().parts.iter().all(|part| part.intact.is_none()));
}

/// Texts in the header that are not what they say.
#[test]
fn hostile_checkpoints() {
    // Without checksums: whoever makes such texts can make them, too.
    let (path, bytes) = (path("hostile"), fs::read(OLD).unwrap());
    let text = r#"\"batches\":2"#;
    let at = bytes
        .windows(text.len())
        .position(|window| window == text.as_bytes())
        .expect("two batches of the pass");
    for (replacement, refused_as) in [
        (r#"\"batches\":-1"#, "missing"),
        (r#"\"batches\":18446744073709551615"#, "too large"),
        (r#"\"batches\":9223372036854775807"#, "too large"),
        (r#"\"batches\":null"#, "missing"),
        (r#"\"batches\":[]"#, "missing"),
    ] {
        let header =
            u64::from_le_bytes(*bytes.first_chunk().unwrap()) + (replacement.len() - text.len()) as u64;
        let parts: [&[u8]; 4] =
            [&header.to_le_bytes(), &bytes[8..at], replacement.as_bytes(), &bytes[at + text.len()..]];
        fs::write(&path, parts.concat()).unwrap();
        let fault = refused(adam(), &path);
        assert!(matches!(fault, FileFault::NoCheckpoint { why } if why.contains(refused_as)), "{fault}");
    }
    remove(&path);
}

/// Ctrl-C, in a process of its own.
#[cfg(unix)]
mod interrupted {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// Says to the other process where its checkpoint goes.
    const FILE: &str = "PADDLE_TEST_CHECKPOINT";

    /// Passes without an end.
    fn endless() -> impl Iterator<Item = Item<Vec<&'static Row>>> {
        leaked().iter().passes(usize::MAX).shuffle(10).seed(5).batch(4)
    }

    #[test]
    fn what_the_other_process_does() {
        let Ok(file) = std::env::var(FILE) else { return };
        let options = Options::default().interruptible().checkpoint(file);
        Run::new(adam(), 1).train(endless(), options, None).unwrap();
    }

    #[test]
    fn a_checkpoint_is_saved() {
        let path = path("interrupted");
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "interrupted::what_the_other_process_does"]).env(FILE, &path);
        let mut child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !path.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success() && child.wait().unwrap().success());

        let mut resumed = Run::resumed(adam(), &path);
        let steps = resumed.trainer.steps(&nets::cost()).unwrap();
        let batches = |count: usize| {
            let data = |item: &Item<_>| matches!(item, Item::Data(_));
            let (mut left, mut reader) = (count, endless());
            std::iter::from_fn(move || {
                let item = reader.next()?;
                left = left.checked_sub(usize::from(data(&item)))?;
                Some(item)
            })
        };
        let mut whole = Run::new(adam(), 1);
        whole.train(batches(steps as usize + 4), Options::default(), None).unwrap();
        resumed.train(batches(steps as usize + 4), Options::default(), None).unwrap();
        assert!(whole.trace.ends_with(&resumed.trace) && resumed.trace.len() >= 4);
        assert_eq!(resumed.bits(), whole.bits());
        remove(&path);
    }
}
