//! Products of matrices: a workgroup for each tile of a result, whose factors go through memory that the threads share.

use paddle_core::ops::{Contract, Matmul};
use paddle_core::ops::Real;
use paddle_core::plan::{Extent, Precision, Unsupported};

use super::Compile;
use crate::gpu::form::{
    Float, LANES, Register, Shared, Unsigned, Variable, barrier, for_each, lane, scalar, when, workgroup, workgroups,
};
use crate::gpu::index::broadcast;
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Tensor};

/// The sides of a tile of the result.
const TILE: u32 = 32;
/// The terms of each sum that are in shared memory at a time.
const DEPTH: u32 = 16;
/// The sides of the part of a tile that a thread computes.
const PART: u32 = 4;
/// The threads along a side of a tile.
const ACROSS: u32 = TILE / PART;

/// Matrices and their factors: `[m, k]` and `[k, n]`, each as it is or transposed.
struct Product {
    m: Vec<Extent>,
    n: Vec<Extent>,
    k: Vec<Extent>,
    trans: [bool; 2],
    /// The precision of the factors. Sums are in single precision.
    precision: Precision,
    /// The axes that number the matrices: of the result, and of each factor.
    matrices: [Vec<Extent>; 3],
}

impl Product {
    fn compile(self, call: Call<'_>) -> Kernel {
        let [of_result, ..] = &self.matrices;
        let grid = Grid::Tiles([self.m.clone(), self.n.clone(), of_result.clone()], TILE as usize);
        Kernel::new().stage(grid, || self.write(&call.input(0), &call.input(1), &call.output(0)))
    }

    fn write(&self, x: &Tensor, y: &Tensor, out: &Tensor) {
        const { assert!(ACROSS * ACROSS == LANES) };
        let u = Unsigned::of;
        let [of_result, of_x, of_y] = &self.matrices;
        let [m, n, k] = [&self.m, &self.n, &self.k].map(|extents| scalar(extents));
        let tiles = |size: Unsigned| (size + u(TILE - 1)) / u(TILE);
        let (down, across) = (tiles(m), tiles(n));
        let (left, right) = (Shared::<Float>::new(TILE * DEPTH), Shared::<Float>::new(TILE * DEPTH));
        let lane = lane();
        let (row, column) = (lane / u(ACROSS) * u(PART), lane % u(ACROSS) * u(PART));
        for_each(workgroup(), down * across * scalar(of_result), workgroups(), |tile| {
            let matrix = tile / (down * across);
            let tile = tile - matrix * (down * across);
            let (first_row, first_column) = (tile / across * u(TILE), tile % across * u(TILE));
            let of_x = broadcast(matrix, of_x, of_result) * m * k;
            let of_y = broadcast(matrix, of_y, of_result) * k * n;
            let sums: Vec<Variable<Float>> =
                (0..PART * PART).map(|_| Variable::new(Float::constant(0.0))).collect();
            for_each(u(0), k, u(DEPTH), |term| {
                // Neighbouring threads read neighbouring elements.
                let load = |shared: &Shared<Float>, from: &Tensor, base: Unsigned, first: Unsigned, size: Unsigned, along: bool| {
                    for_each(lane, u(TILE * DEPTH), u(LANES), |at| {
                        let (place, depth) = match along {
                            true => (at / u(DEPTH), at % u(DEPTH)),
                            false => (at % u(TILE), at / u(TILE)),
                        };
                        let (place_of, term) = (first + place, term + depth);
                        let is_inside = place_of.less(size) & term.less(k);
                        let index = match along {
                            true => place_of * k + term,
                            false => term * size + place_of,
                        };
                        let value = from.float(base + Unsigned::choose(is_inside, index, u(0)));
                        let value = if self.precision == Precision::Bf16 { to_bf16(value) } else { value };
                        shared.set(depth * u(TILE) + place, Float::choose(is_inside, value, Float::constant(0.0)));
                    });
                };
                load(&left, x, of_x, first_row, m, !self.trans[0]);
                load(&right, y, of_y, first_column, n, self.trans[1]);
                barrier();
                for_each(u(0), u(DEPTH), u(1), |depth| {
                    let at = depth * u(TILE);
                    let xs: Vec<Float> = (0..PART).map(|i| left.get(at + row + u(i))).collect();
                    let ys: Vec<Float> = (0..PART).map(|j| right.get(at + column + u(j))).collect();
                    for (i, &x) in xs.iter().enumerate() {
                        for (j, &y) in ys.iter().enumerate() {
                            let sum = sums[i * PART as usize + j];
                            sum.set(sum.get() + x * y);
                        }
                    }
                });
                barrier();
            });
            let base = matrix * m * n;
            for i in 0..PART {
                for j in 0..PART {
                    let (row, column) = (first_row + row + u(i), first_column + column + u(j));
                    when(row.less(m) & column.less(n), || {
                        out.set(base + row * n + column, sums[(i * PART + j) as usize].get());
                    });
                }
            }
        });
    }
}

/// The nearest number of which 16 bits are kept.
fn to_bf16(x: Float) -> Float {
    let u = Unsigned::of;
    let bits = x.bits();
    let rounded = bits + u(0x7fff) + ((bits >> u(16)) & u(1));
    let kept = (rounded & u(0xffff_0000)).as_float();
    Float::choose(x.is_not_a_number(), x, kept)
}

impl Compile for Matmul {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (mut x, mut y) = (call.shape(0).to_vec(), call.shape(1).to_vec());
        let mut out = call.out_shape(0).to_vec();
        let trans = [self.trans_x && x.len() > 1, self.trans_y && y.len() > 1];
        // A vector is a row as the first factor and a column as the second.
        let is_vector = [x.len() == 1, y.len() == 1];
        if is_vector[0] {
            x.insert(0, Extent::Fixed(1));
            out.insert(out.len() - usize::from(!is_vector[1]), Extent::Fixed(1));
        }
        if is_vector[1] {
            y.push(Extent::Fixed(1));
            out.push(Extent::Fixed(1));
        }
        let (of_x, of_y, of_out) = (x.len() - 2, y.len() - 2, out.len() - 2);
        let k = vec![x[of_x + usize::from(!trans[0])]];
        let n = vec![out[of_out + 1]];
        // Many matrices with one factor in common are one product.
        let (m, matrices) = match of_y == 0 && !trans[0] {
            true => (out[..=of_out].to_vec(), [Vec::new(), Vec::new(), Vec::new()]),
            false => {
                (vec![out[of_out]], [out[..of_out].to_vec(), x[..of_x].to_vec(), y[..of_y].to_vec()])
            }
        };
        Ok(Product { m, n, k, trans, precision: call.group.precision, matrices }.compile(call))
    }
}

impl Compile for Contract {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (_, k) = call.shape(0).split_last().expect("the shape rule wants two axes");
        let out = call.out_shape(0);
        let matrices = [Vec::new(), Vec::new(), Vec::new()];
        let product = Product { m: vec![out[0]], n: vec![out[1]], k: k.to_vec(), trans: [true, false], precision: call.group.precision, matrices };
        Ok(product.compile(call))
    }
}
