//! One step of recurrent units.

use super::At;
use crate::convert::error::Fault;
use crate::ops::{Binary, BinaryKind, Matmul, Op, Scale, Split, Unary, UnaryKind};
use crate::program::{Dim, VarId};

/// The kind of a unit. Dialects have the parts of its weights in different orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::convert) enum Unit {
    /// The places of the input gate, the forget gate, the new content and the output gate.
    Lstm([usize; 4]),
    /// The places of the reset gate, the update gate and the new content.
    Gru {
        order: [usize; 3],
        /// Whether the state is multiplied by the reset gate behind the product with the weights, not before it.
        resets_product: bool,
    },
    Simple(UnaryKind),
}

/// The weights of one direction of one layer.
pub(in crate::convert) struct Weights {
    /// `[gates · size, inputs]`.
    pub(in crate::convert) input: VarId,
    /// `[gates · size, size]`.
    pub(in crate::convert) state: VarId,
    /// `[gates · size]`, for the inputs and for the state.
    pub(in crate::convert) biases: [VarId; 2],
}

const ADD: Binary = Binary { kind: BinaryKind::Add };
const MUL: Binary = Binary { kind: BinaryKind::Mul };

impl Weights {
    /// The products of the inputs of all steps, with their bias.
    pub(in crate::convert) fn of_input<E>(
        &self,
        x: VarId,
        mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
    ) -> Result<VarId, E> {
        let product = emit(Matmul { trans_x: false, trans_y: true }.into(), &[x, self.input])?;
        emit(ADD.into(), &[product, self.biases[0]])
    }

    /// The product of the state, with its bias.
    fn of_state(&self, h: VarId, at: &mut At<'_>) -> Result<VarId, Fault> {
        self.of_part(h, self.state, self.biases[1], at)
    }

    fn of_part(&self, h: VarId, weight: VarId, bias: VarId, at: &mut At<'_>) -> Result<VarId, Fault> {
        let product = at.emit(Matmul { trans_x: false, trans_y: true }, &[h, weight])?;
        at.emit(ADD, &[product, bias])
    }
}

impl Unit {
    /// The number of values that it remembers.
    pub(in crate::convert) fn states(self) -> usize {
        if matches!(self, Unit::Lstm(_)) { 2 } else { 1 }
    }

    /// One step: the state behind it, of which the first part is what the unit gives. `x` is the product of the input.
    pub(in crate::convert) fn step(
        self,
        weights: &Weights,
        x: VarId,
        state: &[VarId],
        at: &mut At<'_>,
    ) -> Result<Vec<VarId>, Fault> {
        match self {
            Unit::Simple(act) => {
                let h = weights.of_state(state[0], at)?;
                let sum = at.emit(ADD, &[x, h])?;
                Ok(vec![at.emit(Unary::of(act), &[sum])?])
            }
            Unit::Lstm([input, forget, new, output]) => {
                let h = weights.of_state(state[0], at)?;
                let sum = at.emit(ADD, &[x, h])?;
                let gates = at.parts(sum, 4)?;
                let mut sigmoid = |gate: usize| at.emit(Unary::of(UnaryKind::Sigmoid), &[gates[gate]]);
                let (i, f, o) = (sigmoid(input)?, sigmoid(forget)?, sigmoid(output)?);
                let new = at.emit(Unary::of(UnaryKind::Tanh), &[gates[new]])?;
                let (new, kept) = (at.emit(MUL, &[i, new])?, at.emit(MUL, &[f, state[1]])?);
                let c = at.emit(ADD, &[kept, new])?;
                let shown = at.emit(Unary::of(UnaryKind::Tanh), &[c])?;
                Ok(vec![at.emit(MUL, &[o, shown])?, c])
            }
            Unit::Gru { order: [reset, update, new], resets_product } => {
                let x = at.parts(x, 3)?;
                let (z, seen) = match resets_product {
                    true => {
                        let h = weights.of_state(state[0], at)?;
                        let h = at.parts(h, 3)?;
                        let r = at.gate(x[reset], h[reset])?;
                        (at.gate(x[update], h[update])?, at.emit(MUL, &[r, h[new]])?)
                    }
                    false => {
                        let of = [at.along_first(weights.state, 3)?, at.along_first(weights.biases[1], 3)?];
                        let h = |k: usize, h, at: &mut At<'_>| weights.of_part(h, of[0][k], of[1][k], at);
                        let of_reset = h(reset, state[0], at)?;
                        let r = at.gate(x[reset], of_reset)?;
                        let of_update = h(update, state[0], at)?;
                        let kept = at.emit(MUL, &[r, state[0]])?;
                        (at.gate(x[update], of_update)?, h(new, kept, at)?)
                    }
                };
                let sum = at.emit(ADD, &[x[new], seen])?;
                let new = at.emit(Unary::of(UnaryKind::Tanh), &[sum])?;
                let kept = at.emit(MUL, &[z, state[0]])?;
                let share = at.emit(Scale { scale: -1.0, bias: 1.0 }, &[z])?;
                let new = at.emit(MUL, &[share, new])?;
                Ok(vec![at.emit(ADD, &[kept, new])?])
            }
        }
    }
}

impl At<'_> {
    /// A gate, from what the input and the state give.
    fn gate(&mut self, x: VarId, h: VarId) -> Result<VarId, Fault> {
        let sum = self.emit(ADD, &[x, h])?;
        self.emit(Unary::of(UnaryKind::Sigmoid), &[sum])
    }

    /// The equal parts along the last of two axes.
    fn parts(&mut self, x: VarId, count: usize) -> Result<Vec<VarId>, Fault> {
        let size = self.ty(x).dims.last().and_then(Dim::constant).unwrap_or(0) / count as i64;
        self.emit_all(Split { axis: 1, sections: vec![Dim::from(size); count] }, &[x], count)
    }

    /// The equal parts along the first axis of a weight.
    fn along_first(&mut self, x: VarId, count: usize) -> Result<Vec<VarId>, Fault> {
        let size = self.ty(x).dims.first().and_then(Dim::constant).unwrap_or(0) / count as i64;
        self.emit_all(Split { axis: 0, sections: vec![Dim::from(size); count] }, &[x], count)
    }
}
