//! Compiled groups of operators.

use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{Group, GroupOp, KernelError, Launch, Memories, Operand, Precision, Unsupported};

use super::epilogue::Epilogue;
use super::isa::Isa;
use super::multiplier::Multiplier;
use super::operands::{Operands, Signature, Slot};
use super::ops::elementwise::Program;
use crate::memory::Buffer;
use crate::team::Team;

/// The threads and the instruction set on which kernels run, and what multiplies matrices.
pub(super) struct Machine {
    pub(super) team: Team,
    pub(super) isa: Isa,
    pub(super) multiplier: Multiplier,
}

/// The arithmetic of a kernel.
pub(super) trait Body: Send + Sync {
    /// See [`Backend::reserve`](paddle_core::plan::Backend::reserve).
    fn reserve(&self, _signature: &Signature, _sizes: &[usize]) -> Result<(), OutOfMemory> {
        Ok(())
    }

    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError>;

    /// The work of a launch as shares, if threads may take them in any order, together with those of other kernels.
    fn shares(&self) -> Option<&dyn Shares> {
        None
    }
}

/// The shares of a kernel that changes its operands.
pub(super) trait Shares: Sync {
    /// The number of shares, and the number of elements in each.
    fn count(&self, operands: Operands<'_>) -> [usize; 2];

    /// Works off one share.
    ///
    /// # Safety
    /// Each share is worked off once, and nothing else uses the operands meanwhile.
    #[allow(unsafe_code, reason = "shares change parts of the same operands")]
    unsafe fn share(&self, machine: &Machine, operands: Operands<'_>, share: usize);

    /// Changes what all shares have read.
    fn finish(&self, operands: Operands<'_>);
}

/// The operands of a kernel, and its arithmetic.
pub(super) type Compiled = (Signature, Box<dyn Body>);

/// A compiled group.
pub struct Kernel {
    signature: Signature,
    body: Box<dyn Body>,
    epilogue: Option<Box<Epilogue>>,
}

impl Kernel {
    pub(super) fn new((signature, body): Compiled) -> Kernel {
        Kernel { signature, body, epilogue: None }
    }

    /// A kernel with an epilogue.
    pub(super) fn with_epilogue((signature, body): Compiled, chain: (Signature, Program)) -> Kernel {
        let epilogue = Some(Box::new(Epilogue::new(chain, &signature)));
        Kernel { signature, body, epilogue }
    }

    pub(super) fn reserve(&self, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.body.reserve(&self.signature, sizes)
    }

    pub(super) fn launch(
        &self,
        machine: &Machine,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) -> Result<(), KernelError> {
        match &self.epilogue {
            None => self.body.launch(machine, Operands::new(&self.signature, &launch, memories)),
            Some(epilogue) => epilogue.launch(machine, launch, memories, |operands| {
                self.body.launch(machine, operands.of(&self.signature))
            }),
        }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("signature", &self.signature).finish_non_exhaustive()
    }
}

/// The error of a group that the backend has no kernel for.
pub(super) fn unsupported<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported { message: format!("the cpu backend has no kernel for {what}") })
}

/// A group of one operator.
pub(super) struct Single<'a> {
    group: &'a Group,
    op: &'a GroupOp,
}

impl<'a> Single<'a> {
    /// The single operator of a group.
    pub(super) fn new(group: &'a Group, op: &'a GroupOp) -> Self {
        Single { group, op }
    }

    pub(super) fn group(&self) -> &'a Group {
        self.group
    }

    /// The operand of input slot `k`.
    pub(super) fn input(&self, k: usize) -> Result<Slot, Unsupported> {
        self.slot(self.op.inputs.get(k))
    }

    /// The operand of output slot `k`.
    pub(super) fn output(&self, k: usize) -> Result<Slot, Unsupported> {
        self.slot(self.op.outputs.get(k))
    }

    /// The operands of all input slots.
    pub(super) fn inputs(&self) -> Result<Vec<Slot>, Unsupported> {
        (0..self.op.inputs.len()).map(|k| self.input(k)).collect()
    }

    /// The operands of all output slots.
    pub(super) fn outputs(&self) -> Result<Vec<Slot>, Unsupported> {
        (0..self.op.outputs.len()).map(|k| self.output(k)).collect()
    }

    fn slot(&self, operand: Option<&'a Operand>) -> Result<Slot, Unsupported> {
        let Group { inputs, outputs, .. } = self.group;
        match operand {
            Some(&Operand::Input(i)) => Ok((i, inputs[i].clone())),
            Some(&Operand::Output(o)) => Ok((inputs.len() + o, outputs[o].clone())),
            Some(Operand::Temporary(_)) | None => self.refuse("with a value that is nowhere"),
        }
    }

    /// Whether the operand is a constant of the group.
    pub(super) fn is_constant(&self, slot: &Slot) -> bool {
        self.group.constants.contains(&slot.0)
    }

    /// The precision in which the operator computes products.
    pub(super) fn precision(&self) -> Precision {
        self.group.precision
    }

    /// The identity of the operator's stream of random numbers.
    pub(super) fn random_stream(&self) -> u64 {
        self.group.random_stream
    }

    /// The signature of an operator whose outputs overlap no other operand.
    pub(super) fn signature<const R: usize, const W: usize>(
        &self,
        reads: [Slot; R],
        writes: [Slot; W],
    ) -> Signature {
        Signature { reads: reads.into(), writes: writes.into(), in_place: false }
    }

    /// The error for a case of the operator that has no kernel.
    pub(super) fn refuse<T>(&self, case: &str) -> Result<T, Unsupported> {
        unsupported(&format!("`{}` {case}", self.op.op.name()))
    }
}

/// Runs an expression with `$T` as the type of an operand's elements.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            paddle_core::program::DType::Bool => {
                type $T = u8;
                $body
            }
            paddle_core::program::DType::I32 => {
                type $T = i32;
                $body
            }
            paddle_core::program::DType::I64 => {
                type $T = i64;
                $body
            }
            paddle_core::program::DType::F32 => {
                type $T = f32;
                $body
            }
            paddle_core::program::DType::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use with_element;

/// Runs an expression with `$T` as the type of an operand's numbers.
macro_rules! with_number {
    ($single:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            paddle_core::program::DType::I32 => {
                type $T = i32;
                $body
            }
            paddle_core::program::DType::I64 => {
                type $T = i64;
                $body
            }
            paddle_core::program::DType::F32 => {
                type $T = f32;
                $body
            }
            paddle_core::program::DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => return $single.refuse(&format!("of {dtype}")),
        }
    };
}
pub(super) use with_number;

/// Runs an expression with `$T` as the floating-point type of an operand.
macro_rules! with_float {
    ($single:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            paddle_core::program::DType::F32 => {
                type $T = f32;
                $body
            }
            paddle_core::program::DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => return $single.refuse(&format!("of {dtype}")),
        }
    };
}
pub(super) use with_float;
