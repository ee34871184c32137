//! Saving that is interrupted: killed at any moment, out of room, without the right to write, or while another one writes. What was
//! there before is as it was.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ndarray::Array2;
use paddle::files::FileFault;
use paddle::{Error, Load, Options, Parameters, Sgd, Trainer, checkpoint};

#[paddle::attribute::network]
mod nets {
    pub fn wide(x: Tensor<f32, _, 500>) -> Tensor<f32, _, 400> {
        fc(x, 400, bias = false, param = "wide")
    }

    pub fn cost(x: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(fc(x, 1, param = "narrow")))
    }
}

/// What a process of its own is to do, and the file that it does it to.
const TASK: &str = "PADDLE_TEST_SAVING_TASK";
const FILE: &str = "PADDLE_TEST_SAVING_FILE";

/// A new folder, and a path in it.
fn folder(test: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("paddle-saving-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let file = folder.join("parameters.safetensors");
    (folder, file)
}

/// Parameters of which each is this number.
fn all(number: f32) -> Parameters {
    let mut parameters = Parameters::create(&nets::wide()).unwrap();
    parameters.set("wide.w", &Array2::from_elem((500, 400), number)).unwrap();
    parameters
}

fn narrow() -> Parameters {
    Parameters::create(&nets::cost()).unwrap()
}

/// Trains a batch, with a checkpoint in this file, and says how many batches were read.
fn train(file: &Path) -> (Result<(), Error>, usize) {
    let (mut read, mut parameters) = (0, narrow());
    let reader = std::iter::from_fn(|| {
        read += 1;
        (read < 2).then(|| vec![nets::cost().row(1.0)])
    });
    let options = Options::default().checkpoint(file);
    let result =
        Trainer::new(Sgd::new(0.1)).train(&nets::cost(), &mut parameters, reader, options, |_| Ok(()));
    (result.map(drop), read)
}

/// Why nothing was trained.
fn refused(file: &Path) -> FileFault {
    let (result, read) = train(file);
    assert_eq!(read, 0, "a batch was read before it was known");
    match result {
        Err(Error::File(error)) => {
            assert_eq!(error.path, file);
            error.fault
        }
        other => panic!("{other:?}"),
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// The number that every parameter of a file is.
fn number(file: &Path) -> f32 {
    let mut parameters = all(-1.0);
    parameters.load(file, Load::Strict).unwrap();
    let values = parameters.get::<f32>("wide.w").unwrap();
    assert!(values.iter().all(|x| *x == values[[0, 0]]));
    values[[0, 0]]
}

/// This test alone, in a process of its own, started by `program`.
fn spawn(mut program: Command, task: &str, file: &Path) -> Child {
    program.args(["--exact", "what_the_other_processes_do", "--test-threads=1"]);
    program.env(TASK, task).env(FILE, file).env("PADDLE_THREADS", "1");
    program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn what_the_other_processes_do() {
    let (Ok(task), Ok(file)) = (std::env::var(TASK), std::env::var(FILE)) else { return };
    match task.as_str() {
        "save for ever" => {
            let parameters = [all(1.0), all(2.0)];
            for k in 0.. {
                parameters[k % 2].save(&file).unwrap();
            }
        }
        "train for ever" => {
            let options = Options::default().checkpoint(file).checkpoint_every(1);
            let (mut trainer, mut parameters) = (Trainer::new(Sgd::new(0.1)), narrow());
            let reader = std::iter::repeat_with(|| vec![nets::cost().row(1.0)]);
            trainer.train(&nets::cost(), &mut parameters, reader, options, |_| Ok(())).unwrap();
        }
        "save without room" => match all(2.0).save(&file) {
            Err(Error::File(error)) => assert!(matches!(error.fault, FileFault::Write(_)), "{error}"),
            other => panic!("{other:?}"),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_whole_file() {
    let (folder, file) = folder("kill");
    let begin = Instant::now();
    all(1.0).save(&file).unwrap();
    let one = begin.elapsed();
    let mut seen = [0; 2];
    for round in 0..30 {
        let _ = fs::remove_file(&file);
        let mut child = spawn(Command::new(std::env::current_exe().unwrap()), "save for ever", &file);
        while !file.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(one * round / 10);
        child.kill().unwrap();
        child.wait().unwrap();
        seen[number(&file) as usize - 1] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}: all the kills came between the same two savings");
    fs::remove_dir_all(folder).unwrap();
}

/// The system refuses to write any further than a limit, as it does when a disk is full.
#[test]
fn no_room_leaves_the_file_that_was_there() {
    let (folder, file) = folder("room");
    all(1.0).save(&file).unwrap();
    for blocks in [0, 1, 2, 50, 100, 127, 128, 129, 500, 700] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        shell.arg(std::env::current_exe().unwrap());
        let status = spawn(shell, "save without room", &file).wait().unwrap();
        assert!(status.success(), "at {blocks} blocks");
        assert_eq!(number(&file), 1.0);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_may_not_be_written() {
    let (folder, file) = folder("rights");
    all(1.0).save(&file).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.join("probe"), "").is_ok() {
        eprintln!("skipped: this user may write everywhere");
    } else {
        let Err(Error::File(error)) = all(2.0).save(&file) else { panic!("it was written") };
        assert!(matches!(error.fault, FileFault::Write(_)), "{error}");
        assert_eq!(number(&file), 1.0);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_path_that_cannot_be_written_is_known_before_the_training() {
    let (folder, file) = folder("tried");
    fs::write(&file, "what was there").unwrap();
    for path in [folder.clone(), file.join("below"), folder.join("no/such/folder"), PathBuf::new()] {
        let fault = refused(&path);
        assert!(matches!(fault, FileFault::Write(_)), "{fault}");
    }
    // The one before it has no place.
    fs::create_dir(checkpoint::previous(&file)).unwrap();
    assert!(matches!(refused(&file), FileFault::Write(_)));
    fs::remove_dir(checkpoint::previous(&file)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.join("probe"), "").is_err() {
        assert!(matches!(refused(&file), FileFault::Write(_)));
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "what was there");
    let _ = fs::remove_file(folder.join("probe"));
    assert_eq!(names(&folder), ["parameters.safetensors"]);

    // What is no checkpoint is kept beside the first one.
    train(&file).0.unwrap();
    assert_eq!(names(&folder), ["parameters.safetensors", "parameters.safetensors.previous"]);
    assert!(checkpoint::verify(&file).unwrap().is_intact());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_trainings_of_one_process() {
    let (folder, file) = folder("two");
    let (mut trainer, mut parameters) = (Trainer::new(Sgd::new(0.1)), narrow());
    let net = nets::cost();
    let link = folder.join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let mut seen = 0;
    let options = Options::default().checkpoint(&file);
    let reader = [vec![net.row(1.0)]];
    let result = trainer.train(&net, &mut parameters, reader, options, |_| {
        for path in [&file, &link] {
            let fault = refused(path);
            let FileFault::Held { by: Some(holder) } = &fault else { panic!("{fault}") };
            assert_eq!(holder.process, std::process::id());
            assert!(fault.to_string().contains("this process"), "{fault}");
            let saved = Trainer::new(Sgd::new(0.1)).save_checkpoint(&net, &narrow(), path);
            assert!(
                matches!(saved, Err(Error::File(error)) if matches!(error.fault, FileFault::Held { .. }))
            );
            seen += 1;
        }
        Ok(())
    });
    result.unwrap();
    assert!(seen > 4);
    train(&link).0.unwrap();
    assert_eq!(names(&folder), ["link", "parameters.safetensors", "parameters.safetensors.previous"]);
    fs::remove_dir_all(folder).unwrap();
}

/// The lock ends with the process that has it, however that ends, and what it left is swept.
#[test]
fn a_training_of_another_process() {
    let (folder, file) = folder("other");
    for _ in 0..5 {
        let mut child = spawn(Command::new(std::env::current_exe().unwrap()), "train for ever", &file);
        while !file.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        let fault = refused(&file);
        let FileFault::Held { by: Some(holder) } = &fault else { panic!("{fault}") };
        assert_eq!(holder.process, child.id());
        assert!(holder.since.elapsed().unwrap() < Duration::from_secs(600));
        let message = fault.to_string();
        assert!(message.contains(&format!("process {}", child.id())), "{message}");
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(folder.join(format!(".parameters.safetensors.{}-99.tmp", child.id())), "left").unwrap();
        train(&file).0.unwrap();
        assert_eq!(names(&folder), ["parameters.safetensors", "parameters.safetensors.previous"]);
        for file in [&file, &checkpoint::previous(&file)] {
            assert!(checkpoint::verify(file).unwrap().is_intact());
            fs::remove_file(file).unwrap();
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The file, the one before it, and what is beside it for a while, are where the link leads.
#[test]
fn checkpoints_behind_a_link() {
    let (folder, _) = folder("link");
    let (disk, link) = (folder.join("disk"), folder.join("run.checkpoint"));
    fs::create_dir(&disk).unwrap();
    std::os::unix::fs::symlink("disk/big", &link).unwrap();
    for _ in 0..2 {
        train(&link).0.unwrap();
    }
    assert_eq!(
        (names(&folder), names(&disk)),
        (
            vec!["disk".to_string(), "run.checkpoint".to_string()],
            vec!["big".to_string(), "big.previous".to_string()],
        )
    );
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let (mut trainer, mut parameters) = (Trainer::new(Sgd::new(0.1)), narrow());
    fs::write(&link, "damaged").unwrap();
    let resumed = trainer.resume(&nets::cost(), &mut parameters, &link).unwrap();
    assert!(matches!(resumed, checkpoint::Resumed::Previous { .. }));
    fs::remove_dir_all(folder).unwrap();
}
