//! Rules for element-wise operators.

use crate::convert::derived::{self, float};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Fill, Logical, LogicalKind, Loss, LossKind, Not, Number,
    Op, Reduce, ReduceKind, Reshape, Scale, Select, Size, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};

impl Reading<'_, '_> {
    /// Numbers below 0 have a random slope in training, and else the mean of its bounds. What was saved for inference stays so.
    pub(super) fn random_slope(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        if !self.bool("is_test", false)? {
            return self.lacks("its slopes are random");
        }
        let bound = |name, default| Ok::<f64, Fault>(float(self.desc, name)?.unwrap_or(default));
        let slope = (bound("lower", 0.125)? + bound("upper", 1.0 / 3.0)?) / 2.0;
        let mut at = self.at();
        let zero = at.number(0.0, at.ty(x).dtype)?;
        let is_below = at.emit(Compare { kind: CompareKind::LessThan }, &[x, zero])?;
        let below = at.scaled(x, slope, 0.0)?;
        self.out(Select, &[is_below, below, x])
    }

    /// A function or a loss of the tables. A function that is not defined on integers is computed on the same numbers
    /// in floating point.
    pub(super) fn formula(&mut self) -> Result<bool, ConvertError> {
        let Some(op) = derived::named(&self.desc.r#type) else { return Ok(false) };
        let slots = op.schema().inputs;
        // Some gradients of PaddlePaddle's read other values than ours.
        let is_gradient = matches!(op, Op::UnaryGrad(_) | Op::LossGrad(_));
        if self.has(&["FactorTensor", "Min", "Max"])
            || (is_gradient && !slots.iter().all(|slot| self.has(&[slot.name])))
        {
            return Ok(false);
        }
        let op = self.with_attributes(&op)?;
        match op {
            Op::Unary(unary)
                if !unary.kind.is_of_integers() && !self.ty(self.input("X")?).dtype.is_float() =>
            {
                let x = self.input("X")?;
                let x = self.emit(Cast { dtype: DType::F32 }, &[x])?;
                self.out(unary, &[x])
            }
            op => self.same_slots(op),
        }
    }

    /// PaddlePaddle's operator also returns the difference.
    pub(super) fn huber_loss(&mut self) -> Result<bool, ConvertError> {
        if !self.formula()? {
            return Ok(false);
        }
        if let Some(residual) = self.desc.output("Residual").first() {
            let inputs = [self.input("Y")?, self.input("X")?];
            self.define(Binary { kind: BinaryKind::Sub }, &inputs, &[], &[residual])?;
        }
        Ok(true)
    }

    /// PaddlePaddle's operator also returns the product of the prediction and the side of the label, -1 or 1.
    pub(super) fn modified_huber_loss(&mut self) -> Result<bool, ConvertError> {
        if !self.formula()? {
            return Ok(false);
        }
        if let Some(product) = self.desc.output("IntermediateVal").first() {
            let (x, label) = (self.input("X")?, self.input("Y")?);
            let side = self.emit(Scale { scale: 2.0, bias: -1.0 }, &[label])?;
            self.define(Binary { kind: BinaryKind::Mul }, &[side, x], &[], &[product])?;
        }
        Ok(true)
    }

    /// PaddlePaddle takes numbers, of which all but 0 are true; ours takes truth values.
    pub(super) fn logical(&mut self) -> Result<bool, ConvertError> {
        let Ok(op) = Op::from_attributes(&self.desc.r#type, Vec::new()) else { return Ok(false) };
        let mut inputs = Vec::new();
        for slot in op.schema().inputs {
            let mut input = self.input(slot.name)?;
            if self.ty(input).dtype != DType::Bool {
                input = self.emit(Cast { dtype: DType::Bool }, &[input])?;
            }
            inputs.push(input);
        }
        self.out(op, &inputs)
    }

    /// PaddlePaddle takes integers, which are finite numbers; ours takes floating-point numbers.
    pub(super) fn predicate(&mut self) -> Result<bool, ConvertError> {
        let Ok(op) = Op::from_attributes(&self.desc.r#type, Vec::new()) else { return Ok(false) };
        let mut x = self.input("X")?;
        if !self.ty(x).dtype.is_float() {
            x = self.emit(Cast { dtype: DType::F32 }, &[x])?;
        }
        self.out(op, &[x])
    }

    /// `reduction` asks for all elements, for their sum or mean, or for their sum divided by the number of rows.
    pub(super) fn kldiv_loss(&mut self) -> Result<bool, ConvertError> {
        let (x, target) = (self.input("X")?, self.input("Target")?);
        let loss = Loss::of(LossKind::KlDivergence);
        let reduction = self.desc.attr_string("reduction")?.unwrap_or("mean");
        let kind = match reduction {
            "none" => return self.define_at("Loss", loss, &[x, target]),
            "sum" | "batchmean" => ReduceKind::Sum,
            "mean" => ReduceKind::Mean,
            _ => return Ok(false),
        };
        let each = self.emit(loss, &[x, target])?;
        let reduce = Reduce { kind, axes: Vec::new(), keep_dim: false };
        if reduction != "batchmean" {
            return self.define_at("Loss", reduce, &[each]);
        }
        let sum = self.emit(reduce, &[each])?;
        let rows = self.count(x, 0)?;
        self.define_at("Loss", Binary { kind: BinaryKind::Div }, &[sum, rows])
    }

    /// `normalize` divides by the number of labels that count. Weighted labels stay foreign, because PaddlePaddle's gradient of
    /// them is not that of its loss.
    pub(super) fn sigmoid_cross_entropy(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["pos_weight"]) {
            return self.weighted_cross_entropy();
        }
        if !self.bool("normalize", false)? {
            return self.formula();
        }
        let (x, label) = (self.input("X")?, self.input("Label")?);
        let dtype = self.ty(x).dtype;
        let op = self.with_attributes(&Loss::of(LossKind::SigmoidCrossEntropy).into())?;
        let Op::Loss(Loss { coefficients: [ignored, ..], .. }) = op else { return Ok(false) };
        let each = self.emit(op, &[x, label])?;
        let constant = |value| Fill { value: Number::Float(value), ty: Type::new(dtype, []) };
        let whole = self.emit(Unary::of(UnaryKind::Trunc), &[label])?;
        let ignored = self.emit(constant(ignored), &[])?;
        let counts = self.emit(Compare { kind: CompareKind::NotEqual }, &[whole, ignored])?;
        let counts = self.emit(Cast { dtype }, &[counts])?;
        let counts =
            self.emit(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[counts])?;
        // If no label counts, there is no loss either.
        let least = self.emit(constant(1e-5), &[])?;
        let counts = self.emit(Binary { kind: BinaryKind::Max }, &[counts, least])?;
        self.out(Binary { kind: BinaryKind::Div }, &[each, counts])
    }

    /// `max(x, 0) - x · label + weight · ln(1 + exp(-|x|))`, as PaddlePaddle computes it, and 0 for a label that is ignored.
    fn weighted_cross_entropy(&mut self) -> Result<bool, ConvertError> {
        let (x, label, weight) = (self.input("X")?, self.input("Label")?, self.input("pos_weight")?);
        if self.bool("normalize", false)? {
            return self.lacks("it has weights, and is normalised");
        }
        let (dtype, ignored) = (self.ty(x).dtype, self.desc.attr_long("ignore_index")?.unwrap_or(-100));
        let mut at = self.at();
        let above = at.emit(Unary::of(UnaryKind::Relu), &[x])?;
        let product = at.binary(BinaryKind::Mul, x, label)?;
        let linear = at.binary(BinaryKind::Sub, above, product)?;
        // `ln sigmoid |x|` is the negative of what is weighted.
        let size = at.emit(Unary::of(UnaryKind::Abs), &[x])?;
        let log = at.emit(Unary::of(UnaryKind::LogSigmoid), &[size])?;
        let weighted = at.binary(BinaryKind::Mul, weight, log)?;
        let loss = at.binary(BinaryKind::Sub, linear, weighted)?;
        let [ignored, zero] = [ignored as f64, 0.0].map(|value| at.number(value, dtype));
        let counts = at.emit(Compare { kind: CompareKind::NotEqual }, &[label, ignored?])?;
        self.out(Select, &[counts, loss, zero?])
    }

    /// Of truth values, these are logical operators. The complement of an integer is one less than its negative.
    pub(super) fn bitwise(&mut self) -> Result<bool, ConvertError> {
        let kind = self.desc.r#type.trim_start_matches("bitwise_");
        let x = self.input("X")?;
        let is_truth = self.ty(x).dtype == DType::Bool;
        if kind == "not" {
            return match is_truth {
                true => self.out(Not, &[x]),
                false => self.out(Scale { scale: -1.0, bias: -1.0 }, &[x]),
            };
        }
        let y = self.input("Y")?;
        let kind = match kind {
            "and" => LogicalKind::And,
            "or" => LogicalKind::Or,
            _ => LogicalKind::Xor,
        };
        if !is_truth || self.ty(y).dtype != DType::Bool {
            return self.lacks("it is of the bits of integers");
        }
        self.out(Logical { kind }, &[x, y])
    }

    /// `Alpha` has one slope for all elements, one for each channel, or one for each element of a row.
    pub(super) fn prelu(&mut self) -> Result<bool, ConvertError> {
        let (x, mut alpha) = (self.input("X")?, self.input("Alpha")?);
        let shape = self.ty(x).clone();
        let axis = match self.desc.attr_string("data_format")?.unwrap_or("NCHW") {
            "NHWC" => shape.rank() - 1,
            _ => 1,
        };
        // The slopes are aligned at the end, like every second operand.
        let behind = usize::from(shape.rows.is_none());
        let dims = match self.desc.attr_string("mode")?.unwrap_or("all") {
            "all" => vec![Dim::from(1)],
            "channel" if axis > 0 && axis < shape.rank() => {
                let channel = shape.dims[axis - 1 + behind].clone();
                std::iter::once(channel)
                    .chain(std::iter::repeat_n(Dim::from(1), shape.rank() - 1 - axis))
                    .collect()
            }
            "element" if shape.rank() > 0 => shape.dims[behind..].to_vec(),
            _ => return Ok(false),
        };
        if self.ty(alpha).dims != dims {
            alpha = self.emit(Reshape { dims }, &[alpha])?;
        }
        let zero = Fill { value: Number::Float(0.0), ty: Type::new(shape.dtype, []) };
        let zero = self.emit(zero, &[])?;
        let positive = self.emit(Compare { kind: CompareKind::GreaterThan }, &[x, zero])?;
        let scaled = self.emit(Binary { kind: BinaryKind::Mul }, &[x, alpha])?;
        self.out(Select, &[positive, x, scaled])
    }

    /// The number of elements of a value along an axis, in its own element type.
    fn count(&mut self, x: VarId, axis: i64) -> Result<VarId, ConvertError> {
        Ok(self.emit(Size { axes: vec![axis] }, &[x])?)
    }

    /// Appends an operator whose only output is the variable in this slot.
    fn define_at(
        &mut self,
        slot: &'static str,
        op: impl Into<Op>,
        inputs: &[VarId],
    ) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.define(op, inputs, &[], &[one(desc.output(slot), slot)?])
    }
}
