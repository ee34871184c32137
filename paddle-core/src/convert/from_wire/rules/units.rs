//! One step of PaddlePaddle's recurrent units.

use super::recurrent::InBlock;
use crate::convert::from_wire::Fault;
use crate::ops::{Binary, BinaryKind, Matmul, Op, Scale, Unary, UnaryKind};
use crate::program::VarId;

/// The kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    Lstm,
    Gru,
    Simple(UnaryKind),
}

/// The weights of one direction of one layer.
pub(super) struct Weights {
    /// `[gates · size, inputs]`.
    input: VarId,
    /// `[gates · size, size]`.
    state: VarId,
    /// `[gates · size]`, for the inputs and for the state.
    biases: [VarId; 2],
}

const ADD: Binary = Binary { kind: BinaryKind::Add };
const MUL: Binary = Binary { kind: BinaryKind::Mul };

impl Weights {
    /// Those of all directions of all layers: first two weights of each, then two biases of each.
    pub(super) fn of(list: &[VarId]) -> Vec<Weights> {
        let (weights, biases) = list.split_at(list.len() / 2);
        let of = |(&[input, state], &biases): (&[VarId; 2], &[VarId; 2])| Weights { input, state, biases };
        weights.as_chunks::<2>().0.iter().zip(biases.as_chunks::<2>().0).map(of).collect()
    }

    /// The products of the inputs of all steps, with their bias.
    pub(super) fn of_input<E>(
        &self,
        x: VarId,
        mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
    ) -> Result<VarId, E> {
        let product = emit(Matmul { trans_x: false, trans_y: true }.into(), &[x, self.input])?;
        emit(ADD.into(), &[product, self.biases[0]])
    }

    /// The product of the state, with its bias.
    fn of_state(&self, h: VarId, at: &mut InBlock<'_, '_, '_>) -> Result<VarId, Fault> {
        let product = at.emit(Matmul { trans_x: false, trans_y: true }, &[h, self.state])?;
        at.emit(ADD, &[product, self.biases[1]])
    }
}

impl Unit {
    pub(super) fn from_name(name: &str) -> Option<Unit> {
        Some(match name {
            "LSTM" => Unit::Lstm,
            "GRU" => Unit::Gru,
            "RNN_TANH" => Unit::Simple(UnaryKind::Tanh),
            "RNN_RELU" => Unit::Simple(UnaryKind::Relu),
            _ => return None,
        })
    }

    /// The number of values that it remembers.
    pub(super) fn states(self) -> usize {
        if self == Unit::Lstm { 2 } else { 1 }
    }

    /// One step: the state behind it, of which the first part is what the unit gives. `x` is the product of the input.
    pub(super) fn step(
        self,
        weights: &Weights,
        x: VarId,
        state: &[VarId],
        at: &mut InBlock<'_, '_, '_>,
    ) -> Result<Vec<VarId>, Fault> {
        let h = weights.of_state(state[0], at)?;
        match self {
            Unit::Simple(act) => {
                let sum = at.emit(ADD, &[x, h])?;
                Ok(vec![at.emit(Unary::of(act), &[sum])?])
            }
            Unit::Lstm => {
                let sum = at.emit(ADD, &[x, h])?;
                let gates = at.split(sum, 4)?;
                let mut sigmoid = |gate: usize| at.emit(Unary::of(UnaryKind::Sigmoid), &[gates[gate]]);
                let (i, f, o) = (sigmoid(0)?, sigmoid(1)?, sigmoid(3)?);
                let new = at.emit(Unary::of(UnaryKind::Tanh), &[gates[2]])?;
                let (new, kept) = (at.emit(MUL, &[i, new])?, at.emit(MUL, &[f, state[1]])?);
                let c = at.emit(ADD, &[kept, new])?;
                let shown = at.emit(Unary::of(UnaryKind::Tanh), &[c])?;
                Ok(vec![at.emit(MUL, &[o, shown])?, c])
            }
            Unit::Gru => {
                let (x, h) = (at.split(x, 3)?, at.split(h, 3)?);
                let mut gate = |k: usize| {
                    let sum = at.emit(ADD, &[x[k], h[k]])?;
                    at.emit(Unary::of(UnaryKind::Sigmoid), &[sum])
                };
                let (r, z) = (gate(0)?, gate(1)?);
                let seen = at.emit(MUL, &[r, h[2]])?;
                let sum = at.emit(ADD, &[x[2], seen])?;
                let new = at.emit(Unary::of(UnaryKind::Tanh), &[sum])?;
                let kept = at.emit(MUL, &[z, state[0]])?;
                let share = at.emit(Scale { scale: -1.0, bias: 1.0 }, &[z])?;
                let new = at.emit(MUL, &[share, new])?;
                Ok(vec![at.emit(ADD, &[kept, new])?])
            }
        }
    }
}
