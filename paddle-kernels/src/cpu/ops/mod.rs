//! The kernels of the operators, one file each. Every operator implements [`Compile`].

mod accuracy;
mod assign_value;
mod attend;
mod attention;
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
mod non_max_suppression;
mod normalise;
mod one_hot;
mod pool2d;
mod product;
mod random;
mod reduce;
mod reshape;
mod row_numbers;
mod scatter;
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
mod take_along_axis;
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
use paddle_core::plan::{Group, Takes, Unsupported};
use paddle_core::program::DType;

use self::elementwise::Link;
use super::epilogue::body_of;
use super::kernel::{Compiled, Kernel, Single, unsupported};
use super::together::together;

/// How the CPU computes an operator. An element-wise operator implements [`link`](Compile::link), and any other one
/// [`compile`](Compile::compile).
trait Compile {
    /// Whether there is a kernel for some types.
    fn is_supported(&self) -> bool {
        true
    }

    /// The kernel of a group of this operator alone.
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        elementwise::compile(single.group())
    }

    /// Whether the operator is fastest with images whose channels are the fastest axis.
    fn prefers_channels_last(&self) -> bool {
        false
    }

    /// How an operand with four axes is taken with the second axis as the fastest. Inputs are numbered first, then outputs.
    fn takes_channels_last(&self, _operand: usize) -> Takes {
        Takes::RowMajor
    }

    /// Whether the kernel computes an epilogue behind its first result.
    fn finishes(&self) -> bool {
        false
    }

    /// Whether the operator is launched together with others that update parameters.
    fn gathers(&self) -> bool {
        false
    }

    /// The operator's part in a chain, on operands of this type; `None` if the operator is not element-wise.
    fn link(&self, _dtype: DType) -> Option<Link> {
        None
    }
}

macro_rules! compilers {
    ($($name:ident,)*) => {
        fn compiler(op: &Op) -> &dyn Compile {
            match op {
                $(Op::$name(op) => op,)*
            }
        }
    };
}
paddle_core::with_operators!(compilers);

/// Whether there is a kernel for the operator, for some types.
pub(super) fn supports(op: &Op) -> bool {
    compiler(op).is_supported()
}

/// Whether the operator is fastest with images whose channels are the fastest axis.
pub(super) fn prefers_channels_last(op: &Op) -> bool {
    compiler(op).prefers_channels_last()
}

/// How an operand with four axes is taken with the second axis as the fastest.
pub(super) fn takes_channels_last(op: &Op, operand: usize) -> Takes {
    match op.effects().element_wise {
        true => Takes::Alike,
        false => compiler(op).takes_channels_last(operand),
    }
}

/// Whether the operator's kernel computes an epilogue.
pub(super) fn finishes(op: &Op) -> bool {
    compiler(op).finishes()
}

/// Whether the operator is launched together with others that update parameters.
pub(super) fn gathers(op: &Op) -> bool {
    compiler(op).gathers()
}

/// Compiles a group of updates.
pub(super) fn compile_updates(group: &Group) -> Result<Kernel, Unsupported> {
    let updates = group.operators().map(|op| compiler(&op.op).compile(&Single::new(group, op)));
    Ok(Kernel::new(together(updates.collect::<Result<_, _>>()?)))
}

pub(super) fn compile(group: &Group) -> Result<Kernel, Unsupported> {
    let mut operators = group.operators();
    Ok(match (operators.next(), operators.next()) {
        (Some(op), None) => Kernel::new(compiler(&op.op).compile(&Single::new(group, op))?),
        (Some(body), Some(_)) if group.body.is_some() => {
            if !finishes(&body.op) {
                return unsupported(&format!("`{}` with an epilogue", body.op.name()));
            }
            let (alone, op, landing) = body_of(group, body)?;
            let chain = elementwise::compile_epilogue(group, body.outputs[0], landing)?;
            Kernel::with_epilogue(compiler(&op.op).compile(&Single::new(&alone, &op))?, chain)
        }
        _ => Kernel::new(elementwise::compile(group)?),
    })
}

macro_rules! without_kernel {
    ($($name:ident: $why:literal;)*) => {$(
        impl Compile for $name {
            fn is_supported(&self) -> bool {
                false
            }

            fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
                single.refuse($why)
            }
        }
    )*};
}

without_kernel! {
    For: "of its own: the runtime runs it";
    GatherRows: "of its own: the runtime runs it";
    If: "of its own: the runtime runs it";
    LoopGrad: "of its own: the runtime runs it";
    ScatterRows: "of its own: the runtime runs it";
    While: "of its own: the runtime runs it";
    FetchBarrier: "of its own: the runtime runs it";
    Listen: "of its own: the runtime runs it";
    Prefetch: "of its own: the runtime runs it";
    Receive: "of its own: the runtime runs it";
    Send: "of its own: the runtime runs it";
    SendBarrier: "of its own: the runtime runs it";
    SendRows: "of its own: the runtime runs it";
    ReceiveValue: "of its own: the runtime runs it";
    SendValue: "of its own: the runtime runs it";
    Share: "of its own: the runtime runs it";
    Shared: "of its own: the runtime runs it";
    Outside: "of a value that is bound when the network is made";
    Foreign: "of another system: it can be shown and converted, not run";
}
