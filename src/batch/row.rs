//! Rows: one sample of a network as a Rust value.
//!
//! A row has one column for each input of the network, in order. `x: Tensor<f32, _, 13>` is a `[f32; 13]`, `y:
//! Tensor<i64, _, 1>` an `i64`. `w: Tensor<f32, _, T>`, whose size is known only at run time, is a `Vec<f32>`. A
//! sequence is a `Vec` or a slice: `words: Seq<i64>` a `Vec<i64>`, `Seq<Tensor<f32, 64>>` a `Vec<[f32; 64]>`. An input
//! without rows, `rate: Tensor<f32>`, is a column too; its value has to be the same in all rows of a batch.

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::program::DType;

use super::BatchError;
use super::table::InputValues;
use crate::element::Element;
use crate::model::Variable;
use crate::reader::{IntoItem, Item};

/// One sample: a value for each input of a network.
///
/// Tuples of columns are rows, and so are the structs that `#[network]` generates for the inputs of a topology.
///
/// The types of the inputs determine the types of the columns; [`network!`](crate::network!) has the table. A
/// [`Dynamic`](crate::Dynamic) network accepts any row that fits when a batch is made. Dimensions of 1 at the end may
/// be left out.
///
/// A row type of your own passes on its columns:
///
/// ```
/// use paddle::{Columns, Dynamic, Network, Parameters, Row, infer, network};
///
/// struct House {
///     rooms: [f32; 2],
///     street: Vec<i64>,
/// }
///
/// impl Row for House {
///     fn write(&self, columns: &mut Columns<'_>) {
///         columns.push(&self.rooms);
///         columns.push(&self.street);
///     }
/// }
///
/// let net = network!(|rooms: Tensor<f32, _, 2>, street: Seq<i64>| sum(rooms, axis = 1) + cast(sequence_length(street), f32));
/// let of_houses = Network::<Dynamic<House>>::from_program(net.program()?.clone())?;
/// let houses = [House { rooms: [20.0, 30.0], street: vec![7, 3] }];
/// let outputs = infer(&of_houses, &Parameters::create(&of_houses)?, houses)?;
/// assert_eq!(outputs.at::<f32>(0)?[[0]], 52.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Row {
    /// Passes each column to `columns`, in the order of the network's inputs.
    fn write(&self, columns: &mut Columns<'_>);
}

/// The value of one input in one row: an element, or (nested) arrays and `Vec`s of them.
///
/// ```
/// use paddle::Column;
///
/// let mut dims = Vec::new();
/// vec![[0.0_f32; 3], [1.0; 3]].dims(&mut dims);
/// assert_eq!(dims, [2, 3]);
/// ```
pub trait Column {
    /// The element type.
    const DTYPE: DType;

    /// Appends the dimensions to `dims`, as far as the first element of each dimension determines them.
    fn dims(&self, dims: &mut Vec<usize>);

    /// Passes the elements to `cell`, the outer dimension first.
    fn write(&self, cell: &mut Cell<'_>);

    /// Like [`write`](Self::write), for several values side by side. Plain elements are passed in one piece.
    fn write_all(values: &[Self], cell: &mut Cell<'_>)
    where
        Self: Sized,
    {
        for value in values {
            value.write(cell);
        }
    }
}

/// The receiver of the columns of one row.
///
/// [`Row`] has an example.
pub struct Columns<'a> {
    pub(crate) specs: &'a [Variable],
    pub(crate) inputs: &'a mut [InputValues],
    /// The index of the row in its batch.
    pub(crate) row: usize,
    /// The number of columns received so far.
    pub(crate) count: usize,
    /// The first mistake.
    pub(crate) error: Option<BatchError>,
}

impl Columns<'_> {
    /// Takes the next column.
    pub fn push<C: Column>(&mut self, column: &C) {
        let at = self.count;
        self.count += 1;
        if self.error.is_some() {
            return;
        }
        // `count` tells later that there is a column too many.
        let (Some(spec), Some(values)) = (self.specs.get(at), self.inputs.get_mut(at)) else { return };
        if let Err(misfit) = values.push(spec, self.row, column) {
            self.error = Some(misfit);
        }
    }
}

/// The receiver of the elements of one column in one row. It compares the shape with the network's input.
///
/// A [`Column`] passes its elements to it:
///
/// ```
/// use paddle::core::program::DType;
/// use paddle::{Cell, Column, Columns, Dynamic, Network, Parameters, Row, infer, network};
///
/// /// The numbers of a digit's pixels, as bytes.
/// struct Pixels([u8; 3]);
///
/// impl Column for Pixels {
///     const DTYPE: DType = DType::F32;
///
///     fn dims(&self, dims: &mut Vec<usize>) {
///         dims.push(3);
///     }
///
///     fn write(&self, cell: &mut Cell<'_>) {
///         cell.array(3, |cell| cell.elements(&self.0.map(|pixel| f32::from(pixel) / 255.0)));
///     }
/// }
///
/// impl Row for Pixels {
///     fn write(&self, columns: &mut Columns<'_>) {
///         columns.push(self);
///     }
/// }
///
/// let net = network!(|x: Tensor<f32, _, 3>| sum(x, axis = 1));
/// let net = Network::<Dynamic<Pixels>>::from_program(net.program()?.clone())?;
/// let outputs = infer(&net, &Parameters::create(&net)?, [Pixels([0, 255, 51])])?;
/// assert_eq!(outputs.at::<f32>(0)?[[0]], 1.2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Cell<'a> {
    pub(crate) spec: &'a Variable,
    pub(crate) values: &'a mut InputValues,
    /// The number of arrays that are open.
    pub(crate) depth: usize,
    pub(crate) fits: bool,
    /// The failed request for memory.
    pub(crate) error: Option<OutOfMemory>,
}

impl Cell<'_> {
    /// Receives an array of `len` items, which `write` passes.
    pub fn array(&mut self, len: usize, write: impl FnOnce(&mut Self)) {
        match self.values.bind(self.spec, self.depth, len) {
            Ok(fits) => self.fits = self.fits && fits,
            Err(error) => self.error = Some(error),
        }
        if self.fits && self.error.is_none() {
            self.depth += 1;
            write(self);
            self.depth -= 1;
        }
    }

    /// Receives the elements of the innermost array.
    pub fn elements<T: Element>(&mut self, elements: &[T]) {
        // The outermost arrays of a sequence hold its tokens.
        let depth = self.depth.checked_sub(self.spec.levels);
        // An element is accepted for `[1]`.
        let scalar = depth.is_some_and(|depth| {
            self.spec.dims[depth.min(self.spec.dims.len())..].iter().all(|&dim| dim == Some(1))
        });
        match T::of_mut(&mut self.values.values) {
            Some(vector) if scalar => {
                let taken = vector.try_extend_from_slice(elements);
                self.error = self.error.take().or(taken.err());
            }
            _ => self.fits = false,
        }
    }
}

macro_rules! element_columns {
    ($($type:ty)*) => {$(
        impl Column for $type {
            const DTYPE: DType = <$type as Element>::DTYPE;

            fn dims(&self, _: &mut Vec<usize>) {}

            fn write(&self, cell: &mut Cell<'_>) {
                cell.elements(std::slice::from_ref(self));
            }

            fn write_all(values: &[Self], cell: &mut Cell<'_>) {
                cell.elements(values);
            }
        }

        impl Row for $type {
            fn write(&self, columns: &mut Columns<'_>) {
                columns.push(self);
            }
        }

        impl IntoItem for $type {
            type Data = Self;

            fn into_item(self) -> Item<Self> {
                Item::Data(self)
            }
        }
    )*};
}
element_columns! { bool i32 i64 f32 f64 }

impl<T: Column, const N: usize> Column for [T; N] {
    const DTYPE: DType = T::DTYPE;

    fn dims(&self, dims: &mut Vec<usize>) {
        dims.push(N);
        if let Some(first) = self.first() {
            first.dims(dims);
        }
    }

    fn write(&self, cell: &mut Cell<'_>) {
        cell.array(N, |cell| T::write_all(self, cell));
    }
}

impl<T: Column> Column for Vec<T> {
    const DTYPE: DType = T::DTYPE;

    fn dims(&self, dims: &mut Vec<usize>) {
        self.as_slice().dims(dims);
    }

    fn write(&self, cell: &mut Cell<'_>) {
        self.as_slice().write(cell);
    }
}

impl<T: Column> Column for &[T] {
    const DTYPE: DType = T::DTYPE;

    fn dims(&self, dims: &mut Vec<usize>) {
        dims.push(self.len());
        if let Some(first) = self.first() {
            first.dims(dims);
        }
    }

    fn write(&self, cell: &mut Cell<'_>) {
        cell.array(self.len(), |cell| T::write_all(self, cell));
    }
}

impl<T: Column, const N: usize> Row for [T; N] {
    fn write(&self, columns: &mut Columns<'_>) {
        columns.push(self);
    }
}

impl<T: Column> Row for Vec<T> {
    fn write(&self, columns: &mut Columns<'_>) {
        columns.push(self);
    }
}

impl<T, const N: usize> IntoItem for [T; N] {
    type Data = Self;

    fn into_item(self) -> Item<Self> {
        Item::Data(self)
    }
}

macro_rules! tuple_rows {
    ($($column:ident)*) => {
        impl<$($column: Column),*> Row for ($($column,)*) {
            #[allow(non_snake_case, unused_variables, reason = "columns are named as their types; () has none")]
            fn write(&self, columns: &mut Columns<'_>) {
                let ($($column,)*) = self;
                $(columns.push($column);)*
            }
        }

        impl<$($column),*> IntoItem for ($($column,)*) {
            type Data = Self;

            fn into_item(self) -> Item<Self> {
                Item::Data(self)
            }
        }
    };
}
tuple_rows! {}
tuple_rows! { A }
tuple_rows! { A B }
tuple_rows! { A B C }
tuple_rows! { A B C D }
tuple_rows! { A B C D E }
tuple_rows! { A B C D E F }
tuple_rows! { A B C D E F G }
tuple_rows! { A B C D E F G H }
tuple_rows! { A B C D E F G H I }
tuple_rows! { A B C D E F G H I J }
tuple_rows! { A B C D E F G H I J K }
tuple_rows! { A B C D E F G H I J K L }
