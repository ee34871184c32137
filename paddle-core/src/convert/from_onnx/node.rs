//! One operator while it is read: what it reads, its attributes, and the operators that rules append for it.

use std::rc::Rc;

use super::rules::{self, Rule};
use super::{Constant, OLDEST, Reader, Value};
use crate::convert::draft::{At, Known, Merged};
use crate::convert::error::{Fault, VariableFault};
use crate::ops::{Cast, Fill, Number, Op, Reshape};
use crate::program::{BlockId, DType, Definition, Dim, Type, VarId};
use crate::wire::onnx::{AttributeProto, NodeProto};

/// One operator while it is read.
pub(super) struct Node<'r, 'a> {
    pub(super) reader: &'r mut Reader,
    pub(super) desc: &'a NodeProto,
    /// Whether the batch is an ordinary axis of what is read.
    pub(super) merges: bool,
}

/// The values that an operator gives.
pub(super) type Given = Result<Vec<VarId>, Fault>;

impl<'a> Node<'_, 'a> {
    /// Reads the operator by its rule, and gives its results their names.
    pub(super) fn operator(&mut self) -> Result<(), Fault> {
        let desc = self.desc;
        let rule = rules::rule(desc).ok_or(Fault::Unsupported)?;
        let version = self.reader.version;
        if version < OLDEST && !rules::is_unchanged(&desc.op_type) {
            return self.lacks(format!(
                "it is of version {version} of ONNX's operators; supported are those from {OLDEST} on, and \
                 `onnx.version_converter` makes them of older ones"
            ));
        }
        if desc.op_type == "Constant" {
            return self.constant_tensor();
        }
        let narrow = self.narrow_elements()?;
        for (at, name) in desc.input.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            match (rules::is_attribute(&desc.op_type, at), desc.output.first()) {
                (true, _) => drop(self.reader.look_up(name)?),
                (_, Some(output))
                    if rules::is_statistic(&desc.op_type, at) && !self.reader.is_statistic(name) =>
                {
                    self.reader.own_statistic(name, output, at)?;
                }
                _ => drop(self.reader.operand(name)?),
            }
        }
        // What is in the file stays known.
        let constant = if desc.op_type == "Identity" { self.constant(0) } else { None };
        let given = self.by_rule(rule)?;
        if desc.output.iter().skip(given.len()).any(|name| !name.is_empty()) {
            let message =
                format!("it has {} results, of which {} are supported", desc.output.len(), given.len());
            return Err(Fault::Form { message });
        }
        for (name, value) in desc.output.iter().zip(given).filter(|(name, _)| !name.is_empty()) {
            let value = self.at().with_rows(value)?;
            let var = self.reader.draft.program.var(value);
            if var.definition == Definition::Operator && self.reader.named.insert(value) && var.name != *name
            {
                let name = self.reader.draft.fresh(name);
                self.reader.draft.program.rename(value, &name);
            }
            self.reader.define(name, Value { var: Some(value), constant: constant.clone(), narrow })?;
        }
        Ok(())
    }

    /// Reads the operator by its rule. If rows that stay apart do not fit it, the batch is an ordinary axis. An attempt that
    /// fails leaves nothing behind.
    fn by_rule(&mut self, rule: Rule) -> Given {
        let before = self.reader.draft.program.mark(self.block());
        let result = rule(self);
        let Err(fault) = &result else { return result };
        let does_not_fit = matches!(fault, Fault::Build(_) | Fault::Form { .. } | Fault::Attribute { .. });
        let owns_graphs = self.desc.attribute.iter().any(|attr| attr.g.is_some());
        if owns_graphs {
            return result;
        }
        self.reader.draft.take_back(before);
        if !does_not_fit || !self.merge_rows()? {
            return result;
        }
        rule(self).or_else(|_| {
            self.reader.draft.take_back(before);
            result
        })
    }

    /// From now on, values with the rows of the batch are read with the batch as their first axis. False if no input has
    /// such rows.
    fn merge_rows(&mut self) -> Result<bool, Fault> {
        for name in &self.desc.input {
            let var = if name.is_empty() { None } else { self.reader.look_up(name)?.var };
            if let Some(var) = var {
                self.merges |= self.at().merge(var, Merged::Batch)?;
            }
        }
        Ok(self.merges)
    }

    /// The kind of the integers of the first input, if ours are wider. What computes with such integers is refused, as
    /// theirs wrap around.
    fn narrow_elements(&self) -> Result<Option<crate::wire::VarKind>, Fault> {
        let mut kind = None;
        for name in self.desc.input.iter().filter(|name| !name.is_empty()) {
            let Some(narrow) = self.reader.look_up(name)?.narrow else { continue };
            if !rules::keeps(&self.desc.op_type) {
                let reason = VariableFault::Computed(narrow);
                return Err(Fault::Variable { name: name.clone(), reason });
            }
            kind = Some(narrow);
        }
        Ok(kind.filter(|_| !rules::gives_other(&self.desc.op_type)))
    }

    pub(super) fn block(&self) -> BlockId {
        self.reader.scope().block
    }

    /// The place where its operators go.
    pub(super) fn at(&mut self) -> At<'_> {
        self.reader.at()
    }

    /// The fault of a form that a rule does not know.
    pub(super) fn lacks<T>(&self, what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Form { message: what.into() })
    }

    fn name(&self, at: usize) -> Option<&'a str> {
        self.desc.input.get(at).map(String::as_str).filter(|name| !name.is_empty())
    }

    pub(super) fn has(&self, at: usize) -> bool {
        self.name(at).is_some()
    }

    /// An input that has to be there.
    pub(super) fn input(&mut self, at: usize) -> Result<VarId, Fault> {
        match self.optional(at)? {
            Some(value) => Ok(value),
            None => self.lacks(format!("its input {at} is missing")),
        }
    }

    /// An input that may be left out.
    pub(super) fn optional(&mut self, at: usize) -> Result<Option<VarId>, Fault> {
        let Some(name) = self.name(at) else { return Ok(None) };
        let own =
            self.desc.output.first().and_then(|output| self.reader.own_statistics.get(&(output.clone(), at)));
        if let Some(&own) = own {
            return Ok(Some(own));
        }
        let value = self.reader.operand(name)?;
        let merged = self.reader.draft.merged.get(&(self.block(), value)).filter(|_| self.merges);
        Ok(Some(merged.copied().unwrap_or(value)))
    }

    /// All inputs.
    pub(super) fn inputs(&mut self) -> Given {
        (0..self.desc.input.len()).map(|at| self.input(at)).collect()
    }

    /// The elements of an input, if they are in the file.
    pub(super) fn constant(&self, at: usize) -> Option<Rc<Constant>> {
        self.name(at).and_then(|name| self.reader.look_up(name).ok()?.constant.clone())
    }

    /// The elements of an input as numbers, if they are known.
    pub(super) fn numbers(&self, at: usize) -> Option<Vec<Number>> {
        if let Some(constant) = self.constant(at) {
            return Some(constant.numbers());
        }
        let var = self.reader.look_up(self.name(at)?).ok()?.var?;
        self.reader.draft.constant_of(var)
    }

    /// The elements of an input as sizes, if they are known.
    pub(super) fn dims(&self, at: usize) -> Option<Vec<Dim>> {
        if let Some(constant) = self.constant(at) {
            return constant.numbers().into_iter().map(|number| number.as_i64().map(Dim::from)).collect();
        }
        let var = self.reader.look_up(self.name(at)?).ok()?.var?;
        self.reader.draft.known_of(var)?.iter().map(Known::dim).collect()
    }

    /// Whole numbers from an input or, without it, from an attribute: `None` if neither is there.
    pub(super) fn listed(&self, at: usize, name: &str) -> Result<Option<Vec<i64>>, Fault> {
        if !self.has(at) {
            return Ok(self.ints(name));
        }
        let numbers = self.dims(at).and_then(|dims| dims.iter().map(Dim::constant).collect());
        match numbers {
            Some(numbers) => Ok(Some(numbers)),
            None => self.lacks(format!("its `{name}` is computed while it runs, but has to be known before")),
        }
    }

    /// One number from an input or, without it, from an attribute.
    pub(super) fn number(&self, at: usize, name: &str) -> Result<Option<f64>, Fault> {
        if !self.has(at) {
            return Ok(self.attr(name).and_then(|attr| attr.f.map(f64::from).or(attr.i.map(|i| i as f64))));
        }
        match self.numbers(at).as_deref() {
            Some([number]) => Ok(Some(number.as_f64())),
            _ => self.lacks(format!("its `{name}` is computed while it runs, but has to be known before")),
        }
    }

    pub(super) fn attr(&self, name: &str) -> Option<&'a AttributeProto> {
        self.desc.attr(name)
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.attr(name).and_then(|attr| attr.i).unwrap_or(default)
    }

    pub(super) fn float(&self, name: &str, default: f64) -> f64 {
        self.attr(name).and_then(|attr| attr.f).map_or(default, |f| {
            // A number that was written in decimals means these.
            f.to_string().parse().unwrap_or(f64::from(f))
        })
    }

    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).map(|attr| attr.ints.clone())
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.attr(name)?.s.as_deref().and_then(|text| str::from_utf8(text).ok())
    }

    pub(super) fn ty(&self, var: VarId) -> &Type {
        self.reader.draft.ty(var)
    }

    /// The full shape of a value.
    pub(super) fn shape(&self, var: VarId) -> Vec<Dim> {
        let program = &self.reader.draft.program;
        program.shape(program.ty(var))
    }

    /// 1 if a value has rows, the number of its dimensions that [`Type::dims`] leaves out.
    pub(super) fn rows(&self, var: VarId) -> usize {
        usize::from(self.ty(var).rows.is_some())
    }

    /// The axis with this number, which counts from the end if it is negative.
    pub(super) fn axis(&self, var: VarId, attribute: &'static str, axis: i64) -> Result<usize, Fault> {
        let draft = &self.reader.draft;
        draft.axis(var, axis).ok_or_else(|| draft.no_axis(var, attribute, axis))
    }

    pub(super) fn axes(&self, var: VarId, axes: &[i64]) -> Result<Vec<usize>, Fault> {
        let mut axes =
            axes.iter().map(|&axis| self.axis(var, "axes", axis)).collect::<Result<Vec<_>, _>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(axes)
    }

    /// Appends an operator with one output.
    pub(super) fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, Fault> {
        self.at().emit(op, inputs)
    }

    /// Appends an operator whose only output is that of this one.
    pub(super) fn give(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Given {
        Ok(vec![self.emit(op, inputs)?])
    }

    /// A constant of the type of a value, or of this one.
    pub(super) fn fill(&mut self, value: f64, dtype: DType) -> Result<VarId, Fault> {
        let value = match dtype {
            DType::Bool => Number::Bool(value != 0.0),
            DType::I32 | DType::I64 => Number::Int(value as i64),
            DType::F32 | DType::F64 => Number::Float(value),
        };
        self.emit(Fill { value, ty: Type::scalar(dtype) }, &[])
    }

    /// The value with elements of another type.
    pub(super) fn cast(&mut self, value: VarId, dtype: DType) -> Result<VarId, Fault> {
        if self.ty(value).dtype == dtype { Ok(value) } else { self.emit(Cast { dtype }, &[value]) }
    }

    /// The value with these dimensions behind the rows.
    pub(super) fn reshaped(&mut self, value: VarId, dims: Vec<Dim>) -> Result<VarId, Fault> {
        if self.ty(value).dims == dims { Ok(value) } else { self.emit(Reshape { dims }, &[value]) }
    }
}
