//! The arithmetic of the operators, one file each. Operators that have some implement [`Evaluate`].

mod accuracy;
mod assign;
mod assign_value;
mod attend;
mod auc;
mod batch_norm;
mod chunk_eval;
mod concat;
mod conv2d;
mod crf_decoding;
mod cross_entropy;
mod cumsum;
mod custom;
mod decayed_scores;
mod dropout;
mod edit_distance;
pub(super) mod elementwise;
mod expand;
mod fill;
mod gather;
mod interpolate;
mod linear_chain_crf;
mod lookup_table;
mod lrn;
mod matmul;
mod non_max_suppression;
mod normalise;
mod one_hot;
mod pool2d;
mod random;
mod reduce;
mod reshape;
mod row_numbers;
mod scale;
mod sequence_align;
mod sequence_attend;
mod sequence_concat;
mod sequence_expand_as;
mod sequence_gather;
mod sequence_length;
mod sequence_pad;
mod sequence_pool;
mod sequence_product;
mod sequence_range;
mod sequence_reshape;
mod sequence_reverse;
mod sequence_softmax;
mod sequence_where;
mod sequence_window;
mod slice;
mod softmax;
mod softmax_with_cross_entropy;
mod store;
mod tile;
mod top_k;
mod transpose;
mod unfold;
mod update;
mod update_rows;
mod warpctc;

use paddle_core::ops::{
    FetchBarrier, For, Foreign, GatherRows, If, Listen, LoopGrad, Op, Outside, Prefetch, Receive,
    ReceiveValue, ScatterRows, Send, SendBarrier, SendRows, SendValue, Share, Shared, While,
};

use super::call::{Call, Results};

/// The arithmetic of an operator.
pub(super) trait Evaluate {
    /// Whether the operator has arithmetic.
    fn is_supported(&self) -> bool {
        true
    }

    /// Computes the values that the operator writes from those that it reads.
    fn evaluate(&self, call: &Call<'_>) -> Results;
}

macro_rules! arithmetic {
    ($($name:ident,)*) => {
        pub(super) fn arithmetic(op: &Op) -> &dyn Evaluate {
            match op {
                $(Op::$name(op) => op,)*
            }
        }
    };
}
paddle_core::with_operators!(arithmetic);

macro_rules! without_arithmetic {
    ($($name:ident),*) => {$(
        impl Evaluate for $name {
            fn is_supported(&self) -> bool {
                false
            }

            fn evaluate(&self, call: &Call<'_>) -> Results {
                unreachable!("`{}` is not compiled", call.op.op.name())
            }
        }
    )*};
}
without_arithmetic!(
    FetchBarrier,
    For,
    Foreign,
    GatherRows,
    If,
    Listen,
    LoopGrad,
    Outside,
    Prefetch,
    Receive,
    ScatterRows,
    Send,
    SendBarrier,
    SendRows,
    ReceiveValue,
    SendValue,
    Share,
    Shared,
    While
);
