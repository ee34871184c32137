//! Normalisations.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::types::{is_small_product, product};
use crate::ops::{
    BatchNorm, Binary, BinaryKind, Fill, GroupNorm, ImageLayout, LayerNorm, Lrn, Number, Reduce, ReduceKind,
    Scale, Unary, UnaryKind,
};
use crate::program::{Definition, Dim, Type, VarId};

const ADD: Binary = Binary { kind: BinaryKind::Add };
const SUB: Binary = Binary { kind: BinaryKind::Sub };
const MUL: Binary = Binary { kind: BinaryKind::Mul };
const DIV: Binary = Binary { kind: BinaryKind::Div };

impl Node<'_, '_> {
    /// A list of equal numbers.
    fn list(&mut self, like: VarId, size: &Dim, value: f64) -> Result<VarId, Fault> {
        let ty = Type { dtype: self.ty(like).dtype, rows: None, dims: vec![size.clone()] };
        self.emit(Fill { value: Number::Float(value), ty }, &[])
    }

    /// The channels of images or signals: the dimension behind the rows.
    fn channels(&self, x: VarId) -> Result<Dim, Fault> {
        match self.shape(x).get(1) {
            Some(channels) => Ok(channels.clone()),
            None => self.lacks("it has no channels"),
        }
    }

    /// Where the model is trained, statistics that are parameters are moved.
    pub(super) fn batch_normalization(&mut self) -> Given {
        let inputs = self.inputs()?;
        if inputs.len() != 5 || self.int("training_mode", 0) != 0 || self.int("spatial", 1) == 0 {
            return self.lacks("it computes statistics of a batch where it infers, or of each element");
        }
        let moves = inputs[3..].iter().all(|&var| {
            let var = self.reader.draft.program.var(var);
            var.definition == Definition::Parameter
        });
        let is_test = !(self.reader.trains && moves);
        let op = BatchNorm {
            epsilon: self.float("epsilon", 1e-5),
            momentum: self.float("momentum", 0.9),
            is_test,
        };
        Ok(vec![self.at().emit_all(op, &inputs, 3)?[0]])
    }

    /// The elements from an axis on.
    pub(super) fn layer_normalization(&mut self) -> Given {
        let (x, scale) = (self.input(0)?, self.input(1)?);
        let axis = self.axis(x, "axis", self.int("axis", -1))?;
        let Some(at) = axis.checked_sub(self.rows(x)) else { return self.lacks("it normalises over rows") };
        let dims = self.ty(x).dims[at..].to_vec();
        if !is_small_product(&dims) {
            return self.lacks("its sizes are too long");
        }
        let count = product(&dims)?;
        let scale = self.reshaped(scale, vec![count.clone()])?;
        let bias = match self.optional(2)? {
            Some(bias) => self.reshaped(bias, vec![count])?,
            None => self.list(x, &count, 0.0)?,
        };
        let op = LayerNorm { epsilon: self.float("epsilon", 1e-5), begin_norm_axis: axis as i64 };
        let mut given = vec![self.at().emit_all(op, &[x, scale, bias], 3)?[0]];
        if self.desc.output.len() > 1 {
            let axes = (axis as i64..self.ty(x).rank() as i64).collect();
            let mean = Reduce { kind: ReduceKind::Mean, axes, keep_dim: true };
            let middle = self.emit(mean.clone(), &[x])?;
            let distance = self.emit(SUB, &[x, middle])?;
            let squares = self.emit(Unary::of(UnaryKind::Square), &[distance])?;
            let variance = self.emit(mean, &[squares])?;
            let variance = self.emit(Scale { scale: 1.0, bias: op.epsilon }, &[variance])?;
            given.extend([middle, self.emit(Unary::of(UnaryKind::Rsqrt), &[variance])?]);
        }
        Ok(given)
    }

    /// Each channel of a row is a group.
    pub(super) fn instance_normalization(&mut self) -> Given {
        let inputs = [self.input(0)?, self.input(1)?, self.input(2)?];
        let Some(groups) = self.channels(inputs[0])?.constant() else {
            return self.lacks("its number of channels is not known");
        };
        let op = GroupNorm { epsilon: self.float("epsilon", 1e-5), groups };
        Ok(vec![self.at().emit_all(op, &inputs, 3)?[0]])
    }

    /// Before version 21, there is a scale and a bias for each group.
    pub(super) fn group_normalization(&mut self) -> Given {
        let (x, scale, bias) = (self.input(0)?, self.input(1)?, self.input(2)?);
        let (channels, groups) = (self.channels(x)?, self.int("num_groups", 0));
        let op = GroupNorm { epsilon: self.float("epsilon", 1e-5), groups };
        if self.ty(scale).dims == [channels.clone()] {
            return Ok(vec![self.at().emit_all(op, &[x, scale, bias], 3)?[0]]);
        }
        let Some(each) = channels.constant().filter(|channels| groups > 0 && channels % groups == 0) else {
            return self.lacks("its channels are not known, or do not go up in groups");
        };
        let mut of_channels = [scale, bias];
        for part in &mut of_channels {
            let column = self.reshaped(*part, vec![Dim::from(groups), Dim::from(1)])?;
            let Some(all) = self.at().repeated(column, vec![Dim::from(1), Dim::from(each / groups)])? else {
                return self.lacks("it has no channels");
            };
            *part = self.reshaped(all, vec![Dim::from(each)])?;
        }
        Ok(vec![self.at().emit_all(op, &[x, of_channels[0], of_channels[1]], 3)?[0]])
    }

    /// `x / √(mean x² + epsilon) · scale`, over the axes from one on.
    pub(super) fn rms_normalization(&mut self) -> Given {
        let (x, scale) = (self.input(0)?, self.input(1)?);
        let axis = self.axis(x, "axis", self.int("axis", -1))? as i64;
        let axes = (axis..self.ty(x).rank() as i64).collect();
        let squares = self.emit(Unary::of(UnaryKind::Square), &[x])?;
        let mean = self.emit(Reduce { kind: ReduceKind::Mean, axes, keep_dim: true }, &[squares])?;
        let mean = self.emit(Scale { scale: 1.0, bias: self.float("epsilon", 1e-5) }, &[mean])?;
        let root = self.emit(Unary::of(UnaryKind::Rsqrt), &[mean])?;
        let normalised = self.emit(MUL, &[x, root])?;
        self.give(MUL, &[normalised, scale])
    }

    /// `x / (Σ |x|ᵖ)^(1/p)` along an axis.
    pub(super) fn lp_normalization(&mut self) -> Given {
        let x = self.input(0)?;
        let axis = self.axis(x, "axis", self.int("axis", -1))? as i64;
        let (first, then) = match self.int("p", 2) {
            1 => (UnaryKind::Abs, None),
            2 => (UnaryKind::Square, Some(UnaryKind::Sqrt)),
            _ => return self.lacks("its `p` is neither 1 nor 2"),
        };
        let sizes = self.emit(Unary::of(first), &[x])?;
        let mut norm =
            self.emit(Reduce { kind: ReduceKind::Sum, axes: vec![axis], keep_dim: true }, &[sizes])?;
        if let Some(kind) = then {
            norm = self.emit(Unary::of(kind), &[norm])?;
        }
        self.give(DIV, &[x, norm])
    }

    /// `(x - mean) / (standard deviation + 10⁻⁹)` over axes.
    pub(super) fn mean_variance_normalization(&mut self) -> Given {
        let x = self.input(0)?;
        let axes = self.axes(x, &self.ints("axes").unwrap_or_else(|| vec![0, 2, 3]))?;
        let axes: Vec<i64> = axes.into_iter().map(|axis| axis as i64).collect();
        let mean = Reduce { kind: ReduceKind::Mean, axes, keep_dim: true };
        let middle = self.emit(mean.clone(), &[x])?;
        let distance = self.emit(SUB, &[x, middle])?;
        let squares = self.emit(Unary::of(UnaryKind::Square), &[distance])?;
        let variance = self.emit(mean, &[squares])?;
        let deviation = self.emit(Unary::of(UnaryKind::Sqrt), &[variance])?;
        let deviation = self.emit(Scale { scale: 1.0, bias: 1e-9 }, &[deviation])?;
        self.give(DIV, &[distance, deviation])
    }

    /// ONNX divides `alpha` by the number of channels that are summed, ours does not.
    pub(super) fn local_response(&mut self) -> Given {
        let (x, n) = (self.input(0)?, self.int("size", 1));
        if n < 1 || n % 2 == 0 {
            return self.lacks("its `size` is even");
        }
        let op = Lrn {
            n,
            k: self.float("bias", 1.0),
            alpha: self.float("alpha", 1e-4) / n as f64,
            beta: self.float("beta", 0.75),
            data_format: ImageLayout::ChannelsFirst,
        };
        Ok(vec![self.at().emit_all(op, &[x], 2)?[0]])
    }

    /// The sum of a value and one number for each channel.
    pub(super) fn with_bias(&mut self, x: VarId, bias: VarId) -> Result<VarId, Fault> {
        let ones = self.ty(x).rank().saturating_sub(2);
        let dims =
            self.ty(bias).dims.iter().cloned().chain(std::iter::repeat_n(Dim::from(1), ones)).collect();
        let bias = self.reshaped(bias, dims)?;
        self.emit(ADD, &[x, bias])
    }
}
