//! Element-wise operators of several values, whose shapes broadcast.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Logical, LogicalKind, Not, Scale, Select, Unary,
    UnaryKind,
};
use crate::program::{DType, Dim, VarId};

impl Node<'_, '_> {
    /// Two operands. Before version 7, `broadcast` and `axis` say where in the first the dimensions of the second start.
    fn operands(&mut self) -> Result<[VarId; 2], Fault> {
        let (x, y) = (self.input(0)?, self.input(1)?);
        let axis = self.attr("axis").and_then(|attr| attr.i).filter(|_| self.reader.version < 7);
        let Some(axis) = axis else { return Ok([x, y]) };
        let start = self.axis(x, "axis", axis)?;
        let Some(behind) = (self.ty(x).rank() - start).checked_sub(self.ty(y).rank()) else {
            return Ok([x, y]);
        };
        let dims = self.ty(y).dims.iter().cloned().chain(std::iter::repeat_n(Dim::from(1), behind)).collect();
        Ok([x, self.reshaped(y, dims)?])
    }

    pub(super) fn arithmetic(&mut self, kind: BinaryKind) -> Given {
        let operands = self.operands()?;
        self.give(Binary { kind }, &operands)
    }

    /// The result has the element type of the base. Integers to a power that is a fraction are computed in floating point.
    pub(super) fn power(&mut self) -> Given {
        let [base, exponent] = self.operands()?;
        let dtype = self.ty(base).dtype;
        if let (Some([number]), true) =
            (self.numbers(1).as_deref(), dtype.is_float() && self.ty(exponent).rank() == 0)
        {
            let power = number.as_f64();
            if power == 2.0 {
                return self.give(Unary::of(UnaryKind::Square), &[base]);
            }
            let mut op = Unary::of(UnaryKind::Pow);
            op.coefficients[0] = power;
            return self.give(op, &[base]);
        }
        let in_floating_point = !dtype.is_float() && self.ty(exponent).dtype.is_float();
        let computed = if in_floating_point { DType::F64 } else { dtype };
        let inputs = [self.cast(base, computed)?, self.cast(exponent, computed)?];
        let result = self.emit(Binary { kind: BinaryKind::Pow }, &inputs)?;
        Ok(vec![self.cast(result, dtype)?])
    }

    /// The remainder has the sign of the divisor, or with `fmod` that of the dividend.
    pub(super) fn remainder(&mut self) -> Given {
        let [x, y] = self.operands()?;
        if self.int("fmod", 0) == 0 {
            return self.give(Binary { kind: BinaryKind::Mod }, &[x, y]);
        }
        let mut quotient = self.emit(Binary { kind: BinaryKind::Div }, &[x, y])?;
        if self.ty(x).dtype.is_float() {
            quotient = self.emit(Unary::of(UnaryKind::Trunc), &[quotient])?;
        }
        let whole = self.emit(Binary { kind: BinaryKind::Mul }, &[quotient, y])?;
        self.give(Binary { kind: BinaryKind::Sub }, &[x, whole])
    }

    fn folded(&mut self, kind: BinaryKind) -> Result<VarId, Fault> {
        let inputs = self.inputs()?;
        let Some((&first, others)) = inputs.split_first() else { return self.lacks("it has no inputs") };
        let mut all = first;
        for &other in others {
            all = self.emit(Binary { kind }, &[all, other])?;
        }
        Ok(all)
    }

    /// Any number of values, in their order.
    pub(super) fn of_all(&mut self, kind: BinaryKind) -> Given {
        Ok(vec![self.folded(kind)?])
    }

    pub(super) fn mean_of_all(&mut self) -> Given {
        let sum = self.folded(BinaryKind::Add)?;
        self.give(Scale { scale: 1.0 / self.desc.input.len() as f64, bias: 0.0 }, &[sum])
    }

    /// The slopes of negative elements are aligned at the end, as every second operand is. Before version 7, there is one for each
    /// channel.
    pub(super) fn prelu(&mut self) -> Given {
        let (x, mut slope) = (self.input(0)?, self.input(1)?);
        if self.reader.version < 7 && self.ty(slope).rank() == 1 && self.ty(x).rank() > 2 {
            let ones = self.ty(x).rank() - 2;
            let dims =
                self.ty(slope).dims.iter().cloned().chain(std::iter::repeat_n(Dim::from(1), ones)).collect();
            slope = self.reshaped(slope, dims)?;
        }
        let zero = self.fill(0.0, self.ty(x).dtype)?;
        let positive = self.emit(Compare { kind: CompareKind::GreaterThan }, &[x, zero])?;
        let scaled = self.emit(Binary { kind: BinaryKind::Mul }, &[x, slope])?;
        self.give(Select, &[positive, x, scaled])
    }

    /// Ours compares numbers only.
    pub(super) fn compare(&mut self, kind: CompareKind) -> Given {
        let mut operands = self.operands()?;
        for operand in &mut operands {
            if self.ty(*operand).dtype == DType::Bool {
                *operand = self.emit(Cast { dtype: DType::I32 }, &[*operand])?;
            }
        }
        self.give(Compare { kind }, &operands)
    }

    pub(super) fn logical(&mut self, kind: LogicalKind) -> Given {
        let operands = self.operands()?;
        self.give(Logical { kind }, &operands)
    }

    pub(super) fn not(&mut self) -> Given {
        let x = self.input(0)?;
        self.give(Not, &[x])
    }

    pub(super) fn choose(&mut self) -> Given {
        let inputs = self.inputs()?;
        self.give(Select, &inputs)
    }
}
