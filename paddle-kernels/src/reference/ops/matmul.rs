//! `matmul_v2`, `contract`.

use paddle_core::ops::{Contract, Matmul};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::broadcast;
use crate::reference::values::Values;

/// Two matrices, each read as it is or transposed: `[m, k]` and `[k, n]`.
struct Product<'a> {
    x: &'a [f64],
    y: &'a [f64],
    m: usize,
    n: usize,
    k: usize,
    trans: [bool; 2],
}

impl Product<'_> {
    fn compute(&self) -> Vec<f64> {
        let &Product { x, y, m, n, k, trans } = self;
        let x_at = |i: usize, p: usize| if trans[0] { x[p * m + i] } else { x[i * k + p] };
        let y_at = |p: usize, j: usize| if trans[1] { y[j * k + p] } else { y[p * n + j] };
        let element = |i, j| (0..k).fold(0.0, |sum, p| sum + x_at(i, p) * y_at(p, j));
        (0..m * n).map(|at| element(at / n, at % n)).collect()
    }
}

impl Evaluate for Matmul {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, y) = (call.read(0).floats(), call.read(1).floats());
        let (mut x_shape, mut y_shape, mut out) = (call.shape(0), call.shape(1), call.output_shape(0));
        let trans = [self.trans_x && x_shape.len() > 1, self.trans_y && y_shape.len() > 1];
        // A vector is a row as the first factor and a column as the second.
        let is_vector = [x_shape.len() == 1, y_shape.len() == 1];
        if is_vector[0] {
            x_shape.insert(0, 1);
            out.insert(out.len() - usize::from(!is_vector[1]), 1);
        }
        if is_vector[1] {
            y_shape.push(1);
            out.push(1);
        }
        let (x_axes, y_axes, axes) = (x_shape.len() - 2, y_shape.len() - 2, out.len() - 2);
        let (m, n, k) = (out[axes], out[axes + 1], x_shape[x_axes + usize::from(!trans[0])]);
        // Which matrices are the factors of each.
        let x_of = broadcast(&x_shape[..x_axes], &out[..axes]);
        let y_of = broadcast(&y_shape[..y_axes], &out[..axes]);
        let product = |(i, j): (usize, usize)| {
            let (x, y) = (&x[i * m * k..][..m * k], &y[j * k * n..][..k * n]);
            Product { x, y, m, n, k, trans }.compute()
        };
        Ok(vec![Values::round(call.output_dtype(0), x_of.into_iter().zip(y_of).flat_map(product).collect())])
    }
}

impl Evaluate for Contract {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, y, out) = (call.read(0).floats(), call.read(1).floats(), call.output_shape(0));
        let k = call.shape(0).iter().rev().skip(1).product();
        let product = Product { x: &x, y: &y, m: out[0], n: out[1], k, trans: [true, false] };
        Ok(vec![Values::round(call.output_dtype(0), product.compute())])
    }
}
