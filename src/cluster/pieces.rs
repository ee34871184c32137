//! What a parameter server holds: pieces of parameters, and the updaters' states of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use paddle_cluster::machine::{Reader, Update};
use paddle_cluster::message::Step;
use paddle_cluster::tree::{Node, fold};
use paddle_core::memory::TryGrow;
use paddle_core::ops::Program;
use paddle_core::passes::accumulate::fed_by_rows;
use paddle_core::passes::distribute::Bundling;
use paddle_core::plan::{
    Arithmetic, Backend, Buffers, Executor, Numbers, Part, Storage, Stored, StoredValues, initialize_states,
    state_name, stored_name,
};
use paddle_core::program::{DType, Type};
use prost::Message;

use super::ClusterError;
use super::desc::{
    MomentDesc, PieceDesc, PieceValues, PlanDesc, SharedDesc, SharedValues, StateValues, Sum, ValuesDesc,
    append_value,
};
use super::leaf::scalar;
use super::mail::Mailbox;
use super::values::{append_stored, bytes_of, size_of, values_of};
use crate::Error;
use crate::device::{self, Device};
use crate::element::Values;
use crate::row_sums::RowSum;

/// The pieces of a server.
pub(super) struct Pieces {
    backend: Device,
    rank: u32,
    storage: Storage,
    values: Buffers<Device>,
    /// The states of each trainer's updater.
    states: BTreeMap<u32, States>,
    /// By number.
    held: BTreeMap<u32, Held>,
    plans: BTreeMap<u32, Plan>,
}

#[derive(Default)]
struct States {
    storage: Storage,
    buffers: Buffers<Device>,
}

struct Held {
    desc: PieceDesc,
    dtype: DType,
    /// The version in which it was last changed.
    changed: u64,
}

impl Held {
    fn elements(&self) -> usize {
        self.desc.dims.iter().map(|&dim| dim as usize).product()
    }
}

struct Plan {
    program: Program,
    states_of: u32,
    executor: Executor<Device>,
    mail: Mailbox,
    /// The pieces that are updated from the rows of their gradients, and the sums of these rows.
    tables: Vec<(String, RowSum)>,
    rates: Vec<Values>,
    /// The pieces that trainers read as a whole, in the order in which they need them.
    read: Vec<u32>,
    /// The step of which the part of the program that shares was run last.
    measured: Option<Step>,
    /// Whether a reader of it gets everything: states, too.
    is_whole: bool,
}

fn message(what: &'static str) -> Error {
    ClusterError::Message { what }.into()
}

impl Pieces {
    pub(super) fn new(backend: Device, rank: u32) -> Self {
        Pieces {
            backend,
            rank,
            storage: Storage::new(),
            values: Buffers::default(),
            states: BTreeMap::new(),
            held: BTreeMap::new(),
            plans: BTreeMap::new(),
        }
    }

    /// The number of the server.
    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    /// Learns a plan.
    pub(super) fn learn(&mut self, id: u32, desc: &PlanDesc) -> Result<(), Error> {
        let rank = self.rank;
        for piece in desc.pieces.iter().filter(|piece| piece.server == rank) {
            self.hold(piece)?;
        }
        let program = match desc.servers.get(self.rank as usize) {
            Some(program) => program.decode()?,
            None => Program::new(),
        };
        self.add_states(desc.states_of, &program)?;
        let states = self.states.entry(desc.states_of).or_default();
        let mut executor = Executor::with_states(
            self.backend.clone(),
            &program,
            &self.storage,
            &states.storage,
            // A server that fails is started again, and would fail again: what it gets was checked.
            Arithmetic { numbers: Numbers::Any, ..desc.arithmetic() },
        )?;
        let mail = Mailbox::default();
        executor.set_exchange(Box::new(mail.clone()));
        let tables = fed_by_rows(&program);
        let rates = &program.inputs()[2 * tables.len()..];
        let rates = rates.iter().map(|&input| Values::new(program.ty(input).dtype)).collect();
        let none = |name: String| (name, RowSum::new(DType::F32, 0));
        let tables = tables.into_iter().map(none).collect();
        let is_whole = desc.servers.is_empty();
        let own = desc.pieces.iter().filter(|piece| piece.server == self.rank);
        let mut read: Vec<_> = own.filter(|piece| is_whole || !piece.by_rows).map(|piece| piece.id).collect();
        read.sort_by_key(|id| desc.received.iter().position(|received| received == id));
        let (states_of, measured) = (desc.states_of, None);
        let plan = Plan { program, states_of, executor, mail, tables, rates, read, measured, is_whole };
        self.plans.insert(id, plan);
        Ok(())
    }

    /// Makes room for a piece.
    fn hold(&mut self, desc: &PieceDesc) -> Result<(), Error> {
        let dtype = desc.dtype().ok_or_else(|| message("a piece"))?;
        let dims: Vec<_> = desc.dims.iter().map(|&dim| dim as i64).collect();
        let ty = Type::new(dtype, dims);
        self.storage.insert(self.backend.element_bytes(dtype), &desc.name, &ty)?;
        self.storage.allocate(&self.backend, &mut self.values, "the piece")?;
        self.held.entry(desc.id).or_insert_with(|| Held { desc: desc.clone(), dtype, changed: 0 });
        Ok(())
    }

    /// Adds the states of a program that are not there yet, with their first values.
    fn add_states(&mut self, of: u32, program: &Program) -> Result<(), Error> {
        let States { storage, buffers } = self.states.entry(of).or_default();
        let mut created = Vec::new();
        for state in program.states() {
            let (name, ty) = (stored_name(program, state.var), program.ty(state.var));
            if storage.find(&name).is_none() {
                created.push(name.clone());
            }
            storage.insert(self.backend.element_bytes(ty.dtype), &name, ty)?;
        }
        storage.allocate(&self.backend, buffers, "the state")?;
        let wanted = |name: &str| created.iter().any(|created| created == name);
        initialize_states(&self.backend, program, storage, &wanted, buffers)?;
        Ok(())
    }

    /// Begins to update from sums of gradients.
    fn begin(
        &mut self,
        plan: u32,
        header: &Bytes,
        leaves: u32,
        updates: &[Update<Bytes>],
    ) -> Result<(), Error> {
        let MomentDesc { seed, step, rate } =
            MomentDesc::decode(header.clone()).map_err(|_| message("a commit"))?;
        let plan = self.plans.get_mut(&plan).ok_or_else(|| message("a commit"))?;
        let mut sums = BTreeMap::new();
        let mut missing = plan.tables.len();
        for Update { piece, cover } in updates {
            let held = self.held.get(piece).ok_or_else(|| message("a gradient"))?;
            match plan.tables.iter_mut().find(|(table, _)| *table == held.desc.name) {
                Some((_, sum)) => {
                    *sum = sum_of_rows(held, leaves, cover)?;
                    missing -= 1;
                }
                None => drop(sums.insert(held.desc.name.clone(), sum_of(held, leaves, cover)?)),
            }
        }
        if missing > 0 {
            return Err(message("a gradient"));
        }
        plan.mail.open().sums = sums;
        plan.rates.iter_mut().for_each(|value| value.set_scalar(rate));
        plan.executor.set_seed(seed);
        plan.executor.set_step(step);
        let Plan { tables, rates, executor, .. } = plan;
        executor.begin(&|k| match tables.get(k / 2) {
            Some((_, sum)) => sum.feeds()[k % 2],
            None => scalar(rates[k - 2 * tables.len()].as_slice()),
        })?;
        Ok(())
    }

    /// What this server shares with all of them about the sums of a step.
    pub(super) fn measure(
        &mut self,
        step: Step,
        plan: u32,
        header: &Bytes,
        leaves: u32,
        updates: &[Update<Bytes>],
    ) -> Result<Bytes, Error> {
        self.begin(plan, header, leaves, updates)?;
        let plan = self.plans.get_mut(&plan).ok_or_else(|| message("a question"))?;
        plan.measured = None;
        plan.mail.open().shares.clear();
        plan.executor.run(Part::Compute, &mut self.values)?;
        plan.measured = Some(step);
        let shares = std::mem::take(&mut plan.mail.open().shares);
        let pieces = shares.into_iter().map(|(piece, value)| SharedValues { piece, value }).collect();
        Ok(SharedDesc { pieces }.encode_to_vec().into())
    }

    /// Updates pieces from sums of gradients, and from what the servers have shared about them. `version` is that of the
    /// values behind it.
    pub(super) fn apply(
        &mut self,
        step: Step,
        (plan, header): (u32, &Bytes),
        leaves: u32,
        updates: &[Update<Bytes>],
        measures: &[Bytes],
        version: u64,
    ) -> Result<(), Error> {
        if measures.is_empty() {
            self.begin(plan, header, leaves, updates)?;
        }
        let plan = self.plans.get_mut(&plan).ok_or_else(|| message("a commit"))?;
        if !measures.is_empty() {
            if plan.measured != Some(step) {
                return Err(message("a commit"));
            }
            let mut shared = BTreeMap::new();
            for measure in measures {
                let of_server = SharedDesc::decode(measure.clone()).map_err(|_| message("what is shared"))?;
                shared
                    .extend(of_server.pieces.into_iter().map(|SharedValues { piece, value }| (piece, value)));
            }
            plan.mail.open().shared = shared;
        }
        for Update { piece, .. } in updates {
            self.held.get_mut(piece).ok_or_else(|| message("a gradient"))?.changed = version;
        }
        let States { buffers, .. } = self.states.entry(plan.states_of).or_default();
        plan.executor.update(&mut self.values, buffers)?;
        Ok(())
    }

    /// The values that a reader wants, without those that are unchanged since it had them.
    pub(super) fn read(&self, reader: &Reader) -> Result<Bytes, Error> {
        let (changed, is_whole) = self.changed(reader)?;
        self.encoded(changed, is_whole)
    }

    fn encoded<'a>(
        &self,
        pieces: impl IntoIterator<Item = (u32, &'a Held)>,
        is_whole: bool,
    ) -> Result<Bytes, Error> {
        let mut pieces = pieces.into_iter();
        if is_whole {
            let pieces = pieces.map(|(id, held)| self.values_of(id, held));
            return Ok(ValuesDesc { pieces: pieces.collect::<Result<_, Error>>()? }.encode_to_vec().into());
        }
        let mut bytes = Vec::new();
        pieces.try_for_each(|(id, held)| {
            let stored = self.storage.find(&held.desc.name).ok_or_else(|| message("a piece"))?;
            let length = held.elements() * size_of(held.dtype);
            bytes.reserve(length + 32);
            append_value(&mut bytes, (id, length), |bytes| {
                append_stored(bytes, &self.backend, &self.values, stored)
            })?;
            Ok::<_, Error>(())
        })?;
        Ok(bytes.into())
    }

    /// The same in parts, at least one, each of which can be used when it has come. `give` gets each when it is read, and says whether
    /// the others are wanted; `[2, 5]` is the third of five.
    pub(super) fn read_in_parts(
        &self,
        reader: &Reader,
        mut give: impl FnMut([u32; 2], Bytes) -> bool,
    ) -> Result<(), Error> {
        let (changed, is_whole) = self.changed(reader)?;
        let mut parts: Vec<Vec<(u32, &Held)>> = Vec::new();
        let mut bundling = Bundling::default();
        for (id, held) in changed {
            let begins = bundling.begins(held.elements());
            match parts.last_mut().filter(|_| !begins) {
                Some(part) => part.push((id, held)),
                None => parts.push(vec![(id, held)]),
            }
        }
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let of = parts.len() as u32;
        for (part, pieces) in (0..).zip(parts) {
            if !give([part, of], self.encoded(pieces, is_whole)?) {
                break;
            }
        }
        Ok(())
    }

    /// The pieces that a reader wants, without those that are unchanged since it had them, and whether it wants states, too.
    fn changed(&self, reader: &Reader) -> Result<(impl Iterator<Item = (u32, &Held)>, bool), Error> {
        let plan = self.plans.get(&reader.wanted.plan).ok_or_else(|| message("a question"))?;
        let have = reader.wanted.have;
        let held = plan.read.iter().map(|id| (*id, &self.held[id]));
        let changed = held.filter(move |(_, held)| have.is_none_or(|have| held.changed > have));
        Ok((changed, plan.is_whole))
    }

    /// The value of a piece, and the updaters' states of it.
    fn values_of(&self, id: u32, held: &Held) -> Result<PieceValues, Error> {
        let download = |storage: &Storage, buffers: &Buffers<Device>, name: &str| -> Result<_, Error> {
            let stored = storage.find(name).ok_or_else(|| message("a piece"))?;
            let mut bytes = Vec::with_capacity(stored.elements() * size_of(stored.dtype));
            append_stored(&mut bytes, &self.backend, buffers, stored)?;
            Ok((Bytes::from(bytes), stored.clone()))
        };
        let (value, _) = download(&self.storage, &self.values, &held.desc.name)?;
        let mut states = Vec::new();
        let prefix = state_name(&held.desc.name, "");
        for (&trainer, of_trainer) in &self.states {
            let own = of_trainer.storage.iter().filter(|stored| stored.name.starts_with(&prefix));
            for stored in own {
                let (value, Stored { dims, .. }) =
                    download(&of_trainer.storage, &of_trainer.buffers, &stored.name)?;
                let slot = stored.name[prefix.len()..].to_string();
                let dims = dims.iter().map(|&dim| dim as u64).collect();
                states.push(StateValues { trainer, slot, dims, value });
            }
        }
        Ok(PieceValues { id, value, states })
    }

    /// The elements of rows of a piece, one row after the other.
    pub(super) fn rows(&self, piece: &str, ids: &[i64]) -> Result<Bytes, Error> {
        let stored = self.storage.find(piece).ok_or_else(|| message("a question about rows"))?;
        let width: usize = stored.dims.iter().skip(1).product();
        let count = stored.dims.first().copied().unwrap_or(1);
        let row_of = |id: i64| {
            let row = usize::try_from(id).ok().filter(|&row| row < count);
            row.ok_or_else(|| message("a question about rows"))
        };
        let row_bytes = width * size_of(stored.dtype);
        if !device::is_cpu(&self.backend) {
            // Each copy from a card takes its time, however few elements it has.
            let (mut table, mut rows) = (Vec::new(), Vec::new());
            rows.try_grow(ids.len() * row_bytes)?;
            append_stored(&mut table, &self.backend, &self.values, stored)?;
            for &id in ids {
                let row = table.get(row_of(id)? * row_bytes..).and_then(|rows| rows.get(..row_bytes));
                rows.extend_from_slice(row.ok_or_else(|| message("a question about rows"))?);
            }
            return Ok(rows.into());
        }
        let mut values = Values::zeros(stored.dtype, ids.len() * width)?;
        for (k, &id) in ids.iter().enumerate() {
            let at = row_of(id)? * row_bytes;
            self.values.download(&self.backend, stored, at, values.part_mut(k * width..(k + 1) * width));
        }
        Ok(bytes_of(values.as_slice()).into())
    }

    /// The whole state, as an object.
    pub(super) fn save(&self) -> Result<Bytes, Error> {
        let mut object = Object::default();
        for (&id, held) in &self.held {
            let values = self.values_of(id, held)?;
            object.pieces.push(StoredPiece { desc: held.desc.clone(), values });
        }
        Ok(object.encode_to_vec().into())
    }

    /// Takes the state of an object, in place of the present one.
    pub(super) fn restore(&mut self, object: Bytes, version: u64) -> Result<(), Error> {
        let object = Object::decode(object).map_err(|_| message("a checkpoint"))?;
        for Plan { program, states_of, .. } in self.plans.values() {
            let States { storage, buffers } = self.states.entry(*states_of).or_default();
            initialize_states(&self.backend, program, storage, &|_| true, buffers)?;
        }
        for StoredPiece { desc, values } in object.pieces {
            self.hold(&desc)?;
            let dtype = desc.dtype().ok_or_else(|| message("a checkpoint"))?;
            upload(&self.backend, &self.storage, &mut self.values, &desc.name, &values.value)?;
            for StateValues { trainer, slot, dims, value } in values.states {
                let States { storage, buffers } = self.states.entry(trainer).or_default();
                let name = state_name(&desc.name, &slot);
                let ty = Type::new(dtype, dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>());
                storage.insert(self.backend.element_bytes(dtype), &name, &ty)?;
                storage.allocate(&self.backend, buffers, "the state")?;
                upload(&self.backend, storage, buffers, &name, &value)?;
            }
        }
        self.held.values_mut().for_each(|held| held.changed = version);
        Ok(())
    }
}

/// The state of a server as an object of a checkpoint.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Object {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<StoredPiece>,
}

/// A piece in an object.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredPiece {
    #[prost(message, required, tag = "1")]
    pub(super) desc: PieceDesc,
    #[prost(message, required, tag = "2")]
    pub(super) values: PieceValues,
}

fn upload(
    backend: &Device,
    storage: &Storage,
    buffers: &mut Buffers<Device>,
    name: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let stored = storage.find(name).ok_or_else(|| message("a checkpoint"))?;
    let values = values_of(stored.dtype, bytes).filter(|values| values.len() == stored.elements());
    let values = values.ok_or_else(|| message("a checkpoint"))?;
    buffers.upload(backend, stored, values.as_slice());
    Ok(())
}

/// The sums of a cover, by node.
fn sums_of(cover: &[(Node, Bytes)]) -> Result<BTreeMap<Node, Sum>, Error> {
    let sum = |(node, bytes): &(Node, Bytes)| Some((*node, Sum::decode(bytes.clone())?));
    cover.iter().map(sum).collect::<Option<_>>().ok_or_else(|| message("a gradient"))
}

/// The gradient of a piece, from the sums of a cover.
fn sum_of(held: &Held, leaves: u32, cover: &[(Node, Bytes)]) -> Result<Values, Error> {
    let (sums, elements) = (sums_of(cover)?, held.elements());
    let leaf = |node: Node| values_of(held.dtype, &sums.get(&node)?.elements).filter(|v| v.len() == elements);
    fold(leaves, leaf, add).ok_or_else(|| message("a gradient"))
}

/// The rows of a table's gradient, from the sums of a cover.
fn sum_of_rows(held: &Held, leaves: u32, cover: &[(Node, Bytes)]) -> Result<RowSum, Error> {
    let failed = || message("a gradient");
    let (mut sums, rows) = (sums_of(cover)?, held.desc.dims.first().copied().unwrap_or(0));
    let width = held.elements() / (rows as usize).max(1);
    let leaf = |node: Node| {
        let Sum { ids, elements } = sums.remove(&node)?;
        let is_row = |id: &i64| u64::try_from(*id).is_ok_and(|id| id < rows);
        let elements = values_of(held.dtype, &elements)?;
        let fits = ids.is_sorted_by(|a, b| a < b) && ids.iter().all(is_row);
        (fits && elements.len() == ids.len() * width).then(|| Ok(RowSum::of(ids, elements, width)))
    };
    let add = |left: Result<RowSum, Error>, right: Result<RowSum, Error>| {
        let (left, right, mut sum) = (left?, right?, RowSum::new(held.dtype, width));
        sum.set_sum(&left, &right)?;
        Ok(sum)
    };
    fold(leaves, leaf, add).ok_or_else(failed)?
}

/// The sum of two values.
fn add(mut left: Values, right: Values) -> Values {
    match (&mut left, &right) {
        (Values::F32(left), Values::F32(right)) => {
            left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
        }
        (Values::F64(left), Values::F64(right)) => {
            left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
        }
        _ => {}
    }
    left
}
