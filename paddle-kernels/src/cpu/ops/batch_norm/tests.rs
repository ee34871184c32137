//! Neighbouring channels and planes, against the definition in double precision; bits on any number of threads.

use super::{Planes, Rows};
use crate::cpu::epilogue::Finish;
use crate::cpu::isa::Isa;
use crate::cpu::scratch::Scratch;
use crate::team::Team;

/// Some channels with elements of very different means.
fn elements(count: usize, channels: usize) -> Vec<f32> {
    let element = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 1009.0 + (at % channels) as f32 * 30.0;
    (0..count * channels).map(element).collect()
}

/// What is computed of rows of channels: mean, variance, and both sums of the gradient.
fn sums(rows: Rows, (isa, team): (Isa, &Team), x: &[f32], grad: &[f32]) -> [Vec<f32>; 4] {
    let mut all = [const { Vec::new() }; 4].map(|_: Vec<f32>| vec![f32::NAN; rows.channels]);
    let [mean, variance, of_bias, of_scale] = &mut all;
    let scratch = Scratch::default();
    rows.statistics((isa, team), &scratch, x, [mean, variance]).unwrap();
    rows.gradient_sums((isa, team), &scratch, [x, grad, mean], [of_bias, of_scale]).unwrap();
    all
}

#[test]
fn sums_are_those_of_the_definition() {
    let sizes: &[[usize; 2]] = match cfg!(any(miri, slow)) {
        true => &[[1, 1], [7, 3], [5, 21], [3, 70]],
        false => &[[1, 1], [7, 3], [300, 16], [513, 21], [100, 70], [9, 500]],
    };
    for &[count, channels] in sizes {
        let (x, grad) = (elements(count, channels), elements(count, channels));
        let of = |channel: usize| x[channel..].iter().step_by(channels).map(|x| f64::from(*x));
        for isa in Isa::available() {
            let rows = Rows { count, channels };
            let found = sums(rows, (isa, &Team::new(1).unwrap()), &x, &grad);
            let found_of = |k: usize, channel: usize| f64::from(found[k][channel]);
            for channel in 0..channels {
                let mean = of(channel).sum::<f64>() / count as f64;
                let squares = of(channel).map(|x| (x - mean) * (x - mean)).sum::<f64>();
                let near = |k: usize, expected: f64, scale: f64| {
                    let apart = (found_of(k, channel) - expected).abs();
                    assert!(
                        apart <= 1e-6 * scale,
                        "sum {k} of channel {channel} of {channels} by {}",
                        isa.name()
                    );
                };
                near(0, mean, 1.0 + mean.abs());
                near(1, squares / count as f64, 1.0 + mean.abs());
                near(2, of(channel).sum(), count as f64 * (1.0 + mean.abs()));
                let of_scale = of(channel).map(|x| x * (x - mean)).sum();
                near(3, of_scale, count as f64 * (1.0 + mean.abs()).powi(2));
            }
            for threads in if cfg!(any(miri, slow)) { 2..3 } else { 2..8 } {
                let others = sums(rows, (isa, &Team::new(threads).unwrap()), &x, &grad);
                assert!(others == found, "{threads} threads");
            }
        }
    }
}

#[test]
fn planes_give_what_neighbours_give() {
    let (count, channels, plane) = (3, 19, if cfg!(any(miri, slow)) { 9 } else { 35 });
    let x = elements(count * plane, channels);
    let turn = |from: &[f32]| -> Vec<f32> {
        let places = (0..count * channels * plane).map(|at| {
            let (rest, element) = (at / plane, at % plane);
            (rest / channels * plane + element) * channels + rest % channels
        });
        places.map(|place| from[place]).collect()
    };
    let of_channels: Vec<f32> = (0..channels).map(|channel| 1.0 + channel as f32 / 8.0).collect();
    let [a, b, c, d] = [&of_channels[..]; 4];
    for isa in Isa::available() {
        let team = Team::new(2).unwrap();
        let rows = Rows { count: count * plane, channels };
        let planes = Planes { rows: count, channels, plane };
        let (mut neighbours, mut others) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
        rows.normalise((isa, &team), &x, [a, b, c], (&mut neighbours, Finish::default()));
        planes.normalise((isa, &team), &turn(&x), [a, b, c], (&mut others, Finish::default()));
        let near = |found: &[f32], expected: &[f32]| {
            found.iter().zip(expected).all(|(x, y)| (x - y).abs() <= 1e-4 * (1.0 + y.abs()))
        };
        assert!(near(&turn(&neighbours), &others), "results by {}", isa.name());
        rows.gradients((isa, &team), [&x, &x], [a, b, c, d], &mut neighbours);
        planes.gradients((isa, &team), [&turn(&x), &turn(&x)], [a, b, c, d], &mut others);
        assert!(near(&turn(&neighbours), &others), "gradients by {}", isa.name());
    }
}
