//! Reads convolutions and poolings, whose attributes are those of PaddlePaddle.

use crate::convert::error::Fault;
use crate::ops::{Attributes, Conv2d, Conv2dTranspose, Padding, Pool2d, PoolKind};
use crate::wire::OpDesc;

/// The two numbers of an attribute, for height and width.
pub(in crate::convert) fn pair(
    desc: &OpDesc,
    attribute: &'static str,
    default: Option<[i64; 2]>,
) -> Result<[i64; 2], Fault> {
    match (desc.attr_longs(attribute)?.as_deref(), default) {
        (Some(&[height, width]), _) => Ok([height, width]),
        (Some(other), _) => {
            let message = format!("{other:?} is not a height and a width");
            Err(Fault::Attribute { attribute, message })
        }
        (None, Some(default)) => Ok(default),
        (None, None) => Err(Fault::MissingAttribute { attribute }),
    }
}

pub(in crate::convert) fn paddings(desc: &OpDesc) -> Result<Padding, Fault> {
    match desc.attr_string("padding_algorithm")?.unwrap_or("EXPLICIT") {
        "SAME" => Ok(Padding::Same),
        "VALID" => Ok(Padding::Explicit([0; 4])),
        _ => {
            let (attribute, sides) = ("paddings", desc.attr_longs("paddings")?);
            Padding::of(&sides.unwrap_or_else(|| vec![0, 0])).ok_or_else(|| {
                let message = "paddings are one number, two or four".to_string();
                Fault::Attribute { attribute, message }
            })
        }
    }
}

pub(in crate::convert) fn conv2d(desc: &OpDesc) -> Result<Conv2d, Fault> {
    Ok(Conv2d {
        strides: pair(desc, "strides", Some(Conv2d::PLAIN.strides))?,
        paddings: paddings(desc)?,
        dilations: pair(desc, "dilations", Some(Conv2d::PLAIN.dilations))?,
        groups: desc.attr_long("groups")?.unwrap_or(Conv2d::PLAIN.groups),
    })
}

/// Padding is a number for each side in our dialect.
pub(super) fn conv2d_transpose(desc: &OpDesc) -> Result<Conv2dTranspose, Fault> {
    let Conv2d { strides, paddings, dilations, groups } = conv2d(desc)?;
    let Padding::Explicit(paddings) = paddings else {
        let message = "a transposed convolution has numbers for its sides".to_string();
        return Err(Fault::Attribute { attribute: "padding_algorithm", message });
    };
    let output_padding = pair(desc, "output_padding", Some([0, 0]))?;
    Ok(Conv2dTranspose { strides, paddings, dilations, groups, output_padding })
}

pub(in crate::convert) fn pool2d(desc: &OpDesc) -> Result<Pool2d, Fault> {
    let attribute = "pooling_type";
    let name = desc.attr_string(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
    let pooling_type = PoolKind::from_name(name).ok_or_else(|| {
        let message = format!("`{name}` is neither `max` nor `avg`");
        Fault::Attribute { attribute, message }
    })?;
    let default = Pool2d::prototypes()[0];
    let flag = |name, default| Ok::<_, Fault>(desc.attr_bool(name)?.unwrap_or(default));
    Ok(Pool2d {
        pooling_type,
        ksize: pair(desc, "ksize", None)?,
        strides: pair(desc, "strides", Some(default.strides))?,
        paddings: paddings(desc)?,
        ceil_mode: flag("ceil_mode", default.ceil_mode)?,
        exclusive: flag("exclusive", default.exclusive)?,
        global_pooling: flag("global_pooling", default.global_pooling)?,
        adaptive: flag("adaptive", default.adaptive)?,
    })
}
