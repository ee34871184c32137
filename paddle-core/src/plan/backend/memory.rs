//! Memories: which there are in a run, and where in them a value is.

/// The memories of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Values within a run, placed by their lifetimes.
    Arena,
    /// What grows as loops run: values that they save for the backward pass, and that they collect. Each has a lane.
    Tape,
    /// What leaves the run: outputs, gradients.
    Pool,
    /// The parameter of this number in the [`Storage`](crate::plan::Storage) that the program was planned with. It outlives the run.
    Parameter(u32),
    /// The state of this number in the storage of what updaters keep. It outlives the run.
    State(u32),
}

/// Where a value is: a byte offset in a memory. Offsets are multiples of [`ALIGNMENT`]; those of the rows of an iteration,
/// which lie among those of all iterations, of the size of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which memory.
    pub memory: Memory,
    /// Bytes from its start.
    pub offset: usize,
}

/// Every value starts at a multiple of this many bytes: a cache line, the widest vector register.
pub const ALIGNMENT: usize = 64;

/// The number of memories that belong to the run alone: arena, tape and pool.
pub const OWN_MEMORIES: usize = 3;

/// The buffers of a run.
#[derive(Debug)]
pub struct Memories<'a, T> {
    /// Arena, tape and pool, in this order.
    pub own: &'a mut [T; OWN_MEMORIES],
    /// By number.
    pub parameters: Values<'a, T>,
    /// By number.
    pub states: &'a mut [T],
}

/// The buffers of parameters: for reading, beside other runs, or for writing.
#[derive(Debug)]
pub enum Values<'a, T> {
    /// No launch of the run writes any of them.
    Read(&'a [T]),
    /// The run has them for itself.
    Write(&'a mut [T]),
    /// For reading, but that those of these numbers are elsewhere, where the run has them for itself.
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

    /// The same, for writing; none if the run may only read it.
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
    /// If there is none of this number: a mistake of the plan.
    #[inline]
    pub fn get(&self, memory: Memory) -> &T {
        match memory {
            Memory::Arena => &self.own[0],
            Memory::Tape => &self.own[1],
            Memory::Pool => &self.own[2],
            Memory::Parameter(number) => self.parameters.get(number),
            Memory::State(number) => &self.states[number as usize],
        }
    }

    /// The same, for writing; none if the run may only read it.
    #[inline]
    pub fn get_mut(&mut self, memory: Memory) -> Option<&mut T> {
        match memory {
            Memory::Arena => Some(&mut self.own[0]),
            Memory::Tape => Some(&mut self.own[1]),
            Memory::Pool => Some(&mut self.own[2]),
            Memory::Parameter(number) => self.parameters.get_mut(number),
            Memory::State(number) => Some(&mut self.states[number as usize]),
        }
    }

    /// Whether the run may write it.
    #[inline]
    pub fn is_writable(&self, memory: Memory) -> bool {
        match memory {
            Memory::Parameter(number) => self.parameters.is_writable(number),
            Memory::Arena | Memory::Tape | Memory::Pool | Memory::State(_) => true,
        }
    }
}

/// A piece of a buffer that gets another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it was.
    pub from: usize,
    /// Where it goes.
    pub to: usize,
    /// Its length.
    pub bytes: usize,
}
