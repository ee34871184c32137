//! `top_k_v2`, `argsort`.

use std::marker::PhantomData;

use paddle_core::ops::TopK;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::Along;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_number};
use crate::cpu::number::Summed;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pairs;

/// The number of elements that one thread compares at a time.
const PIECE: usize = 1 << 14;

struct Top<T> {
    /// The number of elements that are kept.
    k: Extent,
    along: Along,
    largest: bool,
    element: PhantomData<T>,
}

impl Compile for TopK {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out, indices) = (single.input(0)?, single.output(0)?, single.output(1)?);
        let Some(along) = Along::new(&x.1.shape, self.axis) else { return single.refuse("along no axis") };
        let (k, largest, dtype) = (out.1.shape[self.axis as usize], self.largest, x.1.dtype);
        let body: Box<dyn Body> =
            with_number!(single, dtype, T => Box::new(Top::<T> { k, along, largest, element: PhantomData }));
        Ok((single.signature([x], [out, indices]), body))
    }
}

impl<T: Summed> Body for Top<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (of, k) = (self.along.sizes(operands.sizes()), self.k.get(operands.sizes()));
        assert!(k <= of.along, "as many elements as are asked for");
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let (out, indices) = writes.two::<T, i64>();
        let (from, to) = ((of.along * of.behind).max(1), (k * of.behind).max(1));
        let blocks = (PIECE / from).max(1);
        pairs(&machine.team, (out, blocks * to), (indices, blocks * to), &|index, out, indices| {
            let x = x[index * blocks * from..].chunks_exact(from);
            for ((x, out), indices) in x.zip(out.chunks_exact_mut(to)).zip(indices.chunks_exact_mut(to)) {
                for column in 0..of.behind {
                    let x = x[column..].iter().step_by(of.behind);
                    let mut kept = Kept { out, indices, column, step: of.behind, largest: self.largest };
                    kept.fill(x.copied(), k);
                }
            }
        });
        Ok(())
    }
}

/// The elements of a column that are kept, with their indices. They form a heap, with the last element in order at its
/// root; removing the root repeatedly sorts them.
struct Kept<'a, T> {
    out: &'a mut [T],
    indices: &'a mut [i64],
    column: usize,
    step: usize,
    largest: bool,
}

impl<T: Summed> Kept<'_, T> {
    fn fill(&mut self, x: impl Iterator<Item = T>, k: usize) {
        for (i, x) in x.enumerate() {
            let entry = (x, i as i64);
            if i < k {
                self.set(i, entry);
                if i + 1 == k {
                    (0..k / 2).rev().for_each(|node| self.sink(node, k));
                }
            } else if self.is_before(entry, self.get(0)) {
                self.set(0, entry);
                self.sink(0, k);
            }
        }
        for end in (1..k).rev() {
            let (first, last) = (self.get(0), self.get(end));
            self.set(0, last);
            self.set(end, first);
            self.sink(0, end);
        }
    }

    fn get(&self, node: usize) -> (T, i64) {
        let at = node * self.step + self.column;
        (self.out[at], self.indices[at])
    }

    fn set(&mut self, node: usize, (x, index): (T, i64)) {
        let at = node * self.step + self.column;
        (self.out[at], self.indices[at]) = (x, index);
    }

    /// Moves a node of the first `count` down, past the children that come after it in order.
    fn sink(&mut self, mut node: usize, count: usize) {
        let entry = self.get(node);
        loop {
            let mut child = 2 * node + 1;
            if child >= count {
                break;
            }
            if child + 1 < count && self.is_before(self.get(child), self.get(child + 1)) {
                child += 1;
            }
            if !self.is_before(entry, self.get(child)) {
                break;
            }
            self.set(node, self.get(child));
            node = child;
        }
        self.set(node, entry);
    }

    /// Whether `x` comes before `y`. Among equal elements, the lower index comes first. NaN is larger than all numbers.
    fn is_before(&self, (x, i): (T, i64), (y, j): (T, i64)) -> bool {
        let is_number = |x: T| x.partial_cmp(&x).is_some();
        let larger = |x: T, y: T| x > y || (!is_number(x) && is_number(y));
        let (first, second) = if self.largest { (x, y) } else { (y, x) };
        larger(first, second) || (!larger(second, first) && i < j)
    }
}
