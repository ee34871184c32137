//! A job whose store is full for a while, and read-only for another one: training goes on, a server that dies goes back to the last
//! checkpoint that there is, and when the store takes something again, there are checkpoints again.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::job::Job;
use super::site::Site;
use super::{CALM, LIMIT, end};

/// A file system of 16 megabytes, which is gone at the end.
struct Disk(PathBuf);

impl Disk {
    fn mount() -> Result<Self, String> {
        let folder = env::temp_dir().join(format!("paddle-disk-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let disk = Disk(folder);
        run("mount", &["-t", "tmpfs", "-o", "size=16m", "paddle"], &disk.0)?;
        Ok(disk)
    }

    fn remount(&self, how: &str) {
        run("mount", &["-o", &format!("remount,{how}")], &self.0).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Writes until nothing more can be written.
    fn fill(&self) {
        let mut ballast = fs::File::create(self.ballast()).unwrap();
        while ballast.write_all(&[0; 1024]).is_ok() {}
    }

    /// The version of the newest manifest.
    fn version(&self) -> u64 {
        // Each has an epoch and a version in its name.
        let files = fs::read_dir(self.0.join("manifest")).into_iter().flatten();
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        names.filter_map(|name| name.rsplit_once('-')?.1.parse().ok()).max().unwrap_or(0)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What is left is in the folder for temporary files.
        let _ = run("umount", &[], &self.0);
        let _ = fs::remove_dir(&self.0);
    }
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let ran =
        Command::new(program).args(arguments).arg(folder).output().map_err(|error| error.to_string())?;
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).trim().to_string()) }
}

/// Waits until something is so.
fn wait_for(job: &mut Job<'_>, what: &str, mut is_so: impl FnMut(&Job<'_>) -> bool) {
    let begun = Instant::now();
    while !is_so(job) {
        job.watch_for(Duration::from_millis(20));
        if begun.elapsed() > LIMIT {
            job.fail(&format!("it does not come to pass that {what}"));
        }
    }
}

/// A job whose store fails.
pub(crate) fn storage() {
    let disk = match Disk::mount() {
        Ok(disk) => disk,
        Err(why) => {
            return println!("NOT RUN: a job whose store is full: no file system can be mounted: {why}");
        }
    };
    let site = Site::loopback();
    let mut job = Job::start(&site, "storage", 0, vec![("PADDLE_STORE", disk.0.display().to_string())]);
    wait_for(&mut job, "there is a checkpoint", |_| disk.version() >= 100);
    let go_back = |job: &mut Job<'_>, why: &str, breaks: &dyn Fn(), mends: &dyn Fn()| {
        breaks();
        let version = disk.version();
        wait_for(job, &format!("a checkpoint fails because {why}"), |job| job.text("log").contains(why));
        let so_far = job.steps().len();
        job.wait_for_steps(so_far + 150, LIMIT);
        job.signal(1, "-KILL");
        job.signal(4, "-KILL");
        let so_far = job.steps().len();
        job.wait_for_steps(so_far + CALM, LIMIT);
        assert_eq!(disk.version(), version, "a checkpoint was written though {why}");
        mends();
        wait_for(job, "there is another checkpoint", |_| disk.version() > version);
    };
    let ballast = disk.ballast();
    go_back(&mut job, "the store is full", &|| disk.fill(), &|| fs::remove_file(&ballast).unwrap());
    go_back(&mut job, "the store is read-only", &|| disk.remount("ro"), &|| disk.remount("rw"));
    println!(
        "cluster_faults: {} steps, with a store that was full, and read-only; the bits are the same",
        end(job)
    );
}
