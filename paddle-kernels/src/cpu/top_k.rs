//! `top_k_v2` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops::TopK;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::kernel::{Body, Compiled, Machine, Single, with_float};
use super::number::Float;
use super::operands::Operands;
use super::pieces::{pairs, pieces};

/// Elements that one thread looks at, at a time.
const PIECE: usize = 1 << 14;

struct Top<T> {
    k: usize,
    size: Extent,
    element: PhantomData<T>,
}

pub(super) fn compile(single: &Single<'_>, op: TopK) -> Result<Compiled, Unsupported> {
    let (x, out, indices) = (single.input(0)?, single.output(0)?, single.output(1)?);
    let (Some(&size), Ok(k @ 1..)) = (x.1.shape.last(), usize::try_from(op.k)) else {
        return single.refuse("of a scalar");
    };
    let dtype = x.1.dtype;
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(Top::<T> { k, size, element: PhantomData }));
    Ok((single.signature([x], [out, indices]), body))
}

/// Whether `x` comes before `y`, which stands before it.
fn overtakes<T: Float>(x: T, y: T) -> bool {
    x > y || (x.partial_cmp(&x).is_none() && y.partial_cmp(&y).is_some())
}

impl<T: Float> Body for Top<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (k, size) = (self.k, self.size.get(operands.sizes()));
        assert!(k <= size, "as many elements as are asked for");
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let (out, indices) = writes.two::<T, i64>();
        let rows = (PIECE / size).max(1);
        pairs(&machine.team, (out, rows * k), (indices, rows * k), &|index, out, indices| {
            let x = x[index * rows * size..].chunks_exact(size);
            for ((x, out), indices) in x.zip(out.chunks_exact_mut(k)).zip(indices.chunks_exact_mut(k)) {
                top(x, out, indices);
            }
        });
        Ok(())
    }
}

/// Each element in turn goes up past those that are smaller.
fn top<T: Float>(x: &[T], out: &mut [T], indices: &mut [i64]) {
    let mut found = 0;
    for (i, &x) in x.iter().enumerate() {
        if found == out.len() {
            if !overtakes(x, out[found - 1]) {
                continue;
            }
        } else {
            found += 1;
        }
        let mut at = found - 1;
        while at > 0 && overtakes(x, out[at - 1]) {
            (out[at], indices[at]) = (out[at - 1], indices[at - 1]);
            at -= 1;
        }
        (out[at], indices[at]) = (x, i as i64);
    }
}

struct Put<T> {
    k: Extent,
    size: Extent,
    element: PhantomData<T>,
}

pub(super) fn compile_grad(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    let (indices, grad, out) = (single.input(1)?, single.input(2)?, single.output(0)?);
    let (Some(&k), Some(&size)) = (grad.1.shape.last(), out.1.shape.last()) else {
        return single.refuse("of a scalar");
    };
    let dtype = out.1.dtype;
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(Put::<T> { k, size, element: PhantomData }));
    Ok((single.signature([indices, grad], [out]), body))
}

impl<T: Float> Body for Put<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (k, size) = (self.k.get(operands.sizes()).max(1), self.size.get(operands.sizes()).max(1));
        let (reads, writes) = operands.split();
        let (indices, grad, out) = (reads.get::<i64>(0), reads.get::<T>(1), writes.one::<T>());
        let rows = (PIECE / size).max(1);
        pieces(&machine.team, out, rows * size, &|index, out| {
            out.fill(T::ZERO);
            let (indices, grad) = (&indices[index * rows * k..], &grad[index * rows * k..]);
            let parts = indices.chunks_exact(k).zip(grad.chunks_exact(k));
            for (out, (indices, grad)) in out.chunks_exact_mut(size).zip(parts) {
                for (index, grad) in indices.iter().zip(grad) {
                    out[*index as usize] += *grad;
                }
            }
        });
        Ok(())
    }
}
