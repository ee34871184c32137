//! The storage of parameters, and of the updaters' states: each has a name, a number, and a buffer of that number.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::backend::HostVec;
use super::backend::{
    Backend, Extent, Fault, Group, GroupOp, HostSlice, HostSliceMut, KernelError, Launch, Location, Memories,
    Memory, Operand, OperandType, Side, Values, no_memories,
};
use super::error::PlanError;
use crate::memory::OutOfMemory;
use crate::ops::{Operator, Program};
use crate::program::{DType, Role, Type, UpdaterState, VarId};

/// The description of a stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its full name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// The side that its buffer is on.
    pub side: Side,
    /// The number of its buffer on that side.
    pub number: u32,
    /// The length of its buffer in bytes.
    pub bytes: usize,
}

impl Stored {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().fold(1, |elements: usize, &dim| elements.saturating_mul(dim))
    }

    /// Whether its buffer is on the backend itself.
    pub fn is_own(&self) -> bool {
        self.side == Side::Own
    }

    fn show(&self) -> String {
        format!("{}{:?}", self.dtype, self.dims)
    }
}

/// Why a parameter cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageError {
    /// It is stored already, with another type.
    Conflict {
        /// Its name.
        name: String,
        /// The type that it is stored with.
        first: String,
        /// The type that was asked for.
        second: String,
    },
    /// Its size is unknown, negative or too large.
    Size {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageError::Conflict { name, first, second } => {
                write!(f, "parameter `{name}` is {second} here, but {first} where it was first used")
            }
            StorageError::Size { name } => write!(f, "parameter `{name}` has no size that fits into memory"),
        }
    }
}

impl std::error::Error for StorageError {}

/// The descriptions of the values that are stored by name. Each has a number, and a buffer of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    entries: Vec<Stored>,
    places: BTreeMap<String, usize>,
    /// The number of values on the backend, and on its fallback.
    counts: [u32; 2],
}

/// The buffers of stored values, by number.
pub struct Buffers<B: Backend> {
    /// On the backend.
    pub(super) own: Vec<B::Buffer>,
    /// On its fallback.
    pub(super) fallback: Vec<<B::Fallback as Backend>::Buffer>,
    /// The version of the elements: changed whenever an element may have changed, and never the same in two sets of
    /// buffers.
    version: u64,
}

impl<B: Backend> Default for Buffers<B> {
    fn default() -> Self {
        Buffers { own: Vec::new(), fallback: Vec::new(), version: next_version() }
    }
}

/// A version that no buffers had before.
fn next_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<B: Backend> Buffers<B> {
    /// The version of the elements.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Starts a new version. It has to be called wherever elements may change.
    pub(super) fn touch(&mut self) {
        self.version = next_version();
    }

    /// The number of buffers on the backend.
    pub fn own_count(&self) -> usize {
        self.own.len()
    }

    /// The buffer of this number on the backend.
    pub fn own(&self, number: u32) -> &B::Buffer {
        &self.own[number as usize]
    }

    /// Replaces the buffer of this number on the backend.
    pub fn replace(&mut self, number: u32, buffer: B::Buffer) {
        self.touch();
        self.own[number as usize] = buffer;
    }

    /// Copies elements to a value.
    pub fn upload(&mut self, backend: &B, to: &Stored, from: HostSlice<'_>) {
        self.touch();
        let number = to.number as usize;
        match (to.side, backend.fallback()) {
            (Side::Fallback, Some(fallback)) => fallback.upload(from, &mut self.fallback[number], 0),
            _ => backend.upload(from, &mut self.own[number], 0),
        }
    }
}

/// A source of the elements of stored values.
pub trait StoredValues<B: Backend> {
    /// Copies elements of a value to the host, from the byte `offset` of the value on.
    fn download(&self, backend: &B, from: &Stored, offset: usize, to: HostSliceMut<'_>);
}

impl<B: Backend> StoredValues<B> for Buffers<B> {
    fn download(&self, backend: &B, from: &Stored, offset: usize, to: HostSliceMut<'_>) {
        let number = from.number as usize;
        match (from.side, backend.fallback()) {
            (Side::Fallback, Some(fallback)) => fallback.download(&self.fallback[number], offset, to),
            _ => backend.download(&self.own[number], offset, to),
        }
    }
}

impl Storage {
    /// A storage without values.
    pub fn new() -> Self {
        Storage::default()
    }

    /// Adds a value on the backend itself, with `element_bytes` bytes for each element. If there is a value of this
    /// name already, it must have the same type.
    pub fn insert(&mut self, element_bytes: usize, name: &str, ty: &Type) -> Result<(), StorageError> {
        self.insert_on(Side::Own, element_bytes, name, ty)
    }

    /// Like [`insert`](Self::insert), on one of the two sides. A value that exists already stays on its side.
    pub fn insert_on(
        &mut self,
        side: Side,
        element_bytes: usize,
        name: &str,
        ty: &Type,
    ) -> Result<(), StorageError> {
        let too_large = || StorageError::Size { name: name.to_string() };
        let dims = fixed_dims(ty).ok_or_else(too_large)?;
        if let Some(first) = self.find(name) {
            if (first.dtype, &first.dims) == (ty.dtype, &dims) {
                return Ok(());
            }
            let (first, second) = (first.show(), format!("{}{dims:?}", ty.dtype));
            return Err(StorageError::Conflict { name: name.to_string(), first, second });
        }
        let bytes = dims.iter().try_fold(element_bytes, |bytes, &dim| bytes.checked_mul(dim));
        let bytes = bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(too_large)?;
        let count = &mut self.counts[usize::from(side == Side::Fallback)];
        let number = *count;
        *count = count.checked_add(1).ok_or_else(too_large)?;
        self.places.insert(name.to_string(), self.entries.len());
        self.entries.push(Stored { name: name.to_string(), dtype: ty.dtype, dims, side, number, bytes });
        Ok(())
    }

    /// The description of the value with this name.
    pub fn find(&self, name: &str) -> Option<&Stored> {
        self.places.get(name).map(|&at| &self.entries[at])
    }

    /// Allocates the buffers that are missing; `what` names one of them in an error. After an error none of the
    /// missing ones exist.
    pub fn allocate<B: Backend>(
        &self,
        backend: &B,
        buffers: &mut Buffers<B>,
        what: &str,
    ) -> Result<(), OutOfMemory> {
        let before = [buffers.own.len(), buffers.fallback.len()];
        for stored in &self.entries[before[0] + before[1]..] {
            let allocated = match (stored.side, backend.fallback()) {
                (Side::Fallback, Some(fallback)) => {
                    fallback.allocate(stored.bytes).map(|buffer| buffers.fallback.push(buffer))
                }
                _ => backend.allocate(stored.bytes).map(|buffer| buffers.own.push(buffer)),
            };
            if let Err(error) = allocated {
                buffers.own.truncate(before[0]);
                buffers.fallback.truncate(before[1]);
                let name = &stored.name;
                return Err(error.wanted_for(format_args!("{what} `{name}`")));
            }
        }
        Ok(())
    }

    /// Drops the buffers of values that are not in this storage.
    pub fn truncate<B: Backend>(&self, buffers: &mut Buffers<B>) {
        buffers.own.truncate(self.counts[0] as usize);
        buffers.fallback.truncate(self.counts[1] as usize);
    }

    /// All values, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Stored> {
        self.entries.iter()
    }

    /// The stored value of a program's parameter or state. Errors if there is none, or if its type differs.
    pub(super) fn locate(&self, program: &Program, var: VarId) -> Result<&Stored, PlanError> {
        let (name, ty) = (&stored_name(program, var), program.ty(var));
        let expected = || program.show(ty);
        match self.find(name) {
            None => Err(PlanError::MissingParameter { name: name.clone(), expected: expected() }),
            Some(stored) if stored.dtype == ty.dtype && fixed_dims(ty).as_ref() == Some(&stored.dims) => {
                Ok(stored)
            }
            Some(stored) => {
                let found = stored.show();
                Err(PlanError::ParameterType { name: name.clone(), expected: expected(), found })
            }
        }
    }
}

/// The name that a parameter or a state is stored under. For a parameter this is its own name; for a state it has the
/// name of the parameter and the slot.
pub fn stored_name(program: &Program, var: VarId) -> String {
    match program.state(var) {
        Some(UpdaterState { parameter, slot, .. }) => state_name(&program.var(*parameter).name, slot),
        None => program.var(var).name.clone(),
    }
}

/// The name that the state of a parameter in a slot is stored under.
pub fn state_name(parameter: &str, slot: &str) -> String {
    format!("{parameter}@{slot}")
}

fn fixed_dims(ty: &Type) -> Option<Vec<usize>> {
    if ty.rows.is_some() {
        return None;
    }
    ty.dims.iter().map(|dim| dim.constant().and_then(|size| usize::try_from(size).ok())).collect()
}

/// The number of the random stream that belongs to a name: its FNV-1a hash.
pub(super) fn stream(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The side that a parameter or a state of a program is stored on: the fallback if all operators that read it run
/// there.
pub fn side_of<B: Backend>(backend: &B, program: &Program, var: VarId) -> Side {
    // There is one side only, and a search through the program for each parameter would be for nothing.
    if backend.fallback().is_none() {
        return Side::Own;
    }
    let operators = program.blocks().iter().flat_map(|block| &block.ops);
    let mut readers = operators.filter(|operator| operator.read().any(|read| read == var)).peekable();
    let is_read = readers.peek().is_some();
    // A run may replace the buffer of a parameter that it changes outside of updates, which it can do on the backend
    // only.
    let is_own = program.outputs().contains(&var) || changed_in_use(program).any(|changed| changed == var);
    match is_read
        && !is_own
        && readers.all(|reader| Side::of(backend, program, reader) == Some(Side::Fallback))
    {
        true => Side::Fallback,
        false => Side::Own,
    }
}

/// The parameters and states that a program changes outside of updates.
pub(super) fn changed_in_use(program: &Program) -> impl Iterator<Item = VarId> {
    let operators = program.blocks().iter().flat_map(|block| &block.ops);
    // What is received again is what it was, so nothing has to be undone.
    let is_in_use =
        |operator: &&Operator| operator.site.role != Role::Optimize && !operator.op.effects().exchanges;
    let operators = operators.filter(is_in_use);
    operators.flat_map(Operator::changed)
}

/// Runs the startup operators of the parameters whose names are `wanted`.
///
/// The random numbers of a parameter depend only on the seed and on its name.
pub fn initialize<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(&str) -> bool,
    parameters: &mut Buffers<B>,
    seed: u64,
) -> Result<(), PlanError> {
    let is_wanted = |var| program.state(var).is_none() && wanted(&program.var(var).name);
    initialize_vars(backend, program, storage, &is_wanted, parameters, seed)
}

/// Runs the startup operators of the states whose stored names are `wanted`.
pub fn initialize_states<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(&str) -> bool,
    states: &mut Buffers<B>,
) -> Result<(), PlanError> {
    let is_wanted = |var| program.state(var).is_some() && wanted(&stored_name(program, var));
    initialize_vars(backend, program, storage, &is_wanted, states, 0)
}

fn initialize_vars<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(VarId) -> bool,
    values: &mut Buffers<B>,
    seed: u64,
) -> Result<(), PlanError> {
    values.touch();
    for (operator, name, stored) in startup(program, storage, wanted)? {
        let group = startup_group(operator, name, stored);
        let start = |error: StartError| error.of(name);
        match (Side::of(backend, program, operator), backend.fallback()) {
            (Some(Side::Fallback), Some(fallback)) => {
                let elements = fill(fallback, &group, stored, seed).map_err(start)?;
                values.upload(backend, stored, elements.as_slice());
            }
            _ if stored.side == Side::Fallback => {
                let elements = fill(backend, &group, stored, seed).map_err(start)?;
                values.upload(backend, stored, elements.as_slice());
            }
            _ => {
                let at = Memory::Parameter(stored.number);
                run_alone(backend, &group, at, &mut values.own, seed).map_err(start)?;
            }
        }
    }
    Ok(())
}

/// Errors if [`initialize`] would, for another reason than memory or the values of elements.
pub fn check_initializers<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<(), PlanError> {
    let is_wanted = |var| program.state(var).is_none() && wanted(&program.var(var).name);
    for (operator, name, stored) in startup(program, storage, &is_wanted)? {
        let group = startup_group(operator, name, stored);
        let compiled = match (Side::of(backend, program, operator), backend.fallback()) {
            (Some(Side::Fallback), Some(fallback)) => fallback.compile(&group).map(drop),
            _ => backend.compile(&group).map(drop),
        };
        compiled.map_err(|error| StartError::Kernel(error.message).of(name))?;
    }
    Ok(())
}

/// The startup operators of the variables that are `wanted`, with the names and the descriptions of these.
fn startup<'a>(
    program: &'a Program,
    storage: &'a Storage,
    wanted: &dyn Fn(VarId) -> bool,
) -> Result<Vec<(&'a Operator, &'a str, &'a Stored)>, PlanError> {
    let operators = program.startup().iter().filter(|operator| wanted(operator.outputs[0]));
    let described = operators.map(|operator| {
        let var = operator.outputs[0];
        Ok((operator, program.var(var).name.as_str(), storage.locate(program, var)?))
    });
    described.collect()
}

/// A startup operator as a group without inputs.
fn startup_group(operator: &Operator, name: &str, stored: &Stored) -> Group {
    let op = GroupOp { op: operator.op.clone(), inputs: Vec::new(), outputs: vec![Operand::Output(0)] };
    let shape = stored.dims.iter().map(|&dim| Extent::Fixed(dim)).collect();
    Group::of(op, Vec::new(), vec![OperandType::new(stored.dtype, shape)], stream(name))
}

/// Why a value could not be initialised.
enum StartError {
    Kernel(String),
    OutOfMemory(OutOfMemory),
}

impl StartError {
    fn of(self, name: &str) -> PlanError {
        match self {
            StartError::Kernel(message) => PlanError::Initializer { name: name.to_string(), message },
            StartError::OutOfMemory(error) => {
                error.wanted_for(format_args!("the first values of `{name}`")).into()
            }
        }
    }
}

impl From<OutOfMemory> for StartError {
    fn from(error: OutOfMemory) -> Self {
        StartError::OutOfMemory(error)
    }
}

/// Computes the elements that a startup operator gives a value, in memory of its own.
fn fill<B: Backend>(backend: &B, group: &Group, stored: &Stored, seed: u64) -> Result<HostVec, StartError> {
    let mut buffers = [backend.allocate(stored.bytes)?];
    run_alone(backend, group, Memory::Parameter(0), &mut buffers, seed)?;
    let mut elements = HostVec::zeros(stored.dtype, stored.elements())?;
    backend.download(&buffers[0], 0, elements.as_mut_slice());
    Ok(elements)
}

/// Launches a group of one output, which lies at the beginning of a memory, and waits for it.
fn run_alone<B: Backend>(
    backend: &B,
    group: &Group,
    output: Memory,
    parameters: &mut [B::Buffer],
    seed: u64,
) -> Result<(), StartError> {
    let mut queue = backend.queue()?;
    let own = &mut no_memories(backend)?;
    let mut memories = Memories::Of { own, parameters: Values::Write(parameters), states: &mut [] };
    let kernel = backend.compile(group).map_err(|error| StartError::Kernel(error.message))?;
    let locations = [Location { memory: output, offset: 0 }];
    let launch = Launch { sizes: &[], locations: &locations, seed, number: 0, version: None };
    backend.launch(&mut queue, &kernel, launch, &mut memories);
    backend.finish(&mut queue).map_err(|Fault { error, .. }| match error {
        KernelError::Value { message } | KernelError::Device { message } => StartError::Kernel(message),
        KernelError::OutOfMemory(error) => StartError::OutOfMemory(error),
    })
}
