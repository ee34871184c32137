//! Memory on the stack, for what a piece of work computes with.
//!
//! A function touches each page of a large frame when it begins, so that the stack can grow. That takes longer than small pieces of work. So memory
//! is lent by a function whose frame is about as large as what is asked for.
#![allow(unsafe_code, reason = "lends memory that nothing was written to")]

use std::mem::MaybeUninit;

/// Lines of the cache.
#[repr(align(64))]
struct Lines<const BYTES: usize>(
    #[allow(dead_code, reason = "written and read through its pointer")] [u8; BYTES],
);

const LINE: usize = 64;

/// Lends memory of so many bytes each for elements, up to [`MOST`] together. Each begins with a line of the cache, and nothing was written
/// to it.
pub(super) fn lend<T, const COUNT: usize>(bytes: [usize; COUNT], work: &mut dyn FnMut([*mut T; COUNT])) {
    if cfg!(test) {
        // Sanitizers see the end of memory that was allocated, and not that of a part of a frame.
        let lines = |bytes: usize| (0..bytes.div_ceil(LINE)).map(|_| MaybeUninit::<Lines<LINE>>::uninit());
        let mut memories = bytes.map(|bytes| lines(bytes).collect::<Vec<_>>());
        return work(memories.each_mut().map(|memory| memory.as_mut_ptr().cast()));
    }
    of_frame(bytes, work);
}

fn of_frame<T, const COUNT: usize>(bytes: [usize; COUNT], work: &mut dyn FnMut([*mut T; COUNT])) {
    let ends: [usize; COUNT] =
        std::array::from_fn(|at| bytes[..=at].iter().map(|bytes| bytes.next_multiple_of(LINE)).sum());
    let all = ends.last().copied().unwrap_or(0);
    let mut split = |memory: *mut u8| {
        work(std::array::from_fn(|at| {
            memory.wrapping_add(ends[at] - bytes[at].next_multiple_of(LINE)).cast()
        }));
    };
    let lend = match all {
        0..=0x4000 => of_bytes::<0x4000>,
        0x4001..=0xc000 => of_bytes::<0xc000>,
        0xc001..=0x20000 => of_bytes::<0x20000>,
        0x20001..=0x40000 => of_bytes::<0x40000>,
        0x40001..=MOST => of_bytes::<MOST>,
        _ => panic!("{all} bytes of the stack"),
    };
    lend(&mut split);
}

/// The most bytes that are lent.
const MOST: usize = 0x80000;

#[inline(never)]
fn of_bytes<const BYTES: usize>(work: &mut dyn FnMut(*mut u8)) {
    let mut memory = MaybeUninit::<Lines<BYTES>>::uninit();
    work((&raw mut memory).cast());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_as_large_as_it_has_to_be_and_does_not_overlap() {
        for bytes in [[0, 0], [1, 100], [0x3fc0, 0x40], [0x3fc0, 0x41], [70_000, 60_000], [0x7ff00, 0x100]] {
            let mut is_called = false;
            of_frame(bytes, &mut |memory: [*mut u8; 2]| {
                is_called = true;
                for ((memory, bytes), value) in memory.into_iter().zip(bytes).zip([3, 7]) {
                    assert_eq!(memory.addr() % LINE, 0);
                    // SAFETY: so many bytes are lent.
                    unsafe { memory.write_bytes(value, bytes) };
                }
                for ((memory, bytes), value) in memory.into_iter().zip(bytes).zip([3, 7]) {
                    // SAFETY: so many bytes are lent, and written.
                    let all = unsafe { std::slice::from_raw_parts(memory, bytes) };
                    assert!(all.iter().all(|&byte| byte == value));
                }
            });
            assert!(is_called);
        }
    }

    #[test]
    #[should_panic(expected = "bytes of the stack")]
    fn more_is_not_there() {
        of_frame([MOST + 1], &mut |_: [*mut u8; 1]| {});
    }
}
