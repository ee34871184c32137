//! The rule for `rnn`: layers of recurrent units, as `LSTM`, `GRU` and `SimpleRNN` of `paddle.nn` write them.
//!
//! `DropoutState` and `Reserve` are dead: the first is how PaddlePaddle's library draws its numbers, the second what it keeps
//! for the gradient.

use crate::convert::draft::{Steps, Unit, Weights};
use crate::convert::from_wire::{ConvertError, Reading, one};
use crate::ops::{Dropout, DropoutImplementation, UnaryKind};
use crate::program::VarId;

fn unit(mode: &str) -> Option<Unit> {
    Some(match mode {
        "LSTM" => Unit::Lstm([0, 1, 2, 3]),
        "GRU" => Unit::Gru { order: [0, 1, 2], resets_product: true },
        "RNN_TANH" => Unit::Simple(UnaryKind::Tanh),
        "RNN_RELU" => Unit::Simple(UnaryKind::Relu),
        _ => return None,
    })
}

/// The weights of all directions of all layers: first two weights of each, then two biases of each.
fn weights(list: &[VarId]) -> Vec<Weights> {
    let (weights, biases) = list.split_at(list.len() / 2);
    let of = |(&[input, state], &biases): (&[VarId; 2], &[VarId; 2])| Weights { input, state, biases };
    weights.as_chunks::<2>().0.iter().zip(biases.as_chunks::<2>().0).map(of).collect()
}

impl Reading<'_, '_> {
    pub(super) fn rnn(&mut self) -> Result<bool, ConvertError> {
        let (Some(unit), [_, ..]) =
            (unit(self.desc.attr_string("mode")?.unwrap_or("")), self.desc.input("Input"))
        else {
            return self.lacks("its `mode` is none of LSTM, GRU, RNN_TANH and RNN_RELU");
        };
        let size = self.desc.attr_long("hidden_size")?.unwrap_or(0);
        let layers = self.desc.attr_long("num_layers")?.unwrap_or(1);
        let directions = if self.bool("is_bidirec", false)? { 2 } else { 1 };
        let (list, states) = (self.inputs("WeightList")?, self.inputs("PreState")?);
        let count = usize::try_from(layers).ok().and_then(|layers| layers.checked_mul(directions));
        let count = count.filter(|count| count.checked_mul(4) == Some(list.len()));
        let (Some(count), true) = (count, states.len() == unit.states() && size > 0) else {
            return self
                .lacks("it has not two weights, two biases and a state for each direction of each layer");
        };
        let x = self.input("Input")?;
        let length = if self.has(&["SequenceLength"]) { Some(self.input("SequenceLength")?) } else { None };
        let (of, mut input) = match self.at().recurrence(unit, size, x, length, count)? {
            Ok(found) => found,
            Err(lack) => return self.lacks(lack),
        };
        let all = weights(&list);
        let mut finals = Vec::new();
        for layer in 0..count / directions {
            if layer > 0 {
                input = self.dropped(input, layer)?;
            }
            let mut outs = Vec::with_capacity(directions);
            for direction in 0..directions {
                let number = layer * directions + direction;
                let (out, last) =
                    self.at().direction(&of, &all[number], input, &states, number, direction == 1)?;
                outs.push(out);
                finals.push(last);
            }
            input = self.at().beside(input, &outs)?;
        }
        let out = self.at().steps_in_front(&of, input)?;
        self.out_value(out)?;
        let names = self.desc.output("State");
        for (k, name) in names.iter().enumerate().take(unit.states()) {
            let last: Vec<VarId> = finals.iter().map(|last| last[k]).collect();
            let state = self.at().states_in_front(&last)?;
            self.named_value(name, state)?;
        }
        Ok(true)
    }

    /// Between two layers, where it is trained.
    fn dropped(&mut self, x: Steps, layer: usize) -> Result<Steps, ConvertError> {
        let dropout_prob = self.desc.attr_float("dropout_prob")?.map_or(0.0, f64::from);
        if self.is_test()? || dropout_prob == 0.0 {
            return Ok(x);
        }
        let path = format!("{}.{layer}", one(self.desc.output("Out"), "Out")?);
        let dropout_implementation = DropoutImplementation::UpscaleInTrain;
        let op = Dropout { dropout_prob, dropout_implementation, path };
        Ok(match x {
            Steps::Tokens(x) => Steps::Tokens(self.emit_all(op, &[x], 2)?[0]),
            Steps::Listed(x) => Steps::Listed(self.emit_all(op, &[x], 2)?[0]),
        })
    }
}
