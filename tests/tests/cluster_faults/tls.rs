//! A job whose processes show each other certificates: one with a wrong certificate, or with none, ends, and the others go on. Of processes
//! that train as equals, too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::job::Job;
use super::site::Site;
use super::{CALM, LIMIT, end, overlap};

fn openssl(folder: &Path, arguments: &str) {
    let ran = Command::new("openssl").current_dir(folder).args(arguments.split(' ')).output().unwrap();
    assert!(ran.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// A folder with a CA and a certificate, which is deleted at the end.
struct Certificates(PathBuf);

impl Certificates {
    fn new(ca: &str) -> Self {
        let folder = env::temp_dir().join(format!("paddle-certificates-{}-{ca}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        openssl(&folder, &format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN={ca} -days 30"));
        let request = "-out request -subj /CN=x -addext subjectAltName=DNS:paddle";
        openssl(&folder, &format!("req {key} -keyout key.pem {request}"));
        let sign = "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy";
        openssl(&folder, &format!("{sign} -out cert.pem -days 30"));
        Certificates(folder)
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![("PADDLE_TLS", self.0.display().to_string())]
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Why such a job cannot be run here, if it cannot.
fn lacking(site: &Site) -> Option<&'static str> {
    if Command::new("openssl").arg("version").output().is_err() {
        return Some("there is no program `openssl`");
    }
    let mut master = site.command(0);
    master.env("RANK", "0").env("WORLD_SIZE", "4").env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", "1");
    let nowhere = env::temp_dir().join(format!("paddle-nowhere-{}", std::process::id()));
    fs::create_dir_all(&nowhere).unwrap();
    let secret = nowhere.join("secret");
    fs::write(&secret, "secret").unwrap();
    let master =
        master.env("PADDLE_STORE", &nowhere).env("PADDLE_SECRET", secret).env("PADDLE_TLS", &nowhere);
    let said = master.output().unwrap();
    fs::remove_dir_all(&nowhere).unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    said.contains("without the feature `tls`").then_some("`--features paddle-rs/tls` is not given")
}

/// Waits until a process has ended because of what the master says of it.
fn wait_for_end(job: &mut Job<'_>, why: &str) {
    let begun = Instant::now();
    loop {
        let said = fs::read_to_string(job.folder().join("log")).unwrap();
        if said.lines().any(|line| line.contains("this process ends") && line.contains(why)) {
            return;
        }
        job.watch_for(Duration::from_millis(50));
        if begun.elapsed() > LIMIT {
            job.fail(&format!("no process ends because {why}"));
        }
    }
}

/// What the second of two processes that train as equals says in the end, and whether it ends well.
fn equals(site: &Site, first: &Certificates, second: &Certificates) -> (bool, String) {
    let folder = env::temp_dir().join(format!("paddle-equals-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("secret"), "secret").unwrap();
    let (host, port) = site.master();
    let command = |rank: usize, certificates: &Certificates| {
        let mut command = site.command(rank);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "2").env("PADDLE_THREADS", "1");
        command.env("MASTER_ADDR", host).env("MASTER_PORT", port.to_string());
        command.env("PADDLE_SECRET", folder.join("secret")).env("PADDLE_FAULTS_FOLDER", &folder);
        command.envs(overlap::equals()).envs(certificates.settings());
        command
    };
    let mut other = command(0, first).stderr(Stdio::null()).spawn().unwrap();
    let said = command(1, second).output().unwrap();
    if said.status.success() {
        assert!(other.wait().unwrap().success());
    }
    // It may have ended.
    let _ = other.kill();
    let _ = other.wait();
    fs::remove_dir_all(&folder).unwrap();
    (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
}

/// A job with certificates.
pub(crate) fn certificates() {
    let site = Site::loopback();
    if let Some(why) = lacking(&site) {
        return println!("NOT RUN: a job with certificates: {why}");
    }
    let (good, other) = (Certificates::new("ours"), Certificates::new("theirs"));
    let mut job = Job::start(&site, "tls", 0, good.settings());
    job.wait_for_steps(CALM, LIMIT);
    for (settings, why) in [(other.settings(), "another CA"), (Vec::new(), "it wants TLS")] {
        job.settings = settings;
        let trainer = 5;
        job.signal(trainer, "-KILL");
        let before = job.steps().len();
        wait_for_end(&mut job, why);
        assert!(job.steps().len() > before + CALM, "the others do not go on");
    }
    job.settings = good.settings();
    job.signal(1, "-KILL");
    let so_far = job.steps().len();
    job.wait_for_steps(so_far + CALM, LIMIT);
    let steps = end(job);
    let (is_well, said) = equals(&site, &good, &good);
    assert!(is_well, "{said}");
    let (is_well, said) = equals(&site, &good, &other);
    assert!(!is_well && said.contains("another CA"), "{said}");
    println!("cluster_faults: {steps} steps with certificates; three processes had wrong ones");
}
