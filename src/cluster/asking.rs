//! Questions of a trainer's program about rows of tables. Those of a whole task are one question to each server, which is on its way while
//! the trainer computes.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use bytes::Bytes;
use paddle_core::plan::ExchangeError;

use super::link::Input;
use super::lookups::KnownRows;
use super::mail::Rows;
use super::traffic::Waits;

/// The time within which a server gives rows of a table. Then the trainer computes anew what is still wanted.
pub(super) const ROWS_WITHIN: Duration = Duration::from_millis(500);

/// Numbers of rows of pieces.
pub(super) type Ids = Vec<(String, Vec<i64>)>;

/// The elements of rows of each piece, or why there are none.
pub(super) type Answer = Result<Vec<Bytes>, String>;

/// Asks servers for rows, through the trainer's machine.
pub(super) struct Asking {
    machine: Sender<Input>,
    waits: Waits,
    /// What was asked ahead, by server.
    ahead: BTreeMap<u32, (Ids, Receiver<Answer>)>,
    /// What has come of it, by piece.
    known: BTreeMap<String, KnownRows>,
}

fn failed(message: impl Into<String>) -> ExchangeError {
    ExchangeError::Failed { message: message.into() }
}

impl Asking {
    pub(super) fn new(machine: Sender<Input>, waits: Waits) -> Self {
        Asking { machine, waits, ahead: BTreeMap::new(), known: BTreeMap::new() }
    }

    fn ask(&self, server: u32, pieces: Ids) -> Result<Receiver<Answer>, ExchangeError> {
        let (answer, answered) = mpsc::channel();
        let ask = Input::Ask { server, pieces, answer };
        self.machine.send(ask).map_err(|_| failed("the trainer has ended"))?;
        Ok(answered)
    }
}

fn hear(server: u32, count: usize, answered: &Receiver<Answer>) -> Result<Vec<Bytes>, ExchangeError> {
    match answered.recv_timeout(ROWS_WITHIN) {
        Ok(Ok(rows)) if rows.len() == count => Ok(rows),
        Ok(Ok(_)) => Err(failed(format!("server {server} gave rows of other tables"))),
        Ok(Err(why)) => Err(failed(why)),
        Err(_) => Err(failed(format!("server {server} gave no rows in time"))),
    }
}

impl Rows for Asking {
    fn rows(&mut self, from: u32, piece: &str, ids: &[i64]) -> Result<Option<Bytes>, ExchangeError> {
        if let Some((pieces, answered)) = self.ahead.remove(&from) {
            let rows = self.waits.during(|| hear(from, pieces.len(), &answered))?;
            let known = pieces.into_iter().zip(rows);
            self.known.extend(known.map(|((piece, ids), elements)| (piece, KnownRows { ids, elements })));
        }
        if let Some(rows) = self.known.get(piece) {
            return match rows.pick(ids) {
                Ok(rows) => Ok(Some(rows)),
                Err(id) => Err(failed(format!("server {from} has not given row {id} of `{piece}`"))),
            };
        }
        let answered = self.ask(from, vec![(piece.to_string(), ids.to_vec())])?;
        Ok(self.waits.during(|| hear(from, 1, &answered))?.pop())
    }

    fn is_far(&self) -> bool {
        true
    }

    fn ask_ahead(&mut self, wanted: BTreeMap<u32, Ids>) -> Result<(), ExchangeError> {
        self.known.clear();
        self.ahead.clear();
        for (server, pieces) in wanted {
            let answered = self.ask(server, pieces.clone())?;
            self.ahead.insert(server, (pieces, answered));
        }
        Ok(())
    }
}
