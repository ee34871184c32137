//! The CPU backend.
#![allow(unsafe_code, reason = "makes slices of the memories")]

mod accumulate;
mod along;
mod broadcast;
mod channels;
mod classes;
mod fold;
pub mod isa;
mod kernel;
mod math;
mod matmul;
mod number;
mod operands;
mod ops;
mod pieces;
mod real;
mod rows;
mod scratch;
mod sequences;
mod share;
mod sum;
mod vector;
mod view;

use std::ffi::OsString;
use std::sync::Arc;
use std::{env, fmt, io, thread};

use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Elements, Group, HostSlice, HostSliceMut, KernelError, Launch, Location, Move, OutOfMemory,
    Rows, Unsupported,
};
use paddle_core::program::DType;

use crate::memory::Buffer;
use crate::team::Team;
use isa::{Isa, IsaError};
pub use kernel::Kernel;
use kernel::Machine;
use operands::Memories;

/// The environment variable that sets the number of threads.
pub const THREADS: &str = "PADDLE_THREADS";
/// More threads than any machine has cores.
const MOST_THREADS: usize = 4096;

/// The CPU: a team of threads and an instruction set. Clones share the team.
#[derive(Clone)]
pub struct Cpu {
    machine: Arc<Machine>,
}

impl Cpu {
    /// With as many threads as `PADDLE_THREADS` says, or else as the machine has cores for this process, and the
    /// instruction set that `PADDLE_ISA` names, or else the best.
    pub fn new() -> Result<Cpu, CpuError> {
        Cpu::with_threads(threads(env::var_os(THREADS))?)
    }

    /// With this many threads, the calling one included, and the instruction set that `PADDLE_ISA` names, or else the
    /// best.
    pub fn with_threads(threads: usize) -> Result<Cpu, CpuError> {
        Cpu::with_isa(threads, Isa::from_environment().map_err(CpuError::Isa)?)
    }

    /// With this many threads and this instruction set.
    pub fn with_isa(threads: usize, isa: Isa) -> Result<Cpu, CpuError> {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(CpuError::Threads(threads.to_string()));
        }
        let team = Team::new(threads).map_err(|error| CpuError::Start { threads, error })?;
        Ok(Cpu { machine: Arc::new(Machine { team, isa }) })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.machine.team.threads()
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.machine.isa
    }
}

/// How many threads the variable asks for.
fn threads(variable: Option<OsString>) -> Result<usize, CpuError> {
    match variable {
        None => Ok(thread::available_parallelism().map_or(1, |threads| threads.get())),
        Some(value) => {
            let value = value.to_string_lossy();
            value.trim().parse().map_err(|_| CpuError::Threads(value.into_owned()))
        }
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cpu({} threads, {})", self.threads(), self.isa().name())
    }
}

/// The CPU cannot be used as asked for.
#[derive(Debug)]
pub enum CpuError {
    /// This is not a number of threads.
    Threads(String),
    /// The instruction set asked for is not there.
    Isa(IsaError),
    /// The system would not start the threads.
    Start {
        /// How many were asked for.
        threads: usize,
        /// Its answer.
        error: io::Error,
    },
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuError::Threads(found) => write!(
                f,
                "`{found}` is not a number of threads; set {THREADS} to a number from 1 to {MOST_THREADS}, or unset \
                 it for one per core"
            ),
            CpuError::Isa(error) => error.fmt(f),
            CpuError::Start { threads, error } => {
                write!(f, "cannot start {threads} threads: {error}; set {THREADS} to a smaller number")
            }
        }
    }
}

impl std::error::Error for CpuError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CpuError::Threads(_) => None,
            CpuError::Isa(error) => Some(error),
            CpuError::Start { error, .. } => Some(error),
        }
    }
}

/// The bytes of host elements.
fn bytes<T: number::Plain>(slice: &[T]) -> &[u8] {
    // SAFETY: a plain type has no padding.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// The bytes of host elements, to be written.
fn bytes_mut<T: number::Plain>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and every bit pattern is a value.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice)) }
}

/// Truth values, which are bytes in the memories.
fn truths(bytes: &[u8]) -> &[bool] {
    assert!(bytes.iter().all(|&byte| byte <= 1), "a truth value is 0 or 1");
    // SAFETY: a truth value is a byte that is 0 or 1, as these are.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Truth values, to be written.
fn truths_mut(bytes: &mut [u8]) -> &mut [bool] {
    assert!(bytes.iter().all(|&byte| byte <= 1), "a truth value is 0 or 1");
    // SAFETY: as above, and every truth value is a byte.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) }
}

impl Backend for Cpu {
    type Buffer = Buffer;
    type Kernel = Kernel;

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        dtype.bytes()
    }

    fn supports(&self, op: &Op) -> bool {
        ops::supports(op)
    }

    fn compile(&self, group: &Group) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new(ops::compile(group)?))
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        Buffer::with_bytes(bytes)
    }

    fn grow(&self, buffer: &mut Buffer, bytes: usize) -> Result<(), OutOfMemory> {
        buffer.grow(bytes)
    }

    fn rearrange(&self, buffer: &mut Buffer, bytes: usize, moves: &[Move]) -> Result<(), OutOfMemory> {
        let mut arranged = Buffer::with_bytes(bytes)?;
        for &Move { from, to, bytes } in moves {
            arranged.bytes_mut()[to..][..bytes].copy_from_slice(&buffer.bytes()[from..][..bytes]);
        }
        *buffer = arranged;
        Ok(())
    }

    fn share(&self, buffer: &Buffer) -> Buffer {
        buffer.share()
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut Buffer, offset: usize) {
        let mut put = |from: &[u8]| to.bytes_mut()[offset..][..from.len()].copy_from_slice(from);
        match from {
            HostSlice::Bool(from) => {
                let to = &mut to.bytes_mut()[offset..][..from.len()];
                to.iter_mut().zip(from).for_each(|(to, from)| *to = u8::from(*from));
            }
            HostSlice::I32(from) => put(bytes(from)),
            HostSlice::I64(from) => put(bytes(from)),
            HostSlice::F32(from) => put(bytes(from)),
            HostSlice::F64(from) => put(bytes(from)),
        }
    }

    fn download(&self, from: &Buffer, offset: usize, to: HostSliceMut<'_>) {
        let get = |to: &mut [u8]| to.copy_from_slice(&from.bytes()[offset..][..to.len()]);
        match to {
            HostSliceMut::Bool(to) => {
                let from = &from.bytes()[offset..][..to.len()];
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from != 0);
            }
            HostSliceMut::I32(to) => get(bytes_mut(to)),
            HostSliceMut::I64(to) => get(bytes_mut(to)),
            HostSliceMut::F32(to) => get(bytes_mut(to)),
            HostSliceMut::F64(to) => get(bytes_mut(to)),
        }
    }

    fn reserve(&self, kernel: &Kernel, sizes: &[usize]) -> Result<(), OutOfMemory> {
        kernel.reserve(sizes)
    }

    fn launch(&self, kernel: &Kernel, launch: Launch<'_>, buffers: &mut [Buffer]) -> Result<(), KernelError> {
        kernel.launch(&self.machine, launch, buffers)
    }

    fn test(&self, at: Location, buffers: &[Buffer]) -> bool {
        buffers[at.memory as usize].bytes()[at.offset] != 0
    }

    fn select(
        &self,
        mask: Location,
        rows: usize,
        yes: Location,
        no: Location,
        buffers: &mut [Buffer],
    ) -> usize {
        rows::select(Memories::new(buffers), mask, rows, yes, no)
    }

    fn gather(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [Buffer]) {
        rows::gather(&self.machine.team, Memories::new(buffers), rows, from, index, to);
    }

    fn scatter(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [Buffer]) {
        rows::scatter(&self.machine.team, Memories::new(buffers), rows, from, index, to);
    }

    fn add_rows(
        &self,
        rows: Rows,
        dtype: DType,
        from: Location,
        index: Location,
        to: Location,
        buffers: &mut [Buffer],
    ) {
        accumulate::add_rows(&self.machine, rows, dtype, from, index, to, Memories::new(buffers));
    }

    fn compact(&self, rows: Rows, index: Location, at: Location, buffers: &mut [Buffer]) {
        rows::compact(Memories::new(buffers), rows, index, at);
    }

    fn number(&self, count: usize, to: Location, buffers: &mut [Buffer]) {
        rows::number(Memories::new(buffers), count, to);
    }

    fn order(
        &self,
        sequences: usize,
        offsets: Location,
        order: Location,
        steps: Location,
        counts: &mut Vec<usize>,
        buffers: &mut [Buffer],
    ) -> Result<(), OutOfMemory> {
        sequences::order(Memories::new(buffers), sequences, offsets, order, steps, counts)
    }

    fn take_sequences(
        &self,
        sequences: usize,
        offsets: Location,
        index: Location,
        to: Location,
        tokens: Location,
        buffers: &mut [Buffer],
    ) -> usize {
        sequences::take(Memories::new(buffers), sequences, offsets, index, to, tokens)
    }

    fn rebase(&self, count: usize, from: Location, to: Location, buffers: &mut [Buffer]) {
        sequences::rebase(Memories::new(buffers), count, from, to);
    }

    fn collect(
        &self,
        rows: usize,
        tokens: usize,
        rounds: Location,
        offsets: Location,
        buffers: &mut [Buffer],
    ) {
        sequences::collect(Memories::new(buffers), rows, tokens, rounds, offsets);
    }

    fn copy(&self, bytes: usize, from: Location, to: Location, buffers: &mut [Buffer]) {
        let memories = Memories::new(buffers);
        let (from, to) = (memories.address(from, bytes, 1), memories.writable(to, bytes, 1));
        // SAFETY: both are inside their memories, which are borrowed exclusively.
        unsafe { from.copy_to(to, bytes) };
    }

    fn zero(&self, elements: Elements, at: Location, buffers: &mut [Buffer]) {
        let bytes = elements.count.saturating_mul(elements.dtype.bytes());
        buffers[at.memory as usize].bytes_mut()[at.offset..][..bytes].fill(0);
    }

    fn add(&self, elements: Elements, from: Location, to: Location, buffers: &mut [Buffer]) {
        accumulate::add(&self.machine, elements, from, to, Memories::new(buffers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_a_number_of_threads() {
        assert!(threads(None).unwrap() >= 1);
        assert_eq!(threads(Some(" 3 ".into())).unwrap(), 3);
        for nonsense in ["", "many", "-1", "1.5", "99999999999999999999"] {
            let error = threads(Some(nonsense.into())).unwrap_err();
            assert!(matches!(&error, CpuError::Threads(found) if found == nonsense), "{error:?}");
        }
    }
}
