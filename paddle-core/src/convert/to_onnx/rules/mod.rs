//! Operators without blocks, a file for each family.

mod arrangement;
mod elementwise;
mod images;
mod indices;
mod losses;
mod making_sequences;
mod normalisation;
mod products;
mod reductions;
mod sequences;

use super::graph::Writer;
use crate::convert::export::LegaliseError;
use crate::ops::{Op, Operator};

/// The reason for operators that a program has only after `backward`.
const TRAINING: &str = "it belongs to training; export the program from before `backward`";

/// The reason for operators that ONNX lacks.
const LACKING: &str = "ONNX has nothing that computes it";

impl Writer<'_> {
    /// Writes an operator.
    pub(super) fn operator(&mut self, operator: &Operator) -> Result<(), LegaliseError> {
        let outputs = self.computed(operator)?;
        for (&output, name) in operator.outputs.iter().zip(outputs) {
            self.define(output, name);
        }
        Ok(())
    }

    /// The first outputs of an operator; those that are left out cannot be read.
    fn computed(&mut self, operator: &Operator) -> Result<Vec<String>, LegaliseError> {
        match &operator.op {
            Op::If(_) => return self.branches(operator),
            Op::While(_) => return self.while_loop(operator),
            Op::For(op) => return self.for_loop(operator, op.items as usize),
            _ => {}
        }
        let inputs = self.inputs(operator)?;
        let x: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let one = match &operator.op {
            Op::Split(op) => return self.split(operator, op, &x),
            Op::TopK(op) => return self.top_k(operator, *op, &x),
            Op::Accuracy(_) => return self.accuracy(operator, &x),
            Op::SoftmaxWithCrossEntropy(op) => return self.softmax_with_cross_entropy(operator, *op, &x),
            Op::MaxPool2dWithIndex(op) => return self.pool_with_places(operator, op, &x),

            Op::Assign(_) | Op::StopGradient(_) | Op::ToDevice(_) => x[0].to_string(),
            Op::RowsToAxis(_) | Op::AxisToRows(_) => self.renamed_rows(operator, &x)?,
            Op::Binary(op) => self.binary(operator, op.kind, &x)?,
            Op::Compare(op) => self.compare(operator, op.kind, &x)?,
            Op::Logical(op) => self.logical(operator, op.kind, &x)?,
            Op::Not(_) => self.node("Not", &x),
            Op::Select(_) => self.select(operator, &x)?,
            Op::Unary(op) => self.unary(operator, op, &x),
            Op::Predicate(op) => self.predicate(operator, op.kind, &x),
            Op::Scale(op) => self.scale(operator, *op, &x),
            Op::Cast(op) => self.cast(x[0], op.dtype),

            Op::Reshape(_) => self.reshaped(x[0], self.program.ty(operator.outputs[0]))?,
            Op::Transpose(op) => self.transposed(x[0], &op.perm),
            Op::Concat(op) => self.concat(op.axis, &x),
            Op::Slice(op) => self.slice(op, &x),
            Op::Pad(op) => self.pad(operator, op, &x),
            Op::Tile(op) => self.tile(operator, op, &x)?,
            Op::Expand(op) => self.expand(operator, op, &x)?,
            Op::Size(op) => self.size_of_axes(operator, op)?,
            Op::Fill(op) => self.fill(op)?,
            Op::AssignValue(op) => self.assign_value(op),
            Op::Range(op) => self.range(op)?,
            Op::RowNumbers(_) => self.row_numbers(operator)?,

            Op::Matmul(op) => self.matmul(operator, *op, &x),
            Op::Conv2d(op) => self.conv2d(operator, op, &x)?,
            Op::Conv2dTranspose(op) => self.conv2d_transpose(op, &x),
            Op::Pool2d(op) => self.pool2d(operator, op, &x)?,
            Op::Interpolate(op) => self.interpolate(operator, op, &x)?,
            Op::Unfold(op) => self.unfold(operator, op, &x)?,
            Op::Lrn(op) => self.lrn(op, &x),

            Op::BatchNorm(op) => self.batch_norm(operator, op, &x)?,
            Op::LayerNorm(op) => self.layer_norm(operator, op, &x)?,
            Op::GroupNorm(op) => self.group_norm(operator, op, &x)?,
            Op::Softmax(_) => {
                self.node_with("Softmax", &x, [crate::wire::onnx::AttributeProto::int("axis", -1)])
            }

            Op::Reduce(op) => self.reduce(operator, op, &x),
            Op::CumSum(op) => self.cumsum(*op, &x),

            Op::Gather(op) => self.gather(operator, *op, &x),
            Op::GatherNd(_) => self.node("GatherND", &x),
            Op::LookupTable(op) => self.lookup(operator, *op, &x)?,
            Op::OneHot(op) => self.one_hot(operator, op, &x)?,
            Op::TakeAlongAxis(op) => self.take_along_axis(*op, &x),
            Op::TakeAlongAxisGrad(op) => self.added_along_axis(operator, op.0.axis, &x)?,
            Op::Scatter(_) => self.scattered(x[0], x[1], x[2]),
            Op::ScatterNdAdd(_) => self.scatter_nd("add", &x),

            Op::CrossEntropy(op) => self.cross_entropy(operator, *op, &x)?,
            Op::Loss(op) => self.loss(operator, *op, &x)?,
            Op::RankLoss(_) => self.rank_loss(operator, &x)?,

            Op::GatherRows(op) => self.gather_rows(operator, op.rows, &x)?,
            Op::ScatterRows(_) | Op::SequenceAlign(_) => x[0].to_string(),
            Op::SequenceExpandAs(_) => self.sequence_expand_as(operator, &x)?,
            Op::SequenceLength(_) => self.sequence_length(operator)?,
            Op::SequencePool(op) => self.sequence_pool(operator, op, &x)?,
            Op::SequenceReverse(_) => self.sequence_reverse(operator, &x)?,
            Op::SequenceSoftmax(_) => self.sequence_softmax(operator, &x)?,
            Op::SequenceWindow(op) => self.sequence_window(operator, op, &x)?,
            Op::SequenceProduct(_) => self.sequence_product(operator, &x)?,
            Op::SequenceWeigh(_) => self.sequence_weigh(operator, &x)?,
            Op::SequenceSpread(_) => self.sequence_spread(operator, &x)?,

            Op::SequenceConcat(_) => self.sequence_concat(operator, &x)?,
            Op::SequenceGather(_) => self.sequence_gather(operator, &x)?,
            Op::SequencePad(op) => self.sequence_pad(operator, op, &x)?,
            Op::SequenceRange(op) => self.sequence_range(op.rows, &x)?,
            Op::SequenceReshape(_) => self.sequence_reshape(operator, &x)?,
            Op::SequenceUnpad(_) => self.sequence_unpad(operator, &x)?,
            Op::SequenceWhere(_) => self.sequence_where(operator, &x)?,

            Op::Outside(_) => return self.refuse("its value is bound when the network is made"),
            Op::Custom(_) => return self.refuse("it is an operator of your own, which ONNX does not have"),
            Op::Contract(_) | Op::Dropout(_) | Op::Update(_) | Op::UpdateRows(_) => {
                return self.refuse(TRAINING);
            }
            op if op.schema().inputs.iter().any(|slot| slot.name.ends_with("@GRAD")) => {
                return self.refuse(TRAINING);
            }
            _ => return self.refuse(LACKING),
        };
        Ok(vec![one])
    }
}
