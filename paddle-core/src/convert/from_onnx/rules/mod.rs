//! Rules for ONNX's operators, a file for each family.
//!
//! A rule reads inputs and attributes, appends our operators, and returns the values of the outputs. For a form that ours lacks it
//! returns [`Fault::Form`](crate::convert::Fault::Form) with what is lacking.

mod arithmetic;
mod arrangement;
mod boxes;
mod constants;
mod control_flow;
mod functions;
mod images;
mod indices;
mod losses;
mod matrices;
mod normalisation;
mod pools;
mod quantised;
mod recurrent;
mod reductions;
mod resize;
mod shapes;
mod slices;
mod volumes;

use super::node::{Given, Node};
use crate::ops::{BinaryKind, CompareKind, LogicalKind, PoolKind, PredicateKind, ReduceKind, UnaryKind};
use crate::wire::onnx::NodeProto;

/// Reads one operator.
pub(super) type Rule = fn(&mut Node<'_, '_>) -> Given;

/// The rule for an operator of ONNX's own; `None` if there is none.
#[rustfmt::skip]
pub(super) fn rule(desc: &NodeProto) -> Option<Rule> {
    if !matches!(desc.domain.as_deref(), None | Some("" | "ai.onnx")) {
        return None;
    }
    Some(match desc.op_type.as_str() {
        "Constant"                => |x| x.inputs(),
        "Identity"                => |x| Ok(vec![x.input(0)?]),
        // Arithmetic of several values.
        "Add"                     => |x| x.arithmetic(BinaryKind::Add),
        "Sub"                     => |x| x.arithmetic(BinaryKind::Sub),
        "Mul"                     => |x| x.arithmetic(BinaryKind::Mul),
        "Div"                     => |x| x.arithmetic(BinaryKind::Div),
        "Pow"                     => |x| x.power(),
        "Mod"                     => |x| x.remainder(),
        "Max"                     => |x| x.of_all(BinaryKind::Max),
        "Min"                     => |x| x.of_all(BinaryKind::Min),
        "Sum"                     => |x| x.of_all(BinaryKind::Add),
        "Mean"                    => |x| x.mean_of_all(),
        "PRelu"                   => |x| x.prelu(),
        "Equal"                   => |x| x.compare(CompareKind::Equal),
        "Less"                    => |x| x.compare(CompareKind::LessThan),
        "LessOrEqual"             => |x| x.compare(CompareKind::LessEqual),
        "Greater"                 => |x| x.compare(CompareKind::GreaterThan),
        "GreaterOrEqual"          => |x| x.compare(CompareKind::GreaterEqual),
        "And"                     => |x| x.logical(LogicalKind::And),
        "Or"                      => |x| x.logical(LogicalKind::Or),
        "Xor"                     => |x| x.logical(LogicalKind::Xor),
        "Not"                     => |x| x.not(),
        "Where"                   => |x| x.choose(),
        // Functions of one value.
        "Abs"                     => |x| x.function(UnaryKind::Abs, &[]),
        "Acos"                    => |x| x.function(UnaryKind::Acos, &[]),
        "Acosh"                   => |x| x.function(UnaryKind::Acosh, &[]),
        "Asin"                    => |x| x.function(UnaryKind::Asin, &[]),
        "Asinh"                   => |x| x.function(UnaryKind::Asinh, &[]),
        "Atan"                    => |x| x.function(UnaryKind::Atan, &[]),
        "Atanh"                   => |x| x.function(UnaryKind::Atanh, &[]),
        "Ceil"                    => |x| x.function(UnaryKind::Ceil, &[]),
        "Celu"                    => |x| x.function(UnaryKind::Celu, &[("alpha", 1.0)]),
        "Cos"                     => |x| x.function(UnaryKind::Cos, &[]),
        "Cosh"                    => |x| x.function(UnaryKind::Cosh, &[]),
        "Elu"                     => |x| x.function(UnaryKind::Elu, &[("alpha", 1.0)]),
        "Erf"                     => |x| x.function(UnaryKind::Erf, &[]),
        "Exp"                     => |x| x.function(UnaryKind::Exp, &[]),
        "Floor"                   => |x| x.function(UnaryKind::Floor, &[]),
        "HardSigmoid"             => |x| x.function(UnaryKind::HardSigmoid, &[("alpha", 0.2), ("beta", 0.5)]),
        "LeakyRelu"               => |x| x.function(UnaryKind::LeakyRelu, &[("alpha", 0.01)]),
        "Log"                     => |x| x.function(UnaryKind::Log, &[]),
        "Reciprocal"              => |x| x.function(UnaryKind::Reciprocal, &[]),
        "Relu"                    => |x| x.function(UnaryKind::Relu, &[]),
        "Selu"                    => |x| x.function(UnaryKind::Selu, &[("gamma", 1.050_700_987_355_480_5), ("alpha", 1.673_263_242_354_377_2)]),
        "Sigmoid"                 => |x| x.function(UnaryKind::Sigmoid, &[]),
        "Sign"                    => |x| x.function(UnaryKind::Sign, &[]),
        "Sin"                     => |x| x.function(UnaryKind::Sin, &[]),
        "Sinh"                    => |x| x.function(UnaryKind::Sinh, &[]),
        "Softsign"                => |x| x.function(UnaryKind::Softsign, &[]),
        "Sqrt"                    => |x| x.function(UnaryKind::Sqrt, &[]),
        "Swish"                   => |x| x.function(UnaryKind::Swish, &[("alpha", 1.0)]),
        "Tan"                     => |x| x.function(UnaryKind::Tan, &[]),
        "Tanh"                    => |x| x.function(UnaryKind::Tanh, &[]),
        "ThresholdedRelu"         => |x| x.function(UnaryKind::ThresholdedRelu, &[("alpha", 1.0)]),
        "HardSwish"               => |x| x.function(UnaryKind::HardSwish, &[]),
        "Mish"                    => |x| x.function(UnaryKind::Mish, &[]),
        "Gelu"                    => |x| x.gelu(),
        "Softplus"                => |x| x.softplus(),
        "Neg"                     => |x| x.negate(),
        "Round"                   => |x| x.round(),
        "Clip"                    => |x| x.clip(),
        "Shrink"                  => |x| x.shrink(),
        "IsNaN"                   => |x| x.predicate(PredicateKind::NotANumber),
        "IsInf"                   => |x| x.is_infinite(),
        "Cast"                    => |x| x.cast_to(),
        "CastLike"                => |x| x.cast_like(),
        "Dropout"                 => |x| x.dropout(),
        // Reductions.
        "ReduceSum"               => |x| x.reduce(ReduceKind::Sum),
        "ReduceMean"              => |x| x.reduce(ReduceKind::Mean),
        "ReduceMax"               => |x| x.reduce(ReduceKind::Max),
        "ReduceMin"               => |x| x.reduce(ReduceKind::Min),
        "ReduceProd"              => |x| x.reduce(ReduceKind::Prod),
        "ReduceL1"                => |x| x.reduce_of(Some(UnaryKind::Abs), None),
        "ReduceL2"                => |x| x.reduce_of(Some(UnaryKind::Square), Some(UnaryKind::Sqrt)),
        "ReduceSumSquare"         => |x| x.reduce_of(Some(UnaryKind::Square), None),
        "ReduceLogSum"            => |x| x.reduce_of(None, Some(UnaryKind::Log)),
        "ReduceLogSumExp"         => |x| x.reduce_log_sum_exp(),
        "ArgMax"                  => |x| x.arg_extreme(true),
        "ArgMin"                  => |x| x.arg_extreme(false),
        "TopK"                    => |x| x.top_k(),
        "CumSum"                  => |x| x.running_sum(),
        "Softmax"                 => |x| x.softmax(),
        "LogSoftmax"              => |x| x.log_softmax(),
        "Hardmax"                 => |x| x.hardmax(),
        // Products.
        "MatMul"                  => |x| x.matmul(),
        "Gemm"                    => |x| x.gemm(),
        "QuantizeLinear"          => |x| x.quantize(),
        "DequantizeLinear"        => |x| x.dequantize(),
        "DynamicQuantizeLinear"   => |x| x.quantize_dynamically(),
        "MatMulInteger"           => |x| x.matmul_of_integers(),
        "QLinearMatMul"           => |x| x.quantized_matmul(),
        "ConvInteger"             => |x| x.convolution_in_integers(),
        "QLinearConv"             => |x| x.quantized_convolution(),
        "Einsum"                  => |x| x.einsum(),
        // What is chosen.
        "NonMaxSuppression"       => |x| x.non_max_suppression(),
        "RoiAlign"                => |x| x.roi_align(),
        "NonZero"                 => |x| x.non_zero(),
        // Shapes.
        "Reshape"                 => |x| x.reshape(),
        "Flatten"                 => |x| x.flatten(),
        "Squeeze"                 => |x| x.squeeze(),
        "Unsqueeze"               => |x| x.unsqueeze(),
        "Shape"                   => |x| x.shape_of(),
        "Size"                    => |x| x.size_of(),
        "Expand"                  => |x| x.expand(),
        "Tile"                    => |x| x.tile(),
        // The order and the choice of elements.
        "Transpose"               => |x| x.transpose(),
        "Concat"                  => |x| x.concat(),
        "Split"                   => |x| x.split(),
        "DepthToSpace"            => |x| x.depth_to_space(),
        "SpaceToDepth"            => |x| x.space_to_depth(),
        "Trilu"                   => |x| x.triangle(),
        "Slice"                   => |x| x.slice(),
        "Pad"                     => |x| x.pad(),
        "Gather"                  => |x| x.gather(),
        "GatherElements"          => |x| x.gather_elements(),
        "GatherND"                => |x| x.gather_parts(),
        "ScatterND"               => |x| x.scatter_parts(),
        "ScatterElements" | "Scatter" => |x| x.scatter_elements(),
        "Compress"                => |x| x.compress(),
        "OneHot"                  => |x| x.one_hot(),
        // Constants and random numbers.
        "ConstantOfShape"         => |x| x.constant_of_shape(),
        "Range"                   => |x| x.range(),
        "EyeLike"                 => |x| x.eye_like(),
        "RandomNormal"            => |x| x.random(true, false),
        "RandomNormalLike"        => |x| x.random(true, true),
        "RandomUniform"           => |x| x.random(false, false),
        "RandomUniformLike"       => |x| x.random(false, true),
        // Images.
        "Conv"                    => |x| x.convolution(),
        "ConvTranspose"           => |x| x.transposed_convolution(),
        "MaxPool"                 => |x| x.pool(PoolKind::Max),
        "AveragePool"             => |x| x.pool(PoolKind::Avg),
        "LpPool"                  => |x| x.norm_of_windows(),
        "GlobalAveragePool"       => |x| x.global_pool(ReduceKind::Mean),
        "GlobalMaxPool"           => |x| x.global_pool(ReduceKind::Max),
        // Normalisation.
        "BatchNormalization"      => |x| x.batch_normalization(),
        "LayerNormalization"      => |x| x.layer_normalization(),
        "InstanceNormalization"   => |x| x.instance_normalization(),
        "GroupNormalization"      => |x| x.group_normalization(),
        "RMSNormalization"        => |x| x.rms_normalization(),
        "LpNormalization"         => |x| x.lp_normalization(),
        "MeanVarianceNormalization" => |x| x.mean_variance_normalization(),
        "LRN"                     => |x| x.local_response(),
        "Resize" | "Upsample"     => |x| x.resize(),
        // Recurrent layers.
        "LSTM"                    => |x| x.lstm(),
        "GRU"                     => |x| x.gru(),
        "RNN"                     => |x| x.rnn(),
        // Losses.
        "NegativeLogLikelihoodLoss" => |x| x.negative_log_likelihood(),
        "SoftmaxCrossEntropyLoss" => |x| x.softmax_cross_entropy(),
        // Operators that own graphs.
        "If"                      => |x| x.branches(),
        "Loop"                    => |x| x.repeat(),
        "Scan"                    => |x| x.scan(),
        _ => return None,
    })
}

/// Whether an operator means the same since the first version.
pub(super) fn is_unchanged(op_type: &str) -> bool {
    matches!(
        op_type,
        "Not"
            | "Softplus"
            | "Softsign"
            | "GlobalAveragePool"
            | "GlobalMaxPool"
            | "Transpose"
            | "Identity"
            | "Constant"
            | "Shape"
            | "Size"
            | "Relu"
            | "Sigmoid"
            | "Tanh"
            | "Exp"
            | "Log"
            | "Sqrt"
            | "Abs"
            | "Neg"
            | "Floor"
            | "Ceil"
            | "Reciprocal"
    )
}

/// Whether an input of an operator is a running statistic.
pub(super) fn is_statistic(op_type: &str, at: usize) -> bool {
    op_type == "BatchNormalization" && (3..5).contains(&at)
}

/// Whether an input of an operator says what it does, and is no operand: it is looked up, not computed with.
pub(super) fn is_attribute(op_type: &str, at: usize) -> bool {
    match op_type {
        "Reshape" | "Squeeze" | "Unsqueeze" | "Expand" | "Tile" | "Split" | "CumSum" | "TopK" | "Trilu"
        | "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceSumSquare" | "ReduceLogSum" | "ReduceLogSumExp" => at == 1,
        "Slice" | "Pad" | "OneHot" | "Dropout" | "Clip" | "Resize" | "Upsample" => at > 0,
        "NonMaxSuppression" => at > 1,
        "If" => at == 0,
        "Compress" => at == 1,
        "Loop" => at < 2,
        "ConstantOfShape" | "Range" => true,
        _ => false,
    }
}

/// Whether an operator computes nothing: it moves, compares or converts elements.
pub(super) fn keeps(op_type: &str) -> bool {
    matches!(
        op_type,
        "Identity"
            | "Cast"
            | "CastLike"
            | "Equal"
            | "Less"
            | "LessOrEqual"
            | "Greater"
            | "GreaterOrEqual"
            | "Where"
            | "Reshape"
            | "Flatten"
            | "Squeeze"
            | "Unsqueeze"
            | "Shape"
            | "Size"
            | "Expand"
            | "Tile"
            | "Transpose"
            | "Concat"
            | "Split"
            | "DepthToSpace"
            | "SpaceToDepth"
            | "Slice"
            | "Gather"
            | "GatherElements"
            | "GatherND"
    ) || is_quantised(op_type)
}

/// Whether an operator computes with small integers in types that hold all sums of their products.
fn is_quantised(op_type: &str) -> bool {
    matches!(
        op_type,
        "QuantizeLinear"
            | "DequantizeLinear"
            | "MatMulInteger"
            | "QLinearMatMul"
            | "ConvInteger"
            | "QLinearConv"
    )
}

/// Whether the results of an operator have another element type than its inputs.
pub(super) fn gives_other(op_type: &str) -> bool {
    matches!(
        op_type,
        "Cast"
            | "CastLike"
            | "Equal"
            | "Less"
            | "LessOrEqual"
            | "Greater"
            | "GreaterOrEqual"
            | "Shape"
            | "Size"
    ) || is_quantised(op_type)
}
