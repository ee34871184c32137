//! Layers of recurrent units.

use crate::convert::draft::{Unit, Weights};
use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{Concat, Fill, Reshape, Slice, Transpose, UnaryKind};
use crate::program::{Dim, Type, VarId};

impl Node<'_, '_> {
    pub(super) fn lstm(&mut self) -> Given {
        if self.has(7) || self.int("input_forget", 0) != 0 {
            return self.lacks("its gates see the cell, or one gate is the other one's rest");
        }
        self.recurrent(Unit::Lstm([0, 2, 3, 1]), 4, &["Sigmoid", "Tanh", "Tanh"])
    }

    pub(super) fn gru(&mut self) -> Given {
        let resets_product = self.int("linear_before_reset", 0) != 0;
        self.recurrent(Unit::Gru { order: [1, 0, 2], resets_product }, 3, &["Sigmoid", "Tanh"])
    }

    pub(super) fn rnn(&mut self) -> Given {
        let first = self.activations().into_iter().next();
        match first.as_deref() {
            None | Some("Tanh") => self.recurrent(Unit::Simple(UnaryKind::Tanh), 1, &["Tanh"]),
            Some("Relu") => self.recurrent(Unit::Simple(UnaryKind::Relu), 1, &["Relu"]),
            Some(other) => self.lacks(format!("its activation is `{other}`")),
        }
    }

    fn activations(&self) -> Vec<String> {
        let texts = self.attr("activations").map(|attr| &attr.strings[..]).unwrap_or_default();
        texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// Inputs are the steps, weights of the input and of the state, their biases, the lengths of sequences, and initial states.
    fn recurrent(&mut self, unit: Unit, gates: i64, activations: &[&str]) -> Given {
        let reverse = match self.text("direction").unwrap_or("forward") {
            "forward" => &[false][..],
            "reverse" => &[true],
            "bidirectional" => &[false, true],
            other => return self.lacks(format!("its direction is `{other}`")),
        };
        let is_other = |(at, found): (usize, &String)| found != activations[at % activations.len()];
        if self.activations().iter().enumerate().any(is_other) || self.attr("clip").is_some() {
            return self.lacks("its activations are other ones, or are clipped");
        }
        let (mut x, weights, of_state) = (self.input(0)?, self.input(1)?, self.input(2)?);
        let rows_first = self.int("layout", 0) != 0;
        if self.rows(x) == 1 {
            x = self.at().rows_to_axis(x)?;
        }
        if rows_first {
            x = self.at().permuted(x, &[1, 0, 2])?;
        }
        let (Some(size), [_, batch, _]) =
            (self.ty(of_state).dims.last().and_then(Dim::constant), &self.ty(x).dims.clone()[..])
        else {
            return self.lacks("the size of its state is not known, or its input has not three axes");
        };
        let mut states = Vec::with_capacity(unit.states());
        for at in 5..5 + unit.states() {
            states.push(match self.optional(at)? {
                Some(state) if self.rows(state) == 1 => {
                    let state = self.at().rows_to_axis(state)?;
                    if rows_first { self.at().permuted(state, &[1, 0, 2])? } else { state }
                }
                Some(state) if rows_first => self.at().permuted(state, &[1, 0, 2])?,
                Some(state) => state,
                None => {
                    let dims = vec![Dim::from(reverse.len() as i64), batch.clone(), Dim::from(size)];
                    self.emit(Fill::zeros(Type { dtype: self.ty(x).dtype, rows: None, dims }), &[])?
                }
            });
        }
        let length = self.optional(4)?;
        let bias = self.optional(3)?;
        let (of, input) = match self.at().recurrence(unit, size, x, length, reverse.len())? {
            Ok(found) => found,
            Err(lack) => return self.lacks(lack),
        };
        let mut parts = Vec::with_capacity(reverse.len());
        for number in 0..reverse.len() as i64 {
            parts.push(self.weights_of([weights, of_state], bias, number, gates * size)?);
        }
        let (mut outs, mut finals) = (Vec::new(), Vec::new());
        for (number, (&is_reverse, weights)) in reverse.iter().zip(&parts).enumerate() {
            let (out, last) = self.at().direction(&of, weights, input, &states, number, is_reverse)?;
            let alone = self.at().beside(input, &[out])?;
            let out = self.at().steps_in_front(&of, alone)?;
            let mut dims = self.ty(out).dims.clone();
            dims.insert(1, Dim::from(1));
            outs.push(self.emit(Reshape { dims }, &[out])?);
            finals.push(last);
        }
        let mut all = if let [one] = outs[..] { one } else { self.emit(Concat { axis: 1 }, &outs)? };
        if rows_first {
            all = self.emit(Transpose { perm: vec![2, 0, 1, 3] }, &[all])?;
        }
        let mut given = vec![all];
        for k in 0..unit.states() {
            let last: Vec<VarId> = finals.iter().map(|last| last[k]).collect();
            let mut state = self.at().states_in_front(&last)?;
            if rows_first {
                state = self.emit(Transpose { perm: vec![1, 0, 2] }, &[state])?;
            }
            given.push(state);
        }
        Ok(given)
    }

    /// The weights of a direction, whose gates have so many elements together. Without biases they are 0.
    fn weights_of(
        &mut self,
        [input, state]: [VarId; 2],
        bias: Option<VarId>,
        number: i64,
        size: i64,
    ) -> Result<Weights, Fault> {
        let (input, state) = (self.direction_of(input, number)?, self.direction_of(state, number)?);
        let biases = match bias {
            Some(bias) => {
                let both = self.direction_of(bias, number)?;
                let half = |start| Slice {
                    axes: vec![0],
                    starts: vec![start],
                    ends: vec![start + size],
                    strides: Vec::new(),
                };
                [self.emit(half(0), &[both])?, self.emit(half(size), &[both])?]
            }
            None => {
                let zeros = Fill::zeros(Type::new(self.ty(input).dtype, [size]));
                let zeros = self.emit(zeros, &[])?;
                [zeros, zeros]
            }
        };
        Ok(Weights { input, state, biases })
    }

    /// The part of a weight that belongs to a direction, without its first axis.
    fn direction_of(&mut self, weight: VarId, number: i64) -> Result<VarId, Fault> {
        let dims = self.ty(weight).dims.clone();
        let Some((directions, others)) = dims.split_first() else {
            return self.lacks("a weight is a scalar");
        };
        let part = match directions.constant() {
            Some(1) => weight,
            _ => {
                let part = Slice {
                    axes: vec![0],
                    starts: vec![number],
                    ends: vec![number + 1],
                    strides: Vec::new(),
                };
                self.emit(part, &[weight])?
            }
        };
        self.emit(Reshape { dims: others.to_vec() }, &[part])
    }
}
