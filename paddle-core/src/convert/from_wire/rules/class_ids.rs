//! Rules for operators that read class ids or table ids: losses of classes, and tables.

use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    Assign, Binary, BinaryKind, Cast, Compare, CompareKind, CrossEntropy, Fill, Gather, LookupTable, Number,
    Reduce, ReduceKind, Reshape, Scale, SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad, StopGradient,
    TakeAlongAxis, Transpose, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};

impl Reading<'_, '_> {
    /// The class id that does not count. All losses of classes have the same default.
    fn ignore_index(&self) -> Result<i64, Fault> {
        Ok(self.attributes_of::<CrossEntropy>()?.ignore_index)
    }

    /// The loss is of logits or, with `use_softmax = false`, of probabilities. Classes that lie along another axis than the last
    /// are transposed before and after, unless that axis is the rows. PaddlePaddle passes no gradient through the softmax.
    pub(super) fn softmax_with_cross_entropy(&mut self) -> Result<bool, ConvertError> {
        let op: SoftmaxWithCrossEntropy = self.attributes_of()?;
        let of_logits = self.bool("use_softmax", true)?;
        let is_grad = self.desc.r#type.ends_with("_grad");
        let values = self.input(if is_grad { "Softmax" } else { "Logits" })?;
        let along_last = self.is_last_axis(values)?;
        if is_grad {
            let op = SoftmaxWithCrossEntropyGrad(op);
            return if of_logits && along_last { self.same_slots(op.into()) } else { Ok(false) };
        }
        let label = if op.soft_label { self.input("Label")? } else { self.ids("Label")? };
        let mut inputs = [values, label];
        let [softmax, loss] = [self.desc.output("Softmax"), self.desc.output("Loss")];
        let (softmax, loss) = (one(softmax, "Softmax")?, one(loss, "Loss")?);
        if of_logits && along_last {
            self.define(op, &inputs, &[], &[softmax, loss])?;
            let probabilities = self.read(softmax)?;
            return self.define(StopGradient, &[probabilities], &[], &[softmax]);
        }
        let (ty, of_label) = (self.ty(values), self.ty(label));
        let axis = self.axis(values, self.desc.attr_long("axis")?.unwrap_or(-1));
        let Some(axis) = axis.filter(|&axis| axis > 0 || ty.rows.is_none()) else { return Ok(false) };
        let turn = (!along_last).then(|| Transpose::to_last(axis, ty.rank()));
        if turn.is_some() && ty.rank() != of_label.rank() {
            return Ok(false);
        }
        if let Some(turn) = &turn {
            inputs = [self.emit(turn.clone(), &[values])?, self.emit(turn.clone(), &[label])?];
        }
        let mut outputs = match of_logits {
            true => self.emit_all(op, &inputs, 2)?,
            false => vec![inputs[0], self.emit(self.attributes_of::<CrossEntropy>()?, &inputs)?],
        };
        if let Some(turn) = turn {
            for output in &mut outputs {
                *output = self.emit(turn.clone(), &[*output])?;
            }
        }
        self.define(StopGradient, &outputs[..1], &[], &[softmax])?;
        self.define(Assign, &outputs[1..], &[], &[loss])
    }

    /// The second version takes class ids only, and also returns the probability of the class.
    pub(super) fn cross_entropy2(&mut self) -> Result<bool, ConvertError> {
        let (x, label, ignore_index) = (self.input("X")?, self.ids("Label")?, self.ignore_index()?);
        let entropy = CrossEntropy { soft_label: false, ignore_index };
        let (desc, inputs) = (self.desc, [x, label]);
        self.define(entropy, &inputs, &[], &[one(desc.output("Y"), "Y")?])?;
        let [matched] = desc.output("MatchX") else { return Ok(true) };
        let entropy = self.read(&desc.output("Y")[0])?;
        let logarithm = self.emit(Scale { scale: -1.0, bias: 0.0 }, &[entropy])?;
        let probability = self.emit(Unary::of(UnaryKind::Exp), &[logarithm])?;
        // 0 for classes that are ignored.
        let ignored = Fill { value: Number::Int(ignore_index), ty: Type::scalar(self.ty(label).dtype) };
        let ignored = self.emit(ignored, &[])?;
        let counts = self.emit(Compare { kind: CompareKind::NotEqual }, &[label, ignored])?;
        let counts = self.emit(Cast { dtype: self.ty(x).dtype }, &[counts])?;
        self.define(Binary { kind: BinaryKind::Mul }, &[probability, counts], &[], &[matched])
    }

    /// The class ids or entries in a slot, as i64, which our operators take.
    pub(super) fn ids(&mut self, slot: &'static str) -> Result<VarId, Fault> {
        let ids = self.input(slot)?;
        match self.ty(ids).dtype {
            DType::I32 => self.emit(Cast { dtype: DType::I64 }, &[ids]),
            _ => Ok(ids),
        }
    }

    /// Each loss is the negative log-probability of the class, which lies along axis 1, times the weight of the class. A class
    /// that is to be ignored has weight 0.
    pub(super) fn nll_loss(&mut self) -> Result<bool, ConvertError> {
        let reduction = self.desc.attr_string("reduction")?.unwrap_or("mean");
        if !matches!(reduction, "none" | "sum" | "mean") {
            return Ok(false);
        }
        let (x, label) = (self.input("X")?, self.ids("Label")?);
        let ignored = self.ignore_index()?;
        let (dtype, axis) = (self.ty(x).dtype, 1);
        let rows = usize::from(self.ty(x).rows.is_some());
        let Some(at) = self.axis(x, axis).map(|axis| axis - rows) else {
            return Err(self.no_axis(x, "X", axis).into());
        };
        let ignored = self.emit(Fill { value: Number::Int(ignored), ty: Type::scalar(DType::I64) }, &[])?;
        let counts = self.emit(Compare { kind: CompareKind::NotEqual }, &[label, ignored])?;
        // Class 0 stands in for ignored classes.
        let chosen = self.emit(Cast { dtype: DType::I64 }, &[counts])?;
        let chosen = self.emit(Binary { kind: BinaryKind::Mul }, &[label, chosen])?;
        let dims = self.ty(label).dims.clone();
        let mut column = dims.clone();
        column.insert(at.min(dims.len()), Dim::from(1));
        let column = self.emit(Reshape { dims: column }, &[chosen])?;
        let taken = self.emit(TakeAlongAxis { axis }, &[x, column])?;
        let taken = self.emit(Reshape { dims }, &[taken])?;
        let mut weight = self.emit(Cast { dtype }, &[counts])?;
        if self.has(&["Weight"]) {
            let of_class = self.emit(Gather { axis: 0 }, &[self.input("Weight")?, chosen])?;
            weight = self.emit(Binary { kind: BinaryKind::Mul }, &[weight, of_class])?;
        }
        let loss = self.emit(Binary { kind: BinaryKind::Mul }, &[taken, weight])?;
        let negate = Scale { scale: -1.0, bias: 0.0 };
        let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
        let total = match reduction {
            "none" => self.emit(Fill::zeros(Type::scalar(dtype)), &[])?,
            _ => self.emit(sum.clone(), &[weight])?,
        };
        if let [name] = self.desc.output("Total_weight") {
            self.define(Assign, &[total], &[], &[name])?;
        }
        if reduction == "none" {
            return self.out(negate, &[loss]);
        }
        let loss = self.emit(sum, &[loss])?;
        if reduction == "sum" {
            return self.out(negate, &[loss]);
        }
        // The mean over no classes is 0.
        let none = self.emit(Fill::zeros(Type::scalar(dtype)), &[])?;
        let none = self.emit(Compare { kind: CompareKind::Equal }, &[total, none])?;
        let none = self.emit(Cast { dtype }, &[none])?;
        let total = self.emit(Binary { kind: BinaryKind::Add }, &[total, none])?;
        let loss = self.emit(negate, &[loss])?;
        self.out(Binary { kind: BinaryKind::Div }, &[loss, total])
    }

    /// In the first version the ids have a last dimension of 1, which the elements of the entry replace.
    pub(super) fn lookup_table(&mut self) -> Result<bool, ConvertError> {
        let (mut ids, table) = (self.ids("Ids")?, self.input("W")?);
        if self.desc.r#type == "lookup_table" {
            match &self.ty(ids).dims[..] {
                [dims @ .., one] if *one == Dim::from(1) => {
                    ids = self.emit(Reshape { dims: dims.to_vec() }, &[ids])?;
                }
                _ => return Ok(false),
            }
        }
        self.out(self.attributes_of::<LookupTable>()?, &[ids, table])
    }
}
