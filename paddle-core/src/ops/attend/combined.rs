//! Attention as it is written: two products of matrices, and what is between them.

use super::Attend;
use super::constants::{multiple, number};
use crate::ops::{Before, BinaryKind, Combination, Op, Operator};
use crate::program::VarId;

/// Attention as the product that ends it: of weights and values.
pub(in crate::ops) fn of_product(product: &Operator, before: Before<'_>) -> Option<Combination> {
    let &[mut weights, values] = &product.inputs[..] else { return None };
    if !matches!(&product.op, Op::Matmul(op) if !op.trans_x && !op.trans_y) {
        return None;
    }
    let mut between = vec![weights];
    // What is left of a dropout in test.
    while let Op::Assign(_) = before.maker(weights)?.op {
        weights = before.maker(weights)?.inputs[0];
        between.push(weights);
    }
    let softmax = before.maker(weights).filter(|maker| matches!(maker.op, Op::Softmax(_)))?;
    let mut scores = softmax.inputs[0];
    between.push(scores);
    let mut steps = Steps {
        before,
        attend: Attend { scale: 1.0, kept: true, masked: 0.0, heads_last: [false; 4] },
        mask: None,
        between,
        unread: Vec::new(),
    };
    if steps.product(scores).is_none() {
        scores = steps.mask(scores).unwrap_or(scores);
    }
    while steps.product(scores).is_none() {
        scores = steps.scale(scores)?;
    }
    let of_scores = steps.product(scores)?;
    let (Op::Matmul(op), &[asked, keys]) = (&of_scores.op, &of_scores.inputs[..]) else { return None };
    if op.trans_x {
        return None;
    }
    let [asked, keys] = [asked, keys].map(|factor| steps.unscaled(factor));
    let (asked, asked_last) = steps.operand(asked);
    let (keys, keys_last) = if op.trans_y { steps.operand(keys) } else { steps.transposed_keys(keys)? };
    let (values, values_last) = steps.operand(values);
    let Steps { mut attend, mask, between, unread, .. } = steps;
    attend.heads_last = [asked_last, keys_last, values_last, false];
    let inputs: Vec<VarId> = [asked, keys, values].into_iter().chain(mask).collect();
    let has_own_matrices = attend.has_own_matrices(before.program(), &inputs);
    has_own_matrices.then(|| Combination { op: attend.into(), inputs, between, unread })
}

/// Attention as the transpose behind it, by which the places come before the heads.
pub(in crate::ops) fn of_transpose(transpose: &Operator, before: Before<'_>) -> Option<Combination> {
    let (Op::Transpose(op), &[means]) = (&transpose.op, &transpose.inputs[..]) else { return None };
    let maker = before.maker(means)?;
    let Op::Attend(mut attend) = maker.op else { return None };
    if attend.heads_last[3] || !orders_last(&op.perm, [1, 0, 2]) {
        return None;
    }
    attend.heads_last[3] = true;
    let (inputs, between) = (maker.inputs.clone(), vec![means]);
    Some(Combination { op: attend.into(), inputs, between, unread: Vec::new() })
}

/// The way back from the softmax to the product of scores.
struct Steps<'a> {
    before: Before<'a>,
    attend: Attend,
    mask: Option<VarId>,
    between: Vec<VarId>,
    unread: Vec<VarId>,
}

impl<'a> Steps<'a> {
    /// The operator that computes the value, if it is a product.
    fn product(&self, var: VarId) -> Option<&'a Operator> {
        self.before.maker(var).filter(|maker| matches!(maker.op, Op::Matmul(_)))
    }

    /// Goes back over a mask. Returns the values that it is for.
    fn mask(&mut self, scores: VarId) -> Option<VarId> {
        let maker = self.before.maker(scores)?;
        let (source, mask) = match (&maker.op, &maker.inputs[..]) {
            (Op::Select(_), &[condition, x, y]) => {
                let kept = self.is_like(x, scores);
                let (source, other) = if kept { (x, y) } else { (y, x) };
                (self.attend.kept, self.attend.masked) = (kept, self.constant(other)?);
                (source, condition)
            }
            (Op::Binary(op), &[x, y]) if op.kind == BinaryKind::Add => {
                if self.is_multiple_of_product(x) {
                    (x, y)
                } else {
                    (y, x)
                }
            }
            _ => return None,
        };
        self.mask = Some(mask);
        self.step(source, scores)
    }

    /// Goes back over a factor. Returns the values that it is multiplied with.
    fn scale(&mut self, scores: VarId) -> Option<VarId> {
        let (source, factor) = self.factor(scores)?;
        self.attend.scale *= factor;
        self.step(source, scores)
    }

    /// The value that this one is a multiple of, and the factor.
    fn factor(&mut self, var: VarId) -> Option<(VarId, f64)> {
        let (source, factor, constant) = multiple(self.before, self.before.maker(var)?)?;
        self.unread.extend(constant);
        Some((source, factor))
    }

    /// The value that a factor of scores is a multiple of, or the value itself.
    fn unscaled(&mut self, mut var: VarId) -> VarId {
        while let Some((source, factor)) = self.factor(var).filter(|(source, _)| self.is_like(*source, var)) {
            self.attend.scale *= factor;
            self.unread.push(var);
            var = source;
        }
        var
    }

    /// Goes one step back, if that leads to values of the same shape.
    fn step(&mut self, source: VarId, scores: VarId) -> Option<VarId> {
        self.between.push(source);
        self.is_like(source, scores).then_some(source)
    }

    fn is_like(&self, var: VarId, scores: VarId) -> bool {
        self.before.program().ty(var) == self.before.program().ty(scores)
    }

    /// Whether the value is a product, or a multiple of one.
    fn is_multiple_of_product(&self, var: VarId) -> bool {
        let is_product = |var: &VarId| self.product(*var).is_some();
        let multiplies = |op: &Op| match op {
            Op::Scale(_) => true,
            Op::Binary(op) => matches!(op.kind, BinaryKind::Mul | BinaryKind::Div),
            _ => false,
        };
        let maker = self.before.maker(var).filter(|maker| multiplies(&maker.op));
        is_product(&var) || maker.is_some_and(|maker| maker.inputs.iter().any(is_product))
    }

    /// The number of a constant with one element.
    fn constant(&mut self, var: VarId) -> Option<f64> {
        let number = number(self.before, var)?;
        self.unread.push(var);
        Some(number)
    }

    /// The value that has these matrices with its heads behind the places, or the value itself.
    fn operand(&mut self, var: VarId) -> (VarId, bool) {
        self.transposed(var, [1, 0, 2]).map_or((var, false), |source| (source, true))
    }

    /// The value that has the transposes of these matrices, and whether its heads are behind the places.
    fn transposed_keys(&mut self, var: VarId) -> Option<(VarId, bool)> {
        if let Some(source) = self.transposed(var, [1, 2, 0]) {
            return Some((source, true));
        }
        let Op::Transpose(transpose) = &self.before.maker(var)?.op else { return None };
        let lead = transpose.perm.len().checked_sub(2)? as i64;
        if !transpose.perm.iter().copied().eq((0..lead).chain([lead + 1, lead])) {
            return None;
        }
        self.unread.push(var);
        Some(self.operand(self.before.maker(var)?.inputs[0]))
    }

    /// The value of which this is the transpose with its last three axes in this order.
    fn transposed(&mut self, var: VarId, order: [i64; 3]) -> Option<VarId> {
        let maker = self.before.maker(var)?;
        let Op::Transpose(transpose) = &maker.op else { return None };
        if !orders_last(&transpose.perm, order) {
            return None;
        }
        self.unread.push(var);
        Some(maker.inputs[0])
    }
}

/// Whether a transpose brings the last three axes into this order, and leaves the others.
fn orders_last(perm: &[i64], order: [i64; 3]) -> bool {
    let Some(lead) = perm.len().checked_sub(3) else { return false };
    let lead = lead as i64;
    perm.iter().copied().eq((0..lead).chain(order.map(|axis| lead + axis)))
}
