//! Rules for powers, determinants and inverses of square matrices. Determinants and inverses are those of matrices of up to
//! three rows, by their cofactors.

use crate::convert::draft::{At, Tried};
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::ops::{BinaryKind, Concat, Matmul};
use crate::program::VarId;

/// The largest power, as each bit of it is a product.
const MOST: i64 = 1 << 16;

impl Reading<'_, '_> {
    pub(super) fn matrix_power(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let mut left = self.desc.attr_long("n")?.unwrap_or(1);
        if !(1..=MOST).contains(&left) {
            return self.lacks("its power is below 1 or too large");
        }
        let (mut square, mut product) = (x, None);
        loop {
            if left % 2 == 1 {
                product = Some(match product {
                    None => square,
                    Some(product) => self.emit(Matmul::PLAIN, &[product, square])?,
                });
            }
            left /= 2;
            if left == 0 {
                break;
            }
            square = self.emit(Matmul::PLAIN, &[square, square])?;
        }
        self.tried(Ok(product.ok_or("it has no power")), "Out")
    }

    pub(super) fn determinant(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let tried = self.at().determinant(x);
        self.tried(tried, "Out")
    }

    pub(super) fn inverse(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let tried = self.at().inverse(x);
        self.tried(tried, "Output")
    }
}

impl At<'_> {
    /// The number of rows of square matrices.
    fn order(&self, x: VarId) -> Option<i64> {
        let [.., rows, columns] = &self.ty(x).dims[..] else { return None };
        rows.constant().filter(|order| columns.constant() == Some(*order) && (1..=3).contains(order))
    }

    /// An element of each matrix: `[.., 1, 1]`.
    fn element_of(&mut self, x: VarId, row: i64, column: i64) -> Result<VarId, Fault> {
        let rank = self.ty(x).rank();
        let line = self.part(x, rank - 2, row, 1)?;
        self.part(line, rank - 1, column, 1)
    }

    /// The determinant of what is left of matrices without a row and a column, with its sign.
    fn cofactor(&mut self, x: VarId, order: i64, row: i64, column: i64) -> Result<VarId, Fault> {
        // Behind the row and the column, in a circle: so the sign of three rows is in the order.
        let at = |k: i64, by: i64| (k + by) % order;
        if order == 2 {
            let other = self.element_of(x, at(row, 1), at(column, 1))?;
            return self.scaled(other, if (row + column) % 2 == 0 { 1.0 } else { -1.0 }, 0.0);
        }
        let a = self.element_of(x, at(row, 1), at(column, 1))?;
        let b = self.element_of(x, at(row, 2), at(column, 2))?;
        let c = self.element_of(x, at(row, 1), at(column, 2))?;
        let d = self.element_of(x, at(row, 2), at(column, 1))?;
        let (ab, cd) = (self.binary(BinaryKind::Mul, a, b)?, self.binary(BinaryKind::Mul, c, d)?);
        self.binary(BinaryKind::Sub, ab, cd)
    }

    /// The determinants as matrices of one element.
    fn determinants(&mut self, x: VarId, order: i64) -> Result<VarId, Fault> {
        let mut sum = None;
        for column in 0..order {
            let element = self.element_of(x, 0, column)?;
            let term = match order {
                1 => element,
                _ => {
                    let cofactor = self.cofactor(x, order, 0, column)?;
                    self.binary(BinaryKind::Mul, element, cofactor)?
                }
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.binary(BinaryKind::Add, sum, term)?,
            });
        }
        Ok(sum.unwrap_or(x))
    }

    fn determinant(&mut self, x: VarId) -> Tried {
        let Some(order) = self.order(x) else {
            return Ok(Err("its matrices are not square, or have more than three rows"));
        };
        let found = self.determinants(x, order)?;
        let mut dims = self.ty(found).dims.clone();
        dims.truncate(dims.len() - 2);
        self.shaped(found, dims).map(Ok)
    }

    fn inverse(&mut self, x: VarId) -> Tried {
        let Some(order) = self.order(x) else {
            return Ok(Err("its matrices are not square, or have more than three rows"));
        };
        let whole = self.determinants(x, order)?;
        let one = self.number(1.0, self.ty(x).dtype)?;
        let reciprocal = self.binary(BinaryKind::Div, one, whole)?;
        if order == 1 {
            return Ok(Ok(reciprocal));
        }
        let rank = self.ty(x).rank() as i64;
        let mut lines = Vec::new();
        for row in 0..order {
            // The adjugate is turned: its rows are the columns of the cofactors.
            let mut line = Vec::new();
            for column in 0..order {
                line.push(self.cofactor(x, order, column, row)?);
            }
            lines.push(self.emit(Concat { axis: rank - 1 }, &line)?);
        }
        let adjugate = self.emit(Concat { axis: rank - 2 }, &lines)?;
        self.binary(BinaryKind::Mul, adjugate, reciprocal).map(Ok)
    }
}
