//! A program that runs steps of a workload on command; `../workloads/serve.rs` has the protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A program before it is started.
pub(crate) struct Program {
    /// The column of the table.
    pub(crate) framework: String,
    pub(crate) name: String,
    pub(crate) command: Command,
}

/// A program that waits for commands. It ends with this value.
pub(crate) struct Worker {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<String>,
    complaints: Receiver<String>,
    patience: Duration,
}

/// The losses that programs compare: of the first step, of an early one, and of the last that is checked.
pub(crate) type Losses = [f64; 3];

/// What some steps took, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) clock: f64,
    pub(crate) processor: f64,
}

impl Worker {
    /// Starts a program and waits until it has checked its first steps.
    pub(crate) fn start(mut command: Command, patience: Duration) -> Result<(Self, Losses), String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("PEER_SERVE", "1");
        let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
        let (Some(commands), Some(out), Some(err)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("it has no pipes".to_string());
        };
        let (answers, complaints) = (lines(out), lines(err));
        let mut worker = Worker { child, commands, answers, complaints, patience };
        let losses = worker.answer(["loss_first", "loss_early", "loss_last"])?;
        Ok((worker, losses))
    }

    /// Runs some steps.
    pub(crate) fn run(&mut self, steps: usize) -> Result<Times, String> {
        // Where it has ended, the answer says why.
        let _ = writeln!(self.commands, "run {steps}").and_then(|()| self.commands.flush());
        let [clock, processor] = self.answer(["dt", "cpu"])?;
        Ok(Times { clock, processor })
    }

    /// The numbers of these names in the next line of JSON.
    fn answer<const N: usize>(&mut self, names: [&str; N]) -> Result<[f64; N], String> {
        let end = Instant::now() + self.patience;
        loop {
            let line = match self.answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return Err(format!("no answer in {:?}", self.patience)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.complaint()),
            };
            // Other lines are what libraries print.
            let Ok(Value::Object(answer)) = serde_json::from_str(&line) else { continue };
            let numbers = names.map(|name| answer.get(name).and_then(Value::as_f64));
            if numbers.contains(&None) {
                return Err(format!("`{line}` lacks one of {}", names.join(", ")));
            }
            return Ok(numbers.map(Option::unwrap_or_default));
        }
    }

    /// What a program that has ended said last: the last line that speaks of an error, if there is one.
    fn complaint(&mut self) -> String {
        let mut lines = Vec::new();
        // Processes that it started may keep the pipe open.
        while let Ok(line) = self.complaints.recv_timeout(Duration::from_secs(1)) {
            lines.push(line);
        }
        lines.retain(|line| !line.trim().is_empty());
        let error = lines.iter().rev().find(|line| line.to_lowercase().contains("error"));
        match error.or(lines.last()) {
            Some(line) => line.trim().to_string(),
            None => "it has ended without a word".to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a pipe, which a thread of its own reads, so that waiting for one can end.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            if sender.send(String::from_utf8_lossy(&line).trim_end().to_string()).is_err() {
                break;
            }
            line.clear();
        }
    });
    receiver
}
