//! Element-wise functions of one value.

use crate::convert::error::Fault;
use crate::convert::from_onnx::Reader;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::compositions::narrow::Rest;
use crate::ops::{
    Binary, BinaryKind, Compare, CompareKind, Dropout, DropoutImplementation, Fill, Logical, LogicalKind,
    Number, Predicate, PredicateKind, Scale, Select, Unary, UnaryKind,
};
use crate::program::{DType, VarId};

impl Node<'_, '_> {
    /// A function with these attributes and their defaults, in the order of ours.
    pub(super) fn function(&mut self, kind: UnaryKind, attributes: &[(&str, f64)]) -> Given {
        let x = self.input(0)?;
        let mut op = Unary::of(kind);
        for (coefficient, &(name, default)) in op.coefficients.iter_mut().zip(attributes) {
            *coefficient = self.float(name, default);
        }
        self.give(op, &[x])
    }

    /// `x · Φ(x)`.
    pub(super) fn gelu(&mut self) -> Given {
        let x = self.input(0)?;
        let mut op = Unary::of(UnaryKind::Gelu);
        op.coefficients[0] = match self.text("approximate").unwrap_or("none") {
            "none" => 0.0,
            "tanh" => 1.0,
            _ => return self.lacks("its `approximate` is neither `none` nor `tanh`"),
        };
        self.give(op, &[x])
    }

    /// `ln(1 + eˣ)`.
    pub(super) fn softplus(&mut self) -> Given {
        let x = self.input(0)?;
        self.give(Unary::of(UnaryKind::Softplus), &[x])
    }

    pub(super) fn negate(&mut self) -> Given {
        let x = self.input(0)?;
        self.give(Scale { scale: -1.0, bias: 0.0 }, &[x])
    }

    /// The nearest whole number; of two, the even one. Ours takes the one further from 0.
    pub(super) fn round(&mut self) -> Given {
        let x = self.input(0)?;
        Ok(vec![self.rounded(x)?])
    }

    /// The nearest whole number; of two, the even one.
    pub(super) fn rounded(&mut self, x: VarId) -> Result<VarId, Fault> {
        self.at().rounded_to_even(x)
    }

    /// Bounds that are computed are values like any other.
    pub(super) fn clip(&mut self) -> Given {
        let x = self.input(0)?;
        let dtype = self.ty(x).dtype;
        let known = |node: &Self, at, name: &str| node.number(at, name);
        if let (Ok(low), Ok(high)) = (known(self, 1, "min"), known(self, 2, "max"))
            && dtype.is_float()
            && low.is_none_or(|low| high.is_none_or(|high| low <= high))
            && low.is_some()
            && high.is_some()
        {
            let mut op = Unary::of(UnaryKind::Clip);
            (op.coefficients[0], op.coefficients[1]) = (low.unwrap_or_default(), high.unwrap_or_default());
            return self.give(op, &[x]);
        }
        let mut value = x;
        for (at, name, kind) in [(1, "min", BinaryKind::Max), (2, "max", BinaryKind::Min)] {
            let bound = match (self.optional(at)?, self.number(at, name)) {
                (Some(bound), _) => bound,
                (None, Ok(Some(bound))) => self.fill(bound, dtype)?,
                (None, _) => continue,
            };
            value = self.emit(Binary { kind }, &[value, bound])?;
        }
        Ok(vec![value])
    }

    /// `x` is moved towards 0 by `bias`, and is 0 between `-lambd` and `lambd`.
    pub(super) fn shrink(&mut self) -> Given {
        let (x, bias, lambda) = (self.input(0)?, self.float("bias", 0.0), self.float("lambd", 0.5));
        let dtype = self.ty(x).dtype;
        let (low, high, zero) =
            (self.fill(-lambda, dtype)?, self.fill(lambda, dtype)?, self.fill(0.0, dtype)?);
        let is_low = self.emit(Compare { kind: CompareKind::LessThan }, &[x, low])?;
        let is_high = self.emit(Compare { kind: CompareKind::GreaterThan }, &[x, high])?;
        let (up, down) = (
            self.emit(Scale { scale: 1.0, bias }, &[x])?,
            self.emit(Scale { scale: 1.0, bias: -bias }, &[x])?,
        );
        let inner = self.emit(Select, &[is_high, down, zero])?;
        self.give(Select, &[is_low, up, inner])
    }

    pub(super) fn predicate(&mut self, kind: PredicateKind) -> Given {
        let x = self.input(0)?;
        self.give(Predicate { kind }, &[x])
    }

    pub(super) fn is_infinite(&mut self) -> Given {
        let x = self.input(0)?;
        let mut found = self.emit(Predicate { kind: PredicateKind::Infinite }, &[x])?;
        let zero = self.fill(0.0, self.ty(x).dtype)?;
        let sides =
            [("detect_negative", CompareKind::GreaterThan), ("detect_positive", CompareKind::LessThan)];
        for (side, kind) in sides {
            if self.int(side, 1) == 0 {
                let is_other = self.emit(Compare { kind }, &[x, zero])?;
                found = self.emit(Logical { kind: LogicalKind::And }, &[found, is_other])?;
            }
        }
        Ok(vec![found])
    }

    fn cast_to_element(&mut self, x: VarId, number: i64) -> Result<VarId, Fault> {
        let (kind, dtype) = Reader::element_type("to", i32::try_from(number).unwrap_or(0))?;
        match self.at().narrowed(x, kind, Rest::Rounded)? {
            Some(narrow) => Ok(narrow),
            None => self.cast(x, dtype),
        }
    }

    pub(super) fn cast_to(&mut self) -> Given {
        let (x, to) = (self.input(0)?, self.int("to", 0));
        Ok(vec![self.cast_to_element(x, to)?])
    }

    pub(super) fn cast_like(&mut self) -> Given {
        let (x, like) = (self.input(0)?, self.input(1)?);
        let dtype = self.ty(like).dtype;
        Ok(vec![self.cast(x, dtype)?])
    }

    /// Nothing is dropped in inference; where the model is trained, as much as it says.
    pub(super) fn dropout(&mut self) -> Given {
        let x = self.input(0)?;
        let ratio = self.number(1, "ratio")?.unwrap_or(0.5);
        let drops = self.has(2) && !matches!(self.numbers(2).as_deref(), Some([Number::Bool(false)]));
        if drops && ratio > 0.0 {
            return self.lacks("it drops where it infers, by `training_mode`");
        }
        let has_mask = self.desc.output.get(1).is_some_and(|name| !name.is_empty());
        if self.reader.trains && ratio > 0.0 && !has_mask {
            let path = self.desc.output.first().cloned().unwrap_or_default();
            let dropout_implementation = DropoutImplementation::UpscaleInTrain;
            let op = Dropout { dropout_prob: ratio, dropout_implementation, path };
            return Ok(vec![self.at().emit_all(op, &[x], 2)?[0]]);
        }
        let mut given = vec![x];
        if has_mask {
            let ty = self.ty(x).with_dtype(DType::Bool);
            given.push(self.emit(Fill { value: Number::Bool(true), ty }, &[])?);
        }
        Ok(given)
    }
}
