//! From programs to runs: `Program → Plan → run`.
//!
//! A program is planned once for a backend: operators that a run needs are fused into groups and
//! compiled, values get slots with lifetimes, blocks become lists of instructions. For each capacity of the symbolic
//! sizes the slots are laid out in memory once. A run goes through the instructions; it looks nothing up by name and
//! allocates nothing.

mod backend;
mod code;
mod error;
mod executor;
mod facts;
mod fuse;
mod layout;
mod live;
mod loops;
mod lower;
mod machine;
mod numbers;
mod offsets;
mod schedule;
mod show;
mod stats;
mod storage;
mod tape;

pub use crate::memory::OutOfMemory;
pub use backend::{
    ALIGNMENT, Backend, Body, Extent, Fault, Group, GroupOp, HostSlice, HostSliceMut, KernelError, Launch,
    Layout, Location, Memories, Memory, Move, OWN_MEMORIES, Operand, OperandType, Piece, Side, Token,
    Unsupported, Values,
};
pub use error::{PlanError, RunError};
pub use executor::{Executor, Feed, Part};
pub use numbers::{Numbers, not_finite};
pub use offsets::{OffsetsError, check_levels, check_offsets};
pub use stats::{ProductStats, RunStats};
pub use storage::{
    Buffers, Storage, StorageError, Stored, StoredValues, initialize, initialize_states, side_of, state_name,
    stored_name,
};
