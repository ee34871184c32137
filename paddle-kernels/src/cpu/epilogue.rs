//! Epilogues: chains of element-wise operators behind a kernel, which computes them of each part of its result as soon as that
//! part is final, while it is in the cache.

mod ending;

use std::ops::Range;

use paddle_core::plan::{Group, GroupOp, Launch, Memories, Operand, Unsupported};

pub(super) use self::ending::{Endings, InRegisters, Pattern, Stored};
use super::kernel::{Machine, unsupported};
use super::number::Float;
use super::operands::{Operands, Signature};
use super::ops::elementwise::{Program, Run};
use super::shared::Shared;
use crate::memory::Buffer;
use crate::team::Team;

/// A compiled epilogue.
#[derive(Debug)]
pub(super) struct Epilogue {
    chain: Program,
    /// The operands of the chain. The result of the body is among those that are written.
    signature: Signature,
    /// The operands of body and chain.
    all: Signature,
}

impl Epilogue {
    /// The epilogue of a group, whose body has these operands.
    pub(super) fn new((signature, chain): (Signature, Program), body: &Signature) -> Self {
        let mut all = Signature { in_place: false, ..body.clone() };
        let both = [(&mut all.reads, &signature.reads), (&mut all.writes, &signature.writes)];
        for (all, of_chain) in both {
            for slot in of_chain {
                if all.iter().all(|known| known.0 != slot.0) {
                    all.push(slot.clone());
                }
            }
        }
        Epilogue { chain, signature, all }
    }

    /// Launches a body with these operands, and the epilogue behind it.
    pub(super) fn launch<E>(
        &self,
        machine: &Machine,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
        body: impl FnOnce(Operands<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let all = Operands::new(&self.all, &launch, memories);
        let of_chain = all.of(&self.signature);
        let run = Run::new(&self.chain, machine, &of_chain);
        let behind = run.behind_ending();
        body(all.finished_by(Finish { run: Some(&run), behind_ending: behind.as_ref() }))
    }
}

/// An epilogue in a launch, or none.
#[derive(Clone, Copy, Default)]
pub(super) struct Finish<'a> {
    run: Option<&'a Run<'a>>,
    behind_ending: Option<&'a Run<'a>>,
}

impl<'a> Finish<'a> {
    /// The epilogue for a kernel that computes endings in registers: the ending, and what is left otherwise. The channels of
    /// the kernel's result are its fastest axis.
    pub(super) fn in_registers<T: Float>(self) -> (InRegisters<T>, Finish<'a>) {
        match self.run.and_then(Run::ending) {
            Some(ending) => (ending, Finish { run: self.behind_ending, behind_ending: None }),
            None => (InRegisters::NONE, self),
        }
    }

    /// Whether there is no epilogue.
    pub(super) fn is_none(self) -> bool {
        self.run.is_none()
    }

    /// Computes the epilogue of some elements of the result, counted in their order in memory. They are final, and no other
    /// thread uses them. `result` is where the first element of the result is.
    ///
    /// # Safety
    /// `result` is valid for reading and writing these elements.
    #[allow(unsafe_code, reason = "reads and writes the result through its pointer")]
    pub(super) unsafe fn part<T>(self, result: *mut T, part: Range<usize>) {
        if let Some(run) = self.run.filter(|_| !part.is_empty()) {
            // SAFETY: the caller's.
            unsafe { run.chunk(result.cast(), part) }
        }
    }

    /// Computes the epilogue of a piece of the result, which begins with element `first`.
    #[allow(unsafe_code, reason = "the piece is part of a result")]
    pub(super) fn piece<T>(self, piece: &mut [T], first: usize) {
        let result = piece.as_mut_ptr().wrapping_sub(first);
        // SAFETY: the elements are borrowed exclusively.
        unsafe { self.part(result, first..first + piece.len()) };
    }

    /// Computes the epilogue of the whole result.
    #[allow(unsafe_code, reason = "threads share the result")]
    pub(super) fn all<T: Sync>(self, team: &Team, result: &mut [T]) {
        let Some(run) = self.run else { return };
        let (count, result) = (result.len(), Shared(result.as_mut_ptr()));
        run.in_chunks(team, count, &|part| {
            // SAFETY: the elements are borrowed exclusively, and parts do not overlap.
            unsafe { run.chunk(result.at(0).cast(), part) }
        });
    }
}

/// The body of a group with an epilogue, as a group of its own. Its result is where the epilogue writes: returns the index of
/// that output, too.
pub(super) fn body_of(group: &Group, body: &GroupOp) -> Result<(Group, GroupOp, usize), Unsupported> {
    let Some(first) = body.outputs.first() else { return unsupported("an epilogue behind no result") };
    let landing = match first {
        Operand::Output(o) => Some(*o),
        _ => {
            let mut written = group.epilogue.iter().rev().flat_map(|op| &op.outputs);
            written.find_map(|operand| match operand {
                Operand::Output(o) if group.ty(*operand) == group.ty(*first) => Some(*o),
                _ => None,
            })
        }
    };
    let Some(landing) = landing else {
        return unsupported("an epilogue without a result of the body's type");
    };
    let mut op = body.clone();
    op.outputs[0] = Operand::Output(landing);
    let group = Group { epilogue: Vec::new(), ..group.clone() };
    Ok((group, op, landing))
}
