//! Types of values: element type, row space, dimensions.

use std::fmt;

use super::dim::{Dim, DimOverflow, SymbolId};

/// What one element of a tensor is.
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

    /// Whether gradients exist for it.
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

/// What a row space's rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOrigin {
    /// A root: the batch, or a leading dimension with a name. Its size is bound by what is fed.
    Root,
    /// The rows of the parent on which the condition of an `if` is true (or, for `else`, false), in order.
    Chosen,
    /// The rows of the parent that an iteration of a loop runs on. Row by row and iteration by iteration they are the
    /// tokens in `steps`: an iteration has a part of those, without gaps.
    Active {
        /// The tokens that the iterations have together, in the order in which they come.
        steps: RowsId,
    },
    /// The tokens of one sequence per row of the parent, packed in the order of the rows: offsets say where each
    /// sequence begins. Its size is bound by what is fed, or by the operator that makes the sequences.
    Tokens,
    /// The tokens of the parent in another order: the first of every sequence, then the second of those that have one,
    /// and so on. So a loop that goes along the sequences finds the tokens of an iteration side by side.
    Steps,
    /// The tokens of the parent in the order in which a `while` gave them: those of the first iteration, then those of the
    /// second, each in the order of the rows.
    Rounds,
    /// Of the sequences in `of`, those that belong to the rows of the parent, whole, in the order of the parent.
    Part {
        /// The tokens of all of the sequences.
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
    /// The space that its rows are drawn from, or whose rows its sequences belong to. It comes before this one.
    pub parent: Option<RowsId>,
    /// Its number of rows.
    pub size: SymbolId,
    /// What its rows are.
    pub origin: RowOrigin,
}

/// The type of a value: `f32[_, 13]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Element type.
    pub dtype: DType,
    /// The row space of the leading dimension, if that is one.
    pub rows: Option<RowsId>,
    /// The dimensions behind the rows; all of them where there are no rows.
    pub dims: Vec<Dim>,
}

impl Type {
    /// More dimensions than this no value has. (PaddlePaddle has at most 9.)
    pub const MAX_RANK: usize = 16;

    /// Whether there can be a value of this type: it has few enough dimensions, and the sizes that are known are not
    /// negative and come to no more bytes than there are addresses.
    pub fn is_possible(&self) -> bool {
        let known = self.dims.iter().filter_map(|dim| dim.constant()).map(usize::try_from);
        let Ok(known) = known.collect::<Result<Vec<usize>, _>>() else {
            return false;
        };
        // One without elements has the other sizes all the same, in the types of what is made of it.
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

    /// A rank-0 value.
    pub fn scalar(dtype: DType) -> Self {
        Type { dtype, rows: None, dims: Vec::new() }
    }

    /// Number of dimensions, that of the rows included.
    pub fn rank(&self) -> usize {
        self.dims.len() + usize::from(self.rows.is_some())
    }

    /// Whether it has exactly one element and no rows: rank 0, or every dimension 1.
    pub fn is_scalar(&self) -> bool {
        self.rows.is_none() && self.dims.iter().all(|dim| dim.constant() == Some(1))
    }

    /// The same with each symbol of its dimensions replaced.
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
