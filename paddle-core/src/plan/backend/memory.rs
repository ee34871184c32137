//! The memories of a run, and the places of values in them.

use super::Backend;
use crate::memory::OutOfMemory;

/// The memories of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Values within a run, placed by their lifetimes.
    Arena,
    /// Values that grow as loops run: those saved for the backward pass, and those that loops collect. Each has a
    /// lane.
    Tape,
    /// Values that leave the run: outputs and gradients.
    Pool,
    /// Values that follow from the parameters alone. Runs of one version of the parameters share them.
    Prepared,
    /// The buffer of the parameter with this number in the [`Storage`](crate::plan::Storage) that the program was
    /// planned with. It outlives the run.
    Parameter(u32),
    /// The buffer of the state with this number in the storage of the updaters' states. It outlives the run.
    State(u32),
}

/// Where a value is: a byte offset in a memory. Offsets are multiples of [`ALIGNMENT`]. The rows of one iteration may
/// lie among the rows of all iterations; their offset is only a multiple of the size of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which memory.
    pub memory: Memory,
    /// Bytes from its start.
    pub offset: usize,
}

/// The alignment of values in bytes: the size of a cache line, and of the widest vector register.
pub const ALIGNMENT: usize = 64;

/// The number of memories that belong to the executor: arena, tape, pool, and prepared values.
pub const OWN_MEMORIES: usize = 4;

/// The memories of an executor, without any bytes.
pub(in crate::plan) fn no_memories<B: Backend>(
    backend: &B,
) -> Result<[B::Buffer; OWN_MEMORIES], OutOfMemory> {
    Ok([backend.allocate(0)?, backend.allocate(0)?, backend.allocate(0)?, backend.allocate(0)?])
}

/// The buffers of a run.
pub enum Memories<'a, T> {
    /// Those of an executor.
    Of {
        /// Arena, tape, pool, and prepared values, in this order.
        own: &'a mut [T; OWN_MEMORIES],
        /// By number.
        parameters: Values<'a, T>,
        /// By number.
        states: &'a mut [T],
    },
    /// Those within buffers of another type.
    Within(&'a mut dyn Reach<T>),
}

/// What gives the buffers of a run: [`Memories`], or what finds them within buffers of another type.
pub trait Reach<T>: Sync {
    /// The buffer of a memory.
    fn get(&self, memory: Memory) -> &T;
    /// The buffer for writing; none if the run may only read it.
    fn get_mut(&mut self, memory: Memory) -> Option<&mut T>;
    /// Whether the run may write the memory.
    fn is_writable(&self, memory: Memory) -> bool;
}

/// The buffers of the parameters, and which of them the run may write.
#[derive(Debug)]
pub enum Values<'a, T> {
    /// The run writes no parameter. Other runs may read the buffers at the same time.
    Read(&'a [T]),
    /// The run may write every parameter. No other run uses the buffers.
    Write(&'a mut [T]),
    /// The run reads the buffers of the first list, and may write those of the second: a buffer there replaces the
    /// one of the same number, and no other run uses it.
    Apart(&'a [T], &'a mut [(u32, T)]),
}

impl<T> Values<'_, T> {
    #[inline]
    fn get(&self, number: u32) -> &T {
        match self {
            Values::Read(buffers) => &buffers[number as usize],
            Values::Write(buffers) => &buffers[number as usize],
            Values::Apart(buffers, apart) => {
                let found = apart.iter().find(|(of, _)| *of == number);
                found.map_or_else(|| &buffers[number as usize], |(_, buffer)| buffer)
            }
        }
    }

    /// The buffer for writing; none if the run may only read it.
    fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self {
            Values::Read(_) => None,
            Values::Write(buffers) => Some(&mut buffers[number as usize]),
            Values::Apart(_, apart) => {
                apart.iter_mut().find(|(of, _)| *of == number).map(|(_, buffer)| buffer)
            }
        }
    }

    fn is_writable(&self, number: u32) -> bool {
        match self {
            Values::Read(_) => false,
            Values::Write(_) => true,
            Values::Apart(_, apart) => apart.iter().any(|(of, _)| *of == number),
        }
    }
}

impl<T> Memories<'_, T> {
    /// The buffer of a memory.
    ///
    /// # Panics
    /// If there is no buffer of this number, which is a mistake of the plan.
    #[inline]
    pub fn get(&self, memory: Memory) -> &T {
        let (own, parameters, states) = match self {
            Memories::Of { own, parameters, states } => (own, parameters, states),
            Memories::Within(reach) => return reach.get(memory),
        };
        match memory {
            Memory::Arena => &own[0],
            Memory::Tape => &own[1],
            Memory::Pool => &own[2],
            Memory::Prepared => &own[3],
            Memory::Parameter(number) => parameters.get(number),
            Memory::State(number) => &states[number as usize],
        }
    }

    /// The buffer for writing; none if the run may only read it.
    #[inline]
    pub fn get_mut(&mut self, memory: Memory) -> Option<&mut T> {
        let (own, parameters, states) = match self {
            Memories::Of { own, parameters, states } => (own, parameters, states),
            Memories::Within(reach) => return reach.get_mut(memory),
        };
        match memory {
            Memory::Arena => Some(&mut own[0]),
            Memory::Tape => Some(&mut own[1]),
            Memory::Pool => Some(&mut own[2]),
            Memory::Prepared => Some(&mut own[3]),
            Memory::Parameter(number) => parameters.get_mut(number),
            Memory::State(number) => Some(&mut states[number as usize]),
        }
    }

    /// Whether the run may write the memory.
    #[inline]
    pub fn is_writable(&self, memory: Memory) -> bool {
        match (self, memory) {
            (Memories::Within(reach), memory) => reach.is_writable(memory),
            (Memories::Of { parameters, .. }, Memory::Parameter(number)) => parameters.is_writable(number),
            (_, Memory::Arena | Memory::Tape | Memory::Pool | Memory::Prepared | Memory::State(_)) => true,
        }
    }
}

impl<T: Sync> Reach<T> for Memories<'_, T> {
    #[inline]
    fn get(&self, memory: Memory) -> &T {
        self.get(memory)
    }

    #[inline]
    fn get_mut(&mut self, memory: Memory) -> Option<&mut T> {
        self.get_mut(memory)
    }

    #[inline]
    fn is_writable(&self, memory: Memory) -> bool {
        self.is_writable(memory)
    }
}

/// A piece of a buffer, and its new place. All numbers are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it was.
    pub from: usize,
    /// Where it goes.
    pub to: usize,
    /// Its length.
    pub bytes: usize,
}
