//! Operators whose kernels do less in PaddlePaddle. The rest is written with other operators, or refused.

use super::operators::{MOST_WRITTEN, small};
use super::{LegaliseError, Legaliser};
use crate::convert::to_wire::operators::describe;
use crate::convert::types::wire_dims;
use crate::ops::{
    Assign, AssignValue, Binary, BinaryKind, Compare, CompareKind, CumSum, LayerNorm, LossKind,
    MaxPool2dWithIndex, Number, OneHot, Op, Operator, Padding, Pool2d, PoolKind, Scale, Select, Unary,
    UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::{OpAttr, OpDesc};

/// The least threshold of a softplus above which its argument is the result in single precision, too: oneDNN's kernel has none.
const LEAST_THRESHOLD: f64 = 15.0;

/// The largest epsilon of PaddlePaddle's layer normalisation.
const LARGEST_EPSILON: f64 = 1e-3;

/// Whether PaddlePaddle's predictor joins a function with what is in front of it.
fn is_joined(kind: UnaryKind) -> bool {
    use UnaryKind::*;
    matches!(
        kind,
        Abs | Clip
            | Gelu
            | HardSigmoid
            | HardSwish
            | LeakyRelu
            | Mish
            | Relu
            | Relu6
            | Sigmoid
            | Sqrt
            | Swish
            | Tanh
    )
}

impl Legaliser<'_> {
    /// Appends one of our operators that PaddlePaddle has too. Its output is a new variable.
    pub(super) fn emit(&mut self, at: usize, op: impl Into<Op>, inputs: &[&String], ty: &Type) -> String {
        let (op, inputs): (Op, Vec<String>) = (op.into(), inputs.iter().map(ToString::to_string).collect());
        let out = self.declare(at, op.name(), ty);
        self.push(at, describe(&op, &inputs, std::slice::from_ref(&out), &[]));
        out
    }

    /// The default predictor joins a function with the product or sum in front of it, also where its own kernels, which are for single
    /// precision, do not run: it then fails, or leaves the function out (2.6.2 and 3.3.1). So a copy stands between them.
    pub(super) fn unary(&mut self, at: usize, operator: &Operator, op: &Unary) -> Result<(), LegaliseError> {
        let x = operator.inputs[0];
        let ty = self.program.ty(x);
        if ty.dtype == DType::F32 || self.program.writer(x).is_none() || !is_joined(op.kind) {
            return self.function(at, operator, op);
        }
        let name = self.name(x);
        let copy = self.emit(at, Assign, &[&name], ty);
        let before = self.names.insert(x, copy);
        let done = self.function(at, operator, op);
        match before {
            Some(name) => self.names.insert(x, name),
            None => self.names.remove(&x),
        };
        done
    }

    /// Some functions ignore their attributes, and are computed with the default ones.
    fn function(&mut self, at: usize, operator: &Operator, op: &Unary) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]);
        let x = &self.name(operator.inputs[0]);
        let clip = |min, max| Unary { coefficients: [min, max, 0.0], ..Unary::of(UnaryKind::Clip) };
        let mul = Binary { kind: BinaryKind::Mul };
        let out = match op.kind {
            kind if *op == Unary::of(kind) => return self.same(at, operator),
            UnaryKind::Relu6 => self.emit(at, clip(0.0, op.coefficients[0]), &[x], ty),
            UnaryKind::Swish => {
                let scaled = self.emit(at, Scale { scale: op.coefficients[0], bias: 0.0 }, &[x], ty);
                let gate = self.emit(at, Unary::of(UnaryKind::Sigmoid), &[&scaled], ty);
                self.emit(at, mul, &[x, &gate], ty)
            }
            UnaryKind::Softplus if op.coefficients[1] < LEAST_THRESHOLD => {
                let [beta, threshold, _] = op.coefficients;
                let smooth = Unary { coefficients: [beta, 20.0, 0.0], ..*op };
                let smooth = self.emit(at, smooth, &[x], ty);
                let scaled = self.emit(at, Scale { scale: beta, bias: 0.0 }, &[x], ty);
                let bound =
                    self.constant(at, Number::Float(threshold), &Type::new(ty.dtype, [1]), "threshold");
                let above = Compare { kind: CompareKind::GreaterThan };
                let above = self.emit(at, above, &[&scaled, &bound], &ty.with_dtype(DType::Bool));
                let chosen = OpDesc::new("where").with_input("Condition", [above]);
                let chosen = chosen.with_input("Y", [smooth]);
                self.step(at, chosen, x.clone(), ty)
            }
            UnaryKind::HardSwish => {
                let [threshold, scale, offset] = op.coefficients;
                let moved = self.emit(at, Scale { scale: 1.0, bias: offset }, &[x], ty);
                let clipped = self.emit(at, clip(0.0, threshold), &[&moved], ty);
                let gate = self.emit(at, Scale { scale: 1.0 / scale, bias: 0.0 }, &[&clipped], ty);
                self.emit(at, mul, &[x, &gate], ty)
            }
            _ => return self.same(at, operator),
        };
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    /// Another operator computes the maxima of windows that are spread over an image. A window that reaches over the end of an image
    /// whose padding counts is as large as others for oneDNN's kernel, so such images are padded first.
    pub(super) fn pool(&mut self, at: usize, operator: &Operator, op: &Pool2d) -> Result<(), LegaliseError> {
        match (op.paddings, op.pooling_type) {
            (Padding::Explicit([0, 0, 0, 0]), PoolKind::Max) if op.adaptive => {}
            (Padding::Explicit([above, below, left, right]), PoolKind::Avg)
                if op.ceil_mode && !op.exclusive && (above, left) == (below, right) =>
            {
                let ty = self.program.ty(operator.inputs[0]).clone();
                let mut paddings = vec![[0, 0]; ty.dims.len() - 2];
                paddings.extend([[above, below], [left, right]]);
                let x = (self.name(operator.inputs[0]), ty);
                let (padded, ty) = self.padded(at, operator, x, paddings, 0.0)?;
                let pool = Pool2d { paddings: Padding::Explicit([0; 4]), exclusive: true, ..*op };
                let out = self.define(at, operator.outputs[0]);
                self.push(at, describe(&pool.into(), &[padded], &[out], &[&ty]));
                return Ok(());
            }
            _ => return self.same(at, operator),
        }
        let pool = MaxPool2dWithIndex { adaptive: true, ..MaxPool2dWithIndex::of_size(op.ksize) };
        let (x, out) = (self.name(operator.inputs[0]), self.define(at, operator.outputs[0]));
        let places = self.program.ty(operator.outputs[0]).with_dtype(DType::I32);
        let places = self.declare(at, "pool2d.places", &places);
        self.push(at, describe(&pool.into(), &[x], &[out, places], &[]));
        Ok(())
    }

    /// Later releases do not read lists of doubles, so these are sums of lists in single precision, where that is the same.
    pub(super) fn listed(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &AssignValue,
    ) -> Result<(), LegaliseError> {
        if op.ty.dtype != DType::F64 {
            return self.same(at, operator);
        }
        let (mut rest, mut parts): (Vec<f64>, Vec<Vec<Number>>) =
            (op.values.iter().map(|value| value.as_f64()).collect(), Vec::new());
        // Three parts of 24 bits are more than a double has.
        while parts.is_empty() || (parts.len() < 3 && rest.iter().any(|rest| *rest != 0.0)) {
            let part: Vec<f64> = rest.iter().map(|&rest| f64::from(rest as f32)).collect();
            for (rest, part) in rest.iter_mut().zip(&part) {
                *rest -= part;
            }
            parts.push(part.into_iter().map(Number::Float).collect());
        }
        // What is infinite, or too small for a part, leaves a rest.
        if rest.iter().any(|rest| *rest != 0.0) {
            return self.same(at, operator);
        }
        let ty = op.ty.with_dtype(DType::F32);
        let mut sum: Option<String> = None;
        for values in parts {
            let part = self.emit(at, AssignValue { values, ty: ty.clone() }, &[], &ty);
            let part = self.cast(at, part, &ty, DType::F64);
            sum = Some(match sum {
                Some(others) => self.emit(at, Binary { kind: BinaryKind::Add }, &[&others, &part], &op.ty),
                None => part,
            });
        }
        self.names.extend(sum.map(|sum| (operator.outputs[0], sum)));
        Ok(())
    }

    /// PaddlePaddle does not take truth values by their numbers along an axis, but numbers.
    pub(super) fn taken(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let x = program.ty(operator.inputs[0]);
        if x.dtype != DType::Bool {
            return self.same(at, operator);
        }
        let out = program.ty(operator.outputs[0]).with_dtype(DType::I32);
        let [name, numbers] = [0, 1].map(|k| self.name(operator.inputs[k]));
        let as_number = self.cast(at, name, x, DType::I32);
        let taken = self.emit(at, operator.op.clone(), &[&as_number, &numbers], &out);
        let truth = self.cast(at, taken, &out, DType::Bool);
        self.names.insert(operator.outputs[0], truth);
        Ok(())
    }

    /// Exclusive sums are inclusive ones minus the elements, as the real kernel reads elements again after it may have
    /// overwritten them.
    pub(super) fn sums(&mut self, at: usize, op: CumSum, x: String, ty: &Type) -> String {
        let sums = self.emit(at, CumSum { exclusive: false, ..op }, &[&x], ty);
        match op.exclusive {
            true => self.emit(at, Binary { kind: BinaryKind::Sub }, &[&sums, &x], ty),
            false => sums,
        }
    }

    pub(super) fn layer_norm(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &LayerNorm,
    ) -> Result<(), LegaliseError> {
        if !(0.0..=LARGEST_EPSILON).contains(&op.epsilon) {
            let reason =
                format!("PaddlePaddle takes an epsilon of at most {LARGEST_EPSILON}, not {}", op.epsilon);
            return self.refuse(operator, reason);
        }
        if op.begin_norm_axis == 0 {
            return self.refuse(operator, "PaddlePaddle normalises behind the first axis only");
        }
        self.same(at, operator)
    }

    /// Some losses take columns only. Some keep a value for their gradient.
    pub(super) fn loss(
        &mut self,
        at: usize,
        operator: &Operator,
        kind: LossKind,
    ) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]);
        let of_columns = matches!(kind, LossKind::HingeLoss | LossKind::LogLoss);
        let is_column = ty.rank() == 2 && ty.dims.last().and_then(|dim| dim.constant()) == Some(1);
        match kind {
            LossKind::ModifiedHuberLoss => self.modified_huber_loss(at, operator),
            LossKind::HuberLoss => self.of_one_shape(at, operator, Some("Residual")),
            _ if of_columns && !is_column => self.of_a_column(at, operator),
            _ => self.of_one_shape(at, operator, None),
        }
    }

    /// The formula is written out, as later releases lack the operator.
    fn modified_huber_loss(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]);
        let inputs = self.whole_inputs(at, operator)?;
        let [x, label] = &inputs[..] else { return Ok(()) };
        let (mul, scale) = (Binary { kind: BinaryKind::Mul }, |scale, bias| Scale { scale, bias });
        let side = self.emit(at, scale(2.0, -1.0), &[label], ty);
        let margin = self.emit(at, mul, &[x, &side], ty);
        let linear = self.emit(at, scale(-4.0, 0.0), &[&margin], ty);
        let missing = self.emit(at, scale(-1.0, 1.0), &[&margin], ty);
        let missing = self.emit(at, Unary::of(UnaryKind::Relu), &[&missing], ty);
        let square = self.emit(at, mul, &[&missing, &missing], ty);
        let bound = self.constant(at, Number::Float(-1.0), &Type::new(ty.dtype, [1]), "bound");
        let is_far = self.less_than(at, &margin, &bound, ty);
        let loss = self.emit(at, Select, &[&is_far, &linear, &square], ty);
        self.names.insert(operator.outputs[0], loss);
        Ok(())
    }

    /// An operator that PaddlePaddle has of columns, `[_, 1]`: all elements are one.
    fn of_a_column(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let out = program.ty(operator.outputs[0]);
        let shape = small(&wire_dims(out));
        let is_one = |shape: &Vec<i32>| shape.iter().filter(|&&size| size == -1).count() <= 1;
        let Some(shape) = shape.filter(is_one) else {
            return self.refuse(operator, "PaddlePaddle computes it of columns, `[_, 1]`; reshape to one");
        };
        let column = Type { rows: None, dims: vec![Dim::from(-1), Dim::from(1)], ..out.clone() };
        let mut inputs = self.whole_inputs(at, operator)?;
        for (input, &var) in inputs.iter_mut().zip(&operator.inputs) {
            let dtype = program.ty(var).dtype;
            let (from, to) = (out.with_dtype(dtype), column.with_dtype(dtype));
            *input = self.reshaped_to(at, input.clone(), &from, &to, vec![-1, 1]);
        }
        let losses = self.declare(at, operator.op.name(), &column);
        self.push(at, describe(&operator.op, &inputs, std::slice::from_ref(&losses), &[]));
        let losses = self.reshaped_to(at, losses, &column, out, shape);
        self.names.insert(operator.outputs[0], losses);
        Ok(())
    }

    /// Numbers of no class are an error in PaddlePaddle, whatever its attribute says. So numbers are compared with those of all classes.
    pub(super) fn one_hot(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &OneHot,
    ) -> Result<(), LegaliseError> {
        let Some(depth) = op.depth.constant().filter(|depth| op.allow_out_of_range && *depth <= MOST_WRITTEN)
        else {
            return self.sized(at, operator, std::slice::from_ref(&op.depth));
        };
        let program = self.program;
        let [x, out] = [operator.inputs[0], operator.outputs[0]].map(|var| program.ty(var));
        let mut column = x.clone();
        column.dims.push(Dim::from(1));
        let numbers = self.reshaped(at, operator, self.name(operator.inputs[0]), x, &column)?;
        let classes = Type::new(x.dtype, [depth]);
        let values = (0..depth).map(Number::Int).collect();
        let classes = self.emit(at, AssignValue { values, ty: classes.clone() }, &[], &classes);
        let truths = out.with_dtype(DType::Bool);
        let is_it = self.emit(at, Compare { kind: CompareKind::Equal }, &[&numbers, &classes], &truths);
        let ones = self.cast(at, is_it, &truths, op.dtype);
        self.names.insert(operator.outputs[0], ones);
        Ok(())
    }

    /// The kernels of PaddlePaddle's default predictor, oneDNN's, swap dividend and divisor where the dividend is the smaller one
    /// (2.6.2 and 3.3.1), so it gets the shape of the quotient.
    pub(super) fn quotient(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [dividend, out] = [operator.inputs[0], operator.outputs[0]].map(|var| program.ty(var));
        let is_whole = (dividend.rows, &dividend.dims) == (out.rows, &out.dims);
        if is_whole { self.same(at, operator) } else { self.of_one_shape(at, operator, None) }
    }

    /// An operator that PaddlePaddle has without broadcasting. It may keep a value for its gradient.
    pub(super) fn of_one_shape(
        &mut self,
        at: usize,
        operator: &Operator,
        kept: Option<&str>,
    ) -> Result<(), LegaliseError> {
        let inputs = self.whole_inputs(at, operator)?;
        let mut desc = self.same_on(operator, at, &inputs);
        if let Some(slot) = kept {
            let value = self.declare(at, slot, self.program.ty(operator.outputs[0]));
            desc = desc.with_output(slot, [value]);
        }
        self.push(at, desc);
        Ok(())
    }

    /// The inputs of an operator in the shape of its result.
    fn whole_inputs(&mut self, at: usize, operator: &Operator) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let out = program.ty(operator.outputs[0]);
        let is_whole = |&var: &VarId| {
            let ty = program.ty(var);
            (ty.rows, &ty.dims) == (out.rows, &out.dims)
        };
        let mut inputs = self.names(&operator.inputs);
        if let Some(narrow) = operator.inputs.iter().find(|var| !is_whole(var)) {
            let whole = operator.inputs.iter().find(|var| is_whole(var)).map(|&var| self.name(var));
            let Some(whole) = whole.or_else(|| self.whole_of_two(at, operator)) else {
                let shape = program.show(program.ty(*narrow));
                let reason = format!(
                    "PaddlePaddle's operator needs values of one shape, but this has {shape} for {}",
                    program.show(out)
                );
                return self.refuse(operator, reason);
            };
            let Some(shape) = small(&wire_dims(out)) else {
                return self.refuse(operator, "a size exceeds 32 bits");
            };
            for (input, &var) in inputs.iter_mut().zip(&operator.inputs).filter(|(_, var)| !is_whole(var)) {
                let ty = out.with_dtype(program.ty(var).dtype);
                let expand = OpDesc::new("expand_as_v2")
                    .with_input("Y", [whole.clone()])
                    .with_attr(OpAttr::ints("target_shape", shape.clone()));
                *input = self.step(at, expand, input.clone(), &ty);
            }
        }
        Ok(inputs)
    }

    /// A value of the shape of the result: the sum of two inputs that give this shape together. Only its shape is used.
    fn whole_of_two(&mut self, at: usize, operator: &Operator) -> Option<String> {
        let program = self.program;
        let out = program.ty(operator.outputs[0]);
        let shape = program.shape(out);
        let dim = |var: VarId, from_last: usize| {
            let dims = program.shape(program.ty(var));
            dims.len().checked_sub(1 + from_last).map(|axis| dims[axis].clone())
        };
        let is_given = |pair: &[VarId; 2]| {
            shape
                .iter()
                .rev()
                .enumerate()
                .all(|(k, size)| pair.iter().any(|&var| dim(var, k).as_ref() == Some(size)))
        };
        let inputs = &operator.inputs;
        let pairs = (0..inputs.len()).flat_map(|k| (0..k).map(move |j| [inputs[j], inputs[k]]));
        let pair = pairs.into_iter().find(is_given)?;
        let terms = pair.map(|var| self.cast(at, self.name(var), program.ty(var), DType::F32));
        let sum = Binary { kind: BinaryKind::Add };
        Some(self.emit(at, sum, &[&terms[0], &terms[1]], &out.with_dtype(DType::F32)))
    }
}
