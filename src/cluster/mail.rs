//! Mail: what a program of a cluster exchanges, while it runs, with the role that runs it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use paddle_cluster::message::Part;
use paddle_cluster::tree::Node;
use paddle_core::plan::{Exchange, ExchangeError, HostSlice, HostSliceMut};

use super::all_reduce::Passing;
use super::asking::Ids;
use super::desc::Sum;
use super::values::{bytes_of, copy, fill};
use crate::element::Values;
use crate::row_sums::SentRows;

/// A source of the rows of tables.
pub(super) trait Rows: Send {
    /// The elements of rows of a piece that a server has, one row after the other. None if all of the piece is in the parameters.
    fn rows(&mut self, from: u32, piece: &str, ids: &[i64]) -> Result<Option<Bytes>, ExchangeError>;

    /// Whether rows have to be asked for.
    fn is_far(&self) -> bool {
        false
    }

    /// Asks servers for rows that will be wanted, and waits for nothing.
    fn ask_ahead(&mut self, _: BTreeMap<u32, Ids>) -> Result<(), ExchangeError> {
        Ok(())
    }
}

/// A source of the values of pieces.
pub(super) trait Source: Send {
    /// The same source, for another program.
    fn another(&self) -> Box<dyn Source>;

    /// The value of a piece that a server has, by number. None if it is in the parameters.
    fn value(&mut self, from: u32, piece: u32) -> Result<Option<Bytes>, ExchangeError>;

    /// Says that what was taken is in the parameters now.
    fn settle(&mut self);
}

/// Takes sums while others are computed.
pub(super) type Outlet = Box<dyn FnMut(Vec<Part<Bytes>>) -> Result<(), ExchangeError> + Send>;

/// What has come and what is to go, by piece.
pub(super) struct Mail {
    /// Without it, the values of pieces are in the parameters, all of them.
    pub(super) values: Option<Box<dyn Source>>,
    /// The sums of the gradients of pieces.
    pub(super) sums: BTreeMap<String, Values>,
    /// The numbers of pieces.
    pub(super) pieces: BTreeMap<String, u32>,
    /// The subtree of shards that is computed.
    pub(super) node: Node,
    /// The sums over the subtree that were sent.
    pub(super) parts: Vec<Part<Bytes>>,
    /// Where sums go while others are computed. Without it they stay here.
    pub(super) outlet: Option<Outlet>,
    /// The rows of sparse gradients that were sent, of the shards of the subtree so far.
    pub(super) sent_rows: SentRows,
    /// How stages pass on values, the shard that is computed, and what was received for it before.
    pub(super) stage: Option<Passing>,
    pub(super) leaf: u32,
    /// Whether a stage goes forward only.
    pub(super) is_ahead: bool,
    pub(super) stash: BTreeMap<String, Bytes>,
    /// Without it, the rows of tables are in the parameters, all of them.
    pub(super) rows: Option<Box<dyn Rows>>,
    /// What the program shares with all servers.
    pub(super) shares: Vec<(String, Bytes)>,
    /// What all servers have shared.
    pub(super) shared: BTreeMap<String, Bytes>,
}

impl Default for Mail {
    fn default() -> Self {
        Mail {
            values: None,
            sums: BTreeMap::new(),
            pieces: BTreeMap::new(),
            node: Node::new(0, 0),
            parts: Vec::new(),
            outlet: None,
            sent_rows: SentRows::default(),
            stage: None,
            leaf: 0,
            is_ahead: false,
            stash: BTreeMap::new(),
            rows: None,
            shares: Vec::new(),
            shared: BTreeMap::new(),
        }
    }
}

impl Mail {
    /// Adds a sum over the subtree.
    fn add(&mut self, piece: &str, sum: Bytes) {
        // Nobody waits for what is sent to no piece.
        let Some(&piece) = self.pieces.get(piece) else { return };
        self.parts.push(Part { piece, node: self.node, sum });
    }
}

/// The two ends of a mailbox: one belongs to the program, one to the role.
#[derive(Clone, Default)]
pub(super) struct Mailbox(Arc<Mutex<Mail>>);

impl Mailbox {
    pub(super) fn open(&self) -> MutexGuard<'_, Mail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shard that is computed, and the way to the other stages.
    fn stage(&self) -> Result<(u32, Passing), ExchangeError> {
        let mail = self.open();
        let none = || failed("there are no other stages".to_string());
        Ok((mail.leaf, mail.stage.clone().ok_or_else(none)?))
    }
}

fn failed(message: String) -> ExchangeError {
    ExchangeError::Failed { message }
}

impl Exchange for Mailbox {
    fn send(&mut self, _: u32, piece: &str, values: HostSlice<'_>) -> Result<(), ExchangeError> {
        self.open().add(piece, Sum::encode(&[], values));
        Ok(())
    }

    fn end_sending(&mut self) -> Result<(), ExchangeError> {
        let mail = &mut *self.open();
        match &mut mail.outlet {
            Some(outlet) if !mail.parts.is_empty() => outlet(std::mem::take(&mut mail.parts)),
            _ => Ok(()),
        }
    }

    fn send_rows(
        &mut self,
        _: u32,
        piece: &str,
        ids: &[i64],
        rows: HostSlice<'_>,
    ) -> Result<(), ExchangeError> {
        let mail = &mut *self.open();
        let Some(sum) = mail.sent_rows.add(piece, ids, rows)? else { return Ok(()) };
        let sum = Sum::encode(&sum.ids, sum.rows.as_slice());
        mail.add(piece, sum);
        Ok(())
    }

    fn receive(&mut self, from: u32, piece: &str, into: HostSliceMut<'_>) -> Result<bool, ExchangeError> {
        let (id, source) = {
            let mut mail = self.open();
            (mail.pieces.get(piece).copied(), mail.values.take())
        };
        let Some(mut source) = source else { return Ok(false) };
        // It may wait for a server, and the role goes on using the mailbox.
        let value = id.map_or(Ok(None), |id| source.value(from, id));
        self.open().values = Some(source);
        let Some(bytes) = value? else { return Ok(false) };
        match fill(into, &bytes) {
            true => Ok(true),
            false => Err(failed(format!("`{piece}` has {} bytes, which is not its size", bytes.len()))),
        }
    }

    fn prefetch(
        &mut self,
        from: u32,
        piece: &str,
        ids: &[i64],
        into: HostSliceMut<'_>,
    ) -> Result<bool, ExchangeError> {
        // The source may wait for a server, and the role goes on using the mailbox.
        let Some(mut source) = self.open().rows.take() else { return Ok(false) };
        let rows = source.rows(from, piece, ids);
        self.open().rows = Some(source);
        let Some(rows) = rows? else { return Ok(false) };
        match fill(into, &rows) {
            true => Ok(true),
            false => Err(failed(format!(
                "server {from} gave {} bytes for {} rows of `{piece}`",
                rows.len(),
                ids.len()
            ))),
        }
    }

    fn send_value(
        &mut self,
        to: u32,
        value: &str,
        is_forward: bool,
        values: HostSlice<'_>,
    ) -> Result<(), ExchangeError> {
        let (leaf, stage) = self.stage()?;
        // When all is computed, what goes forward has gone before.
        if is_forward != self.open().is_ahead {
            return Ok(());
        }
        stage.give(to, leaf, value, bytes_of(values).into()).map_err(failed)
    }

    fn receive_value(&mut self, from: u32, value: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError> {
        let (leaf, stage) = self.stage()?;
        let known = self.open().stash.get(value).cloned();
        let bytes = match known {
            Some(bytes) => bytes,
            None => {
                let bytes = stage.take(from, leaf, value).map_err(failed)?;
                // Whoever goes forward again wants it again.
                self.open().stash.insert(value.to_string(), bytes.clone());
                bytes
            }
        };
        match fill(into, &bytes) {
            true => Ok(()),
            false => Err(failed(format!(
                "`{value}` of rank {from} has {} bytes, which is not its size",
                bytes.len()
            ))),
        }
    }

    fn share(&mut self, piece: &str, values: HostSlice<'_>) -> Result<(), ExchangeError> {
        self.open().shares.push((piece.to_string(), bytes_of(values).into()));
        Ok(())
    }

    fn shared(&mut self, piece: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError> {
        match self.open().shared.get(piece).map(|bytes| fill(into, bytes)) {
            Some(true) => Ok(()),
            Some(false) => Err(failed(format!("what is shared of `{piece}` has another size"))),
            None => Err(failed(format!("no server has shared anything of `{piece}`"))),
        }
    }

    fn listen(&mut self, piece: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError> {
        let mail = self.open();
        match mail.sums.get(piece).map(|sum| copy(into, sum.as_slice())) {
            Some(true) => Ok(()),
            Some(false) => Err(failed(format!("the gradient of `{piece}` has another size"))),
            None => Err(failed(format!("no gradient has come for `{piece}`"))),
        }
    }
}
