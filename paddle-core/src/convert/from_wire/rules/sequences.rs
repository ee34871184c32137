//! Rules for operators that work along sequences. They apply if types say that the values are sequences.

use crate::convert::derived::float;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::dtype;
use crate::ops::compositions::{by_times, sequence_mask};
use crate::ops::{
    Assign, Binary, BinaryKind, Cast, Compare, CompareKind, CrfDecoding, Fill, Gather, LinearChainCrf,
    Matmul, Number, Op, PoolType, Reduce, ReduceKind, Reshape, RowNumbers, Scale, SequenceAlign,
    SequenceExpandAs, SequencePool, SequencePoolGrad, SequenceWindow, Unary, UnaryKind, WarpCtc,
};
use crate::program::{DType, Dim, VarId};
use crate::wire::VarKind;

impl<'a> Reading<'_, 'a> {
    pub(super) fn sequence_pool(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let attribute = "pooltype";
        let name = self.desc.attr_string(attribute)?.unwrap_or("AVERAGE");
        let Some(pooltype) = PoolType::from_name(name) else {
            let message = format!("there is no kind of pooling `{name}`");
            return Err(Fault::Attribute { attribute, message }.into());
        };
        if !self.reader.draft.program.is_sequence(self.ty(x)) {
            return Ok(false);
        }
        if self.desc.r#type == "sequence_pool" {
            let pad_value = float(self.desc, "pad_value")?.unwrap_or(0.0);
            self.out(SequencePool { pooltype, pad_value }, &[x])?;
            return if pooltype == PoolType::Max { self.max_index(x) } else { Ok(true) };
        }
        let (desc, inputs) = (self.desc, [x, self.input("Out@GRAD")?]);
        if self.ty(inputs[1]).rows.is_none() {
            return Ok(false);
        }
        let slot = "X@GRAD";
        self.define(SequencePoolGrad { pooltype }, &inputs, &[], &[one(desc.output(slot), slot)?])
    }

    /// The output `MaxIndex`, if something reads it: the index of the token with the largest element, to which the
    /// gradient of the pooling passes; -1 for an empty sequence.
    fn max_index(&mut self, x: VarId) -> Result<bool, ConvertError> {
        let [name] = self.desc.output("MaxIndex") else { return Ok(true) };
        let (ty, desc) = (self.ty(x).clone(), self.desc);
        let Some(tokens) = ty.rows.filter(|_| self.reader.readers(name) > 0) else { return Ok(true) };
        let pooled = self.ty(self.read(one(desc.output("Out"), "Out")?)?).clone();
        let ones = self.emit(Fill { value: Number::Float(1.0), ty: pooled }, &[])?;
        let largest = self.emit(SequencePoolGrad { pooltype: PoolType::Max }, &[x, ones])?;
        let largest = self.emit(Cast { dtype: DType::F64 }, &[largest])?;
        let numbers = self.emit(RowNumbers::of(tokens), &[])?;
        // Tokens are counted from 1, so that 0 stands for none.
        let chain = [Op::from(Cast { dtype: DType::F64 }), Scale { scale: 1.0, bias: 1.0 }.into()];
        let numbers = chain.into_iter().try_fold(numbers, |value, op| self.emit(op, &[value]))?;
        let numbers = self.emit(Reshape { dims: vec![Dim::from(1); ty.dims.len()] }, &[numbers])?;
        let numbers = self.emit(Binary { kind: BinaryKind::Mul }, &[largest, numbers])?;
        let sum = SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 };
        let index = self.emit(sum, &[numbers])?;
        let index = self.emit(Scale { scale: 1.0, bias: -1.0 }, &[index])?;
        self.define(Cast { dtype: DType::I32 }, &[index], &[], &[name])
    }

    /// The new offsets are those of the value itself, or those of other sequences, which have to be as long.
    pub(super) fn lod_reset(&mut self) -> Result<bool, ConvertError> {
        if !self.has(&["Y"]) || self.bool("append", false)? {
            return Ok(false);
        }
        let (x, y) = (self.input("X")?, self.input("Y")?);
        let x = self.at().with_rows_of(x, y)?;
        match [x, y].map(|value| self.rows_of(value)) {
            [Some(_), Some(_)] if self.ty(x).rows == self.ty(y).rows => self.out(Assign, &[x]),
            [Some(rows), Some(others)] if rows == others => self.out(SequenceAlign, &[x, y]),
            _ => Ok(false),
        }
    }

    /// Repeats each row of `X`, or each sequence of it, for what the rows of `Y` have at a level: for the tokens of each sequence, or for
    /// the sequences in each. Rows of a value without a row space are gathered by index.
    pub(super) fn sequence_expand(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("X")?, self.input("Y")?);
        let level = self.desc.attr_int("ref_level")?.unwrap_or(-1);
        let mut levels = self.reader.draft.program.levels(self.ty(y));
        // Tokens that are taken from others know one level.
        if levels.is_empty() {
            levels.extend(self.ty(y).rows.filter(|_| self.rows_of(y).is_some()));
        }
        let level = if level < 0 { levels.len().checked_sub(1) } else { usize::try_from(level).ok() };
        let Some(&target) = level.and_then(|level| levels.get(level)) else {
            return self.lacks("its second value has no sequences of this level");
        };
        let Some(rows) = self.reader.draft.program.rows_of_sequences(target) else { return Ok(false) };
        let like = if self.ty(y).rows == Some(target) { y } else { self.emit(RowNumbers::of(target), &[])? };
        match self.ty(x).rows {
            Some(own) if own == rows => self.out(SequenceExpandAs, &[x, like]),
            Some(_) if self.rows_of(x) == Some(rows) && self.is_whole(x) => {
                let numbers = self.emit(RowNumbers::of(rows), &[])?;
                let which = self.emit(SequenceExpandAs, &[numbers, like])?;
                let (repeated, desc) = (self.chosen_sequences(x, (which, target), "expanded")?, self.desc);
                self.named_value(one(desc.output("Out"), "Out")?, repeated)
            }
            Some(_) => self.lacks("its first value has other rows than its second one has at this level"),
            None if self.ty(x).dims.is_empty() => Ok(false),
            None => {
                let numbers = self.emit(RowNumbers::of(rows), &[])?;
                let numbers = self.emit(SequenceExpandAs, &[numbers, like])?;
                self.out(Gather { axis: 0 }, &[x, numbers])
            }
        }
    }

    /// The product of windows and filters. Trained padding stays foreign.
    pub(super) fn sequence_conv(&mut self) -> Result<bool, ConvertError> {
        let (x, filter) = (self.input("X")?, self.input("Filter")?);
        let number = |attribute| self.desc.attr_int(attribute);
        let attribute = "contextLength";
        let length = number(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        let start = number("contextStart")?.unwrap_or(0);
        let is_plain = number("contextStride")?.unwrap_or(1) == 1
            && !self.bool("paddingTrainable", false)?
            && !self.has(&["PaddingData"]);
        if !is_plain || self.rows_of(x).is_none() || self.ty(x).rank() != 2 {
            return Ok(false);
        }
        let window = SequenceWindow { start: start.into(), length: length.into(), pad_value: 0.0 };
        let windows = self.emit(window, &[x])?;
        self.out(Matmul::PLAIN, &[windows, filter])
    }

    /// A window of ids for each token.
    pub(super) fn sequence_enumerate(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let attribute = "win_size";
        let length = self.desc.attr_int(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        let pad_value = f64::from(self.desc.attr_int("pad_value")?.unwrap_or(0));
        let one_each = matches!(&self.ty(x).dims[..], [] | [_])
            && self.ty(x).dims.iter().all(|dim| *dim == Dim::from(1));
        if !one_each || self.rows_of(x).is_none() {
            return Ok(false);
        }
        self.out(SequenceWindow { start: 0, length: length.into(), pad_value }, &[x])
    }

    /// PaddlePaddle also returns the exponentials that it computes with.
    pub(super) fn linear_chain_crf(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["Length"]) {
            return self.padded_crf();
        }
        let inputs = [self.input("Emission")?, self.input("Transition")?, self.input("Label")?];
        let [emission, transition, label] = inputs;
        let is_of_sequences = [emission, label].iter().all(|&value| self.rows_of(value).is_some());
        if !is_of_sequences {
            return Ok(false);
        }
        if self.desc.output("EmissionExps").is_empty() {
            return self.same_slots(LinearChainCrf.into());
        }
        let outputs = self.emit_all(LinearChainCrf, &inputs, 2)?;
        let exp = Unary::of(UnaryKind::Exp);
        if let Some(name) = self.read_output("Alpha") {
            self.define(exp, &[outputs[0]], &[], &[name])?;
        }
        if let Some(name) = self.read_output("EmissionExps") {
            let largest = Reduce { kind: ReduceKind::Max, axes: vec![1], keep_dim: true };
            let largest = self.emit(largest, &[emission])?;
            let shifted = self.emit(Binary { kind: BinaryKind::Sub }, &[emission, largest])?;
            self.define(exp, &[shifted], &[], &[name])?;
        }
        if let Some(name) = self.read_output("TransitionExps") {
            self.define(exp, &[transition], &[], &[name])?;
        }
        let desc = self.desc;
        self.write(one(desc.output("LogLikelihood"), "LogLikelihood")?, outputs[1])?;
        Ok(true)
    }

    /// The only variable in an output slot, if something reads it.
    fn read_output(&self, slot: &str) -> Option<&'a str> {
        let [name] = self.desc.output(slot) else { return None };
        Some(name.as_str()).filter(|name| self.reader.readers(name) > 0)
    }

    /// With labels, the result says where they equal the decoded ones.
    pub(super) fn crf_decoding(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["Length"]) {
            return self.padded_decoding();
        }
        let (emission, transition) = (self.input("Emission")?, self.input("Transition")?);
        let Some(rows) = self.rows_of(emission) else { return Ok(false) };
        let (desc, slot) = (self.desc, "ViterbiPath");
        let name = one(desc.output(slot), slot)?;
        if !self.has(&["Label"]) {
            return self.define(CrfDecoding, &[emission, transition], &[], &[name]);
        }
        let mut label = self.input("Label")?;
        if self.rows_of(label) != Some(rows) {
            return Ok(false);
        }
        let path = self.emit(CrfDecoding, &[emission, transition])?;
        if self.ty(label).rows != self.ty(path).rows {
            label = self.emit(SequenceAlign, &[label, path])?;
        }
        if self.ty(label).dims.is_empty() {
            label = self.emit(Reshape { dims: vec![Dim::from(1)] }, &[label])?;
        }
        let right = self.emit(Compare { kind: CompareKind::Equal }, &[path, label])?;
        self.define(Cast { dtype: DType::I64 }, &[right], &[], &[name])
    }

    /// The longest length has to be known.
    pub(super) fn sequence_mask(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let longest = desc.attr_int("maxlen")?.unwrap_or(-1);
        let to = desc.attr_int("out_dtype")?.map(VarKind::try_from).and_then(Result::ok).and_then(dtype);
        let ty = self.ty(x).clone();
        let (1.., Some(dtype), false) = (longest, to, self.has(&["MaxLenTensor"]) || ty.dtype == DType::Bool)
        else {
            return Ok(false);
        };
        let mask =
            sequence_mask((x, &ty), &Dim::from(i64::from(longest)), |op, inputs| self.emit(op, inputs))?;
        self.define(Cast { dtype }, &[mask], &[], &[one(desc.output("Y"), "Y")?])
    }

    pub(super) fn warpctc(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["LogitsLength"]) && self.has(&["LabelLength"]) {
            return self.padded_warpctc();
        }
        let (logits, mut label) = (self.input("Logits")?, self.input("Label")?);
        let is_of_sequences = [logits, label].iter().all(|&value| self.rows_of(value).is_some());
        if self.has(&["LogitsLength", "LabelLength"]) || !is_of_sequences {
            return Ok(false);
        }
        if self.ty(label).dtype == DType::I32 {
            label = self.emit(Cast { dtype: DType::I64 }, &[label])?;
        }
        let op: WarpCtc = self.attributes_of()?;
        let desc = self.desc;
        let names = [one(desc.output("Loss"), "Loss")?, one(desc.output("WarpCTCGrad"), "WarpCTCGrad")?];
        if !self.bool("norm_by_times", false)? {
            return self.define(op, &[logits, label], &[], &names);
        }
        let outputs = self.emit_all(op, &[logits, label], 2)?;
        let dtype = self.ty(logits).dtype;
        let loss = by_times(outputs[0], (logits, dtype), |op, inputs| self.emit(op, inputs))?;
        self.write(names[0], loss)?;
        self.write(names[1], outputs[1])?;
        Ok(true)
    }
}
