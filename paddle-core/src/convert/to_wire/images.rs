//! Operators on images, on their way to the wire.

use super::operators::{push_float, whole, wholes};
use crate::ops::{Conv2d, Conv2dTranspose, DropoutImplementation, MaxPool2dWithIndex, Padding, Pool2d};
use crate::wire::OpAttr;

/// The attributes of a convolution.
pub(super) fn describe_conv2d(op: &Conv2d) -> Vec<OpAttr> {
    let mut attrs = described(op.strides, op.paddings);
    attrs.push(wholes("dilations", &op.dilations));
    attrs.push(whole("groups", op.groups));
    attrs
}

/// The attributes of the transpose of a convolution.
pub(super) fn describe_conv2d_transpose(op: &Conv2dTranspose) -> Vec<OpAttr> {
    let mut attrs = describe_conv2d(&op.conv());
    attrs.push(wholes("output_padding", &op.output_padding));
    attrs
}

/// The attributes of maxima with their places.
pub(super) fn describe_max_pool2d_with_index(op: &MaxPool2dWithIndex) -> Vec<OpAttr> {
    vec![
        wholes("ksize", &op.ksize),
        wholes("strides", &op.strides),
        wholes("paddings", &op.paddings),
        OpAttr::bool("global_pooling", op.global_pooling),
        OpAttr::bool("adaptive", op.adaptive),
    ]
}

/// The attributes of pooling.
pub(super) fn describe_pool2d(op: &Pool2d) -> Vec<OpAttr> {
    let mut attrs = described(op.strides, op.paddings);
    attrs.extend([
        OpAttr::string("pooling_type", op.pooling_type.name()),
        wholes("ksize", &op.ksize),
        OpAttr::bool("global_pooling", op.global_pooling),
        OpAttr::bool("ceil_mode", op.ceil_mode),
        OpAttr::bool("exclusive", op.exclusive),
        OpAttr::bool("adaptive", op.adaptive),
    ]);
    attrs
}

/// The attributes of normalisation by batches.
pub(super) fn describe_batch_norm(epsilon: f64, momentum: f64, is_test: bool) -> Vec<OpAttr> {
    let mut attrs = vec![OpAttr::bool("is_test", is_test), OpAttr::string("data_layout", "NCHW")];
    push_float(&mut attrs, "momentum", momentum);
    push_float(&mut attrs, "epsilon", epsilon);
    attrs.extend([OpAttr::bool("use_global_stats", false), OpAttr::bool("trainable_statistics", false)]);
    attrs
}

/// The attributes of dropping at random.
pub(super) fn describe_dropout(probability: f64, implementation: DropoutImplementation) -> Vec<OpAttr> {
    let mut attrs = vec![OpAttr::string("dropout_implementation", implementation.name())];
    push_float(&mut attrs, "dropout_prob", probability);
    attrs.extend([OpAttr::bool("is_test", false), OpAttr::bool("fix_seed", false), OpAttr::int("seed", 0)]);
    attrs
}

/// What both have.
fn described(strides: [i64; 2], paddings: Padding) -> Vec<OpAttr> {
    let (sides, algorithm) = match paddings {
        Padding::Explicit([above, below, left, right]) if above == below && left == right => {
            (vec![above, left], "EXPLICIT")
        }
        Padding::Explicit(sides) => (sides.to_vec(), "EXPLICIT"),
        Padding::Same => (vec![0, 0], "SAME"),
    };
    vec![
        wholes("strides", &strides),
        wholes("paddings", &sides),
        OpAttr::string("padding_algorithm", algorithm),
        OpAttr::string("data_format", "NCHW"),
        OpAttr::bool("use_cudnn", false),
    ]
}
