//! The tape: a lane for every slot whose size, or whose number of instances, is known only as loops and operators
//! run.
//!
//! There are three kinds of lanes. A value that a loop saves for its gradient has one instance for each iteration,
//! one behind the other; the gradient goes back over them. A value that a loop collects grows by the rows of each
//! iteration. The tokens of a made sequence are known when its operator has run. Lanes have room for a number of
//! iterations at the largest sizes. If that is not enough, the lanes are laid out anew, with more room.

use super::backend::{ALIGNMENT, Backend, Extent, Piece, Side};
use super::code::{LaneId, LoopId, Plan, SlotId};
use super::error::RunError;
use super::layout::count_bytes;
use crate::program::{Dim, SymbolId};

/// The places of the lanes, and how far they are written. Its vectors have the lengths of the plan's.
#[derive(Debug, Default)]
pub(super) struct Tape {
    /// The side whose lanes are on this tape.
    side: Side,
    /// The number of these lanes.
    lanes: usize,
    /// The first byte of each lane.
    base: Vec<usize>,
    /// The bytes of each lane.
    room: Vec<usize>,
    /// The bytes of the complete instances in each lane.
    cursor: Vec<usize>,
    /// For each loop, the iterations that one run of it has room for.
    iterations: Vec<usize>,
    /// For each made sequence, the tokens that there is room for.
    made: Vec<usize>,
    /// The largest value of each symbol, for which lanes have room.
    largest: Vec<usize>,
    /// The bytes of the buffer.
    length: usize,
    pieces: Vec<Piece>,
    /// The base and the room of each lane in the next arrangement. It takes effect once there is memory for it.
    next: Vec<(usize, usize)>,
}

/// The memory of a tape, and the backend and the queue that lay it out anew.
pub(super) struct Device<'a, B: Backend> {
    pub(super) backend: &'a B,
    pub(super) queue: &'a mut B::Queue,
    pub(super) buffer: &'a mut B::Buffer,
}

/// Whether an arrangement has more room than is needed now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spare {
    Some,
    None,
}

/// What the memory of the tape is for, in errors.
const PURPOSE: &str = "what loops keep of their iterations";

fn too_large() -> RunError {
    RunError::TooLarge { value: PURPOSE.to_string() }
}

impl Tape {
    pub(super) fn new<K>(plan: &Plan<K>, side: Side) -> Self {
        let lanes = vec![0; plan.lanes.len()];
        Tape {
            side,
            lanes: plan.lanes.iter().filter(|lane| lane.side == side).count(),
            base: lanes.clone(),
            room: lanes.clone(),
            cursor: lanes,
            iterations: vec![1; plan.loops.len()],
            made: vec![0; plan.made.len()],
            ..Tape::default()
        }
    }

    /// Lays the tape out for a run at these capacities.
    pub(super) fn begin<B: Backend, K>(
        &mut self,
        backend: &B,
        plan: &Plan<K>,
        capacities: &[usize],
        buffer: &mut B::Buffer,
    ) -> Result<(), RunError> {
        self.cursor.fill(0);
        if self.lanes == 0 {
            return Ok(());
        }
        self.largest.clear();
        self.largest.extend_from_slice(capacities);
        let end = self.lay(plan, Spare::Some)?;
        if end > self.length {
            // Nothing on the tape is needed any more, so its memory is freed before more is allocated.
            self.length = 0;
            *buffer = backend.allocate(0)?;
            *buffer = backend.allocate(end).map_err(|error| error.wanted_for(PURPOSE))?;
            self.length = end;
        }
        self.take_places();
        Ok(())
    }

    /// Forgets how long loops and sequences were. The next run begins with room for the shortest.
    pub(super) fn forget(&mut self) {
        self.iterations.fill(1);
        self.made.fill(0);
    }

    /// The byte at which the current instance of a lane begins.
    pub(super) fn at(&self, lane: LaneId) -> usize {
        self.base[lane.0] + self.cursor[lane.0]
    }

    /// The bytes of a lane.
    pub(super) fn room(&self, lane: LaneId) -> usize {
        self.room[lane.0]
    }

    /// Makes sure that there is room for this many iterations of a loop.
    pub(super) fn reserve<B: Backend, K>(
        &mut self,
        device: &mut Device<'_, B>,
        plan: &Plan<K>,
        id: LoopId,
        iterations: usize,
    ) -> Result<(), RunError> {
        let known = self.iterations[id.0];
        if iterations <= known {
            return Ok(());
        }
        self.iterations[id.0] = iterations.max(known + known / 2);
        if self.lanes == 0 || self.grow(device, plan, Spare::Some).is_ok() {
            return Ok(());
        }
        self.iterations[id.0] = iterations;
        self.grow(device, plan, Spare::None).inspect_err(|_| self.iterations[id.0] = known)
    }

    /// Makes sure that there is room for this many tokens of a made sequence.
    pub(super) fn reserve_tokens<B: Backend, K>(
        &mut self,
        device: &mut Device<'_, B>,
        plan: &Plan<K>,
        made: usize,
        tokens: usize,
    ) -> Result<(), RunError> {
        let size = plan.made[made].size;
        if self.lanes == 0 || tokens <= self.largest[size.0 as usize] {
            return Ok(());
        }
        let known = self.made[made];
        self.made[made] = tokens.max(known + known / 2);
        if self.grow(device, plan, Spare::Some).is_ok() {
            return Ok(());
        }
        self.made[made] = tokens;
        self.grow(device, plan, Spare::None).inspect_err(|_| self.made[made] = known)
    }

    /// Goes on to the next instance in each lane of a loop.
    pub(super) fn push<K>(&mut self, plan: &Plan<K>, id: LoopId, sizes: &[usize]) {
        for &lane in &plan.loops[id.0].lanes {
            self.cursor[lane.0] += instance(plan, plan.lanes[lane.0].slot, sizes);
        }
    }

    /// Goes back to the instance before in each lane of a loop. That instance has these sizes.
    pub(super) fn pop<K>(&mut self, plan: &Plan<K>, id: LoopId, sizes: &[usize]) {
        for &lane in &plan.loops[id.0].lanes {
            let at = &mut self.cursor[lane.0];
            *at = at.saturating_sub(instance(plan, plan.lanes[lane.0].slot, sizes));
        }
    }

    /// The number of instances that a lane has room for: the product of the iterations of the loop and of the
    /// recorded loops around it.
    fn instances<K>(&self, plan: &Plan<K>, around: Option<LoopId>) -> Option<usize> {
        let mut product = 1usize;
        let mut at = around;
        while let Some(id) = at {
            product = product.checked_mul(self.iterations[id.0])?;
            at = plan.loops[id.0].around;
        }
        Some(product)
    }

    /// Lays the lanes out anew, and moves their contents.
    fn grow<B: Backend, K>(
        &mut self,
        device: &mut Device<'_, B>,
        plan: &Plan<K>,
        spare: Spare,
    ) -> Result<(), RunError> {
        let end = self.lay(plan, spare)?;
        self.pieces.clear();
        for ((&from, &room), &(to, next)) in self.base.iter().zip(&self.room).zip(&self.next) {
            self.pieces.push(Piece { from, to, bytes: room.min(next) });
        }
        self.take(device, end.max(self.length))?;
        self.take_places();
        Ok(())
    }

    /// Gives the buffer this length, and moves the pieces.
    fn take<B: Backend>(&mut self, device: &mut Device<'_, B>, length: usize) -> Result<(), RunError> {
        let taken = device.backend.rearrange(device.queue, device.buffer, length, &self.pieces);
        taken.map_err(|error| error.wanted_for(PURPOSE))?;
        self.length = length;
        Ok(())
    }

    fn take_places(&mut self) {
        let places = self.base.iter_mut().zip(&mut self.room).zip(&self.next);
        places.for_each(|((base, room), next)| (*base, *room) = *next);
    }

    /// Finds places for the lanes, one behind the other. Returns the end of the last.
    fn lay<K>(&mut self, plan: &Plan<K>, spare: Spare) -> Result<usize, RunError> {
        // A grown size depends only on symbols in front of it.
        for at in 0..self.largest.len() {
            let symbol = SymbolId(at as u32);
            if let Some(grown) = plan.grown.iter().find(|grown| grown.sizes.contains(&symbol)) {
                let rows = self.largest[grown.rows.0 as usize];
                self.largest[at] = rows.checked_mul(self.iterations[grown.around.0]).ok_or_else(too_large)?;
            } else if let Some(made) = plan.made.iter().position(|made| made.size == symbol) {
                let value = |symbol: SymbolId| i64::try_from(self.largest[symbol.0 as usize]).ok();
                let bounds = plan.made[made].upper_bounds.iter();
                let most = bounds.filter_map(|bound| usize::try_from(bound.evaluate(&value)?).ok()).min();
                // An upper bound may be much too large, so the spare room is at most four times the tokens needed so
                // far.
                let seen = self.made[made];
                let ahead = if spare == Spare::Some { seen.saturating_mul(4) } else { seen };
                self.largest[at] = most.map_or(seen, |most| most.min(ahead).max(seen));
            } else if let Some(bound) = plan.bounds[at] {
                self.largest[at] = self.largest[bound.0 as usize];
            }
        }
        let mut end = 0usize;
        self.next.clear();
        for lane in &plan.lanes {
            if lane.side != self.side {
                self.next.push((end, 0));
                continue;
            }
            let bytes = self.largest_instance(plan, lane.slot).ok_or_else(too_large)?;
            let instances = self.instances(plan, lane.around).ok_or_else(too_large)?;
            let room = bytes.checked_mul(instances).ok_or_else(too_large)?;
            self.next.push((end, room));
            end = end.checked_add(room).filter(|&end| end <= isize::MAX as usize).ok_or_else(too_large)?;
        }
        Ok(end)
    }

    /// The bytes of a slot at the largest sizes.
    fn largest_instance<K>(&self, plan: &Plan<K>, slot: SlotId) -> Option<usize> {
        let value = |symbol: SymbolId| i64::try_from(self.largest[symbol.0 as usize]).ok();
        count_bytes(&plan.slots[slot.0], |extent| match extent {
            Extent::Fixed(size) => Some(*size),
            Extent::Bound(at) => {
                let dim: &Dim = &plan.extents[*at];
                // What depends on a size that a run computes may be less than nothing before it.
                dim.evaluate(&value).and_then(|size| usize::try_from(size.max(0)).ok())
            }
        })
    }
}

/// The bytes of an instance of a slot at these sizes. Its lane has room for them.
fn instance<K>(plan: &Plan<K>, slot: SlotId, sizes: &[usize]) -> usize {
    let slot = &plan.slots[slot.0];
    let bytes =
        slot.shape.iter().fold(slot.element_bytes, |bytes, extent| bytes.saturating_mul(extent.get(sizes)));
    bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)
}
