//! A training whose process is killed again and again, and that runs out of room: it ends with the bits of one that was left
//! alone. `PADDLE_KILLS=200 cargo test -p paddle-tests --test kills -- --nocapture` kills more often.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use paddle::checkpoint::{previous, verify};
use paddle::files::FileFault;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Error, Options, Parameters, Trainer};

#[paddle::attribute::network]
mod nets {
    /// Its checkpoints take 2.4 MB.
    pub fn cost(x: Tensor<f32, _, 500>) -> Tensor<f32> {
        mean(square(dropout(fc(x, 400, param = "wide"), 0.1)))
    }
}

/// Says to a process of its own where its checkpoint goes.
const FILE: &str = "PADDLE_TEST_KILLS_FILE";

/// So many steps a training takes.
const STEPS: u64 = 12;

/// A new folder, and a path in it.
fn folder(test: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("paddle-kills-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let file = folder.join("run.checkpoint");
    (folder, file)
}

struct Run {
    trainer: Trainer<Adam>,
    parameters: Parameters,
}

impl Run {
    fn new() -> Self {
        let parameters = Parameters::create_with_seed(&nets::cost(), 1).unwrap();
        Run { trainer: Trainer::new(Adam::new(0.01)), parameters }
    }

    fn at(path: &Path) -> Self {
        let mut run = Run::new();
        run.trainer.resume(&nets::cost(), &mut run.parameters, path).unwrap();
        run
    }

    /// Trains to the end of its reader.
    fn train(&mut self, options: Options) -> Result<(), Error> {
        let net = nets::cost();
        let rows: Vec<_> =
            (0..8).map(|k| net.row(std::array::from_fn::<f32, 500, _>(|i| ((i + k) as f32).sin()))).collect();
        let reader = rows.iter().passes(STEPS as usize / 4).shuffle(8).batch(2);
        self.trainer.train(&net, &mut self.parameters, reader, options, |_| Ok(())).map(drop)
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

#[test]
fn what_the_other_process_does() {
    let Ok(file) = std::env::var(FILE) else { return };
    let mut run = match Path::new(&file).exists() {
        true => Run::at(Path::new(&file)),
        false => Run::new(),
    };
    match run.train(Options::default().checkpoint(file).checkpoint_every(1)) {
        Ok(()) => {}
        Err(Error::File(error)) => {
            assert!(matches!(error.fault, FileFault::Write(_)), "{error}");
            std::process::exit(3);
        }
        Err(other) => panic!("{other}"),
    }
}

/// A training from its checkpoint on, in a process of its own, started by `program`.
fn spawn(mut program: Command, file: &Path) -> Child {
    program.args(["--exact", "what_the_other_process_does", "--test-threads=1"]);
    program.env(FILE, file).env("PADDLE_THREADS", "1");
    program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn this() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Kills it after this time, unless it has ended.
fn kill_after(mut child: Child, time: Duration) -> Option<ExitStatus> {
    std::thread::sleep(time);
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    child.wait().unwrap();
    ended
}

/// Removes a checkpoint, and the one before it.
fn remove(file: &Path) {
    for file in [file, &previous(file)] {
        let _ = fs::remove_file(file);
    }
}

/// The files of a folder but for those of these names.
fn others(folder: &Path, file: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path != file && *path != previous(file)).collect()
}

#[test]
fn kills_at_any_moment() {
    let kills: usize = std::env::var("PADDLE_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let (folder, file) = folder("kills");
    let mut whole = Run::new();
    whole.train(Options::default()).unwrap();
    let begin = Instant::now();
    assert!(spawn(this(), &file).wait().unwrap().success());
    let longest = begin.elapsed();
    remove(&file);
    let mut random = fastrand::Rng::with_seed(kills as u64);
    let (mut steps, mut trainings, mut left) = (0, 0, 0);
    for done in 0..=kills {
        if done == kills || steps == STEPS {
            // The one that ends sweeps what the killed ones have left.
            assert!(spawn(this(), &file).wait().unwrap().success());
            assert_eq!(Run::at(&file).bits(), whole.bits());
            assert!(others(&folder, &file).is_empty(), "{:?}", others(&folder, &file));
            remove(&file);
            (steps, trainings) = (0, trainings + 1);
        }
        if done == kills {
            break;
        }
        // As many are killed early, when they resume, as late.
        let ended = kill_after(spawn(this(), &file), longest.mul_f64(random.f64() * 0.7));
        assert!(ended.is_none_or(|status| status.success()), "{ended:?}");
        let is_temporary = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "tmp");
        left += usize::from(others(&folder, &file).iter().any(is_temporary));
        if file.exists() {
            // Both are whole, and nothing that was reached is lost.
            assert!(verify(&file).unwrap().is_intact());
            assert!(!previous(&file).exists() || verify(previous(&file)).unwrap().is_intact());
            let now = Run::at(&file).steps();
            assert!(now >= steps, "{now} after {steps}");
            steps = now;
        } else {
            assert_eq!(steps, 0);
        }
    }
    println!(
        "{kills} kills in {trainings} trainings; {left} left a temporary file; all ended with the same bits"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// The system refuses to write any further than a limit, as it does when a disk is full, at a checkpoint in the middle.
#[test]
fn no_room_for_a_checkpoint() {
    let (folder, file) = folder("room");
    let mut whole = Run::new();
    whole.train(Options::default()).unwrap();
    for blocks in [0, 100, 3000] {
        remove(&file);
        if blocks > 0 {
            // There is something to go on from.
            let _ = kill_after(spawn(this(), &file), Duration::from_millis(300));
        }
        let before = fs::read(&file).ok();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        shell.arg(std::env::current_exe().unwrap());
        let status = spawn(shell, &file).wait().unwrap();
        if before.as_ref().is_none_or(|_| Run::at(&file).steps() < STEPS) {
            assert_eq!(status.code(), Some(3), "at {blocks} blocks");
        }
        assert_eq!(fs::read(&file).ok(), before, "at {blocks} blocks");
        assert!(spawn(this(), &file).wait().unwrap().success());
        assert_eq!(Run::at(&file).bits(), whole.bits());
        assert!(others(&folder, &file).is_empty(), "{:?}", others(&folder, &file));
    }
    fs::remove_dir_all(folder).unwrap();
}
