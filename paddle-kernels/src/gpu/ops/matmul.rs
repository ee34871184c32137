//! `matmul_v2`, `contract`.

use paddle_core::ops::{Contract, Matmul};
use paddle_core::plan::{Extent, Precision, Unsupported};

use super::Compile;
use super::elementwise::finish;
use crate::gpu::form::{Float, Register, Unsigned, each, scalar};
use crate::gpu::index::{broadcast, is_whole};
use crate::gpu::kernel::{Grid, Kernel, MatrixProduct};
use crate::gpu::tensor::{Call, Element, Tensor, Words};
use crate::gpu::tiles::{Product, bits_of_bf16};

/// Compiles products of factors that are stored as `[m, k]` and `[k, n]`, or transposed. `factors` are the axes that number the
/// matrices of each.
fn compile(call: Call<'_>, product: &Product, trans: [bool; 2], factors: [&[Extent]; 2]) -> Kernel {
    match library(call, product, trans, factors) {
        None => product.stage(Kernel::new(), |product| {
            let size = scalar(&product.m) * scalar(&product.n);
            tiles(&call, product, trans, factors, &|matrix, at, sum| {
                finish(&call, matrix * size + at, Element::Float(sum))
            })
        }),
        Some(of) => compile_for_library(call, product, trans, factors, of),
    }
}

/// Writes the products. `store` gets the matrix, the element's index in it, and the element.
fn tiles(
    call: &Call<'_>,
    product: &Product,
    trans: [bool; 2],
    factors: [&[Extent]; 2],
    store: &dyn Fn(Unsigned, Unsigned, Float),
) {
    let (x, y) = (call.input(0), call.input(1));
    let [m, n, k] = [&product.m, &product.n, &product.k].map(|extents| scalar(extents));
    let base = |of: &[Extent], matrix: Unsigned| broadcast(matrix, of, &product.matrices) * k;
    let of_x = |matrix, row, term| {
        let at = if trans[0] { term * m + row } else { row * k + term };
        x.float(base(factors[0], matrix) * m + at)
    };
    let of_y = |matrix, column, term| {
        let at = if trans[1] { column * k + term } else { term * n + column };
        y.float(base(factors[1], matrix) * n + at)
    };
    product.tiles(&of_x, &of_y, &|matrix, row, column, sum| store(matrix, row * n + column, sum));
}

/// The products as the device's library takes them; none if it has none, or takes other matrices. Their results go to the operand
/// behind those of the group if an epilogue comes behind them.
fn library(
    call: Call<'_>,
    product: &Product,
    trans: [bool; 2],
    factors: [&[Extent]; 2],
) -> Option<MatrixProduct> {
    let is_shared = |of: &[Extent]| of.iter().all(|extent| *extent == Extent::Fixed(1));
    let shared = factors.map(|of| is_shared(of) && !is_shared(&product.matrices));
    let lies = |k: usize| shared[k] || is_whole(factors[k], &product.matrices);
    (call.libraries.products && lies(0) && lies(1)).then(|| MatrixProduct {
        factors: match product.precision {
            Precision::F32 => [call.input_number(0), call.input_number(1)],
            Precision::Bf16 => [call.scratch_number(1), call.scratch_number(2)],
        },
        to: match call.group.epilogue.is_empty() {
            true => call.output_number(0),
            false => call.scratch_number(0),
        },
        m: product.m.clone(),
        n: product.n.clone(),
        k: product.k.clone(),
        matrices: product.matrices.clone(),
        shared,
        trans,
        precision: product.precision,
    })
}

/// Writes the factors in bf16, two in a word.
fn pack(mut kernel: Kernel, call: Call<'_>) -> Kernel {
    for k in 0..2 {
        let shape = call.shape(k).to_vec();
        kernel = kernel.scratch(shape.clone()).stage(Grid::Items(shape), || {
            let (from, u) = (call.input(k), Unsigned::of);
            let to = Words::of(call.scratch_number(1 + k));
            each((from.elements() + u(1)) / u(2), |word| {
                let (first, second) = (word + word, word + word + u(1));
                let there = second.less(from.elements());
                let upper = from.float(Unsigned::choose(there, second, first));
                to.set(word, (bits_of_bf16(from.float(first)) >> u(16)) | bits_of_bf16(upper));
            });
        });
    }
    kernel
}

/// Compiles products by the library, and the epilogue behind them, which takes their elements from memory.
fn compile_for_library(
    call: Call<'_>,
    product: &Product,
    trans: [bool; 2],
    factors: [&[Extent]; 2],
    of: MatrixProduct,
) -> Kernel {
    let ty = call.group.ty(call.op.outputs[0]);
    let number = of.to;
    let to = || Tensor::new(number, ty);
    let kernel = Kernel::new().scratch(match call.group.epilogue.is_empty() {
        true => vec![Extent::Fixed(0)],
        false => ty.shape.clone(),
    });
    let kernel = match product.precision {
        Precision::F32 => kernel,
        Precision::Bf16 => pack(kernel, call),
    };
    let kernel = product.stage(kernel, |product| {
        let size = scalar(&product.m) * scalar(&product.n);
        let to = to();
        tiles(&call, product, trans, factors, &|matrix, at, sum| to.set(matrix * size + at, sum));
    });
    let kernel = kernel.product(of);
    match call.group.epilogue.is_empty() {
        true => kernel,
        false => kernel.stage(Grid::Items(ty.shape.clone()), || {
            let sums = to();
            each(sums.elements(), |index| finish(&call, index, sums.load(index)));
        }),
    }
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
        };
        let factors = if is_one { [&[][..], &[]] } else { [&x[..of_x], &y[..of_y]] };
        Ok(compile(call, &product, trans, factors))
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
        };
        Ok(compile(call, &product, [true, false], [&[], &[]]))
    }
}
