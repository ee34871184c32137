//! What a process that this one has started says on its standard error stream: it is passed on, and the last lines are kept.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// So many lines are kept.
const LINES: usize = 40;
/// The bytes of a line, at most; a longer one is several.
const LONGEST: u64 = 4096;
/// The time in which what a process has said before its end is there.
const SAID_WITHIN: Duration = Duration::from_secs(1);

/// The last lines of a process.
#[derive(Clone, Default)]
pub(super) struct Relay(Arc<(Mutex<Said>, Condvar)>);

#[derive(Default)]
struct Said {
    lines: VecDeque<String>,
    /// Whether more may come.
    is_open: bool,
}

impl Relay {
    /// Passes on what comes. Lines of a process before are forgotten.
    pub(super) fn follow(&self, from: impl Read + Send + 'static) -> std::io::Result<()> {
        *self.said() = Said { lines: VecDeque::new(), is_open: true };
        let relay = self.clone();
        let run = move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while matches!(from.by_ref().take(LONGEST).read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line);
                eprint!("{text}");
                relay.keep(text.trim_end());
                line.clear();
            }
            relay.said().is_open = false;
            relay.0.1.notify_all();
        };
        thread::Builder::new().name("relay".to_string()).spawn(run).map(drop)
    }

    /// The last lines of a process that has ended, each on a line of its own and indented.
    pub(super) fn last_words(&self) -> String {
        let (said, closed) = &*self.0;
        let said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = closed.wait_timeout_while(said, SAID_WITHIN, |said| said.is_open);
        let (said, _) = said.unwrap_or_else(PoisonError::into_inner);
        said.lines.iter().map(|line| format!("\n  {line}")).collect()
    }

    fn keep(&self, line: &str) {
        let lines = &mut self.said().lines;
        lines.push_back(line.to_string());
        if lines.len() > LINES {
            lines.pop_front();
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
