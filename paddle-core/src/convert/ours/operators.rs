//! Reads operators.
//!
//! An operator is read as it is [defined](crate::convert::derived). This file has the exceptions, which are those of
//! [`describe`](crate::convert::to_wire::operators::describe).

use super::constants::{self, fill};
use super::{Reading, images, sizes, updates};
use crate::convert::blocks::one;
use crate::convert::derived;
use crate::convert::dialect::{OURS, TYPES};
use crate::convert::error::{ConvertError, Fault};
use crate::ops::{
    Conv2d, Conv2dGrad, Conv2dGradKind, InterpolateGrad, Op, Pool2dGrad, Reduce, SliceGrad, Slot,
};
use crate::program::VarId;
use crate::wire::OpDesc;

impl<'a> Reading<'_, 'a> {
    pub(super) fn operator(&mut self) -> Result<(), ConvertError> {
        match self.desc.r#type.as_str() {
            "rust.if" => self.branches(),
            "rust.while" => self.while_loop(),
            "rust.for" => self.for_loop(),
            "rust.loop_grad" => self.loop_gradient(),
            // What has come from PaddlePaddle may have the name of an operator of ours, but another form.
            _ if self.desc.attr(TYPES).is_some() => self.foreign(),
            _ => self.known(&named(self.desc).ok_or(Fault::UnknownOperator)?),
        }
    }

    /// Reads an operator of the kind of `op`.
    fn known(&mut self, op: &Op) -> Result<(), ConvertError> {
        let (desc, schema) = (self.desc, op.schema());
        let mut inputs = Vec::new();
        for slot in schema.inputs {
            inputs.extend(self.in_slot(slot)?);
        }
        let op = self.with_attributes(op, inputs.first().copied())?;
        let mut names = Vec::new();
        for slot in schema.outputs {
            match slot.is_variadic {
                true => names.extend(self.outputs(slot.name)),
                false => names.push(one(desc.output(slot.name), slot.name)?),
            }
        }
        self.append(op, &inputs, &[], &names)
    }

    fn in_slot(&self, slot: &Slot) -> Result<Vec<VarId>, Fault> {
        if !slot.is_variadic {
            one(self.desc.input(slot.name), slot.name)?;
        }
        self.inputs(slot.name)
    }

    /// An operator of the kind of `op` whose first input is `x`, with the attributes that are written.
    fn with_attributes(&self, op: &Op, x: Option<VarId>) -> Result<Op, Fault> {
        let (program, desc) = (&self.reader.program, self.desc);
        let has_rows = x.is_some_and(|x| program.ty(x).rows.is_some());
        Ok(match op {
            Op::Reduce(op) => reduce(op, desc)?.into(),
            Op::Reshape(_) => sizes::reshape(program, desc, x, has_rows)?.into(),
            Op::Tile(_) => sizes::tile(program, desc, has_rows)?.into(),
            Op::OneHot(_) => sizes::one_hot(program, desc)?.into(),
            Op::Split(_) => sizes::split(program, desc)?.into(),
            Op::Interpolate(op) => sizes::interpolate(program, desc, op.kind)?.into(),
            Op::InterpolateGrad(InterpolateGrad(op)) => {
                InterpolateGrad(sizes::interpolate(program, desc, op.kind)?).into()
            }
            Op::AssignValue(_) => constants::assign_value(program, desc)?.into(),
            Op::Range(_) => constants::range(program, desc)?.into(),
            Op::Fill(_) | Op::TruncatedGaussianRandom(_) | Op::UniformRandom(_) | Op::GaussianRandom(_) => {
                fill(program, desc)?
            }
            Op::Conv2d(_) => images::conv2d(desc)?.into(),
            Op::Conv2dGrad(Conv2dGrad { of, .. }) => {
                Conv2dGrad { conv: images::conv2d(desc)?, of: *of }.into()
            }
            Op::Conv2dTranspose(_) => images::conv2d_transpose(desc)?.into(),
            Op::Pool2d(_) => images::pool2d(desc)?.into(),
            Op::Pool2dGrad(_) => Pool2dGrad(images::pool2d(desc)?).into(),
            Op::Slice(_) => sizes::slice(desc)?.into(),
            Op::SliceGrad(_) => SliceGrad(sizes::slice(desc)?).into(),
            Op::Update(_) => updates::update_of(desc)?.ok_or(Fault::UnknownOperator)?.into(),
            op => derived::with_attributes(program, desc, op)?,
        })
    }
}

/// An operator of the kind that a description names.
fn named(desc: &OpDesc) -> Option<Op> {
    match desc.r#type.as_str() {
        "conv2d_grad" => {
            let of = match desc.output("Input@GRAD") {
                [] => Conv2dGradKind::Filter,
                _ => Conv2dGradKind::Input,
            };
            Some(Conv2dGrad { conv: Conv2d::PLAIN, of }.into())
        }
        // PaddlePaddle has these names, with another meaning for indices that are no list.
        name @ ("rust.gather" | "rust.gather_grad") => derived::named(name.strip_prefix(OURS)?),
        name => derived::named(name),
    }
}

fn reduce(op: &Reduce, desc: &OpDesc) -> Result<Reduce, Fault> {
    let flag = |name| Ok::<_, Fault>(desc.attr_bool(name)?.unwrap_or(false));
    let axes = if flag("reduce_all")? { Vec::new() } else { desc.attr_longs("dim")?.unwrap_or_default() };
    Ok(Reduce { kind: op.kind, axes, keep_dim: flag("keep_dim")? })
}
