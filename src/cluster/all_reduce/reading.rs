//! The values that ranks that train as equals have after a step, and how all of them come to know them.

use std::collections::BTreeMap;

use bytes::Bytes;
use paddle_cluster::machine::Reader;
use paddle_cluster::message::{Epoch, Wanted};
use prost::Message;

use super::GroupJob;
use super::said::{PieceRows, RowsDesc, exchange};
use crate::Error;
use crate::cluster::desc::{PieceValues, ValuesDesc};
use crate::cluster::job::{EVERYTHING, put_together};
use crate::cluster::{ClusterError, Placed, values};
use crate::element::Values;

impl GroupJob {
    /// Takes values of pieces.
    pub(super) fn take(&mut self, pieces: &BTreeMap<u32, Bytes>) -> Result<(), Error> {
        let mut changed: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (id, value) in pieces {
            let piece = self.placement.pieces().get(*id as usize);
            let piece = piece.ok_or(ClusterError::Message { what: "values" })?;
            changed.entry(&piece.parameter).or_default().push((piece, value));
            self.stale.remove(id);
        }
        for Placed { parameter, values, .. } in &mut self.values {
            let Some(pieces) = changed.get(parameter.as_str()) else { continue };
            for (piece, value) in pieces {
                let begin = piece.rows.start * piece.row_elements();
                let room = values.part_mut(begin..begin + piece.elements());
                if !values::fill(room, value) {
                    return Err(ClusterError::Message { what: "values" }.into());
                }
            }
            self.gradients.set(parameter, values.as_slice());
        }
        Ok(())
    }

    /// Brings tables that are in parts to all ranks. All of them have to come here.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        if self.stale.is_empty() {
            return Ok(());
        }
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
        self.values
            .iter()
            .map(|Placed { parameter, values, .. }| Ok((parameter.clone(), copy_of(values)?)))
            .collect()
    }

    /// The pieces that have changed since a version: those of all ranks, and those of this one, if it is a stage.
    pub(super) fn changed(&mut self, plan: u32, since: u64) -> Result<Vec<PieceValues>, Error> {
        let own = self.pieces.read(&reader(plan, Some(since)))?;
        let all = match self.stages {
            Some(_) => vec![own],
            None => self.together(|way| Ok(way.all_gather(own)?))?,
        };
        let mut pieces = Vec::new();
        for values in all {
            let values = ValuesDesc::decode(values).map_err(|_| ClusterError::Message { what: "values" })?;
            pieces.extend(values.pieces);
        }
        Ok(pieces)
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
