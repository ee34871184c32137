//! A job that is followed on a terminal: a bar, the master's log above it, and what to do on Ctrl-C.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::{ClusterError, JobStatus};
use crate::interrupt::Interrupt;

/// What is wanted of a job on Ctrl-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It runs on, and this program goes.
    Leave,
    /// It is ended.
    End,
    /// It is followed as before.
    Follow,
}

/// Where a job is shown: a bar on a terminal, lines elsewhere.
pub(super) struct Screen {
    job: String,
    bar: Option<ProgressBar>,
    interrupt: RefCell<Option<Interrupt>>,
    last: RefCell<String>,
}

impl Screen {
    pub(super) fn new(job: &str) -> Result<Self, ClusterError> {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) =
                ProgressStyle::with_template("{prefix} [{bar:24}] {pos}/{len} {elapsed}, {wide_msg}")
            {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(format!("job {job}"));
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        let interrupt = RefCell::new(Some(catch()?));
        Ok(Screen { job: job.to_string(), bar, interrupt, last: RefCell::default() })
    }

    /// Shows where the job stands: how many of its processes run.
    pub(super) fn show(&self, status: &JobStatus) {
        let (text, running, all) = summary(status);
        match &self.bar {
            Some(bar) => {
                bar.set_length(all as u64);
                bar.set_position(running as u64);
                bar.set_message(text);
            }
            None if *self.last.borrow() != text => {
                eprintln!("job {}: {running} of {all} processes run, {text}", self.job);
                *self.last.borrow_mut() = text;
            }
            None => {}
        }
    }

    /// A line of the master's log.
    pub(super) fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// What is wanted, if Ctrl-C was pressed. A second Ctrl-C ends this program, and the job runs on.
    pub(super) fn asked(&self) -> Result<Option<Answer>, ClusterError> {
        if !self.interrupt.borrow().as_ref().is_some_and(Interrupt::came) {
            return Ok(None);
        }
        if !io::stdin().is_terminal() {
            return Ok(Some(Answer::Leave));
        }
        let ask = || {
            eprint!("the job {} runs: [l]eave it, [e]nd it, or go on following it? ", self.job);
            let mut line = String::new();
            // Whoever cannot be asked does not end a job.
            let read = io::stderr().flush().and_then(|()| io::stdin().read_line(&mut line));
            read.map_or(Answer::Leave, |_| meaning(&line))
        };
        let answer = match &self.bar {
            Some(bar) => bar.suspend(ask),
            None => ask(),
        };
        // The next Ctrl-C asks again.
        let mut interrupt = self.interrupt.borrow_mut();
        *interrupt = None;
        *interrupt = Some(catch()?);
        Ok(Some(answer))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn catch() -> Result<Interrupt, ClusterError> {
    Interrupt::catch().map_err(|error| ClusterError::Start { message: error.to_string() })
}

/// What an answer means. At its end, a terminal has nothing more to say.
fn meaning(line: &str) -> Answer {
    match line.trim().chars().next() {
        Some('l' | 'L') => Answer::Leave,
        Some('e' | 'E') => Answer::End,
        None if line.is_empty() => Answer::Leave,
        _ => Answer::Follow,
    }
}

/// What most needs to be known, and how many ranks run, of how many that are there.
fn summary(status: &JobStatus) -> (String, usize, usize) {
    // The newest pod of each rank stands behind the others.
    let mut newest = std::collections::BTreeMap::new();
    for pod in &status.pods {
        newest.insert(pod.rank, pod);
    }
    let running = newest.values().filter(|pod| pod.phase == "Running").count();
    let waits = newest.values().find(|pod| pod.phase != "Running" && pod.reason.is_some());
    let failed = status.pods.iter().filter(|pod| pod.phase == "Failed").count();
    let mut text = match waits {
        Some(pod) => format!("{}: {}", pod.name, pod.reason.as_deref().unwrap_or_default()),
        None if running < newest.len() => "waits for the others".to_string(),
        None => "trains".to_string(),
    };
    if failed > 0 {
        text += &format!("; {failed} pods have failed so far");
    }
    (text, running, newest.len())
}

#[cfg(test)]
mod tests {
    use paddle_engines::kubernetes::PodState;

    use super::*;

    #[test]
    fn only_a_clear_answer_ends_a_job() {
        let cases = [
            ("l\n", Answer::Leave),
            ("END\n", Answer::End),
            ("\n", Answer::Follow),
            ("x\n", Answer::Follow),
            ("", Answer::Leave),
        ];
        for (line, expected) in cases {
            assert_eq!(meaning(line), expected, "{line:?}");
        }
    }

    #[test]
    fn the_newest_pod_of_a_rank_counts() {
        let pod = |rank, phase: &str, reason: Option<&str>| PodState {
            rank: Some(rank),
            name: format!("job-{rank}"),
            phase: phase.into(),
            reason: reason.map(String::from),
        };
        let pods = vec![
            pod(0, "Running", None),
            pod(1, "Failed", Some("exit code 1: x")),
            pod(1, "Pending", Some("ImagePullBackOff")),
        ];
        let status = JobStatus { outcome: None, pods };
        assert_eq!(
            summary(&status),
            ("job-1: ImagePullBackOff; 1 pods have failed so far".to_string(), 1, 2)
        );
    }
}
