//! Exchange: what a run gives to other machines and takes from them.
//!
//! The operators `send`, `receive` and so on are instructions of their own. Values pass through host memory, and the run
//! waits for what it takes.

use std::fmt;

use super::backend::{Backend, HostSlice, HostSliceMut, HostVec, Location};
use super::code::SlotId;
use super::error::RunError;
use super::machine::Machine;
use crate::ops::Op;
use crate::program::{DType, Located};

/// The way to the other machines of a cluster.
pub trait Exchange: Send {
    /// Takes the elements of a piece that the program sends to a server.
    fn send(&mut self, to: u32, piece: &str, values: HostSlice<'_>) -> Result<(), ExchangeError>;

    /// Takes rows of a sparse gradient that the program sends to a server. `ids`, ascending, are their numbers within the
    /// piece.
    fn send_rows(
        &mut self,
        to: u32,
        piece: &str,
        ids: &[i64],
        rows: HostSlice<'_>,
    ) -> Result<(), ExchangeError>;

    /// Says that the program has sent everything.
    fn end_sending(&mut self) -> Result<(), ExchangeError>;

    /// Gives the elements of a piece that a server has. False if they have not changed since they were last given.
    fn receive(&mut self, from: u32, piece: &str, into: HostSliceMut<'_>) -> Result<bool, ExchangeError>;

    /// Gives the rows of these numbers of a piece that a server has. False if they have not changed since they were last given.
    fn prefetch(
        &mut self,
        from: u32,
        piece: &str,
        ids: &[i64],
        into: HostSliceMut<'_>,
    ) -> Result<bool, ExchangeError>;

    /// Says that the program has received everything that it needs before it begins.
    fn end_receiving(&mut self) -> Result<(), ExchangeError>;

    /// Takes a value for the machine that has another device. One that is sent forward is sent by
    /// [`Part::Forward`](super::Part::Forward), and again when all is computed.
    fn send_value(
        &mut self,
        to: u32,
        value: &str,
        is_forward: bool,
        values: HostSlice<'_>,
    ) -> Result<(), ExchangeError>;

    /// Gives a value of the machine that has another device, and waits for it.
    fn receive_value(&mut self, from: u32, value: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError>;

    /// Takes what the program gives to all servers.
    fn share(&mut self, piece: &str, values: HostSlice<'_>) -> Result<(), ExchangeError>;

    /// Gives what the server of a piece has given to all.
    fn shared(&mut self, piece: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError>;

    /// Gives the sum of the gradients that trainers have sent for a piece.
    fn listen(&mut self, piece: &str, into: HostSliceMut<'_>) -> Result<(), ExchangeError>;
}

/// Why an exchange failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeError {
    /// What failed, and with which machine.
    pub message: String,
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
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

/// Rows of a gradient, each id once.
struct MergedRows<T> {
    ids: Vec<i64>,
    rows: Vec<T>,
}

impl<T: Copy + Default + std::ops::Add<Output = T>> MergedRows<T> {
    /// The sums of the rows whose ids are in `begin..end`, and not `padding`. Each lookup has its ids and its rows of `width`
    /// elements; its sums are added to those of the lookups before it. Ids are counted from `begin`.
    fn of(lookups: &[(Vec<i64>, &[T])], width: usize, [begin, end, padding]: [i64; 3]) -> Self {
        let mut places: Vec<(i64, usize, usize)> = Vec::new();
        for (lookup, (ids, _)) in lookups.iter().enumerate() {
            let wanted =
                ids.iter().enumerate().filter(|(_, id)| (begin..end).contains(id) && **id != padding);
            places.extend(wanted.map(|(place, &id)| (id, lookup, place)));
        }
        places.sort_unstable();
        let mut merged = MergedRows { ids: Vec::new(), rows: Vec::new() };
        for of_id in places.chunk_by(|a, b| a.0 == b.0) {
            merged.ids.push(of_id[0].0 - begin);
            let at = merged.rows.len();
            merged.rows.resize(at + width, T::default());
            for (k, of_lookup) in of_id.chunk_by(|a, b| a.1 == b.1).enumerate() {
                for j in 0..width {
                    let element =
                        |&(_, lookup, place): &(i64, usize, usize)| lookups[lookup].1[place * width + j];
                    let first = element(&of_lookup[0]);
                    let sum = of_lookup[1..].iter().fold(first, |sum, place| sum + element(place));
                    let to = &mut merged.rows[at + j];
                    *to = if k == 0 { sum } else { *to + sum };
                }
            }
        }
        merged
    }
}

impl<B: Backend> Machine<'_, B> {
    /// Runs an operator that exchanges values.
    pub(super) fn exchange(&mut self, code: &ExchangeCode) -> Result<(), RunError> {
        let failed = |error: ExchangeError| RunError::Exchange {
            operator: code.operator.clone(),
            place: code.place.clone(),
            message: error.message,
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
                let mut ids = self.ids(ids)?;
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
                let width = self.row_elements(*first);
                let (mut all_ids, mut all_rows) = (Vec::new(), Vec::new());
                for pair in code.slots.chunks_exact(2) {
                    all_ids.push(self.ids(pair[1])?);
                    let slot = pair[0];
                    all_rows.push(self.fetched(self.locate(slot), slot, self.elements(slot))?);
                }
                let bounds = [op.begin, op.end, op.padding_idx];
                macro_rules! send {
                    ($kind:ident) => {{
                        let rows = all_rows.iter().map(|rows| match rows {
                            HostVec::$kind(rows) => &rows[..],
                            _ => &[],
                        });
                        let lookups: Vec<_> = all_ids.into_iter().zip(rows).collect();
                        let merged = MergedRows::of(&lookups, width, bounds);
                        let rows = HostSlice::$kind(&merged.rows);
                        self.way(code)?.send_rows(op.to as u32, &op.piece, &merged.ids, rows).map_err(failed)
                    }};
                }
                match self.plan.slots[first.0].dtype {
                    DType::F64 => send!(F64),
                    _ => send!(F32),
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

    fn fetched(&mut self, at: Location, slot: SlotId, count: usize) -> Result<HostVec, RunError> {
        let dtype = self.plan.slots[slot.0].dtype;
        let mut values = HostVec::zeros(dtype, count)?;
        let token = self.read(at, dtype, count);
        self.wait(token, values.as_mut_slice())?;
        Ok(values)
    }

    fn ids(&mut self, slot: SlotId) -> Result<Vec<i64>, RunError> {
        match self.fetched(self.locate(slot), slot, self.elements(slot))? {
            HostVec::I64(ids) => Ok(ids),
            _ => Ok(Vec::new()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_up_by_their_ids_in_the_order_of_the_lookups() {
        let first: &[f32] = &[1e8, 1.0, 1.0, 2.0, -1e8, 4.0];
        let second: &[f32] = &[0.25, 8.0, 3.0, 16.0];
        let lookups = [(vec![5, 2, 5], first), (vec![5, 7], second)];
        let MergedRows { ids, rows } = MergedRows::of(&lookups, 2, [4, 8, -1]);
        // Id 2 is on another server. Ids are counted from 4.
        assert_eq!(ids, [1, 3]);
        assert_eq!(rows, [(1e8 + -1e8) + 0.25, (1.0 + 4.0) + 8.0, 3.0, 16.0]);
        let without = MergedRows::of(&lookups, 2, [4, 8, 5]);
        assert_eq!((without.ids, without.rows), (vec![3], vec![3.0, 16.0]));
    }
}
