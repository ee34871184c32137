//! Planning and running: `Program → Plan → run`.
//!
//! A program is planned once for a backend. `live` finds the operators that a run needs. `arrange` chooses layouts. `fuse` and
//! `schedule` cut the operators into groups. `lower` compiles the groups, and turns blocks into instructions over slots; each slot has a
//! lifetime. `layout` places the slots in memory, once for each capacity of the symbolic sizes. `machine` then runs
//! the instructions. A run looks nothing up by name, and allocates nothing once it has seen the largest batch.
//!
//! [`Backend`] is the trait that a device implements.

mod arithmetic;
mod arrange;
mod backend;
mod code;
mod error;
mod exchange;
mod executor;
mod facts;
mod fuse;
mod gather;
mod launch;
mod layout;
mod live;
mod loops;
mod lower;
mod machine;
mod merging;
mod numbers;
mod offsets;
mod prepare;
mod profile;
mod schedule;
mod show;
mod stats;
mod storage;
mod tape;
mod views;
mod work;

pub use crate::memory::OutOfMemory;
pub use arithmetic::{Arithmetic, Precision, PrecisionError};
pub use backend::{
    ALIGNMENT, Backend, Body, Extent, Fault, Group, GroupOp, HostSlice, HostSliceMut, KernelError, Launch,
    Layout, Location, Memories, Memory, Move, OWN_MEMORIES, Operand, OperandType, Piece, Reach, Side, Takes,
    Token, Unsupported, Values,
};
pub use error::{PlanError, RunError};
pub use exchange::{Exchange, ExchangeError};
pub use executor::{Executor, Feed, Part};
pub use numbers::{Numbers, not_finite};
pub use offsets::{OffsetsError, check_levels, check_offsets};
pub use profile::{
    Clock, LaunchEvent, LaunchProfile, MemoryKind, MemoryProfile, PartEvent, PartKind, Peak, Peaks,
    PlanProfile, VariableMemory,
};
pub use stats::{ProductStats, RunStats};
pub use storage::{
    Buffers, Storage, StorageError, Stored, StoredValues, check_initializers, initialize, initialize_states,
    side_of, state_name, stored_name,
};
