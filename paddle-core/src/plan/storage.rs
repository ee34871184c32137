//! What parameters there are, and states of their updaters: a number for each name, by which its buffer is found.

use std::collections::BTreeMap;
use std::fmt;

use super::backend::{
    Backend, Extent, Fault, Group, GroupOp, KernelError, Launch, Location, Memories, Memory, Operand,
    OperandType, Values,
};
use super::error::PlanError;
use crate::memory::OutOfMemory;
use crate::ops::Program;
use crate::program::{DType, Type, UpdaterState, VarId};

/// What is known of a value that is stored by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its full name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// Its number: that of its buffer.
    pub number: u32,
    /// The bytes of its buffer.
    pub bytes: usize,
}

impl Stored {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().fold(1, |elements: usize, &dim| elements.saturating_mul(dim))
    }

    fn show(&self) -> String {
        format!("{}{:?}", self.dtype, self.dims)
    }
}

/// Why a parameter cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageError {
    /// It is stored with another type.
    Conflict {
        /// Its name.
        name: String,
        /// How it is stored.
        first: String,
        /// How it is wanted.
        second: String,
    },
    /// Its size is not known, negative, or too large.
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

/// The values that are stored by name: each has a number, and a buffer of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    entries: Vec<Stored>,
    numbers: BTreeMap<String, usize>,
}

impl Storage {
    /// Without values.
    pub fn new() -> Self {
        Storage::default()
    }

    /// Gives a value the next number, with `element_bytes` for each element. A second time, it has to be the same type.
    pub fn insert(&mut self, element_bytes: usize, name: &str, ty: &Type) -> Result<(), StorageError> {
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
        let number = u32::try_from(self.entries.len()).map_err(|_| too_large())?;
        self.numbers.insert(name.to_string(), self.entries.len());
        self.entries.push(Stored { name: name.to_string(), dtype: ty.dtype, dims, number, bytes });
        Ok(())
    }

    /// What is known of a value.
    pub fn find(&self, name: &str) -> Option<&Stored> {
        self.numbers.get(name).map(|&at| &self.entries[at])
    }

    /// Allocates the buffers that are missing, for the purpose `what`. After an error there are none of them.
    pub fn allocate<B: Backend>(
        &self,
        backend: &B,
        buffers: &mut Vec<B::Buffer>,
        what: &str,
    ) -> Result<(), OutOfMemory> {
        let before = buffers.len();
        for stored in &self.entries[before..] {
            match backend.allocate(stored.bytes) {
                Ok(buffer) => buffers.push(buffer),
                Err(error) => {
                    buffers.truncate(before);
                    let Stored { name, bytes, .. } = stored;
                    return Err(error.wanted_for(format_args!("{what}, of which `{name}` takes {bytes}")));
                }
            }
        }
        Ok(())
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Stored> {
        self.entries.iter()
    }

    /// A program's parameter or state, which has to be of the same type.
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

/// What a parameter is stored under: its name. What a state is stored under: the parameter's name and the slot.
pub fn stored_name(program: &Program, var: VarId) -> String {
    match program.state(var) {
        Some(UpdaterState { parameter, slot, .. }) => state_name(&program.var(*parameter).name, slot),
        None => program.var(var).name.clone(),
    }
}

/// What the state of a parameter in a slot is stored under.
pub fn state_name(parameter: &str, slot: &str) -> String {
    format!("{parameter}@{slot}")
}

fn fixed_dims(ty: &Type) -> Option<Vec<usize>> {
    if ty.rows.is_some() {
        return None;
    }
    ty.dims.iter().map(|dim| dim.constant().and_then(|size| usize::try_from(size).ok())).collect()
}

/// The stream of random numbers that belongs to a name: FNV-1a.
pub(super) fn stream(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Runs the startup operators of the parameters that are `wanted` by name. The buffers are those of `storage`, by number.
///
/// The numbers drawn for a parameter depend on the seed and its name only, not on what else is there.
pub fn initialize<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(&str) -> bool,
    parameters: &mut [B::Buffer],
    seed: u64,
) -> Result<(), PlanError> {
    let is_wanted = |var| program.state(var).is_none() && wanted(&program.var(var).name);
    initialize_vars(backend, program, storage, &is_wanted, parameters, seed)
}

/// Runs the startup operators of the states that are `wanted` by the name that they are stored under.
pub fn initialize_states<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(&str) -> bool,
    states: &mut [B::Buffer],
) -> Result<(), PlanError> {
    let is_wanted = |var| program.state(var).is_some() && wanted(&stored_name(program, var));
    initialize_vars(backend, program, storage, &is_wanted, states, 0)
}

fn initialize_vars<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    wanted: &dyn Fn(VarId) -> bool,
    values: &mut [B::Buffer],
    seed: u64,
) -> Result<(), PlanError> {
    let mut queue = backend.queue()?;
    let own = &mut [backend.allocate(0)?, backend.allocate(0)?, backend.allocate(0)?];
    let mut memories = Memories { own, parameters: Values::Write(values), states: &mut [] };
    for operator in program.startup() {
        let var = operator.outputs[0];
        if !wanted(var) {
            continue;
        }
        let name = &program.var(var).name;
        let stored = storage.locate(program, var)?;
        let shape = stored.dims.iter().map(|&dim| Extent::Fixed(dim)).collect();
        let output = OperandType { dtype: stored.dtype, shape };
        let op = GroupOp { op: operator.op.clone(), inputs: Vec::new(), outputs: vec![Operand::Output(0)] };
        let group = Group::of(op, Vec::new(), vec![output], stream(name));
        let failed = |message| PlanError::Initializer { name: name.clone(), message };
        let kernel = backend.compile(&group).map_err(|error| failed(error.message))?;
        let locations = [Location { memory: Memory::Parameter(stored.number), offset: 0 }];
        let launch = Launch { sizes: &[], locations: &locations, seed, number: 0 };
        backend.launch(&mut queue, &kernel, launch, &mut memories);
        backend.finish(&mut queue).map_err(|Fault { error, .. }| match error {
            KernelError::Value { message } => failed(message),
            KernelError::OutOfMemory(error) => {
                error.wanted_for(format_args!("the first values of `{name}`")).into()
            }
        })?;
    }
    Ok(())
}
