//! Losses of classes.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{
    Binary, BinaryKind, Compare, CompareKind, Gather, Reduce, ReduceKind, Scale, Select, TakeAlongAxis,
};
use crate::program::{DType, Dim, VarId};

impl Node<'_, '_> {
    pub(super) fn negative_log_likelihood(&mut self) -> Given {
        let x = self.input(0)?;
        self.loss_of_classes(x).map(|loss| vec![loss])
    }

    pub(super) fn softmax_cross_entropy(&mut self) -> Given {
        let scores = self.input(0)?;
        let logarithms = self.log_softmax_along(scores, 1)?;
        let loss = self.loss_of_classes(logarithms)?;
        Ok(vec![loss, logarithms])
    }

    /// `-weight[label] · x[label]` of logarithms `[_, classes, ..]`. Labels that are ignored count nothing; a mean divides by the
    /// weights of the others.
    fn loss_of_classes(&mut self, x: VarId) -> Result<VarId, Fault> {
        let labels = self.input(1)?;
        let mut labels = self.cast(labels, DType::I64)?;
        let weights = self.optional(2)?;
        let dtype = self.ty(x).dtype;
        let multiply = Binary { kind: BinaryKind::Mul };
        let mut counts = None;
        if let Some(ignored) = self.attr("ignore_index").and_then(|attr| attr.i) {
            let ignored = self.fill(ignored as f64, DType::I64)?;
            let counted = self.emit(Compare { kind: CompareKind::NotEqual }, &[labels, ignored])?;
            let zero = self.fill(0.0, DType::I64)?;
            // Any class will do for what counts nothing.
            labels = self.emit(Select, &[counted, labels, zero])?;
            counts = Some(self.cast(counted, dtype)?);
        }
        if let Some(weights) = weights {
            let weight = self.emit(Gather { axis: 0 }, &[weights, labels])?;
            counts = Some(match counts {
                Some(counts) => self.emit(multiply, &[weight, counts])?,
                None => weight,
            });
        }
        let mut dims = self.ty(labels).dims.clone();
        let rest = dims.clone();
        dims.insert(1 - self.rows(labels), Dim::from(1));
        let places = self.reshaped(labels, dims)?;
        let taken = self.emit(TakeAlongAxis { axis: 1 }, &[x, places])?;
        let taken = self.reshaped(taken, rest)?;
        let mut each = self.emit(Scale { scale: -1.0, bias: 0.0 }, &[taken])?;
        if let Some(counts) = counts {
            each = self.emit(multiply, &[each, counts])?;
        }
        let over = |kind| Reduce { kind, axes: Vec::new(), keep_dim: false };
        match (self.text("reduction").unwrap_or("mean"), counts) {
            ("none", _) => Ok(each),
            ("sum", _) => self.emit(over(ReduceKind::Sum), &[each]),
            ("mean", None) => self.emit(over(ReduceKind::Mean), &[each]),
            ("mean", Some(counts)) => {
                let sums = [
                    self.emit(over(ReduceKind::Sum), &[each])?,
                    self.emit(over(ReduceKind::Sum), &[counts])?,
                ];
                self.emit(Binary { kind: BinaryKind::Div }, &sums)
            }
            (other, _) => self.lacks(format!("its reduction is `{other}`")),
        }
    }
}
