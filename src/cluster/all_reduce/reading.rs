//! The values that ranks that train as equals have after a step, and how all of them come to know them.

use std::collections::BTreeMap;

use bytes::Bytes;
use paddle_cluster::machine::Reader;
use paddle_cluster::message::{Epoch, Wanted};
use paddle_engines::collective::Collective;
use prost::Message;

use super::GroupJob;
use super::said::{PieceRows, RowsDesc, exchange};
use crate::Error;
use crate::cluster::desc::ValuesDesc;
use crate::cluster::job::{EVERYTHING, put_together};
use crate::cluster::{ClusterError, Placed, values};
use crate::element::Values;

impl GroupJob {
    /// Takes values of pieces.
    pub(super) fn take(&mut self, pieces: &BTreeMap<u32, Bytes>) -> Result<(), Error> {
        for k in self.fill(pieces)? {
            let Placed { parameter, values, .. } = &self.values[k];
            self.gradients.set(parameter, values.as_slice());
        }
        Ok(())
    }

    /// Fills in values of pieces. Returns the places of the parameters that have changed.
    fn fill(&mut self, pieces: &BTreeMap<u32, Bytes>) -> Result<Vec<usize>, Error> {
        let mut changed: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (id, value) in pieces {
            let piece = self.placement.pieces().get(*id as usize);
            let piece = piece.ok_or(ClusterError::Message { what: "values" })?;
            changed.entry(&piece.parameter).or_default().push((piece, value));
            self.stale.remove(id);
        }
        let mut places = Vec::new();
        for (k, Placed { parameter, values, .. }) in self.values.iter_mut().enumerate() {
            let Some(pieces) = changed.get(parameter.as_str()) else { continue };
            for (piece, value) in pieces {
                let begin = piece.rows.start * piece.row_elements();
                let room = values.part_mut(begin..begin + piece.elements());
                if !values::fill(room, value) {
                    return Err(ClusterError::Message { what: "values" }.into());
                }
            }
            places.push(k);
        }
        Ok(places)
    }

    /// Fills in the new values of the last step, when all of them have come.
    pub(super) fn catch_up(&mut self) -> Result<(), Error> {
        let unread = self.coming.read().map_err(|error| self.group.explain(error))?;
        self.fill(&unread).map(drop)
    }

    /// Brings tables that are in parts to all ranks. All of them have to come here.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        if self.stale.is_empty() {
            return Ok(());
        }
        self.catch_up()?;
        let own = self.pieces.rank();
        let mut desc = RowsDesc { all: true, pieces: Vec::new() };
        for &id in &self.stale {
            let piece = &self.placement.pieces()[id as usize];
            if piece.server == own {
                let all: Vec<i64> = (0..piece.rows.len() as i64).collect();
                desc.pieces.push(PieceRows { piece: id, elements: self.pieces.rows(&piece.name, &all)? });
            }
        }
        let heard = self.together(|way| {
            let to = vec![desc; way.size() as usize];
            exchange(way, to)
        })?;
        let pieces = heard.into_iter().flat_map(|desc| desc.pieces);
        self.take(&pieces.map(|rows| (rows.piece, rows.elements)).collect())
    }

    /// All values, with the updaters' states, as they are after the steps so far. All ranks have to ask.
    pub(crate) fn fetch(&mut self) -> Result<Vec<Placed>, Error> {
        self.catch_up()?;
        let own = self.pieces.read(&reader(EVERYTHING, None))?;
        let all = self.together(|way| Ok(way.all_gather(own)?))?;
        let all = put_together(&self.placement, all)?;
        if !self.stale.is_empty() {
            let placement = self.placement.clone();
            let is_stale = |parameter: &str| {
                placement
                    .pieces()
                    .iter()
                    .zip(0..)
                    .any(|(piece, id)| piece.parameter == parameter && self.stale.contains(&id))
            };
            for Placed { parameter, state, values, .. } in &all {
                if state.is_some() || !is_stale(parameter) {
                    continue;
                }
                if let Some(own) = self.values.iter_mut().find(|own| own.parameter == *parameter) {
                    own.values = copy_of(values)?;
                }
                self.gradients.set(parameter, values.as_slice());
            }
            self.stale.clear();
        }
        if let Some(stages) = &mut self.stages {
            stages.gathered = self.version;
            self.values.clear();
            for Placed { parameter, dims, values, .. } in all.iter().filter(|value| value.state.is_none()) {
                let (parameter, dims) = (parameter.clone(), dims.clone());
                self.values.push(Placed { parameter, state: None, dims, values: copy_of(values)? });
            }
        }
        Ok(all)
    }

    /// The values of the parameters as they are after the steps so far. All ranks have to ask if tables are in parts.
    pub(crate) fn parameters(&mut self) -> Result<Vec<(String, Values)>, Error> {
        if self.stages.as_ref().is_some_and(|stages| stages.gathered != self.version) {
            return Err(ClusterError::InStages.into());
        }
        self.refresh()?;
        self.catch_up()?;
        self.values
            .iter()
            .map(|Placed { parameter, values, .. }| Ok((parameter.clone(), copy_of(values)?)))
            .collect()
    }

    /// Takes the values of this rank's own pieces that have changed since a version.
    pub(super) fn take_own(&mut self, plan: u32, since: u64) -> Result<(), Error> {
        let own = self.pieces.read(&reader(plan, Some(since)))?;
        let own = ValuesDesc::decode(own).map_err(|_| ClusterError::Message { what: "values" })?;
        self.take(&own.pieces.into_iter().map(|piece| (piece.id, piece.value)).collect())
    }

    /// Gives the values of this rank's pieces that have changed since a version to all others, those first that are needed first. Theirs
    /// come while the next step is computed.
    pub(super) fn give_values(&mut self, plan: u32, since: u64) -> Result<(), Error> {
        let explain = |error| self.group.explain(error);
        let others = self.way.as_ref().map_or(0, |way| way.size() as usize - 1);
        let room = self.way.as_ref().map_or(0, Collective::room) / 4;
        self.coming.begin().map_err(explain)?;
        if let Some(lookups) = self.lookups.get(&plan) {
            self.coming.outdate(&lookups.ids);
        }
        let (mut sent, mut given) = (0, Ok(()));
        self.pieces.read_in_parts(&reader(plan, Some(since)), |[part, of], values| {
            sent += values.len() * others;
            given = self.coming.give(values, part + 1 == of);
            if given.is_ok() && sent > room {
                given = self.coming.take_some();
            }
            given.is_ok()
        })?;
        given.map_err(explain)?;
        Ok(())
    }
}

/// A question about the values of a plan that have changed since a version.
fn reader(plan: u32, have: Option<u64>) -> Reader {
    Reader {
        to: Vec::new(),
        wanted: Wanted { plan, version: None, have },
        version: 0,
        epoch: Epoch::default(),
    }
}

/// A copy of elements.
fn copy_of(values: &Values) -> Result<Values, Error> {
    let mut copy = Values::new(values.as_slice().dtype());
    copy.try_append(values)?;
    Ok(copy)
}
