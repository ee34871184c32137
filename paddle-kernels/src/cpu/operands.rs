//! The operands of a launch: addresses in the memories, checked before anything is touched.
//!
//! Where operands are is decided by the runtime's plan. A place outside of its memory, or an output on top of
//! something else, is a mistake of the plan that no user can make: it panics.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use paddle_core::plan::{self, ALIGNMENT, Launch, Location, OperandType};

use super::number::{Element, Plain};
use crate::memory::{self, Buffer};

const _: () = assert!(ALIGNMENT <= memory::ALIGNMENT && size_of::<f64>() <= ALIGNMENT);

/// The memories of a run, borrowed exclusively but for parameters that are only read.
#[derive(Clone, Copy)]
pub(super) struct Memories<'a>(&'a plan::Memories<'a, Buffer>);

impl<'a> Memories<'a> {
    pub(super) fn new(memories: &'a mut plan::Memories<'_, Buffer>) -> Self {
        Memories(memories)
    }

    /// The address of `bytes` bytes at a place, of elements of `element` bytes.
    #[inline]
    fn address(&self, at: Location, bytes: usize, element: usize) -> *mut u8 {
        let buffer = self.0.get(at.memory);
        let len = buffer.len();
        let fits = at.offset <= len && bytes <= len - at.offset;
        assert!(fits && at.offset.is_multiple_of(element), "{bytes} bytes at {at:?}: the memory has {len}");
        buffer.address().wrapping_add(at.offset)
    }

    /// The same of bytes that are to be written. Panics if the run may only read them.
    #[inline]
    fn writable(&self, at: Location, bytes: usize, element: usize) -> *mut u8 {
        assert!(self.0.is_writable(at.memory), "{at:?} is written, but others read it");
        self.address(at, bytes, element)
    }

    /// Elements at a place.
    ///
    /// # Safety
    /// Nothing writes there while the slice is alive.
    #[inline]
    unsafe fn read<T: Plain>(&self, at: Location, count: usize) -> &'a [T] {
        let start = self.address(at, count.saturating_mul(size_of::<T>()), align_of::<T>());
        // SAFETY: inside its memory, aligned, initialised, borrowed for `'a`; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(start.cast::<T>(), count) }
    }

    /// Elements at a place, to be written.
    ///
    /// # Safety
    /// Nothing else reads or writes there while the slice is alive.
    #[inline]
    unsafe fn write<T: Plain>(&self, at: Location, count: usize) -> &'a mut [T] {
        let start = self.writable(at, count.saturating_mul(size_of::<T>()), align_of::<T>());
        // SAFETY: inside its memory, aligned, initialised, borrowed exclusively for `'a`; the rest is the caller's.
        unsafe { std::slice::from_raw_parts_mut(start.cast::<T>(), count) }
    }
}

/// The number of elements; more than there can be where it does not fit.
#[inline]
pub(super) fn elements(layout: &OperandType, sizes: &[usize]) -> usize {
    layout.shape.iter().fold(1, |product: usize, extent| product.saturating_mul(extent.get(sizes)))
}

/// An operand of a kernel: which of the launch's locations, and what is there.
pub(super) type Slot = (usize, OperandType);

/// What a kernel reads and writes.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) reads: Vec<Slot>,
    pub(super) writes: Vec<Slot>,
    /// What is written may be at exactly the place of something read that has the same layout.
    pub(super) in_place: bool,
}

/// The operands of one launch.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    signature: &'a Signature,
    launch: Launch<'a>,
    memories: Memories<'a>,
}

impl<'a> Operands<'a> {
    /// Checks that every operand is inside its memory, and that nothing is written on top of anything else.
    pub(super) fn new(
        signature: &'a Signature,
        launch: Launch<'a>,
        memories: &'a mut plan::Memories<'_, Buffer>,
    ) -> Self {
        let operands = Operands { signature, launch, memories: Memories::new(memories) };
        let Signature { reads, writes, in_place } = signature;
        for slot in reads {
            let element = slot.1.dtype.bytes();
            operands.memories.address(operands.location(slot), operands.bytes(slot), element);
        }
        for slot in writes {
            let element = slot.1.dtype.bytes();
            operands.memories.writable(operands.location(slot), operands.bytes(slot), element);
        }
        for (i, write) in writes.iter().enumerate() {
            let at = operands.location(write);
            // Inside its memory, so sums do not overflow.
            let end = at.offset + operands.bytes(write);
            let overlaps = |other: &Slot| {
                let start = operands.location(other);
                start.memory == at.memory
                    && start.offset < end
                    && at.offset.max(start.offset) < end.min(start.offset + operands.bytes(other))
            };
            let may_stay = |read: &Slot| *in_place && operands.location(read) == at && read.1 == write.1;
            let free = !writes[..i].iter().any(overlaps)
                && !reads.iter().any(|read| overlaps(read) && !may_stay(read));
            assert!(free, "operand {} is written on top of another", write.0);
        }
        operands
    }

    #[inline]
    fn location(&self, slot: &Slot) -> Location {
        self.launch.locations[slot.0]
    }

    #[inline]
    fn bytes(&self, slot: &Slot) -> usize {
        elements(&slot.1, self.launch.sizes).saturating_mul(slot.1.dtype.bytes())
    }

    #[inline]
    fn address(&self, slot: &Slot) -> *mut u8 {
        let at = self.location(slot);
        self.memories.0.get(at.memory).address().wrapping_add(at.offset)
    }

    /// The sizes that extents refer to.
    pub(super) fn sizes(&self) -> &'a [usize] {
        self.launch.sizes
    }

    /// The seed of random numbers.
    pub(super) fn seed(&self) -> u64 {
        self.launch.seed
    }

    /// Where the `i`-th operand that is read starts.
    #[inline]
    pub(super) fn read_address(&self, i: usize) -> *const u8 {
        self.address(&self.signature.reads[i])
    }

    /// Where the `i`-th operand that is written starts.
    #[inline]
    pub(super) fn write_address(&self, i: usize) -> *mut u8 {
        self.address(&self.signature.writes[i])
    }

    /// What is read and what is written, which are apart from each other.
    pub(super) fn split(self) -> (Reads<'a>, Writes<'a>) {
        assert!(!self.signature.in_place);
        (Reads(self), Writes(self))
    }
}

/// The operands that are read.
pub(super) struct Reads<'a>(Operands<'a>);

impl<'a> Reads<'a> {
    /// The `i`-th.
    #[inline]
    pub(super) fn get<T: Element>(&self, i: usize) -> &'a [T] {
        let slot = &self.0.signature.reads[i];
        assert_eq!(slot.1.dtype, T::DTYPE);
        let count = elements(&slot.1, self.0.sizes());
        // SAFETY: apart from what is written.
        unsafe { self.0.memories.read(self.0.location(slot), count) }
    }

    /// The bytes of the `i`-th.
    pub(super) fn bytes(&self, i: usize) -> &'a [u8] {
        let slot = &self.0.signature.reads[i];
        // SAFETY: apart from what is written.
        unsafe { self.0.memories.read(self.0.location(slot), self.0.bytes(slot)) }
    }
}

/// The operands that are written.
pub(super) struct Writes<'a>(Operands<'a>);

impl<'a> Writes<'a> {
    /// The only one.
    #[inline]
    pub(super) fn one<T: Element>(self) -> &'a mut [T] {
        assert_eq!(self.0.signature.writes.len(), 1);
        // SAFETY: `self` is used up.
        unsafe { self.get(0) }
    }

    /// The bytes of the only one.
    pub(super) fn one_bytes(self) -> &'a mut [u8] {
        assert_eq!(self.0.signature.writes.len(), 1);
        let slot = &self.0.signature.writes[0];
        // SAFETY: apart from all other operands, and `self` is used up.
        unsafe { self.0.memories.write(self.0.location(slot), self.0.bytes(slot)) }
    }

    /// Both.
    pub(super) fn two<T: Element, U: Element>(self) -> (&'a mut [T], &'a mut [U]) {
        // SAFETY: `self` is used up, and the two do not overlap.
        unsafe { (self.get(0), self.get(1)) }
    }

    /// Three.
    pub(super) fn three<T: Element, U: Element, V: Element>(self) -> (&'a mut [T], &'a mut [U], &'a mut [V]) {
        // SAFETY: `self` is used up, and the three do not overlap.
        unsafe { (self.get(0), self.get(1), self.get(2)) }
    }

    /// All of them, one after another.
    pub(super) fn each<T: Element>(self, mut write: impl FnMut(usize, &mut [T])) {
        for i in 0..self.0.signature.writes.len() {
            // SAFETY: `self` is used up, and the slice before is not alive any more.
            write(i, unsafe { self.get(i) });
        }
    }

    /// All of them, which are of one type.
    pub(super) fn all<T: Element, const N: usize>(self) -> [&'a mut [T]; N] {
        assert_eq!(self.0.signature.writes.len(), N);
        // SAFETY: `self` is used up, and no two of them overlap.
        std::array::from_fn(|i| unsafe { self.get(i) })
    }

    /// All of them, which are of one type and at most `N`, and empty slices behind them.
    pub(super) fn at_most<T: Element, const N: usize>(self) -> [&'a mut [T]; N] {
        let count = self.0.signature.writes.len();
        assert!(count <= N);
        // SAFETY: `self` is used up, and no two of them overlap.
        std::array::from_fn(|i| if i < count { unsafe { self.get(i) } } else { &mut [][..] })
    }

    /// # Safety
    /// No slice of the same operand is alive.
    #[inline]
    unsafe fn get<T: Element>(&self, i: usize) -> &'a mut [T] {
        let slot = &self.0.signature.writes[i];
        assert_eq!(slot.1.dtype, T::DTYPE);
        let count = elements(&slot.1, self.0.sizes());
        // SAFETY: apart from all other operands; the rest is the caller's.
        unsafe { self.0.memories.write(self.0.location(slot), count) }
    }
}
