//! Every way to compute a convolution and its gradients, against the definition. Numbers are whole, so sums are exact.

use super::panels::Plane;
use super::*;
use crate::cpu::isa::Isa;
use crate::team::Team;

/// Images, groups, channels and filters of a group; height, width, stride, dilation, padding of images and filters.
type Case = ([usize; 4], [[usize; 2]; 5]);

const CASES: &[Case] = &[
    ([1, 1, 2, 3], [[3, 4], [2, 2], [1, 1], [1, 1], [1, 0]]),
    ([1, 2, 1, 5], [[4, 3], [1, 3], [2, 1], [1, 1], [0, 2]]),
    ([2, 1, 17, 1], [[1, 2], [1, 1], [1, 1], [1, 1], [0, 0]]),
];

/// Those that take too long in an interpreter.
const LARGE_CASES: &[Case] = &[
    ([2, 1, 3, 5], [[5, 4], [3, 2], [1, 1], [1, 1], [1, 1]]),
    ([1, 2, 2, 3], [[6, 7], [2, 3], [2, 3], [1, 2], [0, 2]]),
    ([3, 1, 1, 9], [[4, 5], [4, 4], [3, 1], [1, 1], [2, 1]]),
    ([1, 1, 2, 2], [[7, 3], [1, 3], [4, 2], [1, 1], [0, 1]]),
    ([2, 1, 20, 35], [[12, 12], [5, 5], [1, 1], [1, 1], [0, 0]]),
    ([2, 1, 16, 33], [[9, 40], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([1, 3, 4, 6], [[33, 8], [3, 3], [1, 1], [2, 2], [2, 2]]),
    ([1, 1, 2, 2], [[20, 20], [13, 13], [1, 1], [1, 1], [6, 6]]),
    ([1, 1, 33, 20], [[3, 300], [3, 1], [1, 1], [1, 1], [1, 0]]),
];

fn cases() -> impl Iterator<Item = Sizes> {
    let large = if cfg!(miri) { &[][..] } else { LARGE_CASES };
    CASES.iter().chain(large).map(
        |&([images, groups, channels, filters], [image, filter, strides, dilations, padding])| {
            let output = [0, 1].map(|axis| {
                let covered = (filter[axis] - 1) * dilations[axis] + 1;
                (image[axis] + 2 * padding[axis] - covered) / strides[axis] + 1
            });
            let [input, filter, output] =
                [image, filter, output].map(|[height, width]| Plane { height, width });
            Sizes { images, groups, channels, filters, input, filter, output, strides, dilations, padding }
        },
    )
}

/// Small whole numbers.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + seed) * 2654435761 % 11) as f64 - 5.0).collect()
}

/// Calls `meet` with the numbers of an image's, a filter's and a result's elements that meet.
fn meetings(s: &Sizes, mut meet: impl FnMut(usize, usize, usize)) {
    let (channels, filters) = (s.groups * s.channels, s.groups * s.filters);
    for image in 0..s.images {
        for filter in 0..filters {
            for (y, x) in (0..s.output.height).flat_map(|y| (0..s.output.width).map(move |x| (y, x))) {
                let result = ((image * filters + filter) * s.output.height + y) * s.output.width + x;
                for channel in 0..s.channels {
                    for (i, j) in (0..s.filter.height).flat_map(|i| (0..s.filter.width).map(move |j| (i, j)))
                    {
                        let down = (y * s.strides[0] + i * s.dilations[0]).checked_sub(s.padding[0]);
                        let right = (x * s.strides[1] + j * s.dilations[1]).checked_sub(s.padding[1]);
                        let (Some(down), Some(right)) = (down, right) else { continue };
                        if down >= s.input.height || right >= s.input.width {
                            continue;
                        }
                        let plane = image * channels + filter / s.filters * s.channels + channel;
                        let element = (plane * s.input.height + down) * s.input.width + right;
                        let weight =
                            ((filter * s.channels + channel) * s.filter.height + i) * s.filter.width + j;
                        meet(element, weight, result);
                    }
                }
            }
        }
    }
}

#[test]
fn every_way_computes_what_the_definition_says() {
    for s in cases() {
        let images = numbers(s.images * s.groups * s.channels * s.input.len(), 1);
        let filters = numbers(s.groups * s.filters * s.channels * s.filter.len(), 2);
        let grads = numbers(s.images * s.groups * s.filters * s.output.len(), 3);
        let mut out = vec![0.0; grads.len()];
        let (mut of_images, mut of_filters) = (vec![0.0; images.len()], vec![0.0; filters.len()]);
        meetings(&s, |image, filter, result| {
            out[result] += images[image] * filters[filter];
            of_images[image] += grads[result] * filters[filter];
            of_filters[filter] += images[image] * grads[result];
        });
        for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 2)]) {
            let machine = Machine { team: Team::new(threads).unwrap(), isa };
            let scratch = Scratch::default();
            let check = |name: &str, expected: &[f64], compute: &dyn Fn(&mut [f64]) -> bool| {
                let mut found = vec![f64::NAN; expected.len()];
                if compute(&mut found) {
                    assert!(found == expected, "{name} of {:?} by {}", s.input.len(), isa.name());
                }
            };
            let (m, c, v) = (&machine, &scratch, (&scratch, None));
            check("forward", &out, &|to| s.forward(m, v, [&images, &filters], to).is_ok());
            check("forward directly", &out, &|to| s.forward_directly(m, v, [&images, &filters], to).unwrap());
            check("images", &of_images, &|to| s.grad_input(m, v, [&filters, &grads], to).is_ok());
            check("images directly", &of_images, &|to| {
                s.grad_input_directly(m, v, [&filters, &grads], to).unwrap()
            });
            check("images scattered", &of_images, &|to| {
                s.scatter(m, &filters, &grads, to);
                true
            });
            check("filters", &of_filters, &|to| s.grad_filter(m, c, [&images, &grads], to).is_ok());
            check("filters directly", &of_filters, &|to| {
                s.grad_filter_directly(m, c, [&images, &grads], to).unwrap()
            });
        }
    }
}
