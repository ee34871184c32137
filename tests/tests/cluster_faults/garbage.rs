//! A job at whose ports anybody says anything: training goes on, and no process takes much memory for it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use super::job::Job;
use super::site::Site;
use super::{CALM, LIMIT, end};

/// What HTTP/2 begins with, and the frame with settings that follows it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// So many connections are opened to each port, and so many of them say nothing.
const CONNECTIONS: usize = 120;
const SILENT: usize = 60;
/// A process may take so much more memory, in bytes.
const MEMORY: u64 = 128 << 20;

/// The ports at which processes listen.
fn ports(processes: &[u32]) -> Option<Vec<u16>> {
    let said = Command::new("ss").args(["-H", "-l", "-t", "-n", "-p"]).output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let is_ours = |line: &&str| processes.iter().any(|process| line.contains(&format!("pid={process},")));
    let port = |line: &str| line.split_whitespace().nth(3)?.rsplit_once(':')?.1.parse().ok();
    Some(said.lines().filter(is_ours).filter_map(port).collect())
}

/// The memory that a process has.
fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// What is said over one connection: bytes of any kind; frames of HTTP/2 of any kind; requests of HTTP/1 with long headers; or frames that
/// say that they are longer than they are.
fn nonsense(random: &mut fastrand::Rng, kind: usize) -> Vec<u8> {
    let length = [0, 1, 9, 100, 3_000, 100_000][random.usize(..6)];
    let mut said: Vec<u8> = Vec::new();
    match kind {
        0 => said.extend((0..length).map(|_| random.u8(..))),
        1 | 2 => {
            said.extend_from_slice(PREFACE);
            said.extend_from_slice(&SETTINGS);
            for _ in 0..random.usize(1..40) {
                let content: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
                let claimed = if kind == 2 { random.u32(..1 << 24) } else { content.len() as u32 };
                said.extend_from_slice(&claimed.to_be_bytes()[1..]);
                said.extend([random.u8(..12), random.u8(..)]);
                said.extend_from_slice(&random.u32(..9).to_be_bytes());
                said.extend_from_slice(&content);
            }
        }
        _ => {
            let words = ["GET /metrics", "POST /paddle.Cluster/Talk", "OPTIONS *", "\0\0", "GET"];
            said.extend_from_slice(words[random.usize(..words.len())].as_bytes());
            said.extend_from_slice(b" HTTP/1.1\r\n");
            for k in 0..length / 10 {
                said.extend_from_slice(format!("x-{k}: {}\r\n", random.u64(..)).as_bytes());
            }
            if random.bool() {
                said.extend_from_slice(b"Content-Length: 99999999999\r\n\r\n");
            }
        }
    }
    said
}

/// Says something at a port, and hears what is answered.
fn say(port: u16, said: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // The other end may close the connection at any byte.
    let _ = stream.write_all(said);
    let _ = stream.read(&mut [0; 4096]);
}

/// A job that hears garbage.
pub(crate) fn garbage() {
    let site = Site::loopback();
    let mut job = Job::start(&site, "garbage", 0, Vec::new());
    job.wait_for_steps(CALM, LIMIT);
    let processes = job.processes();
    let Some(ports) = ports(&processes).filter(|ports| !ports.is_empty()) else {
        return println!(
            "NOT RUN: a job that hears garbage: there is no program `ss` that says who listens where"
        );
    };
    // The master's two, and one of each other process.
    assert_eq!(ports.len(), processes.len() + 1, "{ports:?}");
    let before: Vec<u64> = processes.iter().map(|&process| memory(process)).collect();
    let mut random = fastrand::Rng::with_seed(7);
    let mut silent = Vec::new();
    for k in 0..CONNECTIONS {
        for &port in &ports {
            if k < SILENT {
                silent.extend(TcpStream::connect(("127.0.0.1", port)));
            }
            say(port, &nonsense(&mut random, k % 4));
        }
        job.watch_for(Duration::ZERO);
    }
    let so_far = job.steps().len();
    job.wait_for_steps(so_far + CALM, LIMIT);
    for (&process, before) in processes.iter().zip(before) {
        let more = memory(process).saturating_sub(before);
        assert!(more < MEMORY, "process {process} has {} MB more", more >> 20);
    }
    drop(silent);
    assert_eq!((job.restarts, job.processes()), (0, processes), "a process has ended");
    let said = job.text("log");
    assert!(!said.contains("panicked"), "{said}");
    println!(
        "cluster_faults: {} steps, with {} connections of garbage at {} ports; the bits are the same",
        end(job),
        CONNECTIONS * ports.len(),
        ports.len()
    );
}
