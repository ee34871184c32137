//! Gradient clipping, by appended operators.

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
                let factor = add.factor(bound, square)?;
                pair.gradient = add.op(MUL, &[pair.gradient, factor])?;
            }
        }
        Clip::GlobalNorm(bound) => {
            let mut total: Option<VarId> = None;
            for pair in pairs.iter() {
                let square = add.squared_norm(pair.gradient)?;
                total = Some(match total {
                    None => square,
                    Some(total) => {
                        let square = add.cast(square, add.program.ty(total).dtype)?;
                        add.op(Binary { kind: BinaryKind::Add }, &[total, square])?
                    }
                });
            }
            let Some(total) = total else { return Ok(()) };
            let factor = add.factor(bound, total)?;
            for pair in pairs {
                let factor = add.cast(factor, add.program.ty(pair.gradient).dtype)?;
                pair.gradient = add.op(MUL, &[pair.gradient, factor])?;
            }
        }
    }
    Ok(())
}

const MUL: Binary = Binary { kind: BinaryKind::Mul };

struct Append<'a> {
    program: &'a mut Program,
    site: Site,
}

impl Append<'_> {
    fn op(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Ok(self.program.append_op(Program::GLOBAL, op, inputs, self.site)?[0])
    }

    /// Casts a value to an element type, unless it has that type already.
    fn cast(&mut self, value: VarId, dtype: DType) -> Result<VarId, BuildError> {
        if self.program.ty(value).dtype == dtype { Ok(value) } else { self.op(Cast { dtype }, &[value]) }
    }

    /// Σ g².
    fn squared_norm(&mut self, gradient: VarId) -> Result<VarId, BuildError> {
        let square = self.op(Unary::of(UnaryKind::Square), &[gradient])?;
        self.op(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[square])
    }

    /// `bound / max(bound, √square)`.
    fn factor(&mut self, bound: f64, square: VarId) -> Result<VarId, BuildError> {
        let norm = self.op(Unary::of(UnaryKind::Sqrt), &[square])?;
        let ty = Type::scalar(self.program.ty(norm).dtype);
        let bound = self.op(Fill { value: Number::Float(bound), ty }, &[])?;
        let larger = self.op(Binary { kind: BinaryKind::Max }, &[norm, bound])?;
        self.op(Binary { kind: BinaryKind::Div }, &[bound, larger])
    }
}
