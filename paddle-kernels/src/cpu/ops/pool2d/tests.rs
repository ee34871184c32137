//! Pooling of channels that are neighbours against pooling of planes: the same numbers.

use paddle_core::ops::Padding;

use super::*;
use crate::cpu::epilogue::Finish;
use crate::cpu::isa::Isa;
use crate::team::Team;

/// Channels; height and width of images; those of windows, strides and paddings along both axes.
type Case = (usize, [usize; 2], [[i64; 2]; 3]);

const CASES: &[Case] = &[
    (3, [6, 72], [[3, 2], [3, 2], [0, 0]]),
    (2, [2, 27], [[2, 3], [2, 3], [0, 0]]),
    (2, [6, 9], [[2, 1], [2, 1], [0, 0]]),
    (20, [6, 4], [[2, 2], [2, 2], [0, 0]]),
    (3, [5, 7], [[3, 2], [2, 1], [1, 1]]),
    (17, [4, 5], [[1, 2], [3, 2], [0, 0]]),
];

/// Small whole numbers, of which some are equal.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + seed) * 2_654_435_761 % 5) as f64 - 2.0).collect()
}

/// Results, and gradients of images, of operands in row-major order; both in that order again.
fn pooled(pool: Pool, images: Images, results: Images, last: bool, team: &Team, isa: Isa) -> [Vec<f64>; 2] {
    let arranged = |of: Images, values: &[f64], to_last: bool| {
        let mut turned = values.to_vec();
        if last {
            Images { last: !to_last, ..of }.turn(team, values, &mut turned);
        }
        turned
    };
    let mut x = numbers(images.len(), 1);
    if pool.op.pooling_type == PoolKind::Max {
        x.iter_mut().step_by(7).for_each(|x| *x = f64::NAN);
    }
    let x = arranged(images, &x, true);
    let grad = arranged(results, &numbers(results.len(), 2), true);
    let [(mut out, of), (mut of_x, of_images)] = [results, images].map(|of| (vec![f64::NAN; of.len()], of));
    let [images, results] = [images, results].map(|images| Images { last, ..images });
    let forward = Pass::Forward { x: x.as_ptr(), out: out.as_mut_ptr() };
    let (x, x_images) = (x.as_ptr(), images);
    let backward = Pass::Backward { x, x_images, grad: grad.as_ptr(), out: of_x.as_mut_ptr() };
    for pass in [forward, backward] {
        Pooling { pool, images, results, pass }.run(isa, team, Finish::default());
    }
    [arranged(of, &out, false), arranged(of_images, &of_x, false)]
}

#[test]
fn channels_that_are_neighbours_are_pooled_like_planes() {
    let cases = CASES.iter().flat_map(|case| [PoolKind::Max, PoolKind::Avg].map(|kind| (case, kind)));
    for (&(channels, size, [window, strides, padding]), kind) in cases {
        let paddings = Padding::Explicit([padding[0], padding[0], padding[1], padding[1]]);
        let op = Pool2d { strides, paddings, ..Pool2d::of_size(kind, window) };
        let of_axis = |axis: usize| {
            (size[axis] + 2 * padding[axis] as usize - window[axis] as usize) / strides[axis] as usize + 1
        };
        let output = [of_axis(0), of_axis(1)];
        let pool = Pool { op, input: size, output };
        let images = Images { count: 2, channels, size, last: false };
        let results = Images { size: output, ..images };
        for isa in Isa::available() {
            let [one, two] = [1, 2].map(|threads| Team::new(threads).unwrap());
            let expected = pooled(pool, images, results, false, &one, isa);
            for team in [one, two] {
                let found = pooled(pool, images, results, true, &team, isa);
                // As text, so that NaN is equal to NaN.
                let [found, expected] = [&found, &expected].map(|all| format!("{all:?}"));
                assert_eq!(found, expected, "{op:?} of {images:?} by {}", isa.name());
            }
        }
    }
}
