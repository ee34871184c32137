//! `matmul_v2`: products of matrices.

use super::{
    AccuracyClass, Before, Combination, Contract, Contraction, Effects, Factor, Form, Gradient,
    GradientError, Infer, Linear, Mismatch, MismatchKind, OfShards, Op, Operation, Operator, Program,
    Reshape, Sample, Schema, Slot, Transpose, attend,
};
use crate::program::{Dim, RowsId, Type, VarId};

/// `Out[.., m, n] = Σₖ X[.., m, k] · Y[.., k, n]`, of floating-point matrices, which are the last two axes. Either may
/// be read transposed.
///
/// The axes before them count matrices, and broadcast: they are aligned from the last, and 1 matches any size and rows.
/// A value that is a single matrix is multiplied with all matrices of the other value. Rows may also be the `m` of a
/// single matrix, so that the result has them, or the summed `k` of both, so that it has none. The rows of `Y` cannot
/// become the columns of the result.
///
/// A value with one axis is a matrix of one row as `X`, and of one column as `Y`; the result lacks that axis. Such a
/// value is not transposed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matmul {
    /// Reads the matrices of `X` as their transposes.
    pub trans_x: bool,
    /// Reads the matrices of `Y` as their transposes.
    pub trans_y: bool,
}

attributes!(Matmul { trans_x = false, trans_y = false });

impl Matmul {
    /// A product of matrices that are read as they are.
    pub const PLAIN: Matmul = Matmul { trans_x: false, trans_y: false };
}

#[derive(Clone)]
enum Axis {
    Rows(RowsId),
    Size(Dim),
}

/// The axes that count matrices, and the two axes of a matrix in the order in which the product reads them.
fn axes(ty: &Type, transposed: bool, missing: usize) -> Option<(Vec<Axis>, [Axis; 2])> {
    let rows = ty.rows.map(Axis::Rows);
    let mut axes: Vec<Axis> = rows.into_iter().chain(ty.dims.iter().cloned().map(Axis::Size)).collect();
    let transposed = transposed && axes.len() > 1;
    if axes.len() == 1 {
        axes.insert(missing, Axis::Size(Dim::from(1)));
    }
    let (second, first) = (axes.pop()?, axes.pop()?);
    Some((axes, if transposed { [second, first] } else { [first, second] }))
}

/// The axes that count the matrices of the result.
fn counted(cx: &Infer<'_>, x: &[Axis], y: &[Axis]) -> Result<Vec<Axis>, Mismatch> {
    let fail = || {
        let message = format!(
            "{}, but {}: `{}` needs as many matrices of both, or one",
            cx.is(1),
            cx.is(0),
            cx.operator
        );
        cx.wrong(1, MismatchKind::Shape, message)
    };
    let count = x.len().max(y.len());
    let one = Axis::Size(Dim::from(1));
    let at =
        |axes: &[Axis], i: usize| (i + axes.len()).checked_sub(count).map_or(&one, |at| &axes[at]).clone();
    let is_one = |axis: &Axis| matches!(axis, Axis::Size(dim) if dim.constant() == Some(1));
    let mut result = Vec::with_capacity(count);
    for i in 0..count {
        result.push(match (at(x, i), at(y, i)) {
            (axis, other) if is_one(&other) => axis,
            (other, axis) if is_one(&other) => axis,
            (Axis::Rows(rows), Axis::Rows(_)) => {
                cx.common_rows(0, 1)?;
                Axis::Rows(rows)
            }
            (Axis::Size(p), Axis::Size(q)) => {
                cx.need_equal(&p, &q, fail)?;
                Axis::Size(if p.constant().is_some() { p } else { q })
            }
            _ => return Err(fail()),
        });
    }
    Ok(result)
}

impl Operation for Matmul {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "matmul_v2",
                doc: "Σₖ x[.., m, k] · y[.., k, n].",
                inputs: &[Slot::of("X"), Slot::of("Y")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of products"),
                effects: Effects { products: true, linear: Linear::InEach(&[0, 1]), ..Effects::PURE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_float(1)?;
        cx.same_dtype(0, 1)?;
        let matrix = |input: usize, transposed| {
            axes(cx.ty(input), transposed, input).ok_or_else(|| {
                let message = format!("{}, but `{}` needs matrices or vectors", cx.is(input), cx.operator);
                cx.wrong(input, MismatchKind::Shape, message)
            })
        };
        let (x_count, [m, inner]) = matrix(0, self.trans_x)?;
        let (y_count, [k, n]) = matrix(1, self.trans_y)?;
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
        let mut result = counted(cx, &x_count, &y_count)?;
        let is_vector = [0, 1].map(|input| cx.ty(input).rank() == 1);
        result.extend((!is_vector[0]).then_some(m));
        let columns = result.len();
        result.extend((!is_vector[1]).then_some(n));
        let mut ty = Type { dtype: cx.ty(0).dtype, rows: None, dims: Vec::with_capacity(columns + 1) };
        for (i, axis) in result.into_iter().enumerate() {
            match axis {
                Axis::Size(dim) => ty.dims.push(dim),
                Axis::Rows(rows) if i == 0 => ty.rows = Some(rows),
                Axis::Rows(rows) => {
                    let side = usize::from(cx.ty(1).rows == Some(rows));
                    let place = if i == columns { "become columns of" } else { "not come first in" };
                    let message = format!(
                        "{}: its rows would {place} the product, but rows stay apart in `{}`",
                        cx.is(side),
                        cx.operator
                    );
                    return Err(cx.wrong(side, MismatchKind::Rows, message));
                }
            }
        }
        Ok(vec![ty])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, y, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let is_vector = [x, y].map(|var| g.ty(var).rank() == 1);
        // Vectors become matrices, and the result gets their axes.
        let mut op = *self;
        let (mut of_x, mut of_y) = (g.ty(x).dims.clone(), g.ty(y).dims.clone());
        let mut of_out = g.ty(grad).dims.clone();
        if is_vector[0] {
            // Rows stay first, so a column of rows is read transposed.
            op.trans_x = g.ty(x).rows.is_some();
            of_x.insert(0, Dim::from(1));
            of_out.insert(of_out.len() - usize::from(!is_vector[1]), Dim::from(1));
        }
        if is_vector[1] {
            op.trans_y = false;
            of_y.push(Dim::from(1));
            of_out.push(Dim::from(1));
        }
        let x = shaped(g, x, of_x)?;
        let y = shaped(g, y, of_y)?;
        let grad = shaped(g, grad, of_out)?;
        let mut grads = [op.of_x(g, x, y, grad)?, op.of_y(g, x, y, grad)?];
        for (k, grad) in grads.iter_mut().enumerate() {
            if let (Some(found), true) = (*grad, is_vector[k]) {
                let dims = g.ty(g.input(k)).dims.clone();
                *grad = Some(shaped(g, found, dims)?);
            }
            *grad = g.sum_to_input(*grad, k)?;
        }
        Ok(grads.into())
    }

    /// The product sums over the rows that both have, or multiplies within each row.
    fn of_shards(&self, program: &Program, operator: &Operator, output: usize) -> OfShards {
        let rows = |var: &VarId| program.ty(*var).rows;
        match (rows(&operator.outputs[output]), operator.inputs.iter().find_map(rows)) {
            (None, Some(_)) => OfShards::Sum,
            _ => OfShards::Rows,
        }
    }

    fn form(&self, program: &Program, operator: &Operator) -> Option<Form> {
        let factor = |input: usize, last| Factor::matrix(input, program.ty(operator.inputs[input]), last);
        Some(Form::Contraction(Contraction { factors: [factor(0, !self.trans_x), factor(1, self.trans_y)] }))
    }

    fn turned(&self) -> Option<(usize, Op)> {
        self.trans_y.then(|| (1, Matmul { trans_y: false, ..*self }.into()))
    }

    fn combined(&self, operator: &Operator, before: Before<'_>) -> Option<Combination> {
        attend::of_product(operator, before)
    }

    #[inline]
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
            // Many matrices: in both values, in one, and in sizes that broadcast.
            op(false, false).rows(3, &[2, 4]).rows(3, &[4, 5]),
            op(true, true).rows(3, &[4, 2]).rows(3, &[5, 4]),
            op(false, false).rows(3, &[2, 4]).dense(&[4, 5]),
            op(true, true).rows(3, &[4, 2]).dense(&[5, 4]),
            op(false, false).dense(&[2, 4]).rows(3, &[4, 5]),
            op(true, true).dense(&[4, 2]).rows(3, &[5, 4]),
            op(false, false).rows(2, &[3, 2, 4]).rows(2, &[1, 4, 2]),
            op(false, true).dense(&[1, 2, 4]).rows(2, &[3, 4]),
            op(false, false).dense(&[2, 1, 2, 3]).dense(&[3, 3, 1]),
            op(false, true).rows(0, &[2, 4]).rows(0, &[3, 4]),
            op(false, false).rows(0, &[2, 4]).dense(&[4, 3]),
            // Vectors.
            op(false, false).dense(&[4]).dense(&[4]),
            op(true, true).dense(&[4]).dense(&[3, 4]),
            op(false, true).rows(3, &[4]).dense(&[4]),
            op(false, false).rows(3, &[]).rows(3, &[2]),
            op(true, false).rows(3, &[2]).rows(3, &[]),
            op(false, false).dense(&[4]).rows(3, &[4, 2]),
            op(true, false).rows(3, &[4, 2]).dense(&[4]),
        ]
    }
}

impl Matmul {
    // With A = op(X) and B = op(Y), dA = dOut · Bᵀ and dB = Aᵀ · dOut, each transposed back if it was read transposed.
    // The gradient of a single matrix that is multiplied with many is the sum over all of them.

    fn of_x(
        self,
        g: &mut Gradient<'_>,
        x: VarId,
        y: VarId,
        grad: VarId,
    ) -> Result<Option<VarId>, GradientError> {
        let many = g.ty(x).rank() == 2 && g.ty(y).rank() > 2;
        Ok(match (g.wants(0), many, self.trans_x) {
            (false, ..) => None,
            (true, false, false) => Some(product(g, grad, false, y, !self.trans_y)?),
            (true, false, true) => Some(product(g, y, self.trans_y, grad, true)?),
            (true, true, trans_x) => {
                let grad = turned(g, grad, true)?;
                let y = turned(g, y, !self.trans_y)?;
                Some(g.emit(Contract, &if trans_x { [y, grad] } else { [grad, y] })?)
            }
        })
    }

    fn of_y(
        self,
        g: &mut Gradient<'_>,
        x: VarId,
        y: VarId,
        grad: VarId,
    ) -> Result<Option<VarId>, GradientError> {
        let many = g.ty(y).rank() == 2 && g.ty(x).rank() > 2;
        Ok(match (g.wants(1), many, self.trans_y) {
            (false, ..) => None,
            (true, false, false) => Some(product(g, x, !self.trans_x, grad, false)?),
            (true, false, true) => Some(product(g, grad, true, x, self.trans_x)?),
            (true, true, trans_y) => {
                let x = turned(g, x, self.trans_x)?;
                Some(g.emit(Contract, &if trans_y { [grad, x] } else { [x, grad] })?)
            }
        })
    }
}

fn product(
    g: &mut Gradient<'_>,
    x: VarId,
    trans_x: bool,
    y: VarId,
    trans_y: bool,
) -> Result<VarId, GradientError> {
    g.emit(Matmul { trans_x, trans_y }, &[x, y])
}

/// Reshapes the value to these dimensions.
fn shaped(g: &mut Gradient<'_>, value: VarId, dims: Vec<Dim>) -> Result<VarId, GradientError> {
    if g.ty(value).dims == dims { Ok(value) } else { g.emit(Reshape { dims }, &[value]) }
}

/// Transposes the matrices of a value if `swap` says so.
fn turned(g: &mut Gradient<'_>, value: VarId, swap: bool) -> Result<VarId, GradientError> {
    if !swap {
        return Ok(value);
    }
    let rank = g.ty(value).rank() as i64;
    let perm = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    g.emit(Transpose { perm }, &[value])
}
