//! Elements in vectors, outside of any buffer.

use paddle_core::ops::Number;
use paddle_core::plan::{HostSlice, HostSliceMut};
use paddle_core::program::DType;

/// Elements of one type.
#[derive(Clone, Debug)]
pub enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    pub(super) fn zeros(dtype: DType, count: usize) -> Values {
        match dtype {
            DType::Bool => Values::Bool(vec![false; count]),
            DType::I32 => Values::I32(vec![0; count]),
            DType::I64 => Values::I64(vec![0; count]),
            DType::F32 => Values::F32(vec![0.0; count]),
            DType::F64 => Values::F64(vec![0.0; count]),
        }
    }

    /// Floating-point numbers, rounded to `dtype`.
    pub(super) fn round(dtype: DType, floats: Vec<f64>) -> Values {
        match dtype {
            DType::F32 => Values::F32(floats.into_iter().map(|value| value as f32).collect()),
            DType::F64 => Values::F64(floats),
            DType::Bool | DType::I32 | DType::I64 => panic!("{dtype} is not a floating-point type"),
        }
    }

    /// The elements, rounded to bf16: to the nearest, ties to even.
    pub(super) fn rounded_to_bf16(&self) -> Values {
        // A number of 53 significant bits loses 45.
        const LOST: u32 = 45;
        let rounded = |value: f64| match value.is_finite() {
            false => value,
            true => {
                let bits = value.to_bits();
                let up = bits + ((1 << (LOST - 1)) - 1) + (bits >> LOST & 1);
                // Numbers behind the largest are infinite, as in `f32`, which has the same exponents.
                f64::from(f64::from_bits(up >> LOST << LOST) as f32)
            }
        };
        Values::round(self.dtype(), self.floats().into_iter().map(rounded).collect())
    }

    /// The elements as `f64`.
    pub(super) fn floats(&self) -> Vec<f64> {
        match self {
            Values::F32(values) => values.iter().copied().map(f64::from).collect(),
            Values::F64(values) => values.clone(),
            Values::Bool(_) | Values::I32(_) | Values::I64(_) => {
                panic!("{} is not a floating-point type", self.dtype())
            }
        }
    }

    pub(super) fn dtype(&self) -> DType {
        match self {
            Values::Bool(_) => DType::Bool,
            Values::I32(_) => DType::I32,
            Values::I64(_) => DType::I64,
            Values::F32(_) => DType::F32,
            Values::F64(_) => DType::F64,
        }
    }

    /// The elements at these indices.
    pub(super) fn at(&self, indices: &[usize]) -> Values {
        fn pick<T: Copy>(values: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|&index| values[index]).collect()
        }
        match self {
            Values::Bool(values) => Values::Bool(pick(values, indices)),
            Values::I32(values) => Values::I32(pick(values, indices)),
            Values::I64(values) => Values::I64(pick(values, indices)),
            Values::F32(values) => Values::F32(pick(values, indices)),
            Values::F64(values) => Values::F64(pick(values, indices)),
        }
    }

    /// The elements at these indices, and zeros for `None`.
    pub(super) fn at_or_zero(&self, indices: &[Option<usize>]) -> Values {
        let zero = self.len();
        let padded = Values::join(&[self.clone(), Values::zeros(self.dtype(), 1)]);
        padded.at(&indices.iter().map(|index| index.unwrap_or(zero)).collect::<Vec<_>>())
    }

    /// Numbers of a program as elements. A fraction is truncated to an integer.
    pub(super) fn of_numbers(dtype: DType, numbers: impl Iterator<Item = Number>) -> Values {
        match dtype {
            DType::Bool => Values::Bool(numbers.map(|number| number.as_f64() != 0.0).collect()),
            DType::I32 => Values::I32(numbers.map(|number| whole(number) as i32).collect()),
            DType::I64 => Values::I64(numbers.map(whole).collect()),
            dtype => Values::round(dtype, numbers.map(Number::as_f64).collect()),
        }
    }

    /// The elements plus the updates, each added to its target, in order.
    pub(super) fn with_added(&self, targets: &[usize], updates: &Values) -> Values {
        macro_rules! added {
            ($values:expr, $updates:expr, $plus:expr) => {{
                let mut values = $values.clone();
                targets
                    .iter()
                    .zip($updates)
                    .for_each(|(&to, &update)| values[to] = $plus(values[to], update));
                values
            }};
        }
        match (self, updates) {
            (Values::I32(values), Values::I32(updates)) => {
                Values::I32(added!(values, updates, i32::wrapping_add))
            }
            (Values::I64(values), Values::I64(updates)) => {
                Values::I64(added!(values, updates, i64::wrapping_add))
            }
            _ => {
                Values::round(self.dtype(), added!(self.floats(), &updates.floats(), |a: f64, b: f64| a + b))
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Values::Bool(values) => values.len(),
            Values::I32(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        }
    }

    /// The elements of all values, one after another.
    pub(super) fn join(all: &[Values]) -> Values {
        macro_rules! join {
            ($first:expr; $($kind:ident),*) => {
                match $first {
                    $(Values::$kind(_) => {
                        let mut joined = Vec::new();
                        for values in all {
                            match values {
                                Values::$kind(values) => joined.extend_from_slice(values),
                                _ => panic!("values of one element type are joined"),
                            }
                        }
                        Values::$kind(joined)
                    })*
                }
            };
        }
        join!(all[0]; Bool, I32, I64, F32, F64)
    }

    pub(super) fn from_host(host: HostSlice<'_>) -> Values {
        match host {
            HostSlice::Bool(values) => Values::Bool(values.to_vec()),
            HostSlice::I32(values) => Values::I32(values.to_vec()),
            HostSlice::I64(values) => Values::I64(values.to_vec()),
            HostSlice::F32(values) => Values::F32(values.to_vec()),
            HostSlice::F64(values) => Values::F64(values.to_vec()),
        }
    }

    /// The elements as `dtype`: unchanged, or `f32` converted to `f64`.
    pub(super) fn stored_as(self, dtype: DType) -> Values {
        if self.dtype() == dtype { self } else { Values::round(dtype, self.floats()) }
    }

    pub(super) fn to_host(&self, host: HostSliceMut<'_>) {
        match (self, host) {
            (Values::Bool(from), HostSliceMut::Bool(to)) => to.copy_from_slice(from),
            (Values::I32(from), HostSliceMut::I32(to)) => to.copy_from_slice(from),
            (Values::I64(from), HostSliceMut::I64(to)) => to.copy_from_slice(from),
            (Values::F32(from), HostSliceMut::F32(to)) => to.copy_from_slice(from),
            (Values::F64(from), HostSliceMut::F64(to)) => to.copy_from_slice(from),
            (Values::F64(from), HostSliceMut::F32(to)) => {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from as f32;
                }
            }
            (_, to) => panic!("elements of {} cannot be downloaded as {}", self.dtype(), to.dtype()),
        }
    }
}

fn whole(number: Number) -> i64 {
    if let Number::Int(number) = number { number } else { number.as_f64() as i64 }
}

/// An element as bytes.
pub(super) trait Element: Copy {
    const BYTES: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn to_bytes(self, bytes: &mut [u8]);
}

macro_rules! number {
    ($($number:ident),*) => {$(
        impl Element for $number {
            const BYTES: usize = size_of::<$number>();

            fn from_bytes(bytes: &[u8]) -> Self {
                $number::from_ne_bytes(bytes.try_into().expect("an element has this many bytes"))
            }

            fn to_bytes(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
number!(u32, i32, i64, f32, f64);

impl Element for bool {
    const BYTES: usize = 1;

    fn from_bytes(bytes: &[u8]) -> Self {
        match bytes {
            [0] => false,
            [1] => true,
            _ => panic!("{bytes:?} is not a truth value"),
        }
    }

    fn to_bytes(self, bytes: &mut [u8]) {
        bytes[0] = u8::from(self);
    }
}
