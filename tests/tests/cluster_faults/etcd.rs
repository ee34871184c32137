//! A job whose master a real etcd knows: it is started again at other addresses, and etcd itself dies, stands still and forgets what was.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::job::{Job, send_signal};
use super::master::{PASSES, alone, beginnings, kill, settings, wait_for_beginning, wait_for_version};
use super::site::Site;

/// A server, which is killed at the end.
struct Etcd {
    folder: PathBuf,
    ports: [u16; 2],
    server: Child,
}

fn free_port() -> u16 {
    // Free now; whoever takes it before the server makes the test fail, not pass.
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn serve(folder: &PathBuf, [clients, peers]: [u16; 2]) -> Child {
    let (clients, peers) = (format!("http://127.0.0.1:{clients}"), format!("http://127.0.0.1:{peers}"));
    let mut command = Command::new("etcd");
    command.arg("--data-dir").arg(folder);
    command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    command.args([
        "--initial-cluster",
        &format!("default={peers}"),
        "--logger",
        "zap",
        "--log-level",
        "error",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Etcd {
    fn start() -> Self {
        let folder = env::temp_dir().join(format!("paddle-etcd-{}", std::process::id()));
        let ports = [free_port(), free_port()];
        let server = serve(&folder, ports);
        Etcd { folder, ports, server }
    }

    /// What its own client prints, also where it fails because there is nothing to forget.
    fn ask(&self, arguments: &[&str]) -> String {
        let mut client = Command::new("etcdctl");
        client.env("ETCDCTL_API", "3").arg(format!("--endpoints=http://127.0.0.1:{}", self.ports[0]));
        let said = client.args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&said.stderr).into_owned();
        let is_well = said.status.success() || error.contains("has been compacted");
        assert!(is_well, "etcdctl {arguments:?}: {error}");
        String::from_utf8(said.stdout).unwrap()
    }

    fn value(&self, name: &str) -> String {
        let value = self.ask(&["get", "--print-value-only", &format!("/paddle/job/value/{name}")]);
        value.trim().to_string()
    }

    /// Forgets all revisions but the newest, as servers do that compact now and then.
    fn compact(&self) {
        let status = self.ask(&["endpoint", "status", "-w", "json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let revision = status[0]["Status"]["header"]["revision"].as_u64().unwrap();
        self.ask(&["compact", &revision.to_string()]);
        self.ask(&["defrag"]);
    }

    fn restart(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        self.server = serve(&self.folder, self.ports);
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A job with etcd.
pub(crate) fn coordinated() {
    for program in ["etcd", "etcdctl"] {
        if Command::new(program).arg("version").output().is_err() {
            return println!("NOT RUN: a job with etcd: there is no program `{program}`");
        }
    }
    if !cfg!(feature = "etcd") {
        return println!("NOT RUN: a job with etcd: `--features etcd` is not given");
    }
    let site = Site::loopback();
    let mut etcd = Etcd::start();
    let url = format!("http://127.0.0.1:{}", etcd.ports[0]);
    let mut of_job = settings();
    of_job.extend([("PADDLE_ETCD", url), ("PADDLE_JOB", "job".to_string())]);
    let mut job = Job::start(&site, "etcd", PASSES, of_job);
    // The next master listens somewhere else, and workers find it.
    let moved = |job: &mut Job<'_>| {
        job.settings.push(("MASTER_PORT", free_port().to_string()));
        job.settings.push(("PADDLE_METRICS", format!("127.0.0.1:{}", free_port())));
    };

    wait_for_version(&mut job, 20);
    etcd.restart();
    moved(&mut job);
    assert_eq!(kill(&mut job, 130), 100);
    // Whoever watches keys knows of revisions that are gone, and learns of the next master all the same.
    etcd.compact();

    // A master stands still until another one has its place. Then it is none.
    wait_for_version(&mut job, 215);
    let before = beginnings(&job);
    job.signal(0, "-STOP");
    moved(&mut job);
    job.replace(0);
    wait_for_beginning(&mut job, before + 1);
    job.thaw_zombies();
    assert!(job.text("log").contains("another process is its master now"), "{}", job.text("log"));

    // Longer than a lease.
    send_signal("-STOP", &etcd.server);
    job.watch_for(Duration::from_secs(8));
    send_signal("-CONT", &etcd.server);

    etcd.compact();
    wait_for_version(&mut job, 320);
    etcd.restart();
    etcd.compact();

    let (bits, _) = job.finish();
    assert!(bits == alone(), "the bits are not those of one machine:\n{}", job.text("log"));
    // The manifest is of the last master, whatever the one that had stood still wanted.
    let election: u32 = etcd.value("election").parse().unwrap();
    assert!(election >= 3, "{election}");
    assert_eq!(etcd.value("manifest").split(' ').next(), Some(&*election.to_string()));
    println!("cluster_faults: a job with etcd; masters moved, both stood still; the bits are the same");
}
