//! The operator `matmul_v2`, by [`super::matmul`].
#![allow(unsafe_code, reason = "calls the matrix product")]

use std::marker::PhantomData;

use paddle_core::ops;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::kernel::{Body, Compiled, Machine, Single, with_float};
use super::matmul::Matmul;
use super::number::Float;
use super::operands::Operands;

struct Product<T> {
    m: Extent,
    n: Extent,
    k: Extent,
    trans_a: bool,
    trans_b: bool,
    element: PhantomData<T>,
}

pub(super) fn compile(single: &Single<'_>, op: &ops::Matmul) -> Result<Compiled, Unsupported> {
    let (x, y, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
    let (&[a, b], &[c, d]) = (&x.1.shape[..], &y.1.shape[..]) else {
        return single.refuse("of values that are not matrices");
    };
    let (trans_a, trans_b) = (op.trans_x, op.trans_y);
    let (m, k) = if trans_a { (b, a) } else { (a, b) };
    let n = if trans_b { c } else { d };
    let dtype = x.1.dtype;
    let signature = single.signature([x, y], [out]);
    Ok((
        signature,
        with_float!(single, dtype, T => Box::new(Product::<T> { m, n, k, trans_a, trans_b, element: PhantomData })),
    ))
}

impl<T: Float> Body for Product<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [m, n, k] = [self.m, self.n, self.k].map(|extent| extent.get(operands.sizes()));
        let (reads, writes) = operands.split();
        let (a, b, c) = (reads.get::<T>(0), reads.get::<T>(1), writes.one::<T>());
        let is = |len, rows: usize, columns| rows.checked_mul(columns) == Some(len);
        let fits = is(a.len(), m, k) && is(b.len(), k, n) && is(c.len(), m, n);
        assert!(fits, "a product of {} by {} elements to {}: {m} × {k} × {n}", a.len(), b.len(), c.len());
        let product = Matmul { m, n, k, trans_a: self.trans_a, trans_b: self.trans_b };
        // SAFETY: the slices have these lengths, and C is borrowed exclusively.
        unsafe {
            let from = [a.as_ptr(), b.as_ptr()];
            product.run(machine.isa, &machine.team, from, c.as_mut_ptr(), false, &|_, _| {});
        }
        Ok(())
    }
}
