//! The form of attributes on the wire, if it differs from the definition.

use crate::convert::dialect::{DIMS, PATH, TYPE};
#[cfg(feature = "read")]
use crate::convert::error::Fault;
use crate::ops::{Attribute, Loss, LossGrad, LossKind, Op, TopK};
#[cfg(feature = "read")]
use crate::wire::OpDesc;

use Constant::{Bool, Int, Text};
use Form::{Hint, Long, Only, Renamed, Same};

/// An attribute of PaddlePaddle's operator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// An attribute that both have under one name.
    Same(&'static str),
    /// An attribute that ours has under the first name, and PaddlePaddle's under the second.
    Renamed(&'static str, &'static str),
    /// A number of 64 bits. PaddlePaddle has 32 bits for most numbers.
    Long(&'static str),
    /// An attribute that ours lacks. Ours does what PaddlePaddle's does for this value only.
    Only(&'static str, Constant),
    /// An attribute that ours lacks, and that does not change the result.
    Hint(&'static str, Constant),
}

/// The value of an attribute that is always the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Constant {
    Bool(bool),
    Int(i32),
    Text(&'static str),
}

impl Form {
    /// The name in our definition.
    pub(super) fn ours(&self) -> Option<&'static str> {
        match *self {
            Form::Same(name) | Form::Renamed(name, _) | Form::Long(name) => Some(name),
            Form::Only(..) | Form::Hint(..) => None,
        }
    }
}

/// The attributes on the wire, in their order there; `None` if they are those of the definition.
pub(super) fn form(op: &Op) -> Option<&'static [Form]> {
    Some(match op {
        Op::BatchNorm(_) => &[
            Same("is_test"),
            Only("data_layout", Text("NCHW")),
            Same("momentum"),
            Same("epsilon"),
            Only("use_global_stats", Bool(false)),
            Only("trainable_statistics", Bool(false)),
        ],
        // The area is the same, whatever the curve is called.
        Op::Auc(_) => &[Hint("curve", Text("ROC")), Same("num_thresholds"), Same("slide_steps")],
        Op::Cast(_) => &[Renamed("dtype", "out_dtype")],
        // Ours aligns the second value at the end.
        Op::Binary(_) => &[Only("axis", Int(-1))],
        Op::Compare(_) => &[Only("axis", Int(-1)), Hint("force_cpu", Bool(false))],
        Op::CumSum(_) => &[Same("axis"), Only("flatten", Bool(false)), Same("exclusive"), Same("reverse")],
        Op::Dropout(_) => &[
            Same("dropout_implementation"),
            Same("dropout_prob"),
            Only("is_test", Bool(false)),
            Hint("fix_seed", Bool(false)),
            Hint("seed", Int(0)),
            Renamed("path", PATH),
        ],
        Op::DropoutGrad(_) => &[
            Same("dropout_implementation"),
            Same("dropout_prob"),
            Only("is_test", Bool(false)),
            Hint("fix_seed", Bool(false)),
            Hint("seed", Int(0)),
        ],
        Op::GroupNorm(_) | Op::GroupNormGrad(_) => {
            &[Same("groups"), Only("data_layout", Text("NCHW")), Same("epsilon")]
        }
        Op::LayerNorm(_) | Op::LayerNormGrad(_) => &[Same("begin_norm_axis"), Same("epsilon")],
        Op::LookupTable(_) | Op::LookupTableGrad(_) => {
            &[Long("padding_idx"), Hint("is_sparse", Bool(false)), Hint("is_distributed", Bool(false))]
        }
        Op::Loss(Loss { kind, .. }) | Op::LossGrad(LossGrad { kind, .. }) => match kind {
            LossKind::KlDivergence => &[Only("reduction", Text("none"))],
            LossKind::SigmoidCrossEntropy => &[Same("ignore_index"), Only("normalize", Bool(false))],
            _ => return None,
        },
        Op::Scale(_) => &[Only("bias_after_scale", Bool(true)), Same("scale"), Same("bias")],
        Op::Scatter(_) => &[Only("overwrite", Bool(true))],
        // Ours works along the last axis.
        Op::Softmax(_) | Op::SoftmaxGrad(_) => &[Only("axis", Int(-1))],
        Op::SoftmaxWithCrossEntropy(_) | Op::SoftmaxWithCrossEntropyGrad(_) => &[
            Same("soft_label"),
            Only("use_softmax", Bool(true)),
            Hint("numeric_stable_mode", Bool(true)),
            Same("ignore_index"),
            Only("axis", Int(-1)),
        ],
        Op::TakeAlongAxis(_) | Op::TakeAlongAxisGrad(_) => &[Renamed("axis", "Axis")],
        Op::TopK(TopK { k: Some(_), .. }) => {
            &[Same("k"), Same("axis"), Same("largest"), Only("sorted", Bool(true))]
        }
        Op::Transpose(_) => &[Renamed("perm", "axis")],
        Op::WarpCtc(_) => &[Same("blank"), Only("norm_by_times", Bool(false))],
        _ => return None,
    })
}

/// The name on the wire of one of our attributes.
pub(super) fn wire_name(op: &Op, ours: &'static str, value: &Attribute) -> &'static str {
    let renamed = form(op).into_iter().flatten().find_map(|form| match *form {
        Renamed(name, theirs) if name == ours => Some(theirs),
        _ => None,
    });
    renamed.unwrap_or(match value {
        Attribute::Dims(_) => DIMS,
        Attribute::Type(_) => TYPE,
        _ => ours,
    })
}

/// Whether PaddlePaddle's operator does what ours does: each attribute that ours lacks has to have the one value that
/// ours covers.
#[cfg(feature = "read")]
pub(in crate::convert) fn is_of_our_form(desc: &OpDesc, op: &Op) -> Result<bool, Fault> {
    for form in form(op).unwrap_or_default() {
        let Form::Only(name, value) = *form else { continue };
        let is_same = match value {
            Constant::Bool(value) => desc.attr_bool(name)?.is_none_or(|found| found == value),
            Constant::Int(value) => desc.attr_long(name)?.is_none_or(|found| found == i64::from(value)),
            Constant::Text(value) => desc.attr_string(name)?.is_none_or(|found| found == value),
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}
