//! Layout: places the slots in memory, for given capacities.
//!
//! A capacity is the size of a symbol, rounded up on a ladder in all layouts but the first, so that batches of different
//! sizes share a layout.
//! Slots of the arena share memory if their lifetimes do not overlap.

use super::backend::{ALIGNMENT, Extent, Location, Memory};
use super::code::{Home, Plan, Slot, SlotId};
use super::error::RunError;

/// The places of all slots.
#[derive(Clone, Debug)]
pub(super) struct MemoryLayout {
    /// The first byte of each slot in its memory; 0 for slots on the tape, whose places the tape knows.
    pub(super) offsets: Vec<usize>,
    /// The bytes that each slot has room for.
    pub(super) room: Vec<usize>,
    /// Bytes of the arena.
    pub(super) arena: usize,
    /// Bytes of the pool.
    pub(super) pool: usize,
    /// Bytes of the prepared values. Their places are the same in all layouts of a plan, as their sizes are fixed.
    pub(super) prepared: usize,
    /// Bytes of the memory on the fallback.
    pub(super) staging: usize,
    /// The capacity of each symbol.
    pub(super) capacities: Vec<usize>,
}

/// A step in which addresses look alike to the processor: it compares the places of loads and stores within it, and a
/// set of the first-level cache holds lines that are whole steps apart.
const PAGE: usize = 4096;

/// The distance from one value to the next: behind one of whole pages there is some room, so that the next does not begin at the
/// same place of a page.
fn spaced(bytes: usize) -> usize {
    let is_whole = bytes > 0 && bytes.is_multiple_of(PAGE);
    bytes.saturating_add(if is_whole { 5 * ALIGNMENT } else { 0 })
}

/// Rounds a size up to the next rung of a ladder; each rung is 1.25 times the one below it.
pub(super) fn capacity(size: usize) -> usize {
    let mut rung: usize = 16;
    while rung < size {
        rung = rung.saturating_add(rung / 4);
    }
    rung
}

/// The bytes of a slot at these sizes; none if they overflow. The bytes of one row must not overflow either, even if
/// there are no rows.
pub(super) fn bytes(slot: &Slot, sizes: &[usize]) -> Option<usize> {
    count_bytes(slot, |extent| Some(extent.get(sizes)))
}

/// Like [`bytes`], with sizes from a function.
pub(super) fn count_bytes(slot: &Slot, size: impl Fn(&Extent) -> Option<usize>) -> Option<usize> {
    let mut extents = slot.shape.iter().rev();
    let bytes = extents.try_fold(slot.element_bytes, |bytes, extent| bytes.checked_mul(size(extent)?))?;
    bytes.checked_next_multiple_of(ALIGNMENT).filter(|&bytes| bytes <= isize::MAX as usize)
}

impl MemoryLayout {
    /// Places the slots; `sizes` are the extents at the capacities.
    pub(super) fn new<K>(plan: &Plan<K>, capacities: &[usize], sizes: &[usize]) -> Result<Self, RunError> {
        let too_large = |slot: &Slot| RunError::TooLarge { value: slot.name.clone() };
        let mut room = Vec::with_capacity(plan.slots.len());
        for slot in &plan.slots {
            room.push(if slot.home.is_placed() {
                bytes(slot, sizes).ok_or_else(|| too_large(slot))?
            } else {
                0
            });
        }
        let mut layout = MemoryLayout {
            offsets: vec![0; plan.slots.len()],
            room,
            arena: 0,
            pool: 0,
            prepared: 0,
            staging: 0,
            capacities: capacities.to_vec(),
        };
        let (mut shared, mut staged) = (Vec::new(), Vec::new());
        // The first free bytes of the pool and of the prepared values.
        let mut free = [0; 2];
        for (at, slot) in plan.slots.iter().enumerate() {
            let (free, end) = match slot.home {
                Home::Arena => {
                    shared.push(at);
                    continue;
                }
                Home::Staging => {
                    staged.push(at);
                    continue;
                }
                Home::Pool => (&mut free[0], &mut layout.pool),
                Home::Prepared => (&mut free[1], &mut layout.prepared),
                // A parameter or a state is at the beginning of its buffer.
                Home::Lane(..)
                | Home::View { .. }
                | Home::Iteration { .. }
                | Home::Parameter(..)
                | Home::State(..) => continue,
            };
            layout.offsets[at] = *free;
            *end = free.checked_add(layout.room[at]).ok_or_else(|| too_large(slot))?;
            *free = free.saturating_add(spaced(layout.room[at]));
        }
        layout.arena = layout.share(plan, shared)?;
        layout.staging = layout.share(plan, staged)?;
        Ok(layout)
    }

    /// Places the slots that share memory. The largest is placed first, each in the lowest gap between the slots that
    /// are alive at the same time. Returns the bytes that they need.
    fn share<K>(&mut self, plan: &Plan<K>, mut slots: Vec<usize>) -> Result<usize, RunError> {
        slots.sort_by_key(|&at| (std::cmp::Reverse(self.room[at]), at));
        // The slots placed so far, in the order of their offsets.
        let mut placed: Vec<usize> = Vec::with_capacity(slots.len());
        let mut bytes = 0;
        for at in slots {
            let (birth, death) = plan.slots[at].life;
            let overlaps = |other: usize| {
                let life = plan.slots[other].life;
                life.0 <= death && birth <= life.1
            };
            let mut offset: usize = 0;
            for other in placed.iter().copied().filter(|&other| overlaps(other)) {
                if self.offsets[other] >= offset.saturating_add(spaced(self.room[at])) {
                    break;
                }
                offset = offset.max(self.offsets[other].saturating_add(spaced(self.room[other])));
            }
            self.offsets[at] = offset;
            let end = offset.checked_add(self.room[at]).filter(|&end| end <= isize::MAX as usize);
            let end = end.ok_or_else(|| RunError::TooLarge { value: plan.slots[at].name.clone() })?;
            bytes = bytes.max(end);
            placed.insert(placed.partition_point(|&other| self.offsets[other] <= offset), at);
        }
        Ok(bytes)
    }

    /// The location of a slot. For a slot whose location changes during a run, this is not it.
    pub(super) fn location<K>(&self, plan: &Plan<K>, slot: SlotId) -> Location {
        let memory = match plan.slots[slot.0].home {
            Home::Arena | Home::Staging | Home::Iteration { .. } => Memory::Arena,
            Home::View { of, bytes } => {
                let Location { memory, offset } = self.location(plan, of);
                return Location { memory, offset: offset + bytes };
            }
            Home::Lane(..) => Memory::Tape,
            Home::Pool => Memory::Pool,
            Home::Prepared => Memory::Prepared,
            Home::Parameter(_, number) => Memory::Parameter(number),
            Home::State(_, number) => Memory::State(number),
        };
        Location { memory, offset: self.offsets[slot.0] }
    }

    /// Whether every slot has room for its actual size.
    pub(super) fn fits<K>(&self, plan: &Plan<K>, sizes: &[usize]) -> bool {
        plan.slots
            .iter()
            .zip(&self.room)
            .filter(|(slot, _)| slot.home.is_placed())
            .all(|(slot, &room)| bytes(slot, sizes).is_some_and(|bytes| bytes <= room))
    }

    /// What the memory is for, in errors.
    pub(super) fn needed_for<K>(&self, plan: &Plan<K>) -> String {
        let largest = self.room.iter().zip(&plan.slots).max_by_key(|(room, _)| **room);
        let largest = largest.map(|(room, slot)| format!(", of which `{}` takes {room}", slot.name));
        format!("the values of a run{}", largest.unwrap_or_default())
    }

    /// The bytes of all memories.
    pub(super) fn total(&self) -> usize {
        [self.pool, self.prepared, self.staging].into_iter().fold(self.arena, usize::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_whole_pages_begin_at_different_places_of_a_page() {
        assert_eq!([0, 1, 64, PAGE - 64, PAGE + 64].map(spaced), [0, 1, 64, PAGE - 64, PAGE + 64]);
        let places: Vec<usize> = (0..12).map(|value| value * spaced(3 * PAGE) % PAGE).collect();
        assert!((1..12).all(|value| !places[..value].contains(&places[value])), "{places:?}");
        assert!(places.iter().all(|place| place.is_multiple_of(ALIGNMENT)));
    }

    #[test]
    fn the_ladder_rises_by_a_quarter_and_never_overflows() {
        assert_eq!([0, 1, 16, 17, 20, 21].map(capacity), [16, 16, 16, 20, 20, 25]);
        for size in (0..100_000).step_by(37) {
            let rung = capacity(size);
            assert!(rung >= size && (size <= 16 || rung <= size + size / 4 + 1));
        }
        assert_eq!(capacity(usize::MAX), usize::MAX);
    }
}
