//! The type of a variable as an editor shows it; filled in when the network has been lowered.

use paddle_core::program::DType;

/// The type of a variable, in the user's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// No single type, or one that cannot be written in the language.
    Value,
    /// A number that is known at compile time.
    Number(DType),
    /// `Tensor<f32, _, 16>`
    Tensor {
        dtype: DType,
        dims: Vec<ShownDim>,
    },
    /// `Seq<..>`
    Sequence(Box<Shown>),
    Tuple(Vec<Shown>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShownDim {
    Size(usize),
    /// A row space, or a size that is not known yet.
    Name(String),
    /// Different sizes, in several calls of a sub-network or several iterations of a `for`.
    Any,
}

impl Shown {
    /// Merges with another type of the same variable.
    pub fn merge(&mut self, other: &Shown) {
        match (&mut *self, other) {
            (known, other) if *known == *other => {}
            (Shown::Tensor { dtype, dims }, Shown::Tensor { dtype: other, dims: others })
                if dtype == other && dims.len() == others.len() =>
            {
                for (dim, _) in dims.iter_mut().zip(others).filter(|(dim, other)| *dim != *other) {
                    *dim = ShownDim::Any;
                }
            }
            (Shown::Sequence(items), Shown::Sequence(others)) => items.merge(others),
            (Shown::Tuple(parts), Shown::Tuple(others)) if parts.len() == others.len() => {
                parts.iter_mut().zip(others).for_each(|(part, other)| part.merge(other));
            }
            _ => *self = Shown::Value,
        }
    }
}
