//! Supervision of real processes. This program is the supervisor when `SUPERVISE` has a script for `sh`.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paddle_engines::supervisor::{LIFE, Supervisor, SupervisorError};

/// No test, but what the others run.
#[test]
fn supervise() {
    if let Ok(script) = std::env::var("SUPERVISE") {
        let supervisor = Supervisor { restarts: 3, window: Duration::from_secs(60) };
        std::process::exit(supervisor.run(Command::new("sh").args(["-c", &script])).unwrap());
    }
}

fn start(script: &str, folder: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervise", "--nocapture", "--quiet"])
        .env("SUPERVISE", script)
        .env_remove(LIFE)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The exit code, and what was written to `log`.
fn run(script: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let status = start(script, folder.path()).wait().unwrap();
    (status.code(), std::fs::read_to_string(folder.path().join("log")).unwrap_or_default())
}

#[test]
fn a_process_that_fails_is_started_again() {
    let begin = Instant::now();
    let (code, log) = run("echo $PADDLE_LIFE >> log; [ $PADDLE_LIFE = 3 ] || exit 7");
    assert_eq!((code, log.as_str()), (Some(0), "1\n2\n3\n"));
    // 0.1 s and 0.2 s.
    assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
}

#[test]
fn a_process_that_fails_too_often_is_given_up() {
    assert_eq!(run("echo x >> log; exit 7"), (Some(7), "x\n".repeat(4)));
    assert_eq!(run("echo x >> log; kill -KILL $$"), (Some(128 + 9), "x\n".repeat(4)));
}

#[test]
fn an_error_of_the_user_is_passed_through_at_once() {
    assert_eq!(run("echo x >> log; exit 42"), (Some(42), "x\n".to_string()));
    assert_eq!(run("echo x >> log"), (Some(0), "x\n".to_string()));
}

#[test]
fn failures_of_long_ago_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let supervisor = Supervisor { restarts: 1, window: Duration::from_millis(150) };
    let script = "echo x >> log; sleep 0.3; [ $PADDLE_LIFE = 5 ] || exit 7";
    let code = supervisor.run(Command::new("sh").args(["-c", script]).current_dir(folder.path())).unwrap();
    assert_eq!((code, std::fs::read_to_string(folder.path().join("log")).unwrap()), (0, "x\n".repeat(5)));
}

fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

#[test]
fn signals_are_passed_on_and_end_it() {
    let script = "trap 'echo term >> log; exit 3' TERM; trap 'echo int >> log; exit 0' INT; echo ready; while :; do sleep 0.05; done";
    for (name, code, expected) in [("-TERM", 3, "term\n"), ("-INT", 0, "int\n")] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(script, folder.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        signal(child.id(), name);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), expected);
    }
}

/// Its pause is 0.4 s after the third failure.
#[test]
fn a_signal_during_the_pause_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start("echo life $PADDLE_LIFE; echo x >> log; exit 7", folder.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("life 3")));
    std::thread::sleep(Duration::from_millis(100));
    signal(child.id(), "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "x\n".repeat(3));
}

#[test]
fn what_cannot_be_started_is_an_error() {
    let error = Supervisor::default().run(&mut Command::new("/no/such/program")).unwrap_err();
    assert!(
        matches!(&error, SupervisorError::Start { program, .. } if program == "/no/such/program"),
        "{error}"
    );
}
