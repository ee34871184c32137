//! Rules for convolution, pooling and dropout.
//!
//! PaddlePaddle has one operator for both gradients of a convolution, either of which may be left out. Ours has an
//! operator for each.

use crate::convert::derived::float;
use crate::convert::dialect::{EMPTY, PATH};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::ours::images::{conv2d, paddings, pair, pool2d};
use crate::ops::{
    Attributes, BinaryKind, Conv2d, Conv2dGrad, Conv2dGradKind, Conv2dTranspose, Dropout, DropoutGrad,
    DropoutImplementation, MaxPool2dWithIndex, Mode, Op, Operation, Padding, Pool2d, Pool2dGrad, PoolKind,
    Transpose, Window,
};
use crate::program::VarId;

impl<'a> Reading<'_, 'a> {
    /// Whether an attribute says that channels come behind height and width. Ours come before.
    pub(super) fn channels_last(&self, attribute: &str) -> Result<bool, Fault> {
        Ok(self.desc.attr_string(attribute)? == Some("NHWC"))
    }

    /// Moves channels that come last to the front, and returns how to move them back, if they were moved.
    pub(super) fn channels_first(
        &mut self,
        x: VarId,
        attribute: &str,
    ) -> Result<(VarId, Option<Transpose>), Fault> {
        let rank = self.ty(x).rank() as i64;
        if rank < 3 || !self.channels_last(attribute)? {
            return Ok((x, None));
        }
        let there = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
        let back = [0].into_iter().chain(2..rank).chain([1]).collect();
        Ok((self.emit(Transpose { perm: there }, &[x])?, Some(Transpose { perm: back })))
    }

    /// Appends an operator from images to images in slot `out`. The channels of both may come last.
    fn of_images(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        out: &'static str,
    ) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let out = one(desc.output(out), out)?;
        let mut inputs = inputs.to_vec();
        let (first, back) = self.channels_first(inputs[0], "data_format")?;
        inputs[0] = first;
        let Some(back) = back else { return self.define(op, &inputs, &[], &[out]) };
        let image = self.emit(op, &inputs)?;
        self.define(back, &[image], &[], &[out])
    }

    pub(super) fn conv2d(&mut self) -> Result<bool, ConvertError> {
        let is_grad = self.desc.r#type.ends_with("_grad");
        if (is_grad && self.channels_last("data_format")?) || self.has(&["Bias", "ResidualData"]) {
            return Ok(false);
        }
        let conv = conv2d(self.desc)?;
        let (input, filter) = (self.input("Input")?, self.input("Filter")?);
        let desc = self.desc;
        if !is_grad {
            return self.of_images(conv, &[input, filter], "Output");
        }
        let inputs = [input, filter, self.input("Output@GRAD")?];
        for of in [Conv2dGradKind::Input, Conv2dGradKind::Filter] {
            let slot = match of {
                Conv2dGradKind::Input => "Input@GRAD",
                Conv2dGradKind::Filter => "Filter@GRAD",
            };
            if desc.output(slot).iter().any(|name| name != EMPTY) {
                self.define(Conv2dGrad { conv, of }, &inputs, &[], &[one(desc.output(slot), slot)?])?;
            }
        }
        Ok(true)
    }

    /// PaddlePaddle computes padding for `SAME`, and `output_padding` for an `output_size`, from the sizes of the images. Ours
    /// has numbers, so the sizes have to be known then.
    pub(super) fn conv2d_transpose(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["Bias"]) {
            return Ok(false);
        }
        let inputs = [self.input("Input")?, self.input("Filter")?];
        let channels_last = usize::from(self.channels_last("data_format")?);
        let sizes = self.known_pair(inputs[0], channels_last).zip(self.known_pair(inputs[1], 0));
        let strides = pair(self.desc, "strides", Some(Conv2d::PLAIN.strides))?;
        let mut dilations = pair(self.desc, "dilations", Some(Conv2d::PLAIN.dilations))?;
        let paddings = match (paddings(self.desc)?, sizes) {
            (Padding::Explicit(sides), _) => sides,
            (padding @ Padding::Same, Some((image, size))) if strides.iter().all(|&stride| stride > 0) => {
                dilations = [1, 1];
                let window = Window { size, stride: strides, dilation: dilations, padding };
                let [[above, below], [left, right]] =
                    [0, 1].map(|axis| window.around(axis, image[axis] as usize).map(|side| side as i64));
                [above, below, left, right]
            }
            (Padding::Same, _) => return Ok(false),
        };
        let mut op = Conv2dTranspose {
            strides,
            paddings,
            dilations,
            groups: self.desc.attr_long("groups")?.unwrap_or(Conv2d::PLAIN.groups),
            output_padding: self.pair_or_none("output_padding")?.unwrap_or([0, 0]),
        };
        if let Some(asked) = self.pair_or_none("output_size")? {
            let Some((image, size)) = sizes else { return Ok(false) };
            let window = op.conv().window(size);
            op.output_padding =
                [0, 1].map(|axis| asked[axis].saturating_sub(window.covered(axis, image[axis])));
        }
        self.of_images(op, &inputs, "Output")
    }

    /// Height and width of images or filters, if both are known and in range. `behind` dimensions follow them.
    fn known_pair(&self, var: VarId, behind: usize) -> Option<[i64; 2]> {
        let dims = &self.ty(var).dims;
        let [.., height, width] = &dims[..dims.len().checked_sub(behind)?] else { return None };
        let size = [height.constant()?, width.constant()?];
        size.iter().all(|side| (1..=i64::from(i32::MAX)).contains(side)).then_some(size)
    }

    /// The two numbers of an attribute; `None` if its list is empty.
    fn pair_or_none(&self, attribute: &'static str) -> Result<Option<[i64; 2]>, Fault> {
        match self.desc.attr_longs(attribute)?.as_deref() {
            None | Some([]) => Ok(None),
            Some(_) => pair(self.desc, attribute, None).map(Some),
        }
    }

    pub(super) fn pool2d(&mut self) -> Result<bool, ConvertError> {
        let is_grad = self.desc.r#type.ends_with("_grad");
        if is_grad && self.channels_last("data_format")? {
            return Ok(false);
        }
        let pool = pool2d(self.desc)?;
        let x = self.input("X")?;
        let desc = self.desc;
        if !is_grad {
            return self.of_images(pool, &[x], "Out");
        }
        let inputs = [x, self.input("Out")?, self.input("Out@GRAD")?];
        self.define(Pool2dGrad(pool), &inputs, &[], &[one(desc.output("X@GRAD"), "X@GRAD")?])
    }

    /// The root of the sum of powers in each window: of their mean, times as many as a window has.
    pub(super) fn power_pool(&mut self) -> Result<bool, ConvertError> {
        let (x, default) = (self.input("X")?, Pool2d::prototypes()[0]);
        let power = float(self.desc, "norm_type")?.unwrap_or(0.0);
        if self.bool("ceil_mode", false)?
            || self.bool("global_pooling", false)?
            || self.bool("adaptive", false)?
        {
            return self.lacks("its windows are not all of one size");
        }
        if !power.is_finite() || power == 0.0 || self.channels_last("data_format")? {
            return Ok(false);
        }
        let pool = Pool2d {
            pooling_type: PoolKind::Avg,
            ksize: pair(self.desc, "ksize", None)?,
            strides: pair(self.desc, "strides", Some(default.strides))?,
            paddings: paddings(self.desc)?,
            exclusive: false,
            ..default
        };
        let mut at = self.at();
        let dtype = at.ty(x).dtype;
        let [exponent, root] = [power, 1.0 / power].map(|power| at.number(power, dtype));
        let powers = at.binary(BinaryKind::Pow, x, exponent?)?;
        let mean = at.emit(pool, &[powers])?;
        let sum = at.scaled(mean, pool.ksize[0] as f64 * pool.ksize[1] as f64, 0.0)?;
        let root = at.binary(BinaryKind::Pow, sum, root?)?;
        self.named_value(one(self.desc.output("Out"), "Out")?, root)?;
        Ok(true)
    }

    pub(super) fn max_pool2d_with_index(&mut self) -> Result<bool, ConvertError> {
        let default = MaxPool2dWithIndex::prototypes()[0];
        let op = MaxPool2dWithIndex {
            ksize: pair(self.desc, "ksize", None)?,
            strides: pair(self.desc, "strides", Some(default.strides))?,
            paddings: pair(self.desc, "paddings", Some(default.paddings))?,
            global_pooling: self.bool("global_pooling", default.global_pooling)?,
            adaptive: self.bool("adaptive", default.adaptive)?,
        };
        let (x, desc) = (self.input("X")?, self.desc);
        if desc.r#type.ends_with("_grad") {
            // Only the type of this value is used; its elements are not read.
            let out = self.emit(op.pool(), &[x])?;
            let inputs = [x, out, self.input("Out@GRAD")?];
            return self.define(
                Pool2dGrad(op.pool()),
                &inputs,
                &[],
                &[one(desc.output("X@GRAD"), "X@GRAD")?],
            );
        }
        self.define(op, &[x], &[], &[one(desc.output("Out"), "Out")?, one(desc.output("Mask"), "Mask")?])
    }

    pub(super) fn dropout(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let attribute = "dropout_implementation";
        if let Some(name) = desc.attr_string(attribute)?
            && DropoutImplementation::from_name(name).is_none()
        {
            let message = format!("`{name}` is neither `upscale_in_train` nor `downgrade_in_infer`");
            return Err(Fault::Attribute { attribute, message }.into());
        }
        let op: DropoutGrad = self.attributes_of()?;
        if desc.r#type.ends_with("_grad") {
            let inputs = [self.input("Mask")?, self.input("Out@GRAD")?];
            return self.define(op, &inputs, &[], &[one(desc.output("X@GRAD"), "X@GRAD")?]);
        }
        if self.has(&["Seed"]) {
            return Ok(false);
        }
        let out = one(desc.output("Out"), "Out")?;
        let path = desc.attr_string(PATH)?.unwrap_or(out).to_string();
        let DropoutGrad { dropout_prob, dropout_implementation } = op;
        let op = Dropout { dropout_prob, dropout_implementation, path };
        let x = self.input("X")?;
        match op.in_mode(Mode::Test) {
            Some(in_test) if self.is_test()? => self.out(in_test, &[x]),
            _ => {
                let inputs: Vec<_> = std::iter::once(x).chain(self.inputs("Rows")?).collect();
                if desc.output("Mask").is_empty() {
                    // In a model for inference it is left out.
                    let value = self.emit_all(op, &inputs, 2)?[0];
                    self.write(out, value)?;
                    return Ok(true);
                }
                self.define(op, &inputs, &[], &[out, one(desc.output("Mask"), "Mask")?])
            }
        }
    }
}
