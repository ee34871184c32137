//! Writes convolutions, poolings and the gradient of batch normalisation.

use crate::convert::derived::{self, whole, wholes};
use crate::ops::{Attributes, BatchNorm, BatchNormGrad, Conv2d, Conv2dTranspose, Padding, Pool2d};
use crate::wire::OpAttr;

pub(super) fn conv2d(op: &Conv2d) -> Vec<OpAttr> {
    let mut attrs = described(op.strides, op.paddings);
    attrs.push(wholes("dilations", &op.dilations));
    attrs.push(whole("groups", op.groups));
    attrs
}

pub(super) fn conv2d_transpose(op: &Conv2dTranspose) -> Vec<OpAttr> {
    let mut attrs = conv2d(&op.conv());
    attrs.push(wholes("output_padding", &op.output_padding));
    attrs
}

pub(super) fn pool2d(op: &Pool2d) -> Vec<OpAttr> {
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

/// PaddlePaddle's gradient has all attributes of the operator. Ours has one of them; the others are written with their
/// defaults.
pub(super) fn batch_norm_grad(op: &BatchNormGrad) -> Vec<OpAttr> {
    let [defaults] = &BatchNorm::prototypes()[..] else { return Vec::new() };
    derived::attributes(&BatchNorm { is_test: op.is_test, ..*defaults }.into())
}

/// The attributes that convolutions and poolings share. PaddlePaddle has padding as numbers and as a word.
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
