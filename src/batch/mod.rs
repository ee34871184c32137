//! Batches: the rows of a step as columns, which the runtime takes.

mod error;
mod row;
mod row_range;
mod table;

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use ndarray::{ArrayBase, Data, Dimension};

pub use error::{BatchError, Shape};
pub use row::{Cell, Column, Columns, Row};
pub(crate) use row_range::Cut;
pub(crate) use table::Table;

use crate::Error;
use crate::element::Element;
use crate::network::{Network, Spec};
use crate::reader::{IntoItem, Item};

/// A batch of the network `S`: for each input, the values of all rows.
///
/// Every function that takes rows also takes a `&Batch`, and then copies only what it sends to the device. A batch can
/// be filled again and keeps its memory.
///
/// ```
/// use ndarray::array;
/// use paddle::{Batch, Parameters, infer, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>, words: Seq<i64>| (sum(x, axis = 1), sequence_length(words)));
/// let parameters = Parameters::create(&net)?;
/// // From rows.
/// let mut batch = Batch::from_rows(&net, [net.row([1.0, 2.0], vec![7, 7]), net.row([3.0, 4.0], vec![])])?;
/// assert_eq!(batch.rows()?, 2);
/// assert_eq!(infer(&net, &parameters, &batch)?.at::<f32>(0)?.as_slice(), Some(&[3.0, 7.0][..]));
/// // From arrays, whose first dimension are the rows; of sequences, all their tokens.
/// batch.set("x", &array![[0.5_f32, 0.5], [1.0, 1.0], [2.0, 2.0]])?;
/// batch.set_sequences("words", &array![5_i64, 7, 7, 2], &[0, 3, 3, 4])?;
/// assert_eq!(infer(&net, &parameters, &batch)?.at::<i64>(1)?.as_slice(), Some(&[3, 0, 1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch<S: Spec> {
    table: Table,
    spec: PhantomData<fn() -> S>,
}

impl<S: Spec> Batch<S> {
    /// A batch without values. [`set`](Batch::set) or [`fill`](Batch::fill) adds them.
    ///
    /// # Errors
    /// Those of [`Network::program`].
    pub fn new(net: &Network<S>) -> Result<Self, Error> {
        Ok(Batch { table: Table::new(&net.model()?.signature), spec: PhantomData })
    }

    /// A batch of these rows.
    ///
    /// # Errors
    /// [`Error::Batch`] as for [`fill`](Self::fill), and those of [`Network::program`].
    pub fn from_rows<R: Borrow<S::Row>>(
        net: &Network<S>,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Self, Error> {
        let mut batch = Batch::new(net)?;
        batch.fill(rows)?;
        Ok(batch)
    }

    /// A batch of rows of any accepted form.
    pub(crate) fn of(net: &Network<S>, rows: &impl Rows<S>) -> Result<Self, Error> {
        let mut scratch = Table::new(&net.model()?.signature);
        let table = rows.columns(&mut scratch)?.try_clone()?;
        Ok(Batch { table, spec: PhantomData })
    }

    /// A copy whose input `k` has the first row's value in all rows; `None` if that changes nothing.
    pub(crate) fn with_first(&self, k: usize) -> Result<Option<Self>, BatchError> {
        Ok(self.table.with_first(k)?.map(|table| Batch { table, spec: PhantomData }))
    }

    /// Replaces the values by those of `rows`. After an error the batch is empty.
    ///
    /// # Errors
    /// A size that a type leaves open differs between rows, an input without rows has different values, or memory runs
    /// out. For a [`Dynamic`](crate::Dynamic) network, also rows whose columns, element types or shapes are not those
    /// of its inputs.
    pub fn fill<R: Borrow<S::Row>>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), BatchError> {
        self.table.fill::<S::Row>(rows)
    }

    /// Sets the values of an input for all rows. `array` may have any layout; its first dimension is that of the rows.
    /// For `[_, 1]` the shape `[rows]` is accepted too, and for `[_]` the shape `[rows, 1]`.
    ///
    /// # Errors
    /// There is no such input, the array has another element type or shape, or memory runs out. Then the input has no
    /// value.
    pub fn set<T, A, D>(&mut self, input: &str, array: &ArrayBase<A, D>) -> Result<(), BatchError>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        self.table.set(input, array, &[])
    }

    /// Sets the tokens of an input of sequences for all rows. The first dimension of `array` is that of the tokens;
    /// `offsets` has the start of each sequence, and at the end the number of tokens.
    ///
    /// `batch.set_sequences("words", &array![5, 7, 7, 2], &[0, 3, 3, 4])?` sets three sequences, the second of which is
    /// empty.
    ///
    /// # Errors
    /// There is no such input, the array has another element type or shape, memory runs out, or the offsets do not
    /// begin with 0, descend, or do not end with the number of tokens. Then the input has no value.
    pub fn set_sequences<T, A, D>(
        &mut self,
        input: &str,
        tokens: &ArrayBase<A, D>,
        offsets: &[usize],
    ) -> Result<(), BatchError>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        self.table.set(input, tokens, &[offsets])
    }

    /// Sets the tokens of an input of sequences of sequences, `Seq<Seq<i64>>`, for all rows. `offsets` has those of
    /// each level, the outermost first; the offsets of a level count sequences of the next one.
    ///
    /// `batch.set_nested_sequences("text", &array![5, 7, 7, 2], &[&[0, 2], &[0, 3, 4]])?` sets one text of two
    /// sentences, with three words and one.
    ///
    /// # Errors
    /// There is no such input, the array has another element type or shape, the offsets do not fit the array or each
    /// other, or memory runs out. Then the input has no value.
    pub fn set_nested_sequences<T, A, D>(
        &mut self,
        input: &str,
        tokens: &ArrayBase<A, D>,
        offsets: &[&[usize]],
    ) -> Result<(), BatchError>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        self.table.set(input, tokens, offsets)
    }

    /// Like [`set`](Self::set), for a batch that is built in one expression:
    ///
    /// `Batch::new(&net)?.with("x", &x)?.with("y", &y)?`
    ///
    /// # Errors
    /// Those of [`set`](Self::set).
    pub fn with<T, A, D>(mut self, input: &str, array: &ArrayBase<A, D>) -> Result<Self, BatchError>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        self.set(input, array)?;
        Ok(self)
    }

    /// The number of rows.
    ///
    /// # Errors
    /// An input has no value, or another number of rows than the rest.
    pub fn rows(&self) -> Result<usize, BatchError> {
        self.table.rows()
    }
}

impl<S: Spec> IntoItem for Batch<S> {
    type Data = Self;

    fn into_item(self) -> Item<Self> {
        Item::Data(self)
    }
}

impl<S: Spec> fmt::Debug for Batch<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("network", &S::NAME).field("table", &self.table).finish()
    }
}

/// Rows of the network `S`: a `Vec`, an array or a slice of rows or of references to rows, or a [`Batch`].
///
/// ```
/// use paddle::{Network, Parameters, Rows, Spec, infer, network};
///
/// fn count<S: Spec>(net: &Network<S>, rows: impl Rows<S>) -> Result<usize, Box<dyn std::error::Error>> {
///     Ok(infer(net, &Parameters::create(net)?, rows)?.at::<f32>(0)?.shape()[0])
/// }
///
/// let net = network!(|x: Tensor<f32, _, 2>| softmax(x));
/// let rows = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]];
/// assert_eq!(count(&net, rows)?, 3);
/// assert_eq!(count(&net, &rows[1..])?, 2);
/// assert_eq!(count(&net, rows.iter().collect::<Vec<_>>())?, 3);
/// assert_eq!(count(&net, &net.batch(rows)?)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a batch of the network's rows",
    label = "expected a `Vec`, an array or a slice of the network's rows, or a `Batch` of this network",
    note = "`net.row(..)` makes a row of the network `net`; a reader of rows becomes one of batches by `.batch(n)`"
)]
pub trait Rows<S: Spec>: sealed::Fill<S> {}

#[diagnostic::do_not_recommend]
impl<S: Spec, T: sealed::Fill<S>> Rows<S> for T {}

/// Rows of any form and of any network, as columns: what runs a batch is compiled once, not for each form of rows.
pub(crate) trait AnyRows {
    /// See [`Fill::columns`](sealed::Fill::columns).
    fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError>;
}

/// Rows of the network `S`, whose type a run does not know.
pub(crate) struct RowsOf<'r, S, R> {
    rows: &'r R,
    spec: PhantomData<fn() -> S>,
}

impl<'r, S: Spec, R: Rows<S>> RowsOf<'r, S, R> {
    pub(crate) fn new(rows: &'r R) -> Self {
        RowsOf { rows, spec: PhantomData }
    }
}

impl<S: Spec, R: Rows<S>> AnyRows for RowsOf<'_, S, R> {
    fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError> {
        self.rows.columns(scratch)
    }
}

pub(crate) mod sealed {
    use std::borrow::Borrow;
    use std::sync::Arc;

    use super::{Batch, BatchError, Table};
    use crate::network::Spec;

    /// The conversion of rows to columns.
    pub trait Fill<S: Spec> {
        /// The columns of these rows: existing ones, or `scratch` filled with the rows.
        fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError>;
    }

    fn fill<'a, S: Spec, R: Borrow<S::Row>>(
        rows: &[R],
        scratch: &'a mut Table,
    ) -> Result<&'a Table, BatchError> {
        scratch.fill::<S::Row>(rows.iter().map(Borrow::borrow))?;
        Ok(scratch)
    }

    impl<S: Spec> Fill<S> for Batch<S> {
        fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError> {
            if !Arc::ptr_eq(&self.table.signature, &scratch.signature) {
                let [found, expected] = [&self.table, scratch].map(|table| table.signature.network.clone());
                return Err(BatchError::OtherNetwork { found, expected });
            }
            Ok(&self.table)
        }
    }

    #[diagnostic::do_not_recommend]
    impl<S: Spec, R: Borrow<S::Row>> Fill<S> for Vec<R> {
        fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError> {
            fill::<S, R>(self, scratch)
        }
    }

    #[diagnostic::do_not_recommend]
    impl<S: Spec, R: Borrow<S::Row>> Fill<S> for [R] {
        fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError> {
            fill::<S, R>(self, scratch)
        }
    }

    #[diagnostic::do_not_recommend]
    impl<S: Spec, R: Borrow<S::Row>, const N: usize> Fill<S> for [R; N] {
        fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError> {
            fill::<S, R>(self, scratch)
        }
    }

    impl<S: Spec, F: Fill<S> + ?Sized> Fill<S> for &F {
        fn columns<'a>(&'a self, scratch: &'a mut Table) -> Result<&'a Table, BatchError> {
            (**self).columns(scratch)
        }
    }
}
