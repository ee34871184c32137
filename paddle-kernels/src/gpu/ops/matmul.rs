//! `matmul_v2`, `contract`.

use paddle_core::ops::{Contract, Matmul};
use paddle_core::plan::{Extent, Unsupported};

use super::library::{Rounded, factors, result};
use super::{Compile, library};
use crate::gpu::form::{Unsigned, scalar};
use crate::gpu::index::{broadcast, is_whole};
use crate::gpu::kernel::{Kernel, LibraryCall, MatrixProduct};
use crate::gpu::tensor::Call;
use crate::gpu::tiles::Product;

/// Compiles products of factors that are stored as `[m, k]` and `[k, n]`, or transposed. `numbers` are the axes that number the
/// matrices of each.
fn compile(call: Call<'_>, product: &Product, trans: [bool; 2], numbers: [&[Extent]; 2]) -> Kernel {
    let by_library = by_library(call, product, trans, numbers);
    library::compile(call, by_library, ([0, 1], Rounded::Packed), |kernel, store| {
        product.stages(kernel, call.scratch_number(0), |stage| {
            let (x, y) = (call.input(0), call.input(1));
            let [m, n, k] = [&product.m, &product.n, &product.k].map(|extents| scalar(extents));
            let base = |of: &[Extent], matrix: Unsigned| broadcast(matrix, of, &product.matrices) * k;
            let of_x = |matrix, row, term| {
                let at = if trans[0] { term * m + row } else { row * k + term };
                x.float(base(numbers[0], matrix) * m + at)
            };
            let of_y = |matrix, column, term| {
                let at = if trans[1] { column * k + term } else { term * n + column };
                y.float(base(numbers[1], matrix) * n + at)
            };
            stage.write(&of_x, &of_y, &|matrix, row, column, sum| {
                store((matrix * m + row) * n + column, sum);
            });
        })
    })
}

/// The products as the device's library takes them; none if it has none, or takes other matrices.
fn by_library(
    call: Call<'_>,
    product: &Product,
    trans: [bool; 2],
    numbers: [&[Extent]; 2],
) -> Option<LibraryCall> {
    let is_one = |of: &[Extent]| of.iter().all(|extent| *extent == Extent::Fixed(1));
    let shared = numbers.map(|of| is_one(of) && !is_one(&product.matrices));
    let lies = |k: usize| shared[k] || is_whole(numbers[k], &product.matrices);
    (call.abilities.products && lies(0) && lies(1)).then(|| {
        LibraryCall::Product(MatrixProduct {
            factors: factors(call, [0, 1]),
            to: result(call),
            m: product.m.clone(),
            n: product.n.clone(),
            k: product.k.clone(),
            matrices: product.matrices.clone(),
            shared,
            trans,
            precision: product.precision,
        })
    })
}

impl Compile for Matmul {
    fn finishes(&self) -> bool {
        true
    }

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
        // Many matrices with one factor in common are one product.
        let is_one = of_y == 0 && !trans[0];
        let product = Product {
            m: if is_one { out[..=of_out].to_vec() } else { vec![out[of_out]] },
            n: vec![out[of_out + 1]],
            k: vec![x[of_x + usize::from(!trans[0])]],
            matrices: if is_one { Vec::new() } else { out[..of_out].to_vec() },
            precision: call.group.precision,
            by_terms: [!trans[0], trans[1]],
            has_library: call.abilities.products,
        };
        let numbers = if is_one { [&[][..], &[]] } else { [&x[..of_x], &y[..of_y]] };
        Ok(compile(call, &product, trans, numbers))
    }
}

impl Compile for Contract {
    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (_, k) = call.shape(0).split_last().expect("the shape rule wants two axes");
        let out = call.out_shape(0);
        let product = Product {
            m: vec![out[0]],
            n: vec![out[1]],
            k: k.to_vec(),
            matrices: Vec::new(),
            precision: call.group.precision,
            by_terms: [false, false],
            has_library: call.abilities.products,
        };
        Ok(compile(call, &product, [true, false], [&[], &[]]))
    }
}
