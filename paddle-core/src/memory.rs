//! Host memory in amounts that input decides: it is there, or an error.
//!
//! What is proportional to the elements, rows or bytes of some input is reserved by these functions before it is filled. What is
//! proportional to a program that is in memory already, its operators and their names, is not.
//!
//! ```
//! use paddle_core::memory::{TryGrow, try_vec};
//!
//! let mut zeros: Vec<f32> = try_vec(3)?;
//! zeros.try_extend_from_slice(&[1.0, 2.0])?;
//! assert_eq!(zeros, [0.0, 0.0, 0.0, 1.0, 2.0]);
//! let error = try_vec::<f32>(usize::MAX).unwrap_err().wanted_for("output `y`");
//! assert_eq!(error.to_string(), "cannot allocate memory for output `y`: its bytes cannot be counted");
//! # Ok::<(), paddle_core::memory::OutOfMemory>(())
//! ```

use std::fmt;

/// Memory cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// How many bytes were asked for; none if they are more than can be counted.
    pub bytes: Option<usize>,
    /// What for; empty where nobody knows.
    pub what: String,
}

impl OutOfMemory {
    /// So many bytes cannot be had.
    pub fn of(bytes: usize) -> Self {
        OutOfMemory { bytes: Some(bytes), what: String::new() }
    }

    /// So many elements cannot be had.
    pub fn of_elements<T>(count: usize) -> Self {
        OutOfMemory { bytes: count.checked_mul(size_of::<T>()), what: String::new() }
    }

    /// The same, with what the memory was for, unless that is known already.
    pub fn wanted_for(mut self, what: impl fmt::Display) -> Self {
        if self.what.is_empty() {
            self.what = what.to_string();
        }
        self
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { bytes, what } = self;
        match bytes {
            Some(bytes) => write!(f, "cannot allocate {bytes} bytes")?,
            None => f.write_str("cannot allocate memory")?,
        }
        if !what.is_empty() {
            write!(f, " for {what}")?;
        }
        if bytes.is_none() {
            f.write_str(": its bytes cannot be counted")?;
        }
        Ok(())
    }
}

impl std::error::Error for OutOfMemory {}

impl From<OutOfMemory> for std::io::Error {
    fn from(error: OutOfMemory) -> Self {
        std::io::Error::new(std::io::ErrorKind::OutOfMemory, error)
    }
}

/// Vectors that grow by as much as input says. After an error they are as they were.
pub trait TryGrow<T> {
    /// Makes room for so many more elements.
    fn try_grow(&mut self, more: usize) -> Result<(), OutOfMemory>;

    /// Sets the length; new elements are `value`.
    fn try_resize(&mut self, len: usize, value: T) -> Result<(), OutOfMemory>
    where
        T: Clone;

    /// Appends an element.
    fn try_push(&mut self, value: T) -> Result<(), OutOfMemory>;

    /// Appends elements.
    fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), OutOfMemory>
    where
        T: Clone;

    /// Appends what there is. Elements that came before an error are kept.
    fn try_extend(&mut self, elements: impl IntoIterator<Item = T>) -> Result<(), OutOfMemory>;
}

impl<T> TryGrow<T> for Vec<T> {
    fn try_grow(&mut self, more: usize) -> Result<(), OutOfMemory> {
        let len = self.len();
        // Vectors ask for more than they need; where that is too much, what they need may do.
        let reserved = self.try_reserve(more).or_else(|_| self.try_reserve_exact(more));
        reserved.map_err(|_| OutOfMemory::of_elements::<T>(len.saturating_add(more)))
    }

    fn try_resize(&mut self, len: usize, value: T) -> Result<(), OutOfMemory>
    where
        T: Clone,
    {
        let more = len.saturating_sub(self.len());
        self.try_reserve_exact(more).map_err(|_| OutOfMemory::of_elements::<T>(len))?;
        self.resize(len, value);
        Ok(())
    }

    fn try_push(&mut self, value: T) -> Result<(), OutOfMemory> {
        self.try_grow(1)?;
        self.push(value);
        Ok(())
    }

    fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), OutOfMemory>
    where
        T: Clone,
    {
        self.try_grow(elements.len())?;
        self.extend_from_slice(elements);
        Ok(())
    }

    fn try_extend(&mut self, elements: impl IntoIterator<Item = T>) -> Result<(), OutOfMemory> {
        let mut elements = elements.into_iter();
        self.try_grow(elements.size_hint().0)?;
        elements.try_for_each(|element| self.try_push(element))
    }
}

/// So many elements, all of them zero, or what else is their default.
pub fn try_vec<T: Clone + Default>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    vec.try_resize(len, T::default())?;
    Ok(vec)
}

/// All that comes.
pub fn try_collect<T>(elements: impl IntoIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    vec.try_extend(elements)?;
    Ok(vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error_that_changes_nothing() {
        let mut vec = vec![1_u64, 2];
        let (most, none) = (usize::MAX / 16, OutOfMemory { bytes: None, what: String::new() });
        assert_eq!(vec.try_resize(most, 0), Err(OutOfMemory::of(most * 8)));
        assert_eq!(vec.try_grow(usize::MAX), Err(none.clone()));
        assert_eq!(vec.try_extend(std::iter::repeat_n(0, most)), Err(OutOfMemory::of((most + 2) * 8)));
        assert_eq!(try_vec::<u64>(usize::MAX), Err(none));
        assert_eq!(vec, [1, 2]);
    }

    #[test]
    fn vectors_grow_as_others_do() {
        let mut vec = try_vec::<i32>(2).unwrap();
        vec.try_push(1).unwrap();
        vec.try_extend([2, 3]).unwrap();
        vec.try_extend_from_slice(&[4]).unwrap();
        assert_eq!(vec, [0, 0, 1, 2, 3, 4]);
        vec.try_resize(1, 9).unwrap();
        vec.try_resize(3, 9).unwrap();
        assert_eq!(vec, [0, 9, 9]);
        assert_eq!(try_collect(vec.iter().map(|x| x + 1)).unwrap(), [1, 10, 10]);
    }

    #[test]
    fn an_error_says_what_the_memory_is_for_as_it_was_first_known() {
        let error = OutOfMemory::of(64).wanted_for("the tape").wanted_for("a run");
        assert_eq!(error.to_string(), "cannot allocate 64 bytes for the tape");
        assert_eq!(OutOfMemory::of(64).to_string(), "cannot allocate 64 bytes");
    }
}
