//! Compares products with the chain of multiply-adds that defines them, and those by `matrixmultiply` with exact ones.

use std::fmt::Debug;

use super::*;
use crate::cpu::isa::{Isa, PORTABLE_IS_FUSED};
use crate::cpu::multiplier::Multiplier;
use crate::cpu::vector::Element;
use crate::team::Team;

trait Number: Element + Debug + Default + PartialEq + Into<f64> {
    const NAN: Self;
    const EPSILON: f64;
    fn small(value: i32) -> Self;
    fn mul_add(self, b: Self, c: Self, fused: bool) -> Self;
    fn bits(self) -> u64;
}

macro_rules! number {
    ($type:ident) => {
        impl Number for $type {
            const NAN: $type = $type::NAN;
            const EPSILON: f64 = $type::EPSILON as f64;
            fn small(value: i32) -> Self {
                value as $type / 37.0
            }
            fn mul_add(self, b: Self, c: Self, fused: bool) -> Self {
                if fused { $type::mul_add(self, b, c) } else { self * b + c }
            }
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    };
}
number!(f32);
number!(f64);

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn matrix<T: Number>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| T::small(self.below(401) as i32 - 200)).collect()
    }
}

fn multiply<T: Number>(product: Matmul, machine: &Machine, a: &[T], b: &[T], c: &mut [T], add: bool) {
    assert_eq!((a.len(), b.len()), (product.m * product.k, product.k * product.n));
    assert_eq!(c.len(), product.m * product.n);
    // SAFETY: the lengths are right, and `c` is borrowed exclusively.
    unsafe { product.run(machine, [a.as_ptr(), b.as_ptr()], c.as_mut_ptr(), add, &|_, _| {}) }
}

/// A machine of the best instruction set.
fn machine(threads: usize, multiplier: Multiplier) -> Machine {
    Machine { team: Team::new(threads).unwrap(), isa: Isa::available().next().unwrap(), multiplier }
}

/// Every instruction set with our kernels, and `matrixmultiply`, which chooses instructions by itself; each with several numbers of
/// threads.
fn machines() -> Vec<Vec<Machine>> {
    // Miri sees some of the small products on few threads: a million multiply-adds take it minutes.
    let threads: &[usize] = if cfg!(miri) { &[1, 2] } else { &[1, 2, 3, 7] };
    let own = Isa::available().map(|isa| {
        let machine =
            |&threads| Machine { team: Team::new(threads).unwrap(), isa, multiplier: Multiplier::Own };
        threads.iter().map(machine).collect()
    });
    let theirs = threads.iter().map(|&threads| machine(threads, Multiplier::Matrixmultiply)).collect();
    own.chain([theirs]).collect()
}

/// Compares a product with arithmetic in `f64` and, if it is ours, with the chain in the module's comment, bit for bit.
fn check<T: Number>(product: Matmul, random: &mut Random, machines: &[Vec<Machine>]) {
    let Matmul { m, n, k, trans_a, trans_b } = product;
    let (a, b) = (random.matrix::<T>(m * k), random.matrix::<T>(k * n));
    let a_at = |i, p| if trans_a { a[p * m + i] } else { a[i * k + p] };
    let b_at = |p, j| if trans_b { b[j * k + p] } else { b[p * n + j] };
    for (add, machines) in
        [false, true].into_iter().flat_map(|add| machines.iter().map(move |with| (add, with)))
    {
        let Machine { isa, multiplier, .. } = machines[0];
        let fused = isa.name() != "portable" || PORTABLE_IS_FUSED;
        // NaN shows if a product reads C although it does not add to it.
        let before = if add { random.matrix::<T>(m * n) } else { vec![T::NAN; m * n] };
        let mut first = before.clone();
        multiply(product, &machines[0], &a, &b, &mut first, add);
        for i in 0..m {
            for j in 0..n {
                let start = if add { before[i * n + j] } else { T::ZERO };
                let (mut chain, mut exact, mut size) = (start, start.into(), start.into().abs());
                for p in 0..k {
                    chain = a_at(i, p).mul_add(b_at(p, j), chain, fused);
                    let term = a_at(i, p).into() * b_at(p, j).into();
                    exact += term;
                    size += term.abs();
                }
                let found = first[i * n + j];
                assert!(
                    found.bits() == chain.bits() || multiplier != Multiplier::Own,
                    "{product:?} {isa:?} at {i}, {j}: {found:?}, not {chain:?}"
                );
                let error = (found.into() - exact).abs();
                let most = size * (k as f64 + 1.0) * T::EPSILON;
                assert!(error <= most, "{product:?} {isa:?} {multiplier:?} at {i}, {j}: error {error}");
            }
        }
        for machine in &machines[1..] {
            let mut other = before.clone();
            multiply(product, machine, &a, &b, &mut other, add);
            let same = first.iter().zip(&other).all(|(a, b)| a.bits() == b.bits());
            let threads = machine.team.threads();
            assert!(same, "{product:?} {isa:?} {multiplier:?} differs with {threads} threads");
        }
    }
}

fn check_all(shapes: impl IntoIterator<Item = [usize; 3]>) {
    let (machines, mut random) = (machines(), Random(1));
    let seen = |shape: &[usize; 3]| !cfg!(miri) || shape.iter().product::<usize>() < 2000;
    for [m, n, k] in shapes.into_iter().filter(seen).take(if cfg!(miri) { 6 } else { usize::MAX }) {
        for (trans_a, trans_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let product = Matmul { m, n, k, trans_a, trans_b };
            check::<f32>(product, &mut random, &machines);
            check::<f64>(product, &mut random, &machines);
        }
    }
}

#[test]
fn small_shapes() {
    let mut random = Random(2);
    let sizes = [0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 20, 31, 32, 33];
    check_all(std::array::from_fn::<_, 150, _>(|_| [(); 3].map(|()| sizes[random.below(sizes.len())])));
}

#[test]
fn vectors_and_edges() {
    check_all([
        [0, 5, 5],
        [5, 0, 5],
        [5, 5, 0],
        [0, 0, 0],
        [1, 1, 1],
        [1, 1, 900],
        [1, 130, 70],
        [130, 1, 70],
    ]);
    check_all([[20, 1, 13], [13, 1, 20], [2, 65, 1], [64, 10, 128], [7, 63, 5], [1, 47, 3], [1, 48, 3]]);
}

#[test]
fn shapes_of_many_tiles_and_deep_ones() {
    check_all([[70, 130, 20], [300, 40, 12], [1, 700, 190], [700, 1, 190], [9, 20, 800], [530, 9, 30]]);
}

/// Parts of both factors are packed where the first is stored as its transpose.
#[test]
#[cfg_attr(miri, ignore = "millions of multiply-adds")]
fn shapes_of_many_rows_and_columns() {
    check_all([[130, 140, 300], [200, 128, 130], [129, 70, 2100], [150, 530, 131]]);
}

/// Few rows read a right factor where it is that does not fit into the first-level cache.
#[test]
#[cfg_attr(miri, ignore = "millions of multiply-adds")]
fn shapes_of_few_rows() {
    check_all([[13, 100, 300], [64, 64, 260], [100, 176, 80], [31, 37, 520]]);
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic alone, on millions of numbers")]
fn tiles_cover_the_product_once() {
    let mut random = Random(3);
    for _ in 0..2000 {
        let [m, n, k] = [(); 3].map(|()| 1 << random.below(12)).map(|limit| random.below(limit));
        let product = Matmul { m, n, k, trans_a: false, trans_b: false };
        let threads = 1 + k % 9;
        let grids = [
            Grid::new::<f32>(m, n, k),
            Grid::of_matrices::<f32>([m, n, k], threads),
            product.grid_of_parts::<f32>(threads),
            product.grid_of_streams::<f32>(threads),
        ];
        for grid in grids {
            let mut covered = vec![0u8; m * n];
            for (rows, columns) in (0..grid.tiles()).map(|tile| grid.tile(tile)) {
                assert!(!rows.is_empty() && !columns.is_empty(), "{m} {n} {k}: {rows:?} {columns:?}");
                for i in rows {
                    covered[i * n..][columns.clone()].iter_mut().for_each(|count| *count += 1);
                }
            }
            assert!(covered.iter().all(|&count| count == 1), "{m} {n} {k}");
        }
    }
}

#[test]
fn work_is_cut_for_several_threads_when_it_pays() {
    let tiles = |m, n, k| Grid::new::<f32>(m, n, k).tiles();
    assert_eq!(tiles(20, 1, 13), 1);
    assert_eq!(tiles(64, 10, 128), 1);
    assert_eq!(tiles(64, 256, 784), 8);
    assert_eq!(tiles(64, 128, 256), 4);
    assert_eq!(tiles(784, 256, 64), 32);
    assert_eq!(tiles(64, 784, 256), 25);
    assert_eq!(tiles(4096, 10, 64), 16);
    let of_matrices = |m, n, k, threads| Grid::of_matrices::<f32>([m, n, k], threads).tiles();
    assert_eq!([1, 2, 3, 16].map(|threads| of_matrices(64, 256, 784, threads)), [4, 4, 8, 8]);
    let streamed = Matmul { m: 640, n: 1024, k: 256, trans_a: false, trans_b: false };
    assert_eq!([1, 2, 8].map(|threads| streamed.grid_of_streams::<f32>(threads).tiles()), [4, 4, 20]);
}

#[test]
fn every_tile_is_finished_once_it_is_final() {
    struct Shared(*mut f32);
    // SAFETY: the tiles that the threads write do not overlap.
    unsafe impl Sync for Shared {}
    let machines = [Multiplier::Own, Multiplier::Matrixmultiply].map(|multiplier| machine(3, multiplier));
    let shapes = match cfg!(miri) {
        true => [[20, 17, 8], [3, 4, 5], [40, 1, 50], [1, 40, 50], [6, 7, 0]],
        false => [[200, 70, 40], [3, 4, 5], [400, 1, 500], [1, 400, 500], [6, 7, 0]],
    };
    for ([m, n, k], machine) in
        shapes.into_iter().flat_map(|shape| machines.iter().map(move |on| (shape, on)))
    {
        let product = Matmul { m, n, k, trans_a: false, trans_b: false };
        let (a, b) = (vec![1.0f32; m * k], vec![1.0; k * n]);
        let mut c = vec![f32::NAN; m * n];
        let shared = &Shared(c.as_mut_ptr());
        // SAFETY: the lengths are right; `finish` touches its tile only.
        unsafe {
            product.run(machine, [a.as_ptr(), b.as_ptr()], c.as_mut_ptr(), false, &|rows, columns| {
                for (i, j) in rows.flat_map(|i| columns.clone().map(move |j| (i, j))) {
                    *shared.0.add(i * n + j) += 0.5;
                }
            });
        }
        assert!(c.iter().all(|&value| value == k as f32 + 0.5), "{product:?}");
    }
}

/// What multiplies shows in the bits of sums of many terms: `matrixmultiply` cuts them.
#[test]
fn each_multiplier_computes_what_it_says() {
    let (mut random, k) = (Random(4), 300);
    let machines =
        [Multiplier::Own, Multiplier::Matrixmultiply, Multiplier::ByShape].map(|by| machine(1, by));
    for (m, n, is_theirs) in [(8, 9, true), (7, 40, false), (40, 7, false), (40, 1, false)] {
        let (a, b) = (random.matrix::<f32>(m * k), random.matrix::<f32>(k * n));
        let product = Matmul { m, n, k, trans_a: false, trans_b: false };
        let [ours, theirs, by_shape] = machines.each_ref().map(|machine| {
            let mut c = vec![f32::NAN; m * n];
            multiply(product, machine, &a, &b, &mut c, false);
            c
        });
        assert_ne!(ours, theirs, "{product:?}");
        assert_eq!(by_shape, if is_theirs { theirs } else { ours }, "{product:?}");
    }
}

/// A right factor that is packed before gives the same bits.
#[test]
fn packed_factors_are_those_of_each_product() {
    let mut random = Random(6);
    let shapes = match cfg!(miri) {
        true => [[2, 3, 4], [3, 33, 5], [9, 17, 1]],
        false => [[2, 3, 4], [65, 77, 30], [130, 300, 401]],
    };
    for ([m, n, k], trans_b) in shapes.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
        let product = Matmul { m, n, k, trans_a: false, trans_b };
        let (a, b) = (random.matrix::<f32>(m * k), random.matrix::<f32>(k * n));
        for machine in machines().iter().flatten().filter(|machine| machine.multiplier == Multiplier::Own) {
            let [mut alone, mut found] = [(); 2].map(|()| vec![f32::NAN; m * n]);
            multiply(product, machine, &a, &b, &mut alone, false);
            let mut panels = vec![f32::NAN; product.packed_len::<f32>()];
            // SAFETY: the lengths are right, and `found` is borrowed exclusively.
            unsafe {
                product.pack_right(machine, b.as_ptr(), &mut panels);
                let factors = (a.as_ptr(), Packed::new(&panels, k));
                product.run_packed(machine, factors, found.as_mut_ptr(), &|_, _| {});
            }
            assert_eq!(found, alone, "{product:?} {:?}", machine.isa);
        }
    }
}

/// Products whose matrices begin anywhere in A and B, so many that threads share them.
#[test]
fn many_products_are_those_of_each() {
    let (count, [m, n, k]) = if cfg!(miri) { (5, [3, 4, 5]) } else { (70, [20, 30, 40]) };
    let mut random = Random(5);
    let (a, b) = (random.matrix::<f32>(count * m * k), random.matrix::<f32>(2 * k * n));
    let product = Matmul { m, n, k, trans_a: true, trans_b: false };
    let starts = |index: usize| [(count - 1 - index) * m * k, index % 2 * k * n];
    for machine in machines().iter().flatten() {
        let mut found = vec![f32::NAN; count * m * n];
        // SAFETY: A and B have these matrices, and `found` is borrowed exclusively.
        unsafe { product.run_many(machine, [a.as_ptr(), b.as_ptr()], found.as_mut_ptr(), count, &starts) };
        for (index, found) in found.chunks(m * n).enumerate() {
            let [a, b] = [&a[starts(index)[0]..][..m * k], &b[starts(index)[1]..][..k * n]];
            let mut alone = vec![f32::NAN; m * n];
            multiply(product, machine, a, b, &mut alone, false);
            assert_eq!(found, alone, "product {index} by {:?}", machine.multiplier);
        }
    }
}
