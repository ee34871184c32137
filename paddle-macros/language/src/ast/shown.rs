//! What an editor shows of a variable; filled in when the network has been lowered.

use paddle_core::program::DType;

/// The type of a variable in the user's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// Of no one type, or of one that has no words.
    Value,
    /// A number that is known when the network is compiled.
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
    /// Rows, or a size that is not known yet.
    Name(String),
    /// One or another, in the calls of a sub-network or the iterations of a `for`.
    Any,
}

impl Shown {
    /// The type of what is sometimes this and sometimes that.
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
