//! The operators `matmul_v2` and `contract`, computed by [`crate::cpu::matmul`].
#![allow(unsafe_code, reason = "calls the matrix product")]

use std::marker::PhantomData;

use paddle_core::ops;
use paddle_core::ops::Contract;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::matmul::Matmul;
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::shared::Shared;

/// The largest number of axes that count matrices. No program comes near it.
const MOST_AXES: usize = 8;

struct Products<T> {
    m: Vec<Extent>,
    n: Extent,
    k: Vec<Extent>,
    trans_a: bool,
    trans_b: bool,
    /// The axes that count products, outermost first. For each, whether the two factors have a matrix for each index.
    counted: Vec<(Extent, [bool; 2])>,
    element: PhantomData<T>,
}

impl Compile for ops::Matmul {
    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, y, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let one = Extent::Fixed(1);
        // A vector is a row as the first factor and a column as the second.
        let (trans_a, trans_b) = (self.trans_x && x.1.shape.len() > 1, self.trans_y && y.1.shape.len() > 1);
        let (x_count, [a, b]) = match &x.1.shape[..] {
            [k] => (&[][..], [one, *k]),
            [count @ .., a, b] => (count, [*a, *b]),
            [] => return single.refuse("of a scalar"),
        };
        let (y_count, [c, d]) = match &y.1.shape[..] {
            [k] => (&[][..], [*k, one]),
            [count @ .., c, d] => (count, [*c, *d]),
            [] => return single.refuse("of a scalar"),
        };
        let (m, k) = if trans_a { (b, a) } else { (a, b) };
        let n = if trans_b { c } else { d };
        let axes = x_count.len().max(y_count.len());
        if axes > MOST_AXES {
            return single.refuse("of so many axes");
        }
        let counted = out.1.shape.iter().take(axes).enumerate().map(|(i, &extent)| {
            let has =
                |count: &[Extent]| (i + count.len()).checked_sub(axes).is_some_and(|at| count[at] == extent);
            (extent, [has(x_count), has(y_count)])
        });
        let mut counted: Vec<_> = counted.filter(|&(extent, _)| extent != one).collect();
        let mut m = vec![m];
        // If all matrices share one right factor, their rows are those of a single matrix.
        if !trans_a && counted.iter().all(|(_, has)| *has == [true, false]) {
            m.splice(..0, counted.drain(..).map(|(extent, _)| extent));
        }
        let (k, dtype) = (vec![k], x.1.dtype);
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(Products::<T> { m, n, k, trans_a, trans_b, counted, element: PhantomData })
        });
        Ok((single.signature([x, y], [out]), body))
    }
}

impl Compile for Contract {
    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, y, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let (Some((&m, k)), Some(&n)) = (x.1.shape.split_last(), y.1.shape.last()) else {
            return single.refuse("of scalars");
        };
        let (m, k, dtype) = (vec![m], k.to_vec(), x.1.dtype);
        let (trans_a, trans_b, counted) = (true, false, Vec::new());
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(Products::<T> { m, n, k, trans_a, trans_b, counted, element: PhantomData })
        });
        Ok((single.signature([x, y], [out]), body))
    }
}

impl<T: Float> Body for Products<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let size = |extents: &[Extent]| extents.iter().map(|extent| extent.get(sizes)).product();
        let (m, n, k): (usize, usize, usize) = (size(&self.m), self.n.get(sizes), size(&self.k));
        // The distances from one matrix to the next, innermost axis first.
        let (mut steps, mut count, mut held) = ([(1, [0, 0]); MOST_AXES], 1, [1, 1]);
        for (step, (extent, has)) in steps.iter_mut().zip(self.counted.iter().rev()) {
            let extent = extent.get(sizes);
            let own = |side: usize| if has[side] { held[side] } else { 0 };
            *step = (extent, [own(0), own(1)]);
            held = [0, 1].map(|side| if has[side] { held[side] * extent } else { held[side] });
            count *= extent;
        }
        let finish = operands.finish();
        let (reads, writes) = operands.split();
        let (a, b, c) = (reads.get::<T>(0), reads.get::<T>(1), writes.one::<T>());
        let is = |len, count: usize, rows: usize, columns: usize| {
            count.checked_mul(rows).and_then(|rows| rows.checked_mul(columns)) == Some(len)
        };
        let fits = is(a.len(), held[0], m, k) && is(b.len(), held[1], k, n) && is(c.len(), count, m, n);
        assert!(
            fits,
            "{count} products of {} by {} elements to {}: {m} × {k} × {n}",
            a.len(),
            b.len(),
            c.len()
        );
        let product = Matmul { m, n, k, trans_a: self.trans_a, trans_b: self.trans_b };
        let (from, to) = ([a.as_ptr(), b.as_ptr()], Shared(c.as_mut_ptr()));
        let steps = &steps[..self.counted.len()];
        let starts = |index: usize| {
            let (mut rest, mut starts) = (index, [0, 0]);
            for (extent, step) in steps {
                let at = rest % extent;
                rest /= extent;
                starts = [starts[0] + at * step[0], starts[1] + at * step[1]];
            }
            [starts[0] * m * k, starts[1] * k * n]
        };
        // SAFETY: the slices have as many matrices of these sizes as are counted, and C is borrowed exclusively.
        unsafe {
            match steps {
                [] if product.has_whole_rows::<T>() => {
                    product.run(machine, from, to.0, false, &|rows, _| {
                        finish.part(to.at(0), rows.start * n..rows.end * n);
                    });
                    return Ok(());
                }
                [] => product.run(machine, from, to.0, false, &|_, _| {}),
                _ => product.run_many(machine, from, to.0, count, &starts),
            }
        }
        finish.all(&machine.team, c);
        Ok(())
    }
}
