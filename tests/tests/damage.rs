//! Files in which something changed after they were written: each bit of it is noticed, the checkpoint before the newest is gone
//! on from, and `verify` says where the damage is.

use std::fs;
use std::path::{Path, PathBuf};

use paddle::checkpoint::{Resumed, previous, verify};
use paddle::files::FileFault;
use paddle::{Adam, Error, Load, Options, Parameters, Trainer};

#[paddle::attribute::network]
mod nets {
    pub fn cost(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(fc(x, 2, param = "line")))
    }

    /// Nothing to be trained.
    pub fn nothing(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 2> {
        scale(x, 2.0)
    }
}

/// A new folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("paddle-damage-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A training by steps.
struct Run {
    trainer: Trainer<Adam>,
    parameters: Parameters,
}

impl Run {
    fn new() -> Self {
        let parameters = Parameters::create_with_seed(&nets::cost(), 1).unwrap();
        Run { trainer: Trainer::new(Adam::new(0.1)), parameters }
    }

    fn of_steps(steps: usize) -> Self {
        let mut run = Run::new();
        (0..steps).for_each(|_| run.step());
        run
    }

    fn step(&mut self) {
        let net = nets::cost();
        self.trainer.step(&net, &mut self.parameters, [net.row([1.0, 2.0])]).unwrap();
    }

    fn save(&self, path: &Path) {
        self.trainer.save_checkpoint(&nets::cost(), &self.parameters, path).unwrap();
    }

    fn resume(&mut self, path: &Path) -> Result<Resumed, Error> {
        self.trainer.resume(&nets::cost(), &mut self.parameters, path)
    }

    fn steps(&self) -> u64 {
        self.trainer.steps(&nets::cost()).unwrap()
    }

    /// Every parameter and every state.
    fn bits(&self) -> Vec<u32> {
        let names = self.parameters.names().map(|name| self.parameters.get::<f32>(name).unwrap());
        let states = self.trainer.states(&self.parameters);
        let states = states.map(|(name, slot)| self.trainer.state(&self.parameters, name, slot).unwrap());
        names.chain(states).flat_map(|array| array.into_iter().map(f32::to_bits)).collect()
    }
}

/// What is wrong with this file.
fn fault(error: Error, path: &Path) -> FileFault {
    match error {
        Error::File(error) => {
            assert_eq!(error.path, path);
            error.fault
        }
        other => panic!("not of the file: {other}"),
    }
}

/// Writes a file with each of its bits flipped, and tells which.
fn each_bit(path: &Path, mut check: impl FnMut(usize)) {
    let bytes = fs::read(path).unwrap();
    let mut damaged = bytes.clone();
    for bit in 0..8 * bytes.len() {
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, &damaged).unwrap();
        check(bit);
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
    fs::write(path, &bytes).unwrap();
}

/// A bit of the elements is blamed on its tensor, and `verify` says so, too.
fn check_place(path: &Path, bit: usize, header: u64, fault: FileFault) {
    let at = bit as u64 / 8;
    match fault {
        FileFault::Damaged { tensor, bytes, written, found } => {
            assert!(bytes.contains(&at) && written.as_ref() != Some(&found), "bit {bit}");
            assert_eq!(tensor.is_some(), at >= header, "bit {bit}");
            let verification = match verify(path) {
                Ok(verification) => verification,
                // The header says where tensors are.
                Err(error) => return assert!(tensor.is_none(), "bit {bit}: {error}"),
            };
            let damaged: Vec<_> = verification.damaged().map(|part| (&part.tensor, &part.bytes)).collect();
            assert_eq!(damaged, [(&tensor, &bytes)], "bit {bit}");
            assert!(!verification.is_intact());
        }
        // What is no header any more.
        other => {
            assert!(at < header, "bit {bit}: {other}");
            assert!(verify(path).is_err(), "bit {bit}: {other}");
        }
    }
}

fn header(path: &Path) -> u64 {
    8 + u64::from_le_bytes(*fs::read(path).unwrap().first_chunk().unwrap())
}

#[test]
fn every_bit_of_a_file_of_parameters() {
    let folder = Folder::new("parameters");
    let path = folder.file("line.safetensors");
    let net = nets::cost();
    Parameters::create_with_seed(&net, 1).unwrap().save(&path).unwrap();
    assert!(verify(&path).unwrap().is_intact());
    let mut parameters = Parameters::create_with_seed(&net, 2).unwrap();
    let (before, header) = (parameters.get::<f32>("line.w").unwrap(), header(&path));
    each_bit(&path, |bit| {
        let error = parameters.load(&path, Load::Strict).expect_err(&format!("bit {bit}"));
        check_place(&path, bit, header, fault(error, &path));
    });
    assert_eq!(parameters.get::<f32>("line.w").unwrap(), before);
    parameters.load(&path, Load::Strict).unwrap();
    assert_ne!(parameters.get::<f32>("line.w").unwrap(), before);
}

/// It has only a header.
#[test]
fn every_bit_of_a_file_without_parameters() {
    let folder = Folder::new("nothing");
    let path = folder.file("nothing.safetensors");
    let mut parameters = Parameters::create(&nets::nothing()).unwrap();
    parameters.save(&path).unwrap();
    each_bit(&path, |bit| {
        parameters.load(&path, Load::Strict).expect_err(&format!("bit {bit}"));
    });
    parameters.load(&path, Load::Strict).unwrap();
}

#[test]
fn every_bit_of_a_checkpoint() {
    let folder = Folder::new("checkpoint");
    let path = folder.file("run.checkpoint");
    Run::of_steps(2).save(&path);
    assert!(verify(&path).unwrap().is_intact());
    let (mut run, header) = (Run::new(), header(&path));
    let before = run.bits();
    each_bit(&path, |bit| {
        let error = run.resume(&path).expect_err(&format!("bit {bit}"));
        check_place(&path, bit, header, fault(error, &path));
    });
    assert_eq!((run.bits(), run.steps()), (before, 0));
}

/// The one before the newest is gone on from, whatever byte of the newest is damaged, and wherever it ends.
#[test]
fn the_checkpoint_before_a_damaged_one() {
    let folder = Folder::new("before");
    let path = folder.file("run.checkpoint");
    for steps in [3, 4] {
        Run::of_steps(steps).save(&path);
    }
    let bytes = fs::read(&path).unwrap();
    let flipped = (0..bytes.len()).map(|at| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        damaged
    });
    let cut = (0..bytes.len()).step_by(3).map(|end| bytes[..end].to_vec());
    let longer = [[&bytes[..], b" "].concat()];
    let expected = Run::of_steps(3).bits();
    let mut run = Run::of_steps(1);
    for damaged in flipped.chain(cut).chain(longer) {
        fs::write(&path, &damaged).unwrap();
        let Resumed::Previous { path: from, newest } = run.resume(&path).unwrap() else {
            panic!("a damaged one was gone on from")
        };
        assert_eq!((from, newest.path), (previous(&path), path.clone()));
        assert_eq!(run.bits(), expected);
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(run.resume(&path).unwrap(), Resumed::Previous { .. }));
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(run.resume(&path).unwrap(), Resumed::Newest));
    assert_eq!(run.bits(), Run::of_steps(4).bits());
}

/// A checkpoint that is whole, but of another trainer, is no damage: nobody goes back in silence.
#[test]
fn a_checkpoint_that_does_not_fit() {
    let folder = Folder::new("unfit");
    let path = folder.file("run.checkpoint");
    (3..5).for_each(|steps| Run::of_steps(steps).save(&path));
    let mut parameters = Parameters::create(&nets::cost()).unwrap();
    let mut other = Trainer::new(paddle::Sgd::new(0.1));
    let error = other.resume(&nets::cost(), &mut parameters, &path).unwrap_err();
    assert!(matches!(fault(error, &path), FileFault::Updater { .. }));
}

#[test]
fn both_are_damaged() {
    let folder = Folder::new("both");
    let path = folder.file("run.checkpoint");
    (1..3).for_each(|steps| Run::of_steps(steps).save(&path));
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        *bytes.last_mut().unwrap() ^= 4;
        fs::write(path, bytes).unwrap();
    };
    flip(&path);
    flip(&previous(&path));
    let error = Run::new().resume(&path).unwrap_err();
    let message = error.to_string();
    let FileFault::NoneIntact { newest, previous: before } = fault(error, &path) else { panic!("{message}") };
    assert!(matches!(*newest, FileFault::Damaged { .. }));
    assert_eq!(before.path, previous(&path));
    assert!(matches!(before.fault, FileFault::Damaged { .. }));
    assert_eq!(message.matches("is damaged").count(), 2, "{message}");
    assert!(message.contains(&before.path.display().to_string()), "{message}");
    // Without the one before it, there is one to tell of.
    fs::remove_file(previous(&path)).unwrap();
    let error = Run::new().resume(&path).unwrap_err();
    assert!(matches!(fault(error, &path), FileFault::Damaged { .. }));
    fs::remove_file(&path).unwrap();
    let error = Run::new().resume(&path).unwrap_err();
    assert!(matches!(fault(error, &path), FileFault::Read(_)));
}

/// The newest is damaged and the training goes on: the one before it, by which it does, stays until there is a better one.
#[test]
fn a_damaged_one_is_not_kept() {
    let folder = Folder::new("kept");
    let path = folder.file("run.checkpoint");
    (1..3).for_each(|steps| Run::of_steps(steps).save(&path));
    let end = fs::read(&path).unwrap().len();
    for (left, flipped) in [(end, 1), (100, 0), (0, 0)] {
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(left);
        bytes.last_mut().into_iter().for_each(|byte| *byte ^= flipped);
        fs::write(&path, bytes).unwrap();
        let mut run = Run::new();
        run.resume(&path).unwrap();
        assert_eq!(run.steps(), 1);
        run.step();
        run.save(&path);
        let steps = |path: &Path| {
            let mut run = Run::new();
            run.resume(path).unwrap();
            run.steps()
        };
        assert_eq!((steps(&path), steps(&previous(&path))), (2, 1));
    }
    // Neither is it by a training.
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(100);
    fs::write(&path, bytes).unwrap();
    let mut run = Run::new();
    run.resume(&path).unwrap();
    let net = nets::cost();
    let options = Options::default().checkpoint(&path);
    run.trainer.train(&net, &mut run.parameters, [vec![net.row([1.0, 2.0])]], options, |_| Ok(())).unwrap();
    assert!(verify(&path).unwrap().is_intact() && verify(previous(&path)).unwrap().is_intact());
}

/// Two checksums that fit, in a file whose header was made by another program.
#[test]
fn other_readers_read_it() {
    let folder = Folder::new("others");
    let path = folder.file("line.safetensors");
    Run::of_steps(1).save(&path);
    let bytes = fs::read(&path).unwrap();
    let read = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names: Vec<_> = read.names().into_iter().filter(|name| name.starts_with("line.w")).collect();
    names.sort_unstable();
    assert_eq!(names[0], "line.w");
    assert_eq!(read.tensor("line.w").unwrap().shape(), [2, 2]);
}

#[test]
fn what_verify_says() {
    let folder = Folder::new("verify");
    let path = folder.file("line.safetensors");
    Parameters::create(&nets::cost()).unwrap().save(&path).unwrap();
    let end = fs::read(&path).unwrap().len();
    let verification = verify(&path).unwrap();
    let parts: Vec<_> = verification.parts.iter().map(|part| part.tensor.as_deref()).collect();
    assert_eq!(parts, [None, Some("line.b"), Some("line.w")]);
    assert_eq!(verification.parts.last().unwrap().bytes, end as u64 - 16..end as u64);
    let text = verification.to_string();
    let last = format!("{}: tensor `line.w`, bytes {} to {end}: intact", path.display(), end - 16);
    assert!(text.ends_with(&last) && text.lines().count() == 3, "{text}");
    fs::write(&path, "not a file of tensors").unwrap();
    assert!(matches!(verify(&path).unwrap_err().fault, FileFault::HeaderLength { .. }));
    assert!(matches!(verify(folder.file("nothing")).unwrap_err().fault, FileFault::Read(_)));
}
