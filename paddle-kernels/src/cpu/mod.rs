//! The CPU backend.
#![allow(unsafe_code, reason = "sees elements as bytes")]

mod along_axis;
#[cfg(target_arch = "x86_64")]
mod amx;
mod broadcast;
mod candidates;
mod channels;
mod epilogue;
mod fold;
mod id_checks;
mod images;
pub mod isa;
mod kernel;
mod math;
mod matmul;
mod moves;
pub mod multiplier;
mod number;
mod operands;
mod ops;
mod pairs;
mod pieces;
mod real;
mod scratch;
mod sequence_pieces;
mod shared;
mod stack;
mod sum;
mod together;
mod transpose;
mod vector;
mod view;

use std::ffi::OsString;
use std::sync::Arc;
use std::{env, fmt, io, thread};

use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Body, Fault, Group, HostSlice, HostSliceMut, Launch, Layout, Location, Memories, OutOfMemory,
    Piece, Precision, Takes, Token, Unsupported,
};
use paddle_core::program::DType;

use crate::memory::Buffer;
use crate::queue::Queue;
use crate::team::Team;
use isa::{Isa, IsaError};
pub use kernel::Kernel;
use kernel::Machine;
use multiplier::{Multiplier, MultiplierError};

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
    /// A CPU with the number of threads in `PADDLE_THREADS`, or else one for each core that this process may use; with
    /// the instruction set in `PADDLE_ISA`, and the multiplier of matrices in `PADDLE_MATMUL`, or else the best.
    pub fn new() -> Result<Cpu, CpuError> {
        Cpu::with_threads(threads(env::var_os(THREADS))?)
    }

    /// A CPU with this many threads, the calling one included; with the instruction set in `PADDLE_ISA`, and the
    /// multiplier of matrices in `PADDLE_MATMUL`, or else the best.
    pub fn with_threads(threads: usize) -> Result<Cpu, CpuError> {
        Cpu::with_isa(threads, Isa::from_environment().map_err(CpuError::Isa)?)
    }

    /// A CPU with this many threads and this instruction set, and with the multiplier of matrices in `PADDLE_MATMUL`,
    /// or else the best for the set.
    pub fn with_isa(threads: usize, isa: Isa) -> Result<Cpu, CpuError> {
        let multiplier = Multiplier::from_environment(isa).map_err(CpuError::Multiplier)?;
        Cpu::with_multiplier(threads, isa, multiplier)
    }

    /// A CPU with this many threads, this instruction set and this multiplier of matrices.
    pub fn with_multiplier(threads: usize, isa: Isa, multiplier: Multiplier) -> Result<Cpu, CpuError> {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(CpuError::Threads(threads.to_string()));
        }
        let team = Team::new(threads).map_err(|error| CpuError::Start { threads, error })?;
        Ok(Cpu { machine: Arc::new(Machine { team, isa, multiplier }) })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.machine.team.threads()
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.machine.isa
    }

    /// What multiplies matrices.
    pub fn multiplier(&self) -> Multiplier {
        self.machine.multiplier
    }
}

/// The number of threads that the variable asks for.
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

/// The error of a CPU that cannot be used as asked for.
#[derive(Debug)]
pub enum CpuError {
    /// The text is not a number of threads.
    Threads(String),
    /// The machine lacks the instruction set, or there is none of this name.
    Isa(IsaError),
    /// Nothing that multiplies matrices has this name.
    Multiplier(MultiplierError),
    /// The system did not start the threads.
    Start {
        /// The number of threads that were asked for.
        threads: usize,
        /// The error of the system.
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
            CpuError::Multiplier(error) => error.fmt(f),
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
            CpuError::Multiplier(error) => Some(error),
            CpuError::Start { error, .. } => Some(error),
        }
    }
}

/// The bytes of host elements.
fn bytes<T: number::Plain>(slice: &[T]) -> &[u8] {
    // SAFETY: a plain type has no padding.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// The bytes of host elements, for writing.
fn bytes_mut<T: number::Plain>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and every bit pattern is a value.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice)) }
}

/// Bytes of a memory as truth values.
fn truths(bytes: &[u8]) -> &[bool] {
    assert!(bytes.iter().all(|&byte| byte <= 1), "a truth value is 0 or 1");
    // SAFETY: a truth value is a byte that is 0 or 1, as these are.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Bytes of a memory as truth values, for writing.
fn truths_mut(bytes: &mut [u8]) -> &mut [bool] {
    assert!(bytes.iter().all(|&byte| byte <= 1), "a truth value is 0 or 1");
    // SAFETY: as above, and every truth value is a byte.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) }
}

impl Backend for Cpu {
    type Buffer = Buffer;
    type Kernel = Kernel;
    type Queue = Queue<u8>;
    type Fallback = Cpu;

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        dtype.bytes()
    }

    fn supports(&self, op: &Op, _: &[DType]) -> bool {
        ops::supports(op)
    }

    fn fuses(&self, body: &Op) -> bool {
        ops::finishes(body)
    }

    fn gathers(&self, update: &Op) -> bool {
        ops::gathers(update)
    }

    fn computes_in(&self, _: Precision) -> bool {
        true
    }

    fn prefers(&self, op: &Op) -> Option<Layout> {
        ops::prefers_channels_last(op).then(Layout::channels_last)
    }

    fn takes(&self, op: &Op, operand: usize, layout: &Layout) -> Takes {
        if *layout == Layout::channels_last() {
            ops::takes_channels_last(op, operand)
        } else {
            Takes::RowMajor
        }
    }

    fn compile(&self, group: &Group) -> Result<Kernel, Unsupported> {
        if group.types().any(|ty| !ty.layout.is_row_major() && ty.layout != Layout::channels_last()) {
            return kernel::unsupported("operands in another layout than row-major order and channels last");
        }
        match group.body {
            Some(Body::Move(kind)) => moves::compile(kind, group).map(Kernel::new),
            Some(Body::Updates(_)) => ops::compile_updates(group),
            Some(Body::Operator(_)) | None => ops::compile(group),
        }
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        Buffer::with_bytes(bytes)
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
        copy_out(&from.bytes()[offset..][..to.len() * to.dtype().bytes()], to);
    }

    fn duplicate(&self, buffer: &Buffer) -> Result<Buffer, OutOfMemory> {
        let mut other = Buffer::with_bytes(buffer.len())?;
        other.bytes_mut().copy_from_slice(buffer.bytes());
        Ok(other)
    }

    fn queue(&self) -> Result<Queue<u8>, OutOfMemory> {
        Ok(Queue::default())
    }

    fn rearrange(
        &self,
        _: &mut Queue<u8>,
        buffer: &mut Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        let mut arranged = Buffer::with_bytes(bytes)?;
        for &Piece { from, to, bytes } in pieces {
            arranged.bytes_mut()[to..][..bytes].copy_from_slice(&buffer.bytes()[from..][..bytes]);
        }
        *buffer = arranged;
        Ok(())
    }

    fn reserve(&self, kernel: &Kernel, sizes: &[usize]) -> Result<(), OutOfMemory> {
        kernel.reserve(sizes)
    }

    fn launch(
        &self,
        queue: &mut Queue<u8>,
        kernel: &Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) {
        queue.run(launch.number, || kernel.launch(&self.machine, launch, memories));
    }

    fn read(
        &self,
        queue: &mut Queue<u8>,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Buffer>,
    ) -> Token {
        // Behind a fault the memory may hold anything.
        if queue.has_failed() {
            return queue.read(&[]);
        }
        queue.read(&memories.get(at.memory).bytes()[at.offset..][..count * dtype.bytes()])
    }

    fn write(
        &self,
        queue: &mut Queue<u8>,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Buffer>,
    ) {
        if !queue.has_failed() {
            let buffer = memories.get_mut(to.memory).expect("memory is written that others read");
            self.upload(from, buffer, to.offset);
        }
    }

    fn wait(&self, queue: &mut Queue<u8>, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        queue.wait(token, |from| copy_out(from, to))
    }

    fn finish(&self, queue: &mut Queue<u8>) -> Result<(), Fault> {
        queue.finish()
    }
}

/// Copies elements to the host.
fn copy_out(from: &[u8], to: HostSliceMut<'_>) {
    let get = |to: &mut [u8]| to.copy_from_slice(&from[..to.len()]);
    match to {
        HostSliceMut::Bool(to) => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from != 0),
        HostSliceMut::I32(to) => get(bytes_mut(to)),
        HostSliceMut::I64(to) => get(bytes_mut(to)),
        HostSliceMut::F32(to) => get(bytes_mut(to)),
        HostSliceMut::F64(to) => get(bytes_mut(to)),
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
