//! `matmul_v2`: the product of two matrices.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample, Schema,
};
use crate::program::{Dim, RowsId, Type, VarId};

/// `Out[m, n] = Σₖ X[m, k] · Y[k, n]`, of floating-point matrices; either may be read transposed.
///
/// Rows may be `m` (they are those of the result) or the summed `k` of both (the result has none). Nothing else: the
/// rows of `Y` cannot become the columns of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matmul {
    /// Reads `X` as its transpose.
    pub trans_x: bool,
    /// Reads `Y` as its transpose.
    pub trans_y: bool,
}

attributes!(Matmul { trans_x = false, trans_y = false });

enum Axis {
    Rows(RowsId),
    Size(Dim),
}

/// The two axes of a matrix, as the product reads them.
fn axes(ty: &Type, transposed: bool) -> Option<[Axis; 2]> {
    let rows = ty.rows.map(Axis::Rows);
    let mut axes = rows.into_iter().chain(ty.dims.iter().cloned().map(Axis::Size));
    let (first, second) = (axes.next()?, axes.next()?);
    if axes.next().is_some() {
        return None;
    }
    Some(if transposed { [second, first] } else { [first, second] })
}

impl Operation for Matmul {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "matmul_v2",
            doc: "Σₖ x[m, k] · y[k, n].",
            inputs: &["X", "Y"],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_float(1)?;
        cx.same_dtype(0, 1)?;
        let matrix = |input: usize, transposed| {
            axes(cx.ty(input), transposed).ok_or_else(|| {
                let message = format!("{}, but `{}` needs matrices", cx.is(input), cx.operator);
                cx.wrong(input, MismatchKind::Shape, message)
            })
        };
        let [m, inner] = matrix(0, self.trans_x)?;
        let [k, n] = matrix(1, self.trans_y)?;
        let unequal = || {
            let size = |axis: &Axis| match axis {
                Axis::Rows(rows) => format!("the rows `{}`", cx.program.row_space(*rows).name),
                Axis::Size(dim) => cx.program.show_dim(dim),
            };
            let message = format!(
                "{}, but {}: `{}` sums over {} of the first and {} of the second, which have to be equal",
                cx.is(1),
                cx.is(0),
                cx.operator,
                size(&inner),
                size(&k),
            );
            cx.wrong(1, MismatchKind::Shape, message)
        };
        match (&inner, &k) {
            (Axis::Rows(_), Axis::Rows(_)) => drop(cx.common_rows(0, 1)?),
            (Axis::Size(inner), Axis::Size(k)) => cx.need_equal(inner, k, unequal)?,
            _ => return Err(unequal()),
        }
        let Axis::Size(n) = n else {
            let message = format!(
                "{}: its rows would become columns of the product, but rows stay apart in `{}`",
                cx.is(1),
                cx.operator
            );
            return Err(cx.wrong(1, MismatchKind::Rows, message));
        };
        let dtype = cx.ty(0).dtype;
        Ok(vec![match m {
            Axis::Rows(rows) => Type { dtype, rows: Some(rows), dims: vec![n] },
            Axis::Size(m) => Type { dtype, rows: None, dims: vec![m, n] },
        }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, y, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let product = |g: &mut Gradient<'_>, a, trans_x, b, trans_y| {
            g.emit(Matmul { trans_x, trans_y }, &[a, b]).map(Some)
        };
        // With A = op(X), B = op(Y): dA = dOut · Bᵀ and dB = Aᵀ · dOut, each transposed back where it was read so.
        let dx = match (g.wants(0), self.trans_x) {
            (false, _) => None,
            (true, false) => product(g, grad, false, y, !self.trans_y)?,
            (true, true) => product(g, y, self.trans_y, grad, true)?,
        };
        let dy = match (g.wants(1), self.trans_y) {
            (false, _) => None,
            (true, false) => product(g, x, !self.trans_x, grad, false)?,
            (true, true) => product(g, grad, true, x, self.trans_x)?,
        };
        Ok(vec![dx, dy])
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Accumulating("a sum of products")
    }

    fn prototypes() -> Vec<Self> {
        vec![Matmul { trans_x: false, trans_y: false }]
    }

    fn samples() -> Vec<Sample> {
        let op = |trans_x, trans_y| Sample::of(Matmul { trans_x, trans_y });
        vec![
            op(false, false).rows(3, &[4]).dense(&[4, 5]),
            op(false, true).rows(3, &[4]).dense(&[5, 4]),
            op(true, false).dense(&[4, 3]).dense(&[4, 5]),
            op(true, true).dense(&[4, 3]).dense(&[5, 4]),
            op(true, false).rows(3, &[2]).rows(3, &[5]),
            op(false, false).rows(0, &[4]).dense(&[4, 5]),
            op(false, false).rows(1, &[7]).dense(&[7, 1]),
            op(true, false).rows(0, &[2]).rows(0, &[5]),
        ]
    }
}
