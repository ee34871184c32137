//! Memory that a kernel keeps from one launch to the next.

use std::sync::{Mutex, PoisonError};

use paddle_core::memory::{OutOfMemory, TryGrow};

/// Elements that a kernel borrows for a launch.
#[derive(Default)]
pub(super) struct Scratch<T>(Mutex<Memory<T>>);

#[derive(Default)]
struct Memory<T> {
    elements: Vec<T>,
    /// The version of the constants that elements were made of, and how many, if they were.
    made_of: Option<(u64, usize)>,
}

impl<T: Copy + Default> Scratch<T> {
    /// Lends `count` elements with arbitrary values. Memory is allocated only if no earlier launch has borrowed as many.
    pub(super) fn lend<R>(&self, count: usize, work: impl FnOnce(&mut [T]) -> R) -> Result<R, OutOfMemory> {
        self.lend_made(count, None, |_| (), work)
    }

    /// Lends `count` elements that `make` makes of constants of this version. They are not made again for the version of
    /// the launch before; without a version, they are made for each launch.
    pub(super) fn lend_made<R>(
        &self,
        count: usize,
        version: Option<u64>,
        make: impl FnOnce(&mut [T]),
        work: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, OutOfMemory> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Memory { elements, made_of } = &mut *memory;
        let kept = made_of.take();
        if elements.len() < count {
            // The elements are not needed any more, so they are freed before more are allocated.
            *elements = Vec::new();
            elements.try_resize(count, T::default())?;
        }
        let made = version.map(|version| (version, count));
        if made.is_none() || kept != made {
            make(&mut elements[..count]);
        }
        let result = work(&mut elements[..count]);
        *made_of = made;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_constants_is_made_once_for_a_version() {
        let scratch = Scratch::<i32>::default();
        let makes = |version, value: i32| {
            let mut made = false;
            let make = |elements: &mut [i32]| {
                elements.fill(value);
                made = true;
            };
            let sum = scratch.lend_made(3, version, make, |elements| elements.iter().sum::<i32>()).unwrap();
            (made, sum)
        };
        assert_eq!(makes(Some(1), 5), (true, 15));
        assert_eq!(makes(Some(1), 6), (false, 15));
        assert_eq!(makes(Some(2), 6), (true, 18));
        assert_eq!(makes(None, 7), (true, 21));
        assert_eq!(makes(None, 8), (true, 24));
        assert_eq!(makes(Some(2), 9), (true, 27));
        scratch.lend(2, |elements| elements.fill(0)).unwrap();
        assert_eq!(makes(Some(2), 1), (true, 3), "other work has had the memory");
    }
}
