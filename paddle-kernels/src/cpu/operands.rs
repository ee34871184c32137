//! The operands of a launch: addresses in the memories, which are checked before anything is read or written.
//!
//! The runtime's plan decides where operands are. A location outside of its memory, or an output that overlaps another
//! operand, is a mistake of the plan that no user can cause, so it panics.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use paddle_core::plan::{self, ALIGNMENT, Launch, Location, OperandType};

use super::number::{Element, Plain};
use crate::memory::{self, Buffer};

const _: () = assert!(ALIGNMENT <= memory::ALIGNMENT && size_of::<f64>() <= ALIGNMENT);

/// The memories of a run. They are borrowed exclusively, except parameters that are only read.
#[derive(Clone, Copy)]
pub(super) struct Memories<'a>(&'a plan::Memories<'a, Buffer>);

impl<'a> Memories<'a> {
    pub(super) fn new(memories: &'a mut plan::Memories<'_, Buffer>) -> Self {
        Memories(memories)
    }

    /// The address of `bytes` bytes at a location, for elements of `element` bytes.
    #[inline]
    fn address(&self, at: Location, bytes: usize, element: usize) -> *mut u8 {
        let buffer = self.0.get(at.memory);
        let len = buffer.len();
        let fits = at.offset <= len && bytes <= len - at.offset;
        assert!(fits && at.offset.is_multiple_of(element), "{bytes} bytes at {at:?}: the memory has {len}");
        buffer.address().wrapping_add(at.offset)
    }

    /// The address of bytes that are to be written. Panics if the run may only read them.
    #[inline]
    fn writable(&self, at: Location, bytes: usize, element: usize) -> *mut u8 {
        assert!(self.0.is_writable(at.memory), "{at:?} is written, but others read it");
        self.address(at, bytes, element)
    }

    /// The elements at a location.
    ///
    /// # Safety
    /// Nothing writes there while the slice is alive.
    #[inline]
    unsafe fn read<T: Plain>(&self, at: Location, count: usize) -> &'a [T] {
        let start = self.address(at, count.saturating_mul(size_of::<T>()), align_of::<T>());
        // SAFETY: the bytes are inside their memory, aligned, initialised, and borrowed for `'a`. The caller ensures
        // the rest.
        unsafe { std::slice::from_raw_parts(start.cast::<T>(), count) }
    }

    /// The elements at a location, for writing.
    ///
    /// # Safety
    /// Nothing else reads or writes there while the slice is alive.
    #[inline]
    unsafe fn write<T: Plain>(&self, at: Location, count: usize) -> &'a mut [T] {
        let start = self.writable(at, count.saturating_mul(size_of::<T>()), align_of::<T>());
        // SAFETY: the bytes are inside their memory, aligned, initialised, and borrowed exclusively for `'a`. The
        // caller ensures the rest.
        unsafe { std::slice::from_raw_parts_mut(start.cast::<T>(), count) }
    }
}

/// The number of elements. If it does not fit, a number that is larger than any memory.
#[inline]
pub(super) fn elements(layout: &OperandType, sizes: &[usize]) -> usize {
    layout.shape.iter().fold(1, |product: usize, extent| product.saturating_mul(extent.get(sizes)))
}

/// An operand of a kernel: the index of its location in the launch, and its type.
pub(super) type Slot = (usize, OperandType);

/// The operands that a kernel reads and writes.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) reads: Vec<Slot>,
    pub(super) writes: Vec<Slot>,
    /// Whether an operand that is written may have the location of an operand that is read, if both have the same
    /// layout.
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
    /// Checks that every operand is inside its memory, and that no written operand overlaps another one.
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
            // The operand is inside its memory, so sums do not overflow.
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

    /// The address of the `i`-th operand that is read.
    #[inline]
    pub(super) fn read_address(&self, i: usize) -> *const u8 {
        self.address(&self.signature.reads[i])
    }

    /// The address of the `i`-th operand that is written.
    #[inline]
    pub(super) fn write_address(&self, i: usize) -> *mut u8 {
        self.address(&self.signature.writes[i])
    }

    /// The operands that are read and those that are written. They do not overlap.
    pub(super) fn split(self) -> (Reads<'a>, Writes<'a>) {
        assert!(!self.signature.in_place);
        (Reads(self), Writes(self))
    }
}

/// The operands that are read.
pub(super) struct Reads<'a>(Operands<'a>);

impl<'a> Reads<'a> {
    /// The elements of the `i`-th operand.
    #[inline]
    pub(super) fn get<T: Element>(&self, i: usize) -> &'a [T] {
        let slot = &self.0.signature.reads[i];
        assert_eq!(slot.1.dtype, T::DTYPE);
        let count = elements(&slot.1, self.0.sizes());
        // SAFETY: the operand overlaps none that is written.
        unsafe { self.0.memories.read(self.0.location(slot), count) }
    }

    /// The bytes of the `i`-th operand.
    pub(super) fn bytes(&self, i: usize) -> &'a [u8] {
        let slot = &self.0.signature.reads[i];
        // SAFETY: the operand overlaps none that is written.
        unsafe { self.0.memories.read(self.0.location(slot), self.0.bytes(slot)) }
    }
}

/// The operands that are written.
pub(super) struct Writes<'a>(Operands<'a>);

impl<'a> Writes<'a> {
    /// The elements of the only operand.
    #[inline]
    pub(super) fn one<T: Element>(self) -> &'a mut [T] {
        assert_eq!(self.0.signature.writes.len(), 1);
        // SAFETY: `self` is consumed.
        unsafe { self.get(0) }
    }

    /// The bytes of the only operand.
    pub(super) fn one_bytes(self) -> &'a mut [u8] {
        assert_eq!(self.0.signature.writes.len(), 1);
        let slot = &self.0.signature.writes[0];
        // SAFETY: the operand overlaps no other one, and `self` is consumed.
        unsafe { self.0.memories.write(self.0.location(slot), self.0.bytes(slot)) }
    }

    /// The elements of both operands.
    pub(super) fn two<T: Element, U: Element>(self) -> (&'a mut [T], &'a mut [U]) {
        // SAFETY: `self` is consumed, and the two do not overlap.
        unsafe { (self.get(0), self.get(1)) }
    }

    /// The elements of all three operands.
    pub(super) fn three<T: Element, U: Element, V: Element>(self) -> (&'a mut [T], &'a mut [U], &'a mut [V]) {
        // SAFETY: `self` is consumed, and the three do not overlap.
        unsafe { (self.get(0), self.get(1), self.get(2)) }
    }

    /// Calls `write` with each operand, one after another.
    pub(super) fn each<T: Element>(self, mut write: impl FnMut(usize, &mut [T])) {
        for i in 0..self.0.signature.writes.len() {
            // SAFETY: `self` is consumed, and the previous slice is not alive any more.
            write(i, unsafe { self.get(i) });
        }
    }

    /// The elements of all operands, which have one type.
    pub(super) fn all<T: Element, const N: usize>(self) -> [&'a mut [T]; N] {
        assert_eq!(self.0.signature.writes.len(), N);
        // SAFETY: `self` is consumed, and no two of them overlap.
        std::array::from_fn(|i| unsafe { self.get(i) })
    }

    /// The elements of all operands, which have one type. They are at most `N`; the rest are empty slices.
    pub(super) fn at_most<T: Element, const N: usize>(self) -> [&'a mut [T]; N] {
        let count = self.0.signature.writes.len();
        assert!(count <= N);
        // SAFETY: `self` is consumed, and no two of them overlap.
        std::array::from_fn(|i| if i < count { unsafe { self.get(i) } } else { &mut [][..] })
    }

    /// # Safety
    /// No slice of the same operand is alive.
    #[inline]
    unsafe fn get<T: Element>(&self, i: usize) -> &'a mut [T] {
        let slot = &self.0.signature.writes[i];
        assert_eq!(slot.1.dtype, T::DTYPE);
        let count = elements(&slot.1, self.0.sizes());
        // SAFETY: the operand overlaps no other one. The caller ensures the rest.
        unsafe { self.0.memories.write(self.0.location(slot), count) }
    }
}
