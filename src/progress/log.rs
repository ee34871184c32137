//! A line of JSON for each event.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Moment, Watcher};
use crate::event::EventKind;
use crate::files::disk::{self, File};
use crate::files::{FileError, FileFault};

/// How long lines may wait to be in the file.
const PERIOD: Duration = Duration::from_secs(1);

pub(super) struct Log {
    path: PathBuf,
    file: BufWriter<File>,
    /// When all lines were in the file.
    flushed: Duration,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let file = disk::append(path)
            .map_err(|error| FileError { path: path.to_path_buf(), fault: FileFault::Write(error) })?;
        Ok(Log { path: path.to_path_buf(), file: BufWriter::new(file), flushed: Duration::ZERO })
    }
}

impl Watcher for Log {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError> {
        let mut written = writeln!(self.file, "{}", line(moment));
        let ends = matches!(moment.kind, EventKind::EndPass { .. } | EventKind::EndTraining);
        if ends || moment.elapsed - self.flushed >= PERIOD {
            written = written.and_then(|()| self.file.flush());
            self.flushed = moment.elapsed;
        }
        written.map_err(|error| FileError { path: self.path.clone(), fault: FileFault::Write(error) })
    }
}

/// `{"event":"end_pass","seconds":1.5,"pass":0,"cost":0.25,"metrics":{"accuracy":0.5}}`.
fn line(moment: &Moment<'_>) -> String {
    let (name, pass, batch) = match moment.kind {
        EventKind::BeginTraining => ("begin_training", None, None),
        EventKind::BeginPass { pass } => ("begin_pass", Some(pass), None),
        EventKind::BeginIteration { pass, batch } => ("begin_iteration", Some(pass), Some(batch)),
        EventKind::EndIteration { pass, batch, .. } => ("end_iteration", Some(pass), Some(batch)),
        EventKind::EndPass { pass, .. } => ("end_pass", Some(pass), None),
        EventKind::EndTraining => ("end_training", None, None),
    };
    let mut line = format!("{{\"event\":\"{name}\",\"seconds\":{:.6}", moment.elapsed.as_secs_f64());
    let mut add = |key: &str, value: String| {
        // A `String` takes all that is written.
        let _ = write!(line, ",{}:{value}", string(key));
    };
    if let EventKind::BeginTraining = moment.kind {
        add("network", string(moment.network));
    }
    pass.into_iter().for_each(|pass| add("pass", pass.to_string()));
    batch.into_iter().for_each(|batch| add("batch", batch.to_string()));
    if let EventKind::EndIteration { .. } = moment.kind {
        add("rows", moment.rows.to_string());
    }
    if let Some(cost) = moment.kind.cost() {
        add("cost", number(cost));
        let metrics = moment.metrics().map(|(name, value)| format!("{}:{}", string(name), number(value)));
        add("metrics", format!("{{{}}}", metrics.collect::<Vec<_>>().join(",")));
    }
    line + "}"
}

/// JSON has no NaN and no infinities.
fn number(value: f32) -> String {
    if value.is_finite() { value.to_string() } else { "null".to_string() }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: EventKind<'_>) -> String {
        let names = ["accuracy".to_string(), "a \"b\"\n".to_string()];
        let elapsed = Duration::from_millis(1500);
        line(&Moment { kind, network: "gan::d0", names: &names, rows: 4, elapsed, rate: 1.0 })
    }

    #[test]
    fn a_line_for_each_event() {
        let metrics = &[0.1, f32::NAN];
        assert_eq!(
            of(EventKind::BeginTraining),
            r#"{"event":"begin_training","seconds":1.500000,"network":"gan::d0"}"#
        );
        assert_eq!(
            of(EventKind::BeginIteration { pass: 1, batch: 2 }),
            r#"{"event":"begin_iteration","seconds":1.500000,"pass":1,"batch":2}"#
        );
        assert_eq!(
            of(EventKind::EndIteration { pass: 1, batch: 2, cost: 1e-9, metrics }),
            r#"{"event":"end_iteration","seconds":1.500000,"pass":1,"batch":2,"rows":4,"cost":0.000000001,"metrics":{"accuracy":0.1,"a \"b\"\n":null}}"#
        );
        assert_eq!(
            of(EventKind::EndPass { pass: 1, cost: f32::INFINITY, metrics: &[] }),
            r#"{"event":"end_pass","seconds":1.500000,"pass":1,"cost":null,"metrics":{}}"#
        );
    }
}
