//! Saving that is interrupted: killed at any moment, out of room, or without the right to write. What was there before is
//! as it was.
#![cfg(unix)]
#![deny(warnings)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ndarray::Array2;
use paddle::files::FileFault;
use paddle::{Error, Load, Parameters};

#[paddle::attribute::network]
mod nets {
    pub fn wide(x: Tensor<f32, _, 500>) -> Tensor<f32, _, 400> {
        fc(x, 400, bias = false, param = "wide")
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
