//! `gelu` as models write it that have no operator for it: `x · (1 + erf(x / √2)) / 2`.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{BinaryKind, Unary, UnaryKind};
use crate::ops::attend::constants::number;
use crate::ops::{Before, Combination, Op, Operator};
use crate::program::VarId;

/// The function as the multiplication that ends it, by a value or a number, whatever the order of its factors is.
pub(in crate::ops) fn combined(product: &Operator, before: Before<'_>) -> Option<Combination> {
    let mut found = Found {
        before,
        between: Vec::new(),
        unread: Vec::new(),
        factor: 1.0,
        factors: Vec::new(),
        left: DEEPEST,
    };
    match (&product.op, &product.inputs[..]) {
        (Op::Scale(op), &[x]) if op.bias == 0.0 => {
            found.factor = op.scale;
            found.factor_or_product(x)?;
        }
        (Op::Binary(op), _) if op.kind == BinaryKind::Mul => found.multiply(product)?,
        _ => return None,
    }
    let &[first, second] = &found.factors[..] else { return None };
    let x = found.distribution(first, second).or_else(|| found.distribution(second, first))?;
    let Found { between, unread, factor, .. } = found;
    let is_alike = before.program().ty(x) == before.program().ty(product.outputs[0]);
    let op = Unary::of(UnaryKind::Gelu).into();
    (is_alike && is_near(factor, 0.5)).then(|| Combination { op, inputs: vec![x], between, unread })
}

/// Constants are given in single precision.
fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-6
}

/// What the function is made of, as far as it was gone back over.
struct Found<'a> {
    before: Before<'a>,
    between: Vec<VarId>,
    unread: Vec<VarId>,
    /// The product of the constants, and the factors that are none.
    factor: f64,
    factors: Vec<VarId>,
    /// How many products may still be gone back over.
    left: usize,
}

/// The most products between the result and its factors.
const DEEPEST: usize = 4;

impl Found<'_> {
    /// Collects the factors of a product, and of the products that it multiplies.
    fn multiply(&mut self, product: &Operator) -> Option<()> {
        let &[x, y] = &product.inputs[..] else { return None };
        for var in [x, y] {
            if let Some(number) = self.constant(var) {
                self.factor *= number;
            } else if self.factors.len() >= 2 {
                return None;
            } else {
                self.factor_or_product(var)?;
            }
        }
        Some(())
    }

    fn factor_or_product(&mut self, var: VarId) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        match self.before.maker(var) {
            Some(maker) if matches!(&maker.op, Op::Binary(op) if op.kind == BinaryKind::Mul) => {
                self.between.push(var);
                self.multiply(maker)
            }
            Some(maker) if matches!(&maker.op, Op::Scale(op) if op.bias == 0.0) => {
                let Op::Scale(op) = &maker.op else { return None };
                self.factor *= op.scale;
                self.between.push(var);
                self.factor_or_product(maker.inputs[0])
            }
            _ => {
                self.factors.push(var);
                Some(())
            }
        }
    }

    /// The value `x`, if one factor is it, and the other `1 + erf(x / √2)`.
    fn distribution(&mut self, x: VarId, var: VarId) -> Option<VarId> {
        let (between, unread) = (self.between.len(), self.unread.len());
        let found = self.one_more(var).and_then(|erf| self.of_error_function(erf)).filter(|&of| of == x);
        if found.is_none() {
            self.between.truncate(between);
            self.unread.truncate(unread);
        }
        found
    }

    /// The value that this one is larger than by one.
    fn one_more(&mut self, var: VarId) -> Option<VarId> {
        let maker = self.before.maker(var)?;
        self.between.push(var);
        match (&maker.op, &maker.inputs[..]) {
            (Op::Scale(op), &[x]) => (op.scale == 1.0 && op.bias == 1.0).then_some(x),
            (Op::Binary(op), &[x, y]) if op.kind == BinaryKind::Add => match self.constant(y) {
                Some(number) => (number == 1.0).then_some(x),
                None => (self.constant(x)? == 1.0).then_some(y),
            },
            _ => None,
        }
    }

    /// `x`, for `erf(x / √2)`.
    fn of_error_function(&mut self, var: VarId) -> Option<VarId> {
        let maker = self.before.maker(var)?;
        if !matches!(&maker.op, Op::Unary(op) if op.kind == UnaryKind::Erf) {
            return None;
        }
        let inner = maker.inputs[0];
        self.between.extend([var, inner]);
        let maker = self.before.maker(inner)?;
        let (x, factor) = match (&maker.op, &maker.inputs[..]) {
            (Op::Scale(op), &[x]) if op.bias == 0.0 => (x, op.scale),
            (Op::Binary(op), &[x, y]) if op.kind == BinaryKind::Div => (x, 1.0 / self.constant(y)?),
            (Op::Binary(op), &[x, y]) if op.kind == BinaryKind::Mul => match self.constant(y) {
                Some(factor) => (x, factor),
                None => (y, self.constant(x)?),
            },
            _ => return None,
        };
        is_near(factor, FRAC_1_SQRT_2).then_some(x)
    }

    /// The number of a constant with one element.
    fn constant(&mut self, var: VarId) -> Option<f64> {
        let number = number(self.before, var)?;
        self.unread.push(var);
        Some(number)
    }
}
