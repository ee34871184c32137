//! Types of values: element type, row space, dimensions.

use std::fmt;

use super::dim::{Dim, DimOverflow, SymbolId};

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    /// Truth values, one byte each.
    Bool,
    /// 32-bit integers.
    I32,
    /// 64-bit integers: class ids, counters.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl DType {
    /// Every element type, in declaration order.
    pub const ALL: [DType; 5] = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];

    /// The name in the language and in the text form.
    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The element type of this name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of one element in host memory.
    pub fn bytes(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// Whether it is a floating-point type, which has gradients.
    pub fn is_float(self) -> bool {
        match self {
            DType::F32 | DType::F64 => true,
            DType::Bool | DType::I32 | DType::I64 => false,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A row space of a program; an index into [`Program::row_spaces`](super::Program::row_spaces).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowsId(pub u32);

/// What the rows of a row space are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOrigin {
    /// A root: the batch, or a named leading dimension. The fed values give its size.
    Root,
    /// A root of always so many rows: sequences that are made of values without rows belong to them.
    Fixed(u32),
    /// The rows of the parent on which the condition of an `if` is true, in order; for the `else` block, those on which
    /// it is false.
    Chosen,
    /// The rows of the parent that one iteration of a loop runs on. The iterations one after the other make up `steps`:
    /// the rows of an iteration are a contiguous part of it.
    Active {
        /// The row space of all iterations together, in the order of the iterations.
        steps: RowsId,
    },
    /// The tokens of one sequence per row of the parent, packed in the order of the rows. Offsets say where each
    /// sequence begins. The size comes from the fed values, or from the operator that makes the sequences.
    Tokens,
    /// The tokens of the parent in another order: the first token of every sequence, then the second of those that have
    /// one, and so on. The tokens of one iteration of a `for` are contiguous in it.
    Steps,
    /// The tokens of the parent in the order in which a `while` makes them: those of the first iteration, then those of
    /// the second; within an iteration in the order of the rows.
    Rounds,
    /// Whole sequences of `of`: those that belong to the rows of the parent, in the order of the parent.
    Part {
        /// The row space of the tokens of all sequences.
        of: RowsId,
    },
}

/// An ordered set of rows along which values are aligned.
///
/// Values combine within one row space, or with values that have none. Splitting, merging, sharding and hoisting read
/// row spaces and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSpace {
    /// `_` for the batch; the user's name; `_.3` for the rows of `_` that block 3 runs on; `_.words` for the tokens of
    /// the input `words`.
    pub name: String,
    /// The space that its rows are taken from or, for tokens, that its sequences belong to. Its id is lower than this
    /// one's.
    pub parent: Option<RowsId>,
    /// The symbol of its number of rows.
    pub size: SymbolId,
    /// What its rows are.
    pub origin: RowOrigin,
}

/// The type of a value: `f32[_, 13]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Element type.
    pub dtype: DType,
    /// The row space of the leading dimension, if that counts rows.
    pub rows: Option<RowsId>,
    /// The dimensions behind the rows; all dimensions if there are no rows.
    pub dims: Vec<Dim>,
}

impl Type {
    /// The most dimensions that a value may have. (PaddlePaddle allows at most 9.)
    pub const MAX_RANK: usize = 16;

    /// Whether a value of this type can exist: its rank is at most [`MAX_RANK`](Self::MAX_RANK), no known size is
    /// negative, and the known sizes come to no more bytes than there are addresses.
    pub fn is_possible(&self) -> bool {
        let known = self.dims.iter().filter_map(|dim| dim.constant()).map(usize::try_from);
        let Ok(known) = known.collect::<Result<Vec<usize>, _>>() else {
            return false;
        };
        // A dimension of 0 counts as 1: types derived from this one may keep the other sizes without it.
        let bytes = known.iter().try_fold(self.dtype.bytes(), |bytes, &dim| bytes.checked_mul(dim.max(1)));
        self.rank() <= Type::MAX_RANK && bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
    }

    /// A value without rows.
    pub fn new(dtype: DType, dims: impl IntoIterator<Item = i64>) -> Self {
        Type { dtype, rows: None, dims: dims.into_iter().map(Dim::from).collect() }
    }

    /// A value with rows.
    pub fn with_rows(dtype: DType, rows: RowsId, dims: impl IntoIterator<Item = i64>) -> Self {
        Type { rows: Some(rows), ..Type::new(dtype, dims) }
    }

    /// A value of rank 0.
    pub fn scalar(dtype: DType) -> Self {
        Type { dtype, rows: None, dims: Vec::new() }
    }

    /// The number of dimensions, that of the rows included.
    pub fn rank(&self) -> usize {
        self.dims.len() + usize::from(self.rows.is_some())
    }

    /// Whether a value has exactly one element and no rows: its rank is 0, or every dimension is 1.
    pub fn is_scalar(&self) -> bool {
        self.rows.is_none() && self.dims.iter().all(|dim| dim.constant() == Some(1))
    }

    /// The type with each symbol of its dimensions replaced.
    pub fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Type, DimOverflow> {
        let dims = self.dims.iter().map(|dim| dim.substitute(with)).collect::<Result<_, _>>()?;
        Ok(Type { dims, ..self.clone() })
    }

    /// The same shape with another element type.
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Type { dtype, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_larger_than_memory() {
        assert!(Type::new(DType::F32, [1 << 40, 0]).is_possible());
        assert!(!Type::new(DType::F32, [1 << 31, 1 << 31]).is_possible());
        assert!(!Type::new(DType::F32, [-1]).is_possible());
        assert!(!Type::new(DType::F32, [1; Type::MAX_RANK + 1]).is_possible());
    }
}
