//! Rules for recurrent units along sequences, whose products of the inputs come in: PaddlePaddle's older operators.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{BinaryKind, Fill, Matmul, Number, SequenceReverse, Unary, UnaryKind};
use crate::program::{Dim, Type, VarId};

/// A function of a unit; none is the value itself.
type Function = Option<UnaryKind>;

/// The weights of a gated unit: `[size, 2 · size]` for the gates, `[size, size]` for the new content.
struct Gated {
    gates: VarId,
    content: VarId,
    of_gates: Function,
    of_content: Function,
    /// Whether the update gate says how much of the state stays, not how much of it is new.
    origin_mode: bool,
    size: i64,
}

/// The weights of a unit with a memory cell.
struct Cells {
    state: VarId,
    /// How the cell goes into the input gate, the forget gate and the output gate.
    peepholes: Option<[VarId; 3]>,
    of_gates: Function,
    of_content: Function,
    of_cell: Function,
    size: i64,
}

fn named(name: &str) -> Option<Function> {
    Some(match name {
        "identity" => None,
        "sigmoid" => Some(UnaryKind::Sigmoid),
        "tanh" => Some(UnaryKind::Tanh),
        "relu" => Some(UnaryKind::Relu),
        _ => return None,
    })
}

impl At<'_> {
    fn function(&mut self, of: Function, x: VarId) -> Result<VarId, Fault> {
        match of {
            Some(kind) => self.emit(Unary::of(kind), &[x]),
            None => Ok(x),
        }
    }

    /// One step: the state, what the gates and the new content are, and the state by its gate.
    fn gated_step(&mut self, of: &Gated, x: VarId, h: VarId) -> Result<[VarId; 3], Fault> {
        let (axis, size) = (self.ty(x).rank() - 1, of.size);
        let product = self.emit(Matmul::PLAIN, &[h, of.gates])?;
        let gates = self.part(x, axis, 0, 2 * size)?;
        let gates = self.binary(BinaryKind::Add, gates, product)?;
        let gates = self.function(of.of_gates, gates)?;
        let (update, reset) = (self.part(gates, axis, 0, size)?, self.part(gates, axis, size, size)?);
        let kept = self.binary(BinaryKind::Mul, reset, h)?;
        let product = self.emit(Matmul::PLAIN, &[kept, of.content])?;
        let content = self.part(x, axis, 2 * size, size)?;
        let content = self.binary(BinaryKind::Add, content, product)?;
        let content = self.function(of.of_content, content)?;
        let (from, to) = if of.origin_mode { (content, h) } else { (h, content) };
        let change = self.binary(BinaryKind::Sub, to, from)?;
        let change = self.binary(BinaryKind::Mul, update, change)?;
        let next = self.binary(BinaryKind::Add, from, change)?;
        let all = self.emit(crate::ops::Concat { axis: axis as i64 }, &[gates, content])?;
        Ok([next, all, kept])
    }

    /// One step: what is shown of the cell, and the cell.
    fn cell_step(&mut self, of: &Cells, x: VarId, [h, c]: [VarId; 2]) -> Result<Vec<VarId>, Fault> {
        let axis = self.ty(x).rank() - 1;
        let product = self.emit(Matmul::PLAIN, &[h, of.state])?;
        let all = self.binary(BinaryKind::Add, x, product)?;
        let gate = |place: i64, seen: Option<VarId>, at: &mut Self| {
            let own = at.part(all, axis, place * of.size, of.size)?;
            let own = match (seen, of.peepholes) {
                (Some(cell), Some(peepholes)) => {
                    let seen = at.binary(BinaryKind::Mul, cell, peepholes[place as usize - 1])?;
                    at.binary(BinaryKind::Add, own, seen)?
                }
                _ => own,
            };
            at.function(of.of_gates, own)
        };
        let content = self.part(all, axis, 0, of.size)?;
        let content = self.function(of.of_content, content)?;
        let (input, forget) = (gate(1, Some(c), self)?, gate(2, Some(c), self)?);
        let (new, kept) =
            (self.binary(BinaryKind::Mul, content, input)?, self.binary(BinaryKind::Mul, c, forget)?);
        let cell = self.binary(BinaryKind::Add, new, kept)?;
        let output = gate(3, Some(cell), self)?;
        let shown = self.function(of.of_cell, cell)?;
        Ok(vec![self.binary(BinaryKind::Mul, shown, output)?, cell])
    }
}

impl<'a> Reading<'_, 'a> {
    /// The function in an attribute: a name, or a number among `by_number`.
    fn function_of(&self, attribute: &'static str, default: &str) -> Result<Option<Function>, Fault> {
        const BY_NUMBER: [&str; 4] = ["identity", "sigmoid", "tanh", "relu"];
        if self.desc.r#type == "gru_unit" {
            let number = self.desc.attr_long(attribute)?;
            let name = match number {
                Some(number) => usize::try_from(number).ok().and_then(|number| BY_NUMBER.get(number)),
                None => BY_NUMBER.iter().find(|name| **name == default),
            };
            return Ok(name.and_then(|name| named(name)));
        }
        Ok(named(self.desc.attr_string(attribute)?.unwrap_or(default)))
    }

    /// The weights of a gated unit. They are two matrices, one behind the other, whatever shape the whole has.
    fn gated(&mut self) -> Result<Option<Gated>, ConvertError> {
        let weight = self.input("Weight")?;
        let [size, all] = &self.ty(weight).dims[..] else { return Ok(None) };
        let (Some(size), Some(all)) = (size.constant(), all.constant()) else { return Ok(None) };
        let functions =
            (self.function_of("gate_activation", "sigmoid")?, self.function_of("activation", "tanh")?);
        let ((Some(of_gates), Some(of_content)), true) = (functions, size.checked_mul(3) == Some(all)) else {
            return Ok(None);
        };
        let origin_mode = self.bool("origin_mode", false)?;
        let mut at = self.at();
        let flat = at.shaped(weight, vec![Dim::from(3 * size * size)])?;
        let matrix = |from: i64, width: i64, at: &mut At<'_>| {
            let part = at.part(flat, 0, from, width * size)?;
            at.shaped(part, vec![Dim::from(size), Dim::from(width)])
        };
        let (gates, content) = (matrix(0, 2 * size, &mut at)?, matrix(2 * size * size, size, &mut at)?);
        Ok(Some(Gated { gates, content, of_gates, of_content, origin_mode, size }))
    }

    /// The products of the inputs with their bias, of which the first numbers are meant.
    fn with_bias(&mut self, x: VarId, width: i64) -> Result<VarId, ConvertError> {
        if !self.has(&["Bias"]) {
            return Ok(x);
        }
        let bias = self.input("Bias")?;
        let mut at = self.at();
        let axis = at.ty(bias).rank() - 1;
        let bias = at.part(bias, axis, 0, width)?;
        let bias = at.shaped(bias, vec![Dim::from(width)])?;
        Ok(at.binary(BinaryKind::Add, x, bias)?)
    }

    /// The state before the first token: an input, or zeros.
    fn state_before(
        &mut self,
        slot: &'static str,
        x: VarId,
        size: i64,
    ) -> Result<Option<VarId>, ConvertError> {
        let rows = self.rows_of(x);
        if self.has(&[slot]) {
            let state = self.input(slot)?;
            return Ok(Some(state).filter(|&state| self.ty(state).rows == rows));
        }
        let ty = Type { dtype: self.ty(x).dtype, rows, dims: vec![Dim::from(size)] };
        Ok(Some(self.emit(Fill { value: Number::Float(0.0), ty }, &[])?))
    }

    pub(super) fn gru_unit(&mut self) -> Result<bool, ConvertError> {
        let (x, h, desc) = (self.input("Input")?, self.input("HiddenPrev")?, self.desc);
        let Some(of) = self.gated()? else { return Ok(false) };
        let x = self.with_bias(x, 3 * of.size)?;
        let [next, all, kept] = self.at().gated_step(&of, x, h)?;
        for (slot, value) in [("Gate", all), ("ResetHiddenPrev", kept), ("Hidden", next)] {
            if let [name] = desc.output(slot) {
                self.named_value(name, value)?;
            }
        }
        Ok(true)
    }

    pub(super) fn gru(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let Some(of) = self.gated()? else { return Ok(false) };
        if self.rows_of(x).is_none()
            || self.is_any_read(&["BatchGate", "BatchResetHiddenPrev", "BatchHidden"])
        {
            return self.lacks("its input has no sequences, or what it computes in between is read");
        }
        let Some(before) = self.state_before("H0", x, of.size)? else { return Ok(false) };
        let x = self.with_bias(x, 3 * of.size)?;
        let is_reverse = self.bool("is_reverse", false)?;
        let step = |x, state: &[VarId], at: &mut At<'_>| Ok(vec![at.gated_step(&of, x, state[0])?[0]]);
        let out = self.along_sequences(x, &[before], is_reverse, step)?;
        self.outputs_of_steps(&[("Hidden", out)])
    }

    pub(super) fn lstm(&mut self) -> Result<bool, ConvertError> {
        let (x, state) = (self.input("Input")?, self.input("Weight")?);
        let Some(size) = self.ty(state).dims.first().and_then(Dim::constant) else { return Ok(false) };
        let functions = (
            self.function_of("gate_activation", "sigmoid")?,
            self.function_of("candidate_activation", "tanh")?,
            self.function_of("cell_activation", "tanh")?,
        );
        let (Some(of_gates), Some(of_content), Some(of_cell)) = functions else { return Ok(false) };
        if self.rows_of(x).is_none() || self.is_any_read(&["BatchGate", "BatchCellPreAct"]) {
            return self.lacks("its input has no sequences, or what it computes in between is read");
        }
        let mut peepholes = None;
        if self.bool("use_peepholes", true)? {
            let bias = self.input("Bias")?;
            let mut at = self.at();
            let flat = at.shaped(bias, vec![Dim::from(size.saturating_mul(7))])?;
            let mut of = [flat; 3];
            for (k, part) in of.iter_mut().enumerate() {
                *part = at.part(flat, 0, (4 + k as i64) * size, size)?;
            }
            peepholes = Some(of);
        }
        let of = Cells { state, peepholes, of_gates, of_content, of_cell, size };
        let x = self.with_bias(x, size.saturating_mul(4))?;
        let is_reverse = self.bool("is_reverse", false)?;
        // The cell of each token is wanted, too, so both are what a step gives.
        let both = |parts: &[VarId], at: &mut At<'_>| at.emit(crate::ops::Concat { axis: 1 }, parts);
        let before = match self.has(&["H0", "C0"]) {
            false => self.state_before("H0", x, size.saturating_mul(2))?,
            true => match (self.state_before("H0", x, size)?, self.state_before("C0", x, size)?) {
                (Some(h), Some(c)) => Some(both(&[h, c], &mut self.at())?),
                _ => None,
            },
        };
        let Some(before) = before else { return Ok(false) };
        let step = |x, state: &[VarId], at: &mut At<'_>| {
            let (h, c) = (at.part(state[0], 1, 0, size)?, at.part(state[0], 1, size, size)?);
            let next = at.cell_step(&of, x, [h, c])?;
            Ok(vec![both(&next, at)?])
        };
        let out = self.along_sequences(x, &[before], is_reverse, step)?;
        let mut at = self.at();
        let (hidden, cell) = (at.part(out, 1, 0, size)?, at.part(out, 1, size, size)?);
        self.outputs_of_steps(&[("Hidden", hidden), ("Cell", cell)])
    }

    fn is_any_read(&self, slots: &[&str]) -> bool {
        let names = slots.iter().flat_map(|slot| self.desc.output(slot));
        names.into_iter().any(|name| self.reader.readers(name) > 0)
    }

    /// What a step gives for each token, from the last one on if it is so.
    fn along_sequences(
        &mut self,
        x: VarId,
        before: &[VarId],
        is_reverse: bool,
        step: impl FnOnce(VarId, &[VarId], &mut At<'_>) -> Result<Vec<VarId>, Fault>,
    ) -> Result<VarId, ConvertError> {
        let mut at = self.at();
        let x = if is_reverse { at.emit(SequenceReverse, &[x])? } else { x };
        let (out, _) = at.for_each_token(x, before, step)?;
        Ok(if is_reverse { at.emit(SequenceReverse, &[out])? } else { out })
    }

    fn outputs_of_steps(&mut self, values: &[(&'static str, VarId)]) -> Result<bool, ConvertError> {
        let desc = self.desc;
        for &(slot, value) in values {
            self.named_value(one(desc.output(slot), slot)?, value)?;
        }
        Ok(true)
    }
}
