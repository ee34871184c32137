//! `gelu` as models write it that have no operator for it: `x · (1 + erf(x / √2)) / 2`.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{BinaryKind, Unary, UnaryKind};
use crate::ops::attend::constants::{multiple, number};
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
    if !found.step(product)? {
        return None;
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
    /// How many operators may still be looked at.
    left: usize,
}

/// The most operators that are looked at for the factors of a result.
const DEEPEST: usize = 6;

impl Found<'_> {
    /// Goes back over an operator, if it multiplies: returns whether it does.
    fn step(&mut self, operator: &Operator) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if let Some((source, factor, constant)) = multiple(self.before, operator) {
            self.factor *= factor;
            self.unread.extend(constant);
            self.collect(source)?;
            return Some(true);
        }
        let is_product = matches!(&operator.op, Op::Binary(op) if op.kind == BinaryKind::Mul);
        if is_product {
            operator.inputs.iter().try_for_each(|&input| self.collect(input))?;
        }
        Some(is_product)
    }

    /// Collects the factors that a value consists of.
    fn collect(&mut self, var: VarId) -> Option<()> {
        if let Some(maker) = self.before.maker(var) {
            self.between.push(var);
            if self.step(maker)? {
                return Some(());
            }
            self.between.pop();
        }
        self.factors.push(var);
        (self.factors.len() <= 2).then_some(())
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
        let (x, factor, constant) = multiple(self.before, self.before.maker(inner)?)?;
        self.unread.extend(constant);
        is_near(factor, FRAC_1_SQRT_2).then_some(x)
    }

    /// The number of a constant with one element.
    fn constant(&mut self, var: VarId) -> Option<f64> {
        let number = number(self.before, var)?;
        self.unread.push(var);
        Some(number)
    }
}
