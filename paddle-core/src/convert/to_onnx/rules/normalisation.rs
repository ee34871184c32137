//! Normalisation.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{BatchNorm, GroupNorm, LayerNorm, Operator};
use crate::program::Dim;
use crate::wire::onnx::AttributeProto;

impl Writer<'_> {
    pub(super) fn batch_norm(
        &mut self,
        operator: &Operator,
        op: &BatchNorm,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let rank = self.program.ty(operator.inputs[0]).rank();
        let epsilon = AttributeProto::float("epsilon", op.epsilon as f32);
        // Its channels are behind the first dimension.
        match rank {
            0 | 1 => self.refuse("it has no channels"),
            _ => Ok(self.node_with("BatchNormalization", x, [epsilon])),
        }
    }

    /// The sizes from an axis on.
    fn sizes_from(&self, operator: &Operator, axis: i64) -> Vec<Dim> {
        let dims = self.program.shape(self.program.ty(operator.inputs[0]));
        dims.get(axis as usize..).unwrap_or_default().to_vec()
    }

    pub(super) fn layer_norm(
        &mut self,
        operator: &Operator,
        op: &LayerNorm,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let dims = self.sizes_from(operator, op.begin_norm_axis);
        let mut inputs = vec![x[0].to_string()];
        for &parameter in &x[1..] {
            inputs.push(self.reshaped_to(parameter, &dims)?);
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let how = [
            AttributeProto::int("axis", op.begin_norm_axis),
            AttributeProto::float("epsilon", op.epsilon as f32),
        ];
        Ok(self.node_with("LayerNormalization", &inputs, how))
    }

    /// Groups are the instances of an instance normalisation, which has one element for each of its channels.
    pub(super) fn group_norm(
        &mut self,
        operator: &Operator,
        op: &GroupNorm,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let ty = self.program.ty(operator.inputs[0]).clone();
        let dims = self.program.shape(&ty);
        let all = self.ints(&[0, op.groups, -1]);
        let groups = self.node("Reshape", &[x[0], &all]);
        let ones = self.ints(&[op.groups]);
        let [ones, zeros] = [1.0, 0.0].map(|number| self.filled(&ones, number, ty.dtype));
        let epsilon = [AttributeProto::float("epsilon", op.epsilon as f32)];
        let normal = self.node_with("InstanceNormalization", &[&groups, &ones, &zeros], epsilon);
        let normal = self.reshaped_to(&normal, &dims)?;
        // One number for each channel, whatever is behind the channels.
        let channels = std::iter::once(dims[1].clone());
        let channels: Vec<Dim> = channels.chain(dims[2..].iter().map(|_| Dim::from(1))).collect();
        let scale = self.reshaped_to(x[1], &channels)?;
        let shift = self.reshaped_to(x[2], &channels)?;
        let scaled = self.node("Mul", &[&normal, &scale]);
        Ok(self.node("Add", &[&scaled, &shift]))
    }
}
