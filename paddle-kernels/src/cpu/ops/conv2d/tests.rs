//! Every way to compute a convolution and its gradients, against the definition. Numbers are whole, so sums are exact, but for
//! those by tiles.

use super::panels::Plane;
use super::*;
use crate::cpu::epilogue::Finish;
use crate::cpu::isa::Isa;
use crate::cpu::multiplier::Multiplier;
use crate::team::Team;

/// Images, groups, channels and filters of a group; height, width, stride, dilation, padding of images and filters.
type Case = ([usize; 4], [[usize; 2]; 5]);

const CASES: &[Case] = &[
    ([1, 1, 2, 3], [[3, 4], [2, 2], [1, 1], [1, 1], [1, 0]]),
    ([1, 2, 1, 5], [[4, 3], [1, 3], [2, 1], [1, 1], [0, 2]]),
    ([1, 5, 1, 1], [[2, 3], [2, 2], [1, 1], [1, 1], [1, 0]]),
    ([1, 5, 1, 1], [[3, 4], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([2, 1, 17, 1], [[1, 2], [1, 1], [1, 1], [1, 1], [0, 0]]),
    ([1, 4, 2, 3], [[2, 3], [1, 2], [1, 1], [1, 1], [0, 1]]),
    ([2, 2, 3, 5], [[3, 5], [1, 1], [2, 3], [1, 1], [0, 0]]),
];

/// Those that take too long in an interpreter. The first few are for builds that are slow.
const LARGE_CASES: &[Case] = &[
    ([2, 1, 17, 19], [[7, 6], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([2, 21, 1, 1], [[5, 9], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([2, 6, 1, 2], [[8, 7], [3, 2], [2, 1], [1, 2], [1, 0]]),
    ([3, 1, 17, 37], [[8, 8], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([2, 2, 16, 8], [[9, 14], [3, 3], [1, 1], [1, 1], [0, 2]]),
    ([1, 1, 21, 9], [[11, 10], [5, 5], [1, 1], [1, 1], [2, 2]]),
    ([2, 1, 40, 48], [[7, 6], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([1, 16, 1, 1], [[9, 33], [5, 5], [2, 2], [1, 1], [2, 2]]),
    ([2, 1, 3, 5], [[5, 4], [3, 2], [1, 1], [1, 1], [1, 1]]),
    ([1, 2, 2, 3], [[6, 7], [2, 3], [2, 3], [1, 2], [0, 2]]),
    ([3, 1, 1, 9], [[4, 5], [4, 4], [3, 1], [1, 1], [2, 1]]),
    ([1, 1, 2, 2], [[7, 3], [1, 3], [4, 2], [1, 1], [0, 1]]),
    ([2, 1, 20, 35], [[9, 10], [5, 5], [1, 1], [1, 1], [0, 0]]),
    ([2, 1, 16, 33], [[9, 40], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([1, 3, 4, 6], [[33, 8], [3, 3], [1, 1], [2, 2], [2, 2]]),
    ([1, 1, 2, 2], [[20, 20], [13, 13], [1, 1], [1, 1], [6, 6]]),
    ([2, 1, 40, 70], [[11, 9], [1, 1], [1, 1], [1, 1], [0, 0]]),
    ([3, 2, 19, 33], [[7, 9], [1, 1], [2, 2], [1, 1], [0, 0]]),
    ([1, 1, 5, 300], [[1, 1], [1, 1], [1, 1], [1, 1], [0, 0]]),
    ([2, 21, 1, 1], [[9, 23], [3, 3], [2, 1], [1, 2], [0, 2]]),
    ([1, 16, 1, 1], [[3, 40], [3, 5], [1, 3], [1, 1], [2, 1]]),
    ([1, 1, 18, 20], [[3, 300], [3, 1], [1, 1], [1, 1], [1, 0]]),
    ([2, 1, 3, 8], [[9, 21], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([2, 1, 1, 20], [[12, 13], [5, 5], [1, 1], [1, 1], [0, 0]]),
    ([1, 1, 4, 9], [[8, 7], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([1, 18, 1, 1], [[11, 19], [3, 3], [1, 1], [1, 1], [1, 1]]),
    // Windows that overlap: in both rows at once, and in a single one; with borders as wide as windows; of several images that are far.
    ([1, 33, 1, 1], [[6, 5], [7, 7], [1, 1], [1, 1], [3, 3]]),
    ([2, 20, 1, 1], [[4, 5], [3, 3], [1, 1], [1, 1], [4, 5]]),
    ([2, 17, 1, 1], [[5, 6], [1, 3], [1, 1], [1, 1], [0, 1]]),
    ([1, 16, 1, 1], [[9, 11], [4, 5], [2, 2], [1, 1], [2, 2]]),
    ([1, 19, 1, 1], [[1, 2], [5, 3], [2, 2], [1, 1], [3, 1]]),
    ([2, 64, 1, 1], [[75, 71], [3, 3], [2, 2], [1, 1], [1, 1]]),
    // Gradients of filters over several images at once, of some of the channels at once.
    ([5, 1, 40, 33], [[4, 4], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([70, 1, 37, 20], [[4, 4], [4, 4], [2, 2], [1, 1], [1, 1]]),
    ([67, 2, 34, 6], [[2, 2], [2, 2], [1, 1], [1, 1], [0, 0]]),
    // Groups of few channels.
    ([1, 8, 8, 8], [[9, 40], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([2, 18, 4, 5], [[12, 9], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([1, 16, 9, 3], [[7, 8], [3, 2], [1, 2], [2, 1], [2, 0]]),
    ([2, 5, 2, 4], [[6, 7], [1, 1], [1, 1], [1, 1], [0, 0]]),
    ([1, 20, 15, 15], [[3, 70], [1, 3], [1, 1], [1, 1], [0, 1]]),
    // Several strips of an image, and several images of a strip.
    ([1, 1, 40, 5], [[40, 50], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([19, 1, 5, 18], [[4, 3], [3, 2], [1, 1], [1, 1], [1, 0]]),
    // Filters that are far: rows in pairs, and a single one; several strips; by tiles; of one element.
    ([1, 1, 180, 170], [[13, 13], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([1, 1, 170, 180], [[7, 7], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([1, 1, 190, 161], [[11, 11], [3, 3], [2, 2], [1, 1], [1, 1]]),
    ([1, 1, 180, 170], [[17, 7], [3, 3], [1, 1], [2, 2], [2, 2]]),
    ([1, 1, 90, 99], [[7, 7], [3, 3], [1, 1], [1, 1], [1, 1]]),
    ([1, 1, 530, 520], [[7, 7], [1, 1], [1, 1], [1, 1], [0, 0]]),
    // Gradients of images by the tiles of the results: several images at once; groups; borders; more tiles than are computed at once.
    ([5, 1, 20, 50], [[12, 12], [5, 5], [1, 1], [1, 1], [0, 0]]),
    ([2, 3, 34, 18], [[7, 10], [3, 3], [1, 1], [1, 1], [0, 0]]),
    ([3, 1, 33, 40], [[10, 9], [5, 5], [1, 1], [1, 1], [1, 0]]),
    ([1, 1, 70, 90], [[31, 26], [3, 3], [1, 1], [1, 1], [0, 0]]),
    // Elements that are in the same lines of the cache, of which there is a copy: of all channels; of a group, with strides; in parts.
    ([2, 1, 1024, 40], [[5, 7], [1, 1], [1, 1], [1, 1], [0, 0]]),
    ([1, 2, 512, 7], [[7, 9], [1, 1], [2, 2], [1, 1], [0, 0]]),
    ([1, 1, 4096, 3], [[7, 10], [1, 1], [1, 1], [1, 1], [0, 0]]),
];

fn cases() -> impl Iterator<Item = Sizes> {
    let large = match () {
        () if cfg!(miri) => &[],
        () if cfg!(slow) => &LARGE_CASES[..3],
        () => LARGE_CASES,
    };
    CASES.iter().chain(large).map(sizes)
}

fn sizes(
    &([images, groups, channels, filters], [image, filter, strides, dilations, padding]): &Case,
) -> Sizes {
    let output = [0, 1].map(|axis| {
        let covered = (filter[axis] - 1) * dilations[axis] + 1;
        (image[axis] + 2 * padding[axis] - covered) / strides[axis] + 1
    });
    let [input, filter, output] = [image, filter, output].map(|[height, width]| Plane { height, width });
    let last = [false; 2];
    Sizes { images, groups, channels, filters, input, filter, output, strides, dilations, padding, last }
}

/// Small whole numbers, whose sums of products are exact.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + seed) * 2654435761 % 11) as f32 - 5.0).collect()
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
        let layouts = [[false; 2], [true; 2], [false, true], [true, false]];
        for last in if cfg!(miri) { &layouts[..2] } else { &layouts[..] } {
            let s = Sizes { last: *last, ..s };
            check_all(&s, [&images, &filters, &grads], [&out, &of_images, &of_filters]);
        }
    }
}

#[test]
fn infinite_elements_are_in_the_gradients_of_the_elements_of_filters_that_meet_them() {
    let case = ([2, 20, 1, 1], [[5, 6], [3, 3], [1, 1], [1, 1], [1, 1]]);
    let s = Sizes { last: [true; 2], ..sizes(&case) };
    let mut images = numbers(s.images().len(), 1);
    // The first element of a channel, and the last one of another.
    (images[30], images[119]) = (f32::INFINITY, f32::NAN);
    let grads = numbers(s.results().len(), 3);
    let mut expected = vec![0.0; s.groups * s.filter.len()];
    meetings(&s, |image, filter, result| expected[filter] += images[image] * grads[result]);
    let (images, grads) = (arranged(s.images(), &images), arranged(s.results(), &grads));
    for isa in Isa::available() {
        let machine = Machine { team: Team::new(1).unwrap(), isa, multiplier: Multiplier::Own };
        let mut found = vec![0.0; expected.len()];
        s.grad_filter_side_by_side(&machine, &Scratch::default(), [&images, &grads], &mut found).unwrap();
        let are_same = |(a, b): (&f32, &f32)| a == b || a.is_nan() && b.is_nan();
        assert!(found.iter().zip(&expected).all(are_same), "{}: {found:?}, not {expected:?}", isa.name());
        assert!(found.iter().filter(|x| x.is_finite()).count() > found.len() * 9 / 10);
    }
}

/// The elements of images that are given in row-major order.
fn arranged(images: Images, elements: &[f32]) -> Vec<f32> {
    let mut turned = elements.to_vec();
    if images.last {
        images.turned().turn(&Team::new(1).unwrap(), elements, &mut turned);
    }
    turned
}

/// Compares all ways with results and gradients, which are in row-major order like the operands.
fn check_all(s: &Sizes, [images, filters, grads]: [&[f32]; 3], [out, of_images, of_filters]: [&[f32]; 3]) {
    let (images, grads) = (arranged(s.images(), images), arranged(s.results(), grads));
    let (out, of_images) = (arranged(s.results(), out), arranged(s.images(), of_images));
    // Teams do the same whatever the layouts.
    let threads = if s.last[0] == s.last[1] { 1..=2 } else { 2..=2 };
    for (isa, threads) in Isa::available().flat_map(|isa| threads.clone().map(move |threads| (isa, threads)))
    {
        let machine = Machine { team: Team::new(threads).unwrap(), isa, multiplier: Multiplier::Own };
        let scratch = Scratch::default();
        // Sums by tiles are rounded: those of numbers up to some thousands.
        let about = |name: &str, expected: &[f32], far: f32, compute: &dyn Fn(&mut [f32]) -> bool| {
            let mut found = vec![f32::NAN; expected.len()];
            if compute(&mut found) {
                let is_near = |(found, expected): (&f32, &f32)| (found - expected).abs() <= far;
                let all = found.iter().zip(expected).all(is_near);
                assert!(all, "{name} of {s:?} by {}", isa.name());
            }
        };
        let check = |name: &str, expected: &[f32], compute: &dyn Fn(&mut [f32]) -> bool| {
            about(name, expected, 0.0, compute);
        };
        const FAR: f32 = 0.1;
        let (m, c, v) = (&machine, &scratch, (&scratch, None));
        if s.is_direct::<f32>(Pass::Forward) || s.last == [false; 2] {
            about("forward", &out, FAR, &|to| {
                s.forward(m, v, [&images, filters], to, Finish::default()).is_ok()
            });
        }
        check("forward directly", &out, &|to| {
            s.forward_directly(m, v, [&images, filters], (to, Finish::default())).unwrap()
        });
        check("forward pointwise", &out, &|to| {
            s.forward_pointwise(m, v, [&images, filters], (to, Finish::default())).unwrap()
        });
        check("images pointwise", &of_images, &|to| {
            s.grad_input_pointwise(m, v, [filters, &grads], to).unwrap()
        });
        about("forward by tiles", &out, FAR, &|to| {
            s.forward_by_tiles(m, v, [&images, filters], (to, Finish::default())).unwrap()
        });
        about("images by tiles", &of_images, FAR, &|to| {
            s.grad_input_by_tiles(m, v, [filters, &grads], to).unwrap()
        });
        about("filters by tiles", of_filters, FAR, &|to| {
            s.grad_filter_by_tiles(m, c, [&images, &grads], to).unwrap()
        });
        #[cfg(target_arch = "x86_64")]
        if isa.has_tiles() {
            check_in_bf16(s, m, [&images, filters, &grads], &check, [&out, &of_images, of_filters]);
        }
        check("forward side by side", &out, &|to| {
            s.forward_side_by_side(m, v, [&images, filters], (to, Finish::default())).unwrap()
        });
        about("images", &of_images, FAR, &|to| s.grad_input(m, v, [filters, &grads], to).is_ok());
        check("images directly", &of_images, &|to| {
            s.grad_input_directly(m, v, [filters, &grads], to).unwrap()
        });
        check("images side by side", &of_images, &|to| {
            s.grad_input_side_by_side(m, v, [filters, &grads], to).unwrap()
        });
        check("images scattered", &of_images, &|to| s.scatter(m, v, [filters, &grads], to).is_ok());
        if s.is_direct::<f32>(Pass::Grad(Conv2dGradKind::Filter)) || s.last == [false; 2] {
            about("filters", of_filters, FAR, &|to| s.grad_filter(m, c, [&images, &grads], to).is_ok());
        }
        check("filters directly", of_filters, &|to| {
            s.grad_filter_directly(m, c, [&images, &grads], to).unwrap()
        });
        check("filters pointwise", of_filters, &|to| {
            s.grad_filter_pointwise(m, c, [&images, &grads], to).unwrap()
        });
        check("filters side by side", of_filters, &|to| {
            s.grad_filter_side_by_side(m, c, [&images, &grads], to).unwrap()
        });
    }
}

/// What checks a way of computing, by its name.
type Check<'a> = &'a dyn Fn(&str, &[f32], &dyn Fn(&mut [f32]) -> bool);

/// The numbers are such as bf16 has.
#[cfg(target_arch = "x86_64")]
fn check_in_bf16(
    s: &Sizes,
    m: &Machine,
    [images, filters, grads]: [&[f32]; 3],
    check: Check<'_>,
    [out, of_images, of_filters]: [&[f32]; 3],
) {
    let memory = amx::Memory::default();
    let is_computed = |is_computed: bool| {
        assert_eq!(is_computed, s.groups == 1 && s.last == [true; 2], "{s:?}");
        is_computed
    };
    check("forward in bf16", out, &|to| {
        let finish = Finish::default();
        is_computed(s.forward_in_bf16(m, (&memory, None), [images, filters], (to, finish)).unwrap())
    });
    check("images in bf16", of_images, &|to| {
        is_computed(s.grad_input_in_bf16(m, &memory, [filters, grads], to).unwrap())
    });
    check("filters in bf16", of_filters, &|to| {
        is_computed(s.grad_filter_in_bf16(m, &memory, [images, grads], to).unwrap())
    });
}

/// Numbers from -1 to 1.
fn fractions(count: usize, seed: usize) -> Vec<f64> {
    (0..count)
        .map(|i| ((i * 7919 + seed * 104_729) * 2_654_435_761 % 100_003) as f64 / 50_001.5 - 1.0)
        .collect()
}

/// The worst error of a result by tiles in `f32`, in units of rounding of the sum of the absolute values of its terms. By the
/// definition it is a few units at most, however many terms there are, since errors of both signs add up.
fn worst_by_tiles(case: &Case) -> [f64; 3] {
    type Pass<T> = fn(&Sizes, &Machine, [&[T]; 2], &mut [T]) -> bool;
    let s = Sizes { last: [true; 2], ..sizes(case) };
    let machine = Machine {
        team: Team::new(1).unwrap(),
        isa: Isa::available().next().unwrap(),
        multiplier: Multiplier::Own,
    };
    let counts = [s.images().len(), s.groups * s.filters * s.channels * s.filter.len(), s.results().len()];
    let [images, filters, grads] = [0, 1, 2].map(|k| fractions(counts[k], k));
    let by_tiles: [Pass<f32>; 3] = [
        |s, m, from, to| {
            s.forward_by_tiles(m, (&Scratch::default(), None), from, (to, Finish::default())).unwrap()
        },
        |s, m, from, to| s.grad_input_by_tiles(m, (&Scratch::default(), None), from, to).unwrap(),
        |s, m, from, to| s.grad_filter_by_tiles(m, &Scratch::default(), from, to).unwrap(),
    ];
    let exact: [Pass<f64>; 3] = [
        |s, m, from, to| {
            s.forward_directly(m, (&Scratch::default(), None), from, (to, Finish::default())).unwrap()
        },
        |s, m, from, to| s.scatter(m, (&Scratch::default(), None), from, to).is_ok(),
        |s, m, from, to| s.grad_filter_directly(m, &Scratch::default(), from, to).unwrap(),
    ];
    let operands = [[&images, &filters], [&filters, &grads], [&images, &grads]];
    let results = [counts[2], counts[0], counts[1]];
    [0, 1, 2].map(|pass| {
        let [a, b] = operands[pass].map(|operand| operand.as_slice());
        let of = |change: fn(f64) -> f64| {
            let [a, b] =
                [a, b].map(|operand| operand.iter().map(|x| change(*x as f32 as f64)).collect::<Vec<_>>());
            let mut result = vec![f64::NAN; results[pass]];
            assert!(exact[pass](&s, &machine, [&a, &b], &mut result));
            result
        };
        let (expected, scale) = (of(|x| x), of(f64::abs));
        let [a, b] = [a, b].map(|operand| operand.iter().map(|x| *x as f32).collect::<Vec<_>>());
        let mut found = vec![f32::NAN; results[pass]];
        if !by_tiles[pass](&s, &machine, [&a, &b], &mut found) {
            return 0.0;
        }
        let errors = found.iter().zip(&expected).zip(&scale);
        let unit = f64::from(f32::EPSILON) / 2.0;
        errors
            .map(|((found, expected), scale)| (f64::from(*found) - expected).abs() / (scale * unit))
            .fold(0.0, f64::max)
    })
}

#[test]
#[cfg_attr(any(miri, slow), ignore = "takes too long")]
fn tiles_are_accurate_in_single_precision() {
    for (case, most) in [
        (([2, 1, 16, 16], [[16, 16], [3, 3], [1, 1], [1, 1], [1, 1]]), 60.0),
        (([2, 1, 64, 64], [[8, 8], [3, 3], [1, 1], [1, 1], [1, 1]]), 60.0),
        (([2, 1, 20, 50], [[12, 12], [5, 5], [1, 1], [1, 1], [2, 2]]), 80.0),
        (([2, 1, 256, 32], [[14, 14], [3, 3], [1, 1], [1, 1], [1, 1]]), 60.0),
        // Gradients of images by the tiles of the results.
        (([2, 1, 20, 50], [[12, 12], [5, 5], [1, 1], [1, 1], [0, 0]]), 80.0),
        (([2, 1, 48, 40], [[14, 14], [3, 3], [1, 1], [1, 1], [0, 0]]), 60.0),
    ] {
        let worst = worst_by_tiles(&case);
        assert!(worst.iter().all(|&worst| worst <= most), "{case:?}: {worst:?} units");
    }
}
