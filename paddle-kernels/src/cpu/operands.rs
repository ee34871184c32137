//! The operands of a launch: addresses in the memories, which are checked before anything is read or written.
//!
//! The runtime's plan decides where operands are. A location outside of its memory, or an output that overlaps another
//! operand, is a mistake of the plan that no user can cause, so it panics.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use std::ops::Range;

use paddle_core::plan::{ALIGNMENT, Launch, Location, Memories, OperandType, Reach};

use super::epilogue::Finish;
use super::number::Element;
use crate::memory::{self, Buffer};

const _: () = assert!(ALIGNMENT <= memory::ALIGNMENT && size_of::<f64>() <= ALIGNMENT);

/// The number of elements. If it does not fit, a number that is larger than any memory.
#[inline]
pub(super) fn elements(layout: &OperandType, sizes: &[usize]) -> usize {
    layout.shape.iter().fold(1, |product: usize, extent| product.saturating_mul(extent.get(sizes)))
}

/// An operand of a kernel: the index of its location in the launch, and its type.
pub(super) type Slot = (usize, OperandType);

/// The operands that a kernel reads and writes.
#[derive(Clone, Debug)]
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
    launch: &'a Launch<'a>,
    /// The memories of the run. They are borrowed exclusively, except parameters that are only read.
    memories: &'a dyn Reach<Buffer>,
    finish: Finish<'a>,
}

impl<'a> Operands<'a> {
    /// Checks that every operand is inside its memory, and that no written operand overlaps another one.
    pub(super) fn new(
        signature: &'a Signature,
        launch: &'a Launch<'a>,
        memories: &'a mut Memories<'_, Buffer>,
    ) -> Self {
        let memories: &'a dyn Reach<Buffer> = memories;
        let operands = Operands { signature, launch, memories, finish: Finish::default() };
        let Signature { reads, writes, in_place } = signature;
        reads.iter().for_each(|slot| operands.check(slot));
        for slot in writes {
            let at = operands.location(slot);
            assert!(memories.is_writable(at.memory), "{at:?} is written, but others read it");
            operands.check(slot);
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

    /// Some of these operands, which have been checked.
    pub(super) fn of(self, signature: &'a Signature) -> Self {
        Operands { signature, ..self }
    }

    /// The same operands, with an epilogue behind what the kernel computes.
    pub(super) fn finished_by(self, finish: Finish<'a>) -> Self {
        Operands { finish, ..self }
    }

    /// The epilogue. The kernel has to call it for each element of its first result.
    pub(super) fn finish(&self) -> Finish<'a> {
        self.finish
    }

    /// Panics unless an operand is inside its memory and aligned for its elements.
    #[inline]
    fn check(&self, slot: &Slot) {
        let (at, bytes) = (self.location(slot), self.bytes(slot));
        let len = self.memories.get(at.memory).len();
        let fits = at.offset <= len && bytes <= len - at.offset;
        let is_aligned = at.offset.is_multiple_of(slot.1.dtype.bytes());
        assert!(fits && is_aligned, "{bytes} bytes at {at:?}: the memory has {len}");
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
        self.memories.get(at.memory).address().wrapping_add(at.offset)
    }

    /// The sizes that extents refer to.
    pub(super) fn sizes(&self) -> &'a [usize] {
        self.launch.sizes
    }

    /// The version of the constants among the operands, if they keep their elements from launch to launch.
    pub(super) fn version(&self) -> Option<u64> {
        self.launch.version
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

    /// The first element of the `i`-th operand that is written.
    ///
    /// # Safety
    /// No slice of this element is alive that may change it.
    pub(super) unsafe fn peek<T: Element>(&self, i: usize) -> T {
        let slot = &self.signature.writes[i];
        assert!(slot.1.dtype == T::DTYPE && elements(&slot.1, self.sizes()) > 0, "an element of this type");
        // SAFETY: the element was checked, is of this type and initialised. The caller ensures the rest.
        unsafe { self.address(slot).cast::<T>().read() }
    }

    /// A part of the `i`-th operand that is written.
    ///
    /// # Safety
    /// No other slice of these elements is alive.
    pub(super) unsafe fn part<T: Element>(&self, i: usize, part: Range<usize>) -> &'a mut [T] {
        let slot = &self.signature.writes[i];
        assert_eq!(slot.1.dtype, T::DTYPE);
        assert!(
            part.start <= part.end && part.end <= elements(&slot.1, self.sizes()),
            "inside of the operand"
        );
        // SAFETY: the elements were checked, are of this type and initialised, and the memory is borrowed exclusively for `'a`.
        // The caller ensures the rest.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot).cast::<T>().add(part.start), part.len()) }
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
        // SAFETY: the elements were checked, are of this type, initialised, and borrowed for `'a`. The operand overlaps
        // none that is written.
        unsafe { std::slice::from_raw_parts(self.0.address(slot).cast::<T>(), count) }
    }

    /// The bytes of the `i`-th operand.
    pub(super) fn bytes(&self, i: usize) -> &'a [u8] {
        let slot = &self.0.signature.reads[i];
        // SAFETY: the bytes were checked, are initialised, and are borrowed for `'a`. The operand overlaps none that is
        // written.
        unsafe { std::slice::from_raw_parts(self.0.address(slot), self.0.bytes(slot)) }
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
        // SAFETY: the bytes were checked, are initialised, and are borrowed exclusively for `'a`. The operand overlaps no
        // other one, and `self` is consumed.
        unsafe { std::slice::from_raw_parts_mut(self.0.address(slot), self.0.bytes(slot)) }
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
        // SAFETY: the elements were checked, are of this type, initialised, and borrowed exclusively for `'a`. The
        // operand overlaps no other one. The caller ensures the rest.
        unsafe { std::slice::from_raw_parts_mut(self.0.address(slot).cast::<T>(), count) }
    }
}
