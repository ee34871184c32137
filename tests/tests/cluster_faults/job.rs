//! A job of real processes, started by a launcher that starts them again when they die.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::site::Site;
use super::{SERVERS, TRAINERS};

/// The file to which the master writes a line for each step, and the one that tells it that there are enough.
pub(crate) const STEPS: &str = "steps";
pub(crate) const ENOUGH: &str = "enough";
/// The log of commits.
pub(crate) const COMMITS: &str = "commits";

pub(crate) struct Job<'s> {
    site: &'s Site,
    folder: PathBuf,
    /// The number of processes.
    size: usize,
    /// By rank: the master, servers, trainers.
    children: Vec<Child>,
    /// Those in whose place another one was started while they stood still.
    zombies: Vec<Child>,
    /// Whether the master trains on so many passes over a data set; otherwise it steps until there are enough.
    passes: u32,
    /// Further variables of the environment.
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) restarts: u32,
}

impl<'s> Job<'s> {
    pub(crate) fn start(
        site: &'s Site,
        name: &str,
        passes: u32,
        settings: Vec<(&'static str, String)>,
    ) -> Self {
        Self::of(site, name, (1 + SERVERS + TRAINERS) as usize, passes, settings)
    }

    /// A job of so many processes.
    pub(crate) fn of(
        site: &'s Site,
        name: &str,
        size: usize,
        passes: u32,
        settings: Vec<(&'static str, String)>,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("paddle-faults-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("store")).unwrap();
        fs::write(folder.join("secret"), "a secret of this job").unwrap();
        let (children, zombies) = (Vec::new(), Vec::new());
        let mut job = Job { site, folder, size, children, zombies, passes, settings, restarts: 0 };
        job.start_all();
        job
    }

    /// Starts all processes.
    pub(crate) fn start_all(&mut self) {
        self.children = (0..self.size).map(|rank| self.spawn(rank)).collect();
    }

    fn spawn(&self, rank: usize) -> Child {
        let (address, port) = self.site.master();
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log")).unwrap();
        let mut command = self.site.command(rank);
        command
            .env("RANK", rank.to_string())
            .env("WORLD_SIZE", self.size.to_string())
            .env("MASTER_ADDR", address)
            .env("MASTER_PORT", port.to_string())
            .env("PADDLE_STORE", self.folder.join("store"))
            .env("PADDLE_SECRET", self.folder.join("secret"))
            .env("PADDLE_THREADS", "1")
            .env("PADDLE_COMMITS", self.folder.join(COMMITS))
            .env("PADDLE_METRICS", self.site.metrics())
            .env("PADDLE_FAULTS_PASSES", self.passes.to_string())
            .env("PADDLE_FAULTS_FOLDER", &self.folder)
            .envs(self.settings.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command.spawn().unwrap()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is in a file of the job.
    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap_or_default()
    }

    /// What the system calls the processes, by rank.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    pub(crate) fn signal(&self, rank: usize, signal: &str) {
        send_signal(signal, &self.children[rank]);
    }

    /// Starts another process beside one that stands still.
    pub(crate) fn replace(&mut self, rank: usize) {
        let other = self.spawn(rank);
        self.zombies.push(std::mem::replace(&mut self.children[rank], other));
    }

    /// Lets those that were replaced go on. Each has to end by itself.
    pub(crate) fn thaw_zombies(&mut self) {
        for mut zombie in std::mem::take(&mut self.zombies) {
            send_signal("-CONT", &zombie);
            let begun = Instant::now();
            while zombie.try_wait().unwrap().is_none() {
                if begun.elapsed() > Duration::from_secs(10) {
                    let _ = zombie.kill();
                    self.fail("a process that was replaced goes on");
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Starts processes again that have died. Whether the master has ended well.
    fn watch(&mut self) -> bool {
        for rank in 0..self.children.len() {
            let Some(status) = self.children[rank].try_wait().unwrap() else { continue };
            if status.success() {
                if rank == 0 {
                    return true;
                }
                continue;
            }
            self.children[rank] = self.spawn(rank);
            self.restarts += 1;
        }
        std::thread::sleep(Duration::from_millis(10));
        false
    }

    /// The times of the master's steps so far. A master that was started again begins anew.
    pub(crate) fn steps(&self) -> Vec<Duration> {
        let text = fs::read_to_string(self.folder.join(STEPS)).unwrap_or_default();
        // The last line may be half of one.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        complete.lines().map(|line| Duration::from_micros(line.parse().unwrap())).collect()
    }

    /// Watches the job for a while, once at least.
    pub(crate) fn watch_for(&mut self, time: Duration) {
        let begun = Instant::now();
        self.watch();
        while begun.elapsed() < time {
            self.watch();
        }
    }

    /// Waits until the master of this time has done so many steps.
    pub(crate) fn wait_for_steps(&mut self, steps: usize, limit: Duration) {
        let begun = Instant::now();
        while self.steps().len() < steps {
            self.watch();
            if begun.elapsed() > limit {
                self.fail(&format!("{} steps are done, not {steps}", self.steps().len()));
            }
        }
    }

    /// Waits until the job ends.
    pub(crate) fn end(&mut self) {
        let begun = Instant::now();
        while !self.watch() {
            if begun.elapsed() > Duration::from_secs(60) {
                self.fail("the job does not end");
            }
        }
    }

    /// Ends the job. Returns the text that the master has left, and the log of commits.
    pub(crate) fn finish(&mut self) -> (String, String) {
        fs::write(self.folder.join(ENOUGH), "").unwrap();
        self.end();
        let left = fs::read_to_string(self.folder.join("end")).unwrap();
        // Workers hear from the master that the job is over. One that was cut off waits for it for ever: it is killed.
        std::thread::sleep(Duration::from_millis(200));
        (left, fs::read_to_string(self.folder.join(COMMITS)).unwrap())
    }

    pub(crate) fn fail(&self, what: &str) -> ! {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("{what}; the processes said:\n{log}");
    }
}

pub(crate) fn send_signal(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        for child in self.children.iter_mut().chain(&mut self.zombies) {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
