//! Elements in host memory: the Rust types of elements, and vectors of them.

use std::ops::Range;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::{HostSlice, HostSliceMut};
use paddle_core::program::DType;

/// A Rust type of tensor elements: `f32`, `f64`, `i32`, `i64`, `bool`.
///
/// ```
/// use paddle::core::program::DType;
/// use paddle::Element;
///
/// assert_eq!([<f32 as Element>::DTYPE, bool::DTYPE], [DType::F32, DType::Bool]);
/// ```
pub trait Element: Copy + Default + Send + Sync + sealed::Stored + 'static {
    /// The element type in programs.
    const DTYPE: DType;
}

/// A vector of elements whose type is known at run time.
#[derive(Clone, Debug)]
pub enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

pub(crate) mod sealed {
    use super::{HostSlice, HostSliceMut, Values};

    /// The conversion between elements whose type is known at compile time and [`Values`].
    pub trait Stored: Sized {
        /// `None` if the values have another type.
        fn of(values: &Values) -> Option<&[Self]>;
        /// `None` if the values have another type.
        fn of_mut(values: &mut Values) -> Option<&mut Vec<Self>>;
        fn host(elements: &[Self]) -> HostSlice<'_>;
        fn host_mut(elements: &mut [Self]) -> HostSliceMut<'_>;
    }
}

/// Runs the same code on the vector of whichever type.
macro_rules! each {
    ($values:expr, $vector:ident => $result:expr) => {
        match $values {
            Values::Bool($vector) => $result,
            Values::I32($vector) => $result,
            Values::I64($vector) => $result,
            Values::F32($vector) => $result,
            Values::F64($vector) => $result,
        }
    };
}

macro_rules! elements {
    ($($type:ty, $variant:ident, $from:expr, $to:expr;)*) => {
        $(impl Element for $type {
            const DTYPE: DType = DType::$variant;
        }

        impl sealed::Stored for $type {
            fn of(values: &Values) -> Option<&[Self]> {
                if let Values::$variant(vector) = values { Some(vector) } else { None }
            }

            fn of_mut(values: &mut Values) -> Option<&mut Vec<Self>> {
                if let Values::$variant(vector) = values { Some(vector) } else { None }
            }

            fn host(elements: &[Self]) -> HostSlice<'_> {
                HostSlice::$variant(elements)
            }

            fn host_mut(elements: &mut [Self]) -> HostSliceMut<'_> {
                HostSliceMut::$variant(elements)
            }
        })*

        impl Values {
            /// An empty vector of this type.
            pub(crate) fn new(dtype: DType) -> Self {
                match dtype {
                    $(DType::$variant => Values::$variant(Vec::new()),)*
                }
            }

            /// Reads elements in the format of files: little endian, a truth value in one byte.
            pub(crate) fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Result<Self, OutOfMemory> {
                Ok(match dtype {
                    $(DType::$variant => {
                        let (chunks, mut vector) = (bytes.as_chunks().0, Vec::new());
                        vector.try_grow(chunks.len())?;
                        vector.extend(chunks.iter().copied().map($from));
                        Values::$variant(vector)
                    })*
                })
            }

            /// Appends the elements to `bytes` in the format of files.
            pub(crate) fn write_le_bytes(&self, bytes: &mut Vec<u8>) -> Result<(), OutOfMemory> {
                match self {
                    $(Values::$variant(vector) => {
                        bytes.try_grow(size_of_val(&vector[..]))?;
                        bytes.extend(vector.iter().copied().flat_map($to));
                    })*
                }
                Ok(())
            }

            /// Appends elements of the same type.
            pub(crate) fn try_append(&mut self, other: &Self) -> Result<(), OutOfMemory> {
                match (self, other) {
                    $((Values::$variant(ours), Values::$variant(theirs)) => ours.try_extend_from_slice(theirs),)*
                    _ => Ok(()),
                }
            }

            /// Whether both have the same type and, bit for bit, the same elements.
            pub(crate) fn has_bits_of(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Values::$variant(ours), Values::$variant(theirs)) => {
                        ours.iter().copied().map($to).eq(theirs.iter().copied().map($to))
                    })*
                    _ => false,
                }
            }

            pub(crate) fn as_slice(&self) -> HostSlice<'_> {
                match self {
                    $(Values::$variant(vector) => HostSlice::$variant(vector),)*
                }
            }

            /// A range of the elements. Panics if it is out of bounds.
            pub(crate) fn part(&self, range: Range<usize>) -> HostSlice<'_> {
                match self {
                    $(Values::$variant(vector) => HostSlice::$variant(&vector[range]),)*
                }
            }

            /// A range of the elements. Panics if it is out of bounds.
            #[cfg(feature = "cluster")]
            pub(crate) fn part_mut(&mut self, range: Range<usize>) -> HostSliceMut<'_> {
                match self {
                    $(Values::$variant(vector) => HostSliceMut::$variant(&mut vector[range]),)*
                }
            }

            pub(crate) fn as_slice_mut(&mut self) -> HostSliceMut<'_> {
                match self {
                    $(Values::$variant(vector) => HostSliceMut::$variant(vector),)*
                }
            }
        }
    };
}

elements! {
    bool, Bool, |[byte]: [u8; 1]| byte != 0, |truth| [u8::from(truth)];
    i32, I32, i32::from_le_bytes, i32::to_le_bytes;
    i64, I64, i64::from_le_bytes, i64::to_le_bytes;
    f32, F32, f32::from_le_bytes, f32::to_le_bytes;
    f64, F64, f64::from_le_bytes, f64::to_le_bytes;
}

impl Values {
    pub(crate) fn dtype(&self) -> DType {
        self.as_slice().dtype()
    }

    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }

    pub(crate) fn clear(&mut self) {
        each!(self, vector => vector.clear());
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        each!(self, vector => vector.truncate(len));
    }

    /// A vector of `len` zeros.
    pub(crate) fn zeros(dtype: DType, len: usize) -> Result<Self, OutOfMemory> {
        let mut values = Values::new(dtype);
        values.try_resize(len)?;
        Ok(values)
    }

    /// Becomes a vector of `len` elements; those that are new are zeros.
    pub(crate) fn try_resize(&mut self, len: usize) -> Result<(), OutOfMemory> {
        each!(self, vector => vector.try_resize(len, Default::default()))
    }

    /// A copy.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut values = Values::new(self.dtype());
        values.try_append(self)?;
        Ok(values)
    }

    /// Becomes a single element with this value. Integers saturate, and every number but 0 is true.
    pub(crate) fn set_scalar(&mut self, value: f64) {
        self.clear();
        match self {
            Values::Bool(vector) => vector.push(value != 0.0),
            Values::I32(vector) => vector.push(value as i32),
            Values::I64(vector) => vector.push(value as i64),
            Values::F32(vector) => vector.push(value as f32),
            Values::F64(vector) => vector.push(value),
        }
    }

    /// Becomes `times` copies of its first `len` elements.
    pub(crate) fn repeat_first(&mut self, len: usize, times: usize) -> Result<(), OutOfMemory> {
        each!(self, vector => {
            vector.truncate(len);
            vector.try_grow(len.saturating_mul(times.saturating_sub(1)))?;
            (1..times).for_each(|_| vector.extend_from_within(..len));
            vector.truncate(len * times);
        });
        Ok(())
    }

    /// Whether the elements from `at` on repeat the elements before, bit for bit: a NaN equals itself.
    pub(crate) fn repeats(&self, at: usize) -> bool {
        fn same<T: Copy, K: PartialEq>(vector: &[T], at: usize, bits: impl Fn(T) -> K) -> bool {
            let (head, tail) = vector.split_at(at);
            head.len() == tail.len() && head.iter().zip(tail).all(|(&a, &b)| bits(a) == bits(b))
        }
        match self {
            Values::Bool(vector) => same(vector, at, |x| x),
            Values::I32(vector) => same(vector, at, |x| x),
            Values::I64(vector) => same(vector, at, |x| x),
            Values::F32(vector) => same(vector, at, f32::to_bits),
            Values::F64(vector) => same(vector, at, f64::to_bits),
        }
    }
}
