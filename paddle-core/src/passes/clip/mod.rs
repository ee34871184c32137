//! Gradient clipping, by appended operators.

mod blocks;

pub(super) use self::blocks::rows_of_block;
use self::blocks::sums_of_blocks;
use crate::ops::{Binary, BinaryKind, Cast, Fill, Number, Op, Program, Reduce, ReduceKind, Unary, UnaryKind};
use crate::program::{BuildError, DType, ParameterGradient, Site, Type, VarId};

/// The rule by which gradients are clipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// Clips each element to `-bound ..= bound`.
    Value(f64),
    /// Scales the gradient of each parameter so that its norm is at most the bound: `g · bound / max(bound, ‖g‖)`.
    Norm(f64),
    /// Scales all gradients by one factor so that the norm of all of them together is at most the bound: Pascanu,
    /// Mikolov, Bengio, "On the difficulty of training recurrent neural networks", 2013, algorithm 1.
    GlobalNorm(f64),
}

/// Appends operators that clip these gradients, and replaces the gradients by the clipped ones.
pub(super) fn clip(
    program: &mut Program,
    pairs: &mut [ParameterGradient],
    how: Clip,
    site: Site,
) -> Result<(), BuildError> {
    let mut add = Append { program, site };
    match how {
        Clip::Value(bound) => {
            let within = Unary { kind: UnaryKind::Clip, coefficients: [-bound, bound, 0.0] };
            for pair in pairs {
                pair.gradient = add.op(within, &[pair.gradient])?;
            }
        }
        Clip::Norm(bound) => {
            for pair in pairs {
                let square = add.squared_norm(pair.gradient)?;
                add.scale(std::slice::from_mut(pair), bound, &[square])?;
            }
        }
        Clip::GlobalNorm(bound) => {
            let squares =
                pairs.iter().map(|pair| add.squared_norm(pair.gradient)).collect::<Result<Vec<_>, _>>()?;
            add.scale(pairs, bound, &squares)?;
        }
    }
    Ok(())
}

const MUL: Binary = Binary { kind: BinaryKind::Mul };

/// Appends operators to the global block.
pub(super) struct Append<'a> {
    pub(super) program: &'a mut Program,
    pub(super) site: Site,
}

impl Append<'_> {
    pub(super) fn op(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Ok(self.program.append_op(Program::GLOBAL, op, inputs, self.site)?[0])
    }

    /// Casts a value to an element type, unless it has that type already.
    fn cast(&mut self, value: VarId, dtype: DType) -> Result<VarId, BuildError> {
        if self.program.ty(value).dtype == dtype { Ok(value) } else { self.op(Cast { dtype }, &[value]) }
    }

    /// The sizes of a value, if all of them are known.
    fn dims(&self, value: VarId) -> Option<Vec<usize>> {
        self.program.ty(value).dims.iter().map(|dim| usize::try_from(dim.constant()?).ok()).collect()
    }

    /// The sum of all elements.
    pub(super) fn total(&mut self, value: VarId) -> Result<VarId, BuildError> {
        self.op(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[value])
    }

    /// Σ g² of the gradient of a whole parameter.
    pub(super) fn squared_norm(&mut self, gradient: VarId) -> Result<VarId, BuildError> {
        let rows = self.dims(gradient).and_then(|dims| rows_of_block(&dims));
        let squares = match rows {
            Some(rows) => self.squares_of_blocks(gradient, rows)?,
            None => self.op(Unary::of(UnaryKind::Square), &[gradient])?,
        };
        self.total(squares)
    }

    /// Σ g² over each block of so many rows.
    pub(super) fn squares_of_blocks(&mut self, gradient: VarId, rows: usize) -> Result<VarId, BuildError> {
        let square = self.op(Unary::of(UnaryKind::Square), &[gradient])?;
        match self.dims(gradient) {
            Some(dims) => sums_of_blocks(self, square, &dims, rows),
            None => Ok(square),
        }
    }

    /// Scales gradients by `bound / max(bound, √Σ squares)`.
    pub(super) fn scale(
        &mut self,
        pairs: &mut [ParameterGradient],
        bound: f64,
        squares: &[VarId],
    ) -> Result<(), BuildError> {
        let Some((&first, others)) = squares.split_first() else { return Ok(()) };
        let mut total = first;
        for &square in others {
            let square = self.cast(square, self.program.ty(first).dtype)?;
            total = self.op(Binary { kind: BinaryKind::Add }, &[total, square])?;
        }
        let norm = self.op(Unary::of(UnaryKind::Sqrt), &[total])?;
        let ty = Type::scalar(self.program.ty(norm).dtype);
        let bound = self.op(Fill { value: Number::Float(bound), ty }, &[])?;
        let larger = self.op(Binary { kind: BinaryKind::Max }, &[norm, bound])?;
        let factor = self.op(Binary { kind: BinaryKind::Div }, &[bound, larger])?;
        for pair in pairs {
            let factor = self.cast(factor, self.program.ty(pair.gradient).dtype)?;
            pair.gradient = self.op(MUL, &[pair.gradient, factor])?;
        }
        Ok(())
    }
}
