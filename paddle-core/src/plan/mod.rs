//! From programs to runs: `Program → Plan → run`.

mod backend;

pub use backend::{
    ALIGNMENT, Backend, Elements, Extent, Group, GroupOp, HostSlice, HostSliceMut, KernelError, Launch,
    Layout, Location, Memory, Operand, OutOfMemory, Rows, Unsupported,
};
