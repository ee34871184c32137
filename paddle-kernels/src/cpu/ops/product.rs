//! The operators `matmul_v2` and `contract`, computed by [`crate::cpu::matmul`]. In bf16 both factors are packed to pairs before, or
//! to the tiles of [`crate::cpu::amx`], which multiplies them, where the machine has them.
#![allow(unsafe_code, reason = "calls the matrix product")]

use std::sync::atomic::{AtomicU64, Ordering};

use paddle_core::memory::OutOfMemory;
use paddle_core::ops;
use paddle_core::ops::Contract;
use paddle_core::plan::{Extent, KernelError, Precision, Unsupported};

use super::Compile;
#[cfg(target_arch = "x86_64")]
use crate::cpu::amx;
use crate::cpu::epilogue::Finish;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::matmul::{Matmul, Packed};
use crate::cpu::number::Float;
use crate::cpu::operands::{Operands, Slot};
use crate::cpu::pairs::{Pair, Pairing, Way};
use crate::cpu::scratch::Scratch;
use crate::cpu::shared::Shared;
use crate::cpu::vector::Factor;

/// The largest number of axes that count matrices. No program comes near it.
const MOST_AXES: usize = 8;

/// No version.
const NEVER: u64 = u64::MAX;

struct Products {
    m: Vec<Extent>,
    n: Extent,
    k: Vec<Extent>,
    trans_a: bool,
    trans_b: bool,
    /// The axes that count products, outermost first. For each, whether the two factors have a matrix for each index.
    counted: Vec<(Extent, [bool; 2])>,
}

/// Products of numbers `T` as they are.
struct Exact<T> {
    products: Products,
    /// The second factor as kernels read it.
    packed: Scratch<T>,
    /// Whether it is a constant, which need not be packed for each launch.
    constant: bool,
    /// The version of the constant that a launch met last.
    met: AtomicU64,
}

/// Products of `f32` numbers that are rounded to bf16, or to sums of two such numbers.
struct Rounded {
    products: Products,
    precision: Precision,
    /// The factors in pairs, or the second one in tiles.
    pairs: [Scratch<Pair>; 2],
    /// Whether the factors are constants, which need not be packed for each launch.
    constant: [bool; 2],
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
        body(single, Products { m, n, k: vec![k], trans_a, trans_b, counted }, [x, y], out)
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
        let (m, k, trans_a, trans_b) = (vec![m], k.to_vec(), true, false);
        body(single, Products { m, n, k, trans_a, trans_b, counted: Vec::new() }, [x, y], out)
    }
}

fn body(
    single: &Single<'_>,
    products: Products,
    factors: [Slot; 2],
    out: Slot,
) -> Result<Compiled, Unsupported> {
    let dtype = factors[0].1.dtype;
    let body: Box<dyn Body> = match single.precision() {
        Precision::F32 => {
            let constant = single.is_constant(&factors[1]);
            with_float!(single, dtype, T => Box::new(Exact::<T> { products, packed: Scratch::default(), constant, met: AtomicU64::new(NEVER) }))
        }
        precision @ (Precision::Bf16 | Precision::Bf16x3) => {
            let constant = factors.each_ref().map(|factor| single.is_constant(factor));
            Box::new(Rounded { products, precision, pairs: Default::default(), constant })
        }
    };
    Ok((single.signature(factors, [out]), body))
}

impl<T: Float> Body for Exact<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (batch, finish) = (self.products.batch(operands.sizes()), operands.finish());
        let version = operands.version();
        let (reads, writes) = operands.split();
        let (from, c) = ([reads.get::<T>(0), reads.get::<T>(1)], writes.one::<T>());
        batch.check(from.map(<[T]>::len), c.len());
        match version.filter(|&version| self.is_met_again(version) && batch.repays_packing(machine)) {
            Some(version) => batch.run_packed(machine, from, (&self.packed, version), c, finish)?,
            None => batch.run(machine, from, c, finish),
        }
        Ok(())
    }
}

impl<T> Exact<T> {
    /// Whether the second factor is a constant that a launch has met before. One that is trained changes with each launch, and is not packed
    /// as a whole.
    fn is_met_again(&self, version: u64) -> bool {
        self.constant && self.met.swap(version, Ordering::Relaxed) == version
    }
}

impl Body for Rounded {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (batch, finish) = (self.products.batch(operands.sizes()), operands.finish());
        let version = operands.version();
        let (reads, writes) = operands.split();
        let (from, c) = ([reads.get::<f32>(0), reads.get::<f32>(1)], writes.one::<f32>());
        batch.check(from.map(<[f32]>::len), c.len());
        #[cfg(target_arch = "x86_64")]
        if machine.isa.has_tiles() {
            let packed = (&self.pairs[1], version.filter(|_| self.constant[1]));
            let factors = match self.precision {
                Precision::Bf16x3 => amx::Factors::Sums,
                _ => amx::Factors::Numbers,
            };
            return Ok(batch.run_by_tiles(machine, (factors, from), packed, c, finish)?);
        }
        if self.precision == Precision::Bf16x3 {
            batch.run(machine, from, c, finish);
            return Ok(());
        }
        let halved = Batch { product: Matmul { k: batch.product.k.div_ceil(2), ..batch.product }, ..batch };
        let packed = |side: usize, work: &mut dyn FnMut(&[Pair])| -> Result<(), OutOfMemory> {
            let pairing = batch.pairing(side);
            let pack = |pairs: &mut [Pair]| pairing.pack(machine, from[side], pairs);
            let version = version.filter(|_| self.constant[side]);
            self.pairs[side].lend_made(pairing.pairs(), version, pack, |pairs| work(pairs))
        };
        let mut result = Ok(());
        packed(0, &mut |a| result = packed(1, &mut |b| halved.run(machine, [a, b], c, finish)))?;
        Ok(result?)
    }
}

/// The products of a launch.
#[derive(Clone, Copy)]
struct Batch {
    product: Matmul,
    count: usize,
    /// The matrices of each factor.
    held: [usize; 2],
    /// For the axes that count products, the innermost first: the size, and the distances in matrices of each factor.
    steps: [(usize, [usize; 2]); MOST_AXES],
    axes: usize,
}

impl Products {
    fn batch(&self, sizes: &[usize]) -> Batch {
        let size = |extents: &[Extent]| extents.iter().map(|extent| extent.get(sizes)).product();
        let (m, n, k): (usize, usize, usize) = (size(&self.m), self.n.get(sizes), size(&self.k));
        let (mut steps, mut count, mut held) = ([(1, [0, 0]); MOST_AXES], 1, [1, 1]);
        for (step, (extent, has)) in steps.iter_mut().zip(self.counted.iter().rev()) {
            let extent = extent.get(sizes);
            let own = |side: usize| if has[side] { held[side] } else { 0 };
            *step = (extent, [own(0), own(1)]);
            held = [0, 1].map(|side| if has[side] { held[side] * extent } else { held[side] });
            count *= extent;
        }
        let product = Matmul { m, n, k, trans_a: self.trans_a, trans_b: self.trans_b };
        Batch { product, count, held, steps, axes: self.counted.len() }
    }
}

impl Batch {
    /// Panics if the operands have other sizes.
    fn check(&self, [a, b]: [usize; 2], c: usize) {
        let Batch { product: Matmul { m, n, k, .. }, count, held, .. } = *self;
        let is = |len, count: usize, rows: usize, columns: usize| {
            count.checked_mul(rows).and_then(|rows| rows.checked_mul(columns)) == Some(len)
        };
        let fits = is(a, held[0], m, k) && is(b, held[1], k, n) && is(c, count, m, n);
        assert!(fits, "{count} products of {a} by {b} elements to {c}: {m} × {k} × {n}");
    }

    /// How a factor is packed to pairs along the inner dimension.
    fn pairing(&self, side: usize) -> Pairing {
        let Matmul { m, n, k, trans_a, trans_b } = self.product;
        let (lines, length, way) = match (side, trans_a, trans_b) {
            (0, false, _) => (m, k, Way::Along),
            (0, true, _) => (k, m, Way::Across),
            (_, _, false) => (k, n, Way::Across),
            (_, _, true) => (n, k, Way::Along),
        };
        Pairing { matrices: self.held[side], lines, length, way }
    }

    fn run<T: Factor>(&self, machine: &Machine, [a, b]: [&[T]; 2], c: &mut [T::Sum], finish: Finish<'_>) {
        let Batch { product, count, .. } = *self;
        let Matmul { m, n, k, .. } = product;
        let (from, to) = ([a.as_ptr(), b.as_ptr()], Shared(c.as_mut_ptr()));
        let starts = |index| {
            let [a, b] = self.factors(index);
            [a * m * k, b * k * n]
        };
        // SAFETY: the slices have as many matrices of these sizes as are counted, and C is borrowed exclusively.
        unsafe {
            match self.axes {
                0 if product.has_whole_rows::<T>(machine) => {
                    product.run(machine, from, to.0, false, &|rows, _| {
                        finish.part(to.at(0), rows.start * n..rows.end * n);
                    });
                    return;
                }
                0 => product.run(machine, from, to.0, false, &|_, _| {}),
                _ => product.run_many(machine, from, to.0, count, &starts),
            }
        }
        finish.all(&machine.team, c);
    }

    /// Whether products with one right factor are faster once it is packed. Few rows read it where it is, if its rows are rows in memory.
    fn repays_packing(&self, machine: &Machine) -> bool {
        let Matmul { m, n, trans_a, trans_b, .. } = self.product;
        let few = if trans_b { 1 } else { 16 };
        self.axes == 0 && !trans_a && m > few && n > 1 && !machine.multiplier.is_matrixmultiply(m, n)
    }

    fn run_packed<T: Float>(
        &self,
        machine: &Machine,
        [a, b]: [&[T]; 2],
        (scratch, version): (&Scratch<T>, u64),
        c: &mut [T],
        finish: Finish<'_>,
    ) -> Result<(), OutOfMemory> {
        let product = self.product;
        // SAFETY: B has the elements of the factor.
        let pack = |to: &mut [T]| unsafe { product.pack_right(machine, b.as_ptr(), to) };
        let work = |panels: &mut [T]| {
            let (to, n) = (Shared(c.as_mut_ptr()), product.n);
            let factors = (a.as_ptr(), Packed::new(panels, product.k));
            let is_whole = product.has_whole_rows::<T>(machine);
            // SAFETY: the slices are the matrices of this product, and C is borrowed exclusively.
            unsafe {
                product.run_packed(machine, factors, to.0, &|rows, _| {
                    if is_whole {
                        finish.part(to.at(0), rows.start * n..rows.end * n);
                    }
                });
            }
            if !is_whole {
                finish.all(&machine.team, c);
            }
        };
        scratch.lend_made(product.packed_len::<T>(), Some(version), pack, work)
    }

    #[cfg(target_arch = "x86_64")]
    fn run_by_tiles(
        &self,
        machine: &Machine,
        (factors, [left, b]): (amx::Factors, [&[f32]; 2]),
        (scratch, version): (&Scratch<Pair>, Option<u64>),
        c: &mut [f32],
        finish: Finish<'_>,
    ) -> Result<(), OutOfMemory> {
        let Batch { product, count, held, .. } = *self;
        let pack = |pairs: &mut [Pair]| amx::pack_right(machine, (&product, factors), held[1], b, pairs);
        let work = |right: &mut [Pair]| {
            let factors_of = &|index| self.factors(index);
            let products = amx::Products { product, factors, count, left, right, factors_of };
            let to = Shared(c.as_mut_ptr());
            // SAFETY: C is borrowed exclusively, and has as many products of these sizes; each part is finished once it is final.
            let is_finished =
                unsafe { products.run(machine, to.0, &|elements| finish.part(to.at(0), elements)) };
            if !is_finished {
                finish.all(&machine.team, c);
            }
        };
        scratch.lend_made(held[1] * amx::packed_len(&product, factors), version, pack, work)
    }

    /// The two factors of a product, by their numbers.
    fn factors(&self, index: usize) -> [usize; 2] {
        let (mut rest, mut factors) = (index, [0, 0]);
        for (extent, step) in &self.steps[..self.axes] {
            let at = rest % extent;
            rest /= extent;
            factors = [factors[0] + at * step[0], factors[1] + at * step[1]];
        }
        factors
    }
}
