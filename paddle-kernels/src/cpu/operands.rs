//! The operands of a launch: addresses in the memories, checked before anything is touched.
//!
//! Where operands are is decided by the runtime's plan. A place outside of its memory, or an output on top of
//! something else, is a mistake of the plan that no user can make: it panics.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use paddle_core::plan::{ALIGNMENT, Launch, Location, Memory, OperandType};

use super::number::{Element, Plain};
use crate::memory::{self, Buffer};

const _: () = assert!(ALIGNMENT <= memory::ALIGNMENT && size_of::<f64>() <= ALIGNMENT);

/// The memories of a run, borrowed exclusively. Some may be shared with other runs; those are only read.
#[derive(Clone, Copy)]
pub(super) struct Memories<'a> {
    /// Address and length.
    buffers: [(*mut u8, usize); Memory::COUNT],
    borrowed: &'a [Buffer],
}

// SAFETY: addresses of memory that is borrowed exclusively; who dereferences them says why that is sound.
unsafe impl Sync for Memories<'_> {}

impl<'a> Memories<'a> {
    pub(super) fn new(buffers: &'a mut [Buffer]) -> Self {
        let mut addresses = [(std::ptr::null_mut(), 0); Memory::COUNT];
        for (memory, buffer) in addresses.iter_mut().zip(&mut *buffers) {
            *memory = (buffer.as_mut_ptr(), buffer.len());
        }
        Memories { buffers: addresses, borrowed: buffers }
    }

    /// The address of `bytes` bytes at a place, of elements of `element` bytes.
    #[inline]
    pub(super) fn address(&self, at: Location, bytes: usize, element: usize) -> *mut u8 {
        let (start, len) = self.buffers[at.memory as usize];
        let fits = at.offset <= len && bytes <= len - at.offset;
        assert!(fits && at.offset.is_multiple_of(element), "{bytes} bytes at {at:?}: the memory has {len}");
        start.wrapping_add(at.offset)
    }

    /// The same of bytes that are to be written. Panics if another run has the memory, too.
    #[inline]
    pub(super) fn writable(&self, at: Location, bytes: usize, element: usize) -> *mut u8 {
        assert!(self.borrowed[at.memory as usize].is_exclusive(), "{at:?} is written, but others read it");
        self.address(at, bytes, element)
    }

    /// Panics if two ranges, of so many bytes, overlap.
    pub(super) fn assert_apart(&self, (a, a_bytes): (Location, usize), (b, b_bytes): (Location, usize)) {
        let (a_end, b_end) = (a.offset.saturating_add(a_bytes), b.offset.saturating_add(b_bytes));
        let overlap = a.memory == b.memory && a.offset.max(b.offset) < a_end.min(b_end);
        assert!(!overlap, "{b_bytes} bytes at {b:?} are written on top of {a_bytes} bytes at {a:?}");
    }

    /// Elements at a place.
    ///
    /// # Safety
    /// Nothing writes there while the slice is alive.
    #[inline]
    pub(super) unsafe fn read<T: Plain>(&self, at: Location, count: usize) -> &'a [T] {
        let start = self.address(at, count.saturating_mul(size_of::<T>()), align_of::<T>());
        // SAFETY: inside its memory, aligned, initialised, borrowed for `'a`; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(start.cast::<T>(), count) }
    }

    /// Elements at a place, to be written.
    ///
    /// # Safety
    /// Nothing else reads or writes there while the slice is alive.
    #[inline]
    pub(super) unsafe fn write<T: Plain>(&self, at: Location, count: usize) -> &'a mut [T] {
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
    pub(super) fn new(signature: &'a Signature, launch: Launch<'a>, buffers: &'a mut [Buffer]) -> Self {
        let operands = Operands { signature, launch, memories: Memories::new(buffers) };
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
        self.memories.buffers[at.memory as usize].0.wrapping_add(at.offset)
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
