//! Exchange: what a run gives to other machines and takes from them.
//!
//! The operators `send`, `receive` and so on are instructions of their own. Values pass through host memory, and the run
//! waits for what it takes.

use std::fmt;

use super::backend::{Backend, HostSlice, HostSliceMut, HostVec, Location};
use super::code::SlotId;
use super::error::RunError;
use super::machine::Machine;
use super::merging::{Lookup, Merging, Summand};
use crate::memory::{OutOfMemory, TryGrow};
use crate::ops::{Op, SendRows};
use crate::program::{DType, Located};

/// The way to the other machines of a cluster. What an implementation does not carry is an error.
#[expect(unused_variables, reason = "by default nothing is carried")]
pub trait Exchange: Send {
    /// Takes the elements of a piece that the program sends to a server.
    fn send(&mut self, to: u32, piece: &str, values: HostSlice<'_>) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Takes rows of a sparse gradient that the program sends to a server. `ids`, ascending, are their numbers within the
    /// piece.
    fn send_rows(
        &mut self,
        to: u32,
        piece: &str,
        ids: &[i64],
        rows: HostSlice<'_>,
    ) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Says that what the program has sent so far may go on its way.
    fn end_sending(&mut self) -> Result<(), ExchangeError> {
        Ok(())
    }

    /// Gives the elements of a piece that a server has. False if they have not changed since they were last given.
    fn receive(&mut self, from: u32, piece: &str, into: HostSliceMut<'_>) -> Result<bool, ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Gives the rows of these numbers of a piece that a server has. False if they have not changed since they were last given.
    fn prefetch(
        &mut self,
        from: u32,
        piece: &str,
        ids: &[i64],
        into: HostSliceMut<'_>,
    ) -> Result<bool, ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Says that the program has received everything that it needs before it begins.
    fn end_receiving(&mut self) -> Result<(), ExchangeError> {
        Ok(())
    }

    /// Takes a value for the machine that has another device. One that is sent forward is sent by
    /// [`Part::Forward`](super::Part::Forward), and again when all is computed.
    fn send_value(
        &mut self,
        to: u32,
        value: &str,
        is_forward: bool,
        values: HostSlice<'_>,
    ) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Gives a value of the machine that has another device, and waits for it.
    fn receive_value(&mut self, from: u32, value: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Takes what the program gives to all servers.
    fn share(&mut self, piece: &str, values: HostSlice<'_>) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Gives what the server of a piece has given to all.
    fn shared(&mut self, piece: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }

    /// Gives the sum of the gradients that trainers have sent for a piece.
    fn listen(&mut self, piece: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError> {
        Err(ExchangeError::not_carried())
    }
}

/// What memory is wanted for as rows are merged.
const ROWS: &str = "the gradient of the rows of a table";

/// Why an exchange failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// Another machine, or the way to it.
    Failed {
        /// What failed, and with which machine.
        message: String,
    },
    /// There is no memory here for what is exchanged.
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for ExchangeError {
    fn from(error: OutOfMemory) -> Self {
        ExchangeError::OutOfMemory(error)
    }
}

impl ExchangeError {
    fn not_carried() -> Self {
        ExchangeError::Failed { message: "there is no other machine for this".to_string() }
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeError::Failed { message } => f.write_str(message),
            ExchangeError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExchangeError {}

/// An operator that exchanges values.
#[derive(Debug)]
pub(super) struct ExchangeCode {
    pub(super) op: Op,
    /// Whether it is in front of the gradient.
    pub(super) is_forward: bool,
    /// The slots of the inputs, then those of the outputs.
    pub(super) slots: Vec<SlotId>,
    /// The name of the operator in messages.
    pub(super) operator: String,
    pub(super) place: Option<Located>,
}

impl<B: Backend> Machine<'_, B> {
    /// Runs an operator that exchanges values.
    pub(super) fn exchange(&mut self, code: &ExchangeCode) -> Result<(), RunError> {
        let failed = |error: ExchangeError| match error {
            ExchangeError::Failed { message } => {
                RunError::Exchange { operator: code.operator.clone(), place: code.place.clone(), message }
            }
            ExchangeError::OutOfMemory(error) => RunError::OutOfMemory(error),
        };
        match (&code.op, &code.slots[..]) {
            (Op::Send(op), &[from]) => {
                let values = self.rows_of(from, op.begin, op.end)?;
                self.way(code)?.send(op.to as u32, &op.piece, values.as_slice()).map_err(failed)
            }
            (Op::Receive(op), &[to]) => {
                let (location, mut values) = self.room_for(to, op.begin, op.end)?;
                let into = values.as_mut_slice();
                if self.way(code)?.receive(op.from as u32, &op.piece, into).map_err(failed)? {
                    self.write(values.as_slice(), location);
                }
                Ok(())
            }
            (Op::Listen(op), &[to]) => {
                let (location, mut values) = self.room_for(to, 0, self.rows(to))?;
                self.way(code)?.listen(&op.piece, values.as_mut_slice()).map_err(failed)?;
                self.write(values.as_slice(), location);
                Ok(())
            }
            (Op::SendValue(op), &[from]) => {
                let values = self.rows_of(from, 0, self.rows(from))?;
                self.way(code)?
                    .send_value(op.to as u32, &op.value, code.is_forward, values.as_slice())
                    .map_err(failed)
            }
            (Op::ReceiveValue(op), &[.., to]) => {
                let (location, mut values) = self.room_for(to, 0, self.rows(to))?;
                let into = values.as_mut_slice();
                self.way(code)?.receive_value(op.from as u32, &op.value, into).map_err(failed)?;
                self.write(values.as_slice(), location);
                Ok(())
            }
            (Op::Share(op), &[from]) => {
                let values = self.rows_of(from, 0, self.rows(from))?;
                self.way(code)?.share(&op.piece, values.as_slice()).map_err(failed)
            }
            (Op::Shared(op), &[to]) => {
                let (location, mut values) = self.room_for(to, 0, self.rows(to))?;
                self.way(code)?.shared(&op.piece, values.as_mut_slice()).map_err(failed)?;
                self.write(values.as_slice(), location);
                Ok(())
            }
            (Op::Prefetch(op), &[table, ids]) => {
                let (at, mut ids) = (ids, Vec::new());
                self.ids(at, &mut ids)?;
                ids.retain(|id| (op.begin..op.end).contains(id));
                ids.sort_unstable();
                ids.dedup();
                let width = self.row_elements(table);
                let dtype = self.plan.slots[table.0].dtype;
                let mut rows = HostVec::zeros(dtype, ids.len() * width)?;
                let places: Vec<i64> = ids.iter().map(|id| id - op.begin).collect();
                let into = rows.as_mut_slice();
                if !self.way(code)?.prefetch(op.from as u32, &op.piece, &places, into).map_err(failed)? {
                    return Ok(());
                }
                let (start, bytes) = (self.locate(table), self.row_bytes(table));
                for (k, &id) in ids.iter().enumerate() {
                    let location = Location { offset: start.offset + id as usize * bytes, ..start };
                    self.write(part(rows.as_slice(), k * width, width), location);
                }
                Ok(())
            }
            (Op::SendRows(op), [first, ..]) => {
                macro_rules! send {
                    ($kind:ident, $field:ident) => {{
                        let mut merging = std::mem::take(&mut self.state.merging.$field);
                        let merged = self.merge(code, op, &mut merging, &|rows| HostSliceMut::$kind(rows));
                        let sent = merged.and_then(|()| {
                            let rows = HostSlice::$kind(&merging.rows);
                            self.way(code)?
                                .send_rows(op.to as u32, &op.piece, &merging.ids, rows)
                                .map_err(failed)
                        });
                        self.state.merging.$field = merging;
                        sent
                    }};
                }
                match self.plan.slots[first.0].dtype {
                    DType::F64 => send!(F64, f64),
                    _ => send!(F32, f32),
                }
            }
            (Op::SendBarrier(_), _) => self.way(code)?.end_sending().map_err(failed),
            (Op::FetchBarrier(_), _) => self.way(code)?.end_receiving().map_err(failed),
            _ => Ok(()),
        }
    }

    /// The way to the other machines.
    fn way(&mut self, code: &ExchangeCode) -> Result<&mut dyn Exchange, RunError> {
        match &mut self.exchange {
            Some(exchange) => Ok(&mut **exchange),
            None => Err(RunError::Exchange {
                operator: code.operator.clone(),
                place: code.place.clone(),
                message: "there are no other machines: the program is one of a cluster's".to_string(),
            }),
        }
    }

    fn row_elements(&self, slot: SlotId) -> usize {
        self.row_bytes(slot) / self.plan.slots[slot.0].element_bytes
    }

    /// The number of rows of a value along its first axis. A value without axes is one row.
    fn rows(&self, slot: SlotId) -> i64 {
        self.plan.slots[slot.0].shape.first().map_or(1, |rows| rows.get(&self.state.sizes)) as i64
    }

    /// The place of some rows of a value, and room for their elements.
    fn room_for(&self, slot: SlotId, begin: i64, end: i64) -> Result<(Location, HostVec), RunError> {
        let [begin, end] = [begin, end].map(|row| usize::try_from(row).unwrap_or(0));
        let start = self.locate(slot);
        let location = Location { offset: start.offset + begin * self.row_bytes(slot), ..start };
        let count = (end - begin) * self.row_elements(slot);
        Ok((location, HostVec::zeros(self.plan.slots[slot.0].dtype, count)?))
    }

    /// The elements of some rows of a value.
    fn rows_of(&mut self, slot: SlotId, begin: i64, end: i64) -> Result<HostVec, RunError> {
        let (location, mut values) = self.room_for(slot, begin, end)?;
        let dtype = self.plan.slots[slot.0].dtype;
        let token = self.read(location, dtype, values.as_slice().len());
        self.wait(token, values.as_mut_slice())?;
        Ok(values)
    }

    /// Reads the ids and the rows of all lookups of a table, and adds up the rows of each id.
    fn merge<T: Summand>(
        &mut self,
        code: &ExchangeCode,
        op: &SendRows,
        merging: &mut Merging<T>,
        host: &dyn Fn(&mut [T]) -> HostSliceMut<'_>,
    ) -> Result<(), RunError> {
        // A row of the batch may have several ids, so a row of the table is what is behind the last axis of these.
        let of_table = self.plan.slots[code.slots[0].0].shape.last();
        let width = of_table.map_or(1, |width| width.get(&self.state.sizes));
        merging.lookups.resize_with(code.slots.len() / 2, Lookup::default);
        for (pair, lookup) in code.slots.chunks_exact(2).zip(&mut merging.lookups) {
            let &[rows, ids] = pair else { continue };
            self.ids(ids, &mut lookup.ids)?;
            let count = self.elements(rows);
            let room = lookup.rows.try_resize(count, T::default());
            room.map_err(|error| error.wanted_for(ROWS))?;
            let token = self.read(self.locate(rows), self.plan.slots[rows.0].dtype, count);
            self.wait(token, host(&mut lookup.rows))?;
        }
        let merged = merging.merge(width, [op.begin, op.end, op.padding_idx]);
        Ok(merged.map_err(|error| error.wanted_for(ROWS))?)
    }

    fn ids(&mut self, slot: SlotId, into: &mut Vec<i64>) -> Result<(), RunError> {
        let count = self.elements(slot);
        into.try_resize(count, 0).map_err(|error| error.wanted_for("the ids of a lookup"))?;
        let token = self.read(self.locate(slot), DType::I64, count);
        self.wait(token, HostSliceMut::I64(into))
    }

    fn write(&mut self, values: HostSlice<'_>, to: Location) {
        if self.fault.is_none() {
            self.backend.write(self.queue, values, to, &mut self.memories);
        }
    }
}

/// Some elements of a slice.
fn part(values: HostSlice<'_>, from: usize, count: usize) -> HostSlice<'_> {
    macro_rules! part {
        ($($kind:ident),*) => {
            match values {
                $(HostSlice::$kind(values) => HostSlice::$kind(&values[from..from + count]),)*
            }
        };
    }
    part!(Bool, I32, I64, F32, F64)
}
