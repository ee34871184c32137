//! Sizes that a batch or a run decides, as variables that are computed; and values of such sizes.

use std::cell::RefCell;

use super::row_spaces::Known;
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::convert::to_wire::constants::fill_value;
use crate::convert::types::element;
use crate::ops::{Binary, BinaryKind, Fill, Number, Operator, Range};
use crate::program::{Arithmetic, DType, Dim, RowsId, SymbolId, Type};
use crate::wire::{OpAttr, OpDesc};

/// A size: a number, or a variable with one i64.
#[derive(Clone)]
enum Part {
    Number(i64),
    Variable(String),
}

/// Writes the operators that compute sizes to a block.
struct Computing<'l, 'a> {
    to: RefCell<&'l mut Legaliser<'a>>,
    at: usize,
}

/// The type of one size.
fn one() -> Type {
    Type::new(DType::I64, [1])
}

impl Computing<'_, '_> {
    fn both(&self, kind: BinaryKind, [a, b]: [Part; 2]) -> Option<Part> {
        if let (Part::Number(a), Part::Number(b)) = (&a, &b) {
            return Some(Part::Number(kind.apply_int(*a, *b)));
        }
        let mut to = self.to.borrow_mut();
        let [a, b] = [a, b].map(|part| to.variable(self.at, part));
        Some(Part::Variable(to.emit(self.at, Binary { kind }, &[&a, &b], &one())))
    }
}

impl Arithmetic for Computing<'_, '_> {
    type Size = Part;

    fn number(&self, value: i64) -> Option<Part> {
        Some(Part::Number(value))
    }

    fn symbol(&self, symbol: SymbolId) -> Option<Part> {
        self.to.borrow_mut().symbol(self.at, symbol).map(Part::Variable)
    }

    fn add(&self, a: Part, b: Part) -> Option<Part> {
        self.both(BinaryKind::Add, [a, b])
    }

    fn multiply(&self, a: Part, b: Part) -> Option<Part> {
        self.both(BinaryKind::Mul, [a, b])
    }

    fn floor_div(&self, a: Part, b: Part) -> Option<Part> {
        self.both(BinaryKind::FloorDiv, [a, b])
    }
}

impl Legaliser<'_> {
    fn variable(&mut self, at: usize, part: Part) -> String {
        match part {
            Part::Number(number) => self.constant(at, Number::Int(number), &one(), "size"),
            Part::Variable(name) => name,
        }
    }

    /// The value of a size symbol: the number of rows of a row space, or the size of an input.
    fn symbol(&mut self, at: usize, symbol: SymbolId) -> Option<String> {
        let program = self.program;
        let rows = program.row_spaces().iter().position(|rows| rows.size == symbol);
        let size = match rows.map(|rows| RowsId(rows as u32)) {
            Some(rows) => {
                let count = self.known(at, rows, Known::Count)?;
                let numbers = self.numbers_of_rows(at, count, rows);
                self.size_of(at, numbers, &list(DType::I64), 0)
            }
            None => {
                let axis = |ty: &Type| {
                    let axis = ty.dims.iter().position(|dim| dim.as_symbol() == Some(symbol))?;
                    Some(axis + usize::from(ty.rows.is_some()))
                };
                let mut inputs = program.inputs().iter();
                let (input, axis) = inputs.find_map(|&input| Some((input, axis(program.ty(input))?)))?;
                let name = self.name(input);
                self.size_of(at, name, program.ty(input), axis as i32)
            }
        };
        Some(self.cast(at, size, &Type::new(DType::I32, [1]), DType::I64))
    }

    /// A size as a variable with one i64. Without something that tells a symbol's value, the operator is refused.
    pub(super) fn computed(
        &mut self,
        at: usize,
        operator: &Operator,
        size: &Dim,
    ) -> Result<String, LegaliseError> {
        let part = size.compute(&Computing { to: RefCell::new(self), at });
        match part {
            Some(part) => Ok(self.variable(at, part)),
            None => self.refuse(operator, "one of its sizes is that of nothing that is exported"),
        }
    }

    /// The shape of a value, a variable with one i64 for each axis.
    pub(super) fn computed_shape(
        &mut self,
        at: usize,
        operator: &Operator,
        ty: &Type,
    ) -> Result<Vec<String>, LegaliseError> {
        let rows = ty.rows.map(|rows| Dim::symbol(self.program.row_space(rows).size));
        rows.iter().chain(&ty.dims).map(|size| self.computed(at, operator, size)).collect()
    }

    /// Computed sizes as i32.
    pub(super) fn in_32_bits(&mut self, at: usize, sizes: Vec<String>) -> Vec<String> {
        sizes.into_iter().map(|size| self.cast(at, size, &one(), DType::I32)).collect()
    }

    /// Reshapes the elements of `x` into a new variable, whose sizes are computed.
    pub(super) fn reshaped_by_sizes(
        &mut self,
        at: usize,
        operator: &Operator,
        x: String,
        from: &Type,
        to: &Type,
    ) -> Result<String, LegaliseError> {
        let sizes = self.computed_shape(at, operator, to)?;
        let sizes = self.in_32_bits(at, sizes);
        let out = self.reshaped_to(at, x, from, to, vec![-1; sizes.len()]);
        if let Some(desc) = self.blocks[at].ops.last_mut() {
            *desc = std::mem::take(desc).with_input("ShapeTensor", sizes);
        }
        Ok(out)
    }

    /// A constant, some of whose sizes may be computed.
    pub(super) fn constant_of_size(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &Fill,
        called: &str,
    ) -> Result<String, LegaliseError> {
        if op.ty.rows.is_none() && op.ty.dims.iter().all(|dim| dim.constant().is_some()) {
            return Ok(self.constant(at, op.value, &op.ty, called));
        }
        let shape = self.computed_shape(at, operator, &op.ty)?;
        let out = self.declare(at, called, &op.ty);
        let mut fill = OpDesc::new("fill_constant")
            .with_input("ShapeTensorList", shape)
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::longs("shape", vec![-1; op.ty.rank()]))
            .with_attr(OpAttr::int("dtype", element(op.ty.dtype).into()));
        fill.attrs.extend(fill_value(op.value));
        self.push(at, fill);
        Ok(out)
    }

    /// Evenly spaced numbers, as many as a size that is computed.
    pub(super) fn range_of_size(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &Range,
    ) -> Result<String, LegaliseError> {
        let count = self.computed(at, operator, &op.ty.dims[0])?;
        let [zero, step] = [0, 1].map(|number| self.constant(at, Number::Int(number), &one(), "size"));
        let places = op.ty.with_dtype(DType::I64);
        let numbers = self.declare(at, "range", &places);
        let range = OpDesc::new("range").with_input("Start", [zero]).with_input("End", [count]);
        self.push(at, range.with_input("Step", [step]).with_output("Out", [numbers.clone()]));
        if (op.start, op.step) == (Number::Int(0), Number::Int(1)) && op.ty.dtype == DType::I64 {
            return Ok(numbers);
        }
        // PaddlePaddle's `scale` rounds its numbers to single precision; constants are exact.
        let numbers = self.cast(at, numbers, &places, op.ty.dtype);
        let one = Type::new(op.ty.dtype, [1]);
        let [step, start] = [op.step, op.start].map(|number| self.constant(at, number, &one, "range"));
        let numbers = self.emit(at, Binary { kind: BinaryKind::Mul }, &[&numbers, &step], &op.ty);
        Ok(self.emit(at, Binary { kind: BinaryKind::Add }, &[&numbers, &start], &op.ty))
    }
}
