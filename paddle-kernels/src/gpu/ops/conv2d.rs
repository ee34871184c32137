//! `conv2d`, its gradients and its transpose: products of matrices whose elements are taken from images as they are needed.

use paddle_core::ops::{Conv2d, Conv2dGrad, Conv2dGradKind, Conv2dTranspose};
use paddle_core::plan::{Extent, Unsupported};

use super::library::Rounded;
use super::{Compile, library};
use crate::gpu::form::{Float, Register, Truth, Unsigned, scalar};
use crate::gpu::index::position;
use crate::gpu::kernel::{Conv2dKind, Convolution, Kernel, LibraryCall, unsupported};
use crate::gpu::tensor::{Call, Tensor};
use crate::gpu::tiles::Product;

/// The elements of filters up to which their gradient is computed by our own kernel in any case.
const FEW_FILTERS: usize = 4096;

/// The sizes of a convolution: of images `[N, C, H, W]`, filters `[M, C / groups, h, w]`, and results.
struct Sizes {
    images: [Extent; 4],
    filters: [Extent; 4],
    results: [Extent; 4],
    /// Filters of a group.
    of_group: usize,
    stride: [u32; 2],
    dilation: [u32; 2],
    /// Zeros above and to the left.
    before: [u32; 2],
    groups: usize,
    /// Whether there are as many zeros below and to the right.
    is_even: bool,
}

fn four(shape: &[Extent]) -> Result<[Extent; 4], Unsupported> {
    shape.try_into().or_else(|_| unsupported("convolutions whose values have other than four axes"))
}

fn fixed(extent: Extent) -> Result<usize, Unsupported> {
    match extent {
        Extent::Fixed(size) => Ok(size),
        Extent::Bound(_) => unsupported("convolutions of images whose size is not known"),
    }
}

impl Sizes {
    fn new(
        conv: &Conv2d,
        images: &[Extent],
        filters: &[Extent],
        results: &[Extent],
    ) -> Result<Self, Unsupported> {
        let (images, filters, results) = (four(images)?, four(filters)?, four(results)?);
        let window = conv.window([fixed(filters[2])? as i64, fixed(filters[3])? as i64]);
        let around = [window.around(0, fixed(images[2])?), window.around(1, fixed(images[3])?)];
        let groups = conv.groups as usize;
        Ok(Sizes {
            images,
            filters,
            results,
            of_group: fixed(filters[0])? / groups,
            stride: window.stride.map(|stride| stride as u32),
            dilation: window.dilation.map(|dilation| dilation as u32),
            before: around.map(|[before, _]| before as u32),
            groups,
            is_even: around.iter().all(|[before, behind]| before == behind),
        })
    }

    /// The convolution as the device's library takes it; none if it has none, or takes other convolutions.
    fn by_library(&self, call: Call<'_>, of: Conv2dKind, factors: [usize; 2]) -> Option<LibraryCall> {
        (call.abilities.convolutions && self.is_even).then(|| {
            LibraryCall::Convolution(Convolution {
                of,
                factors: library::factors(call, factors),
                to: library::result(call),
                images: self.images,
                filters: self.filters,
                results: self.results,
                before: self.before,
                stride: self.stride,
                dilation: self.dilation,
                groups: self.groups as u32,
                precision: call.group.precision,
            })
        })
    }

    fn groups(&self) -> Vec<Extent> {
        vec![Extent::Fixed(self.groups)]
    }

    /// The element of the images below a tap of the window at a position, along an axis; and whether there is one.
    fn below(&self, axis: usize, at: Unsigned, tap: Unsigned) -> (Unsigned, Truth) {
        let u = Unsigned::of;
        let padded = at * u(self.stride[axis]) + tap * u(self.dilation[axis]);
        // Below zero it wraps around, and is too large.
        let place = padded - u(self.before[axis]);
        (place, place.less(scalar(&[self.images[2 + axis]])))
    }

    /// The position of a window whose tap is above an element, along an axis; and whether there is one.
    fn above(&self, axis: usize, element: Unsigned, tap: Unsigned) -> (Unsigned, Truth) {
        let u = Unsigned::of;
        let padded = element + u(self.before[axis]);
        let reach = tap * u(self.dilation[axis]);
        let distance = padded - reach;
        let at = distance / u(self.stride[axis]);
        let is_whole = (at * u(self.stride[axis])).is(distance) & !padded.less(reach);
        (at, is_whole & at.less(scalar(&[self.results[2 + axis]])))
    }
}

/// The element at a position, or 0 where there is none.
fn if_there(from: &Tensor, is_there: Truth, index: Unsigned) -> Float {
    let value = from.float(Unsigned::choose(is_there, index, Unsigned::of(0)));
    Float::choose(is_there, value, Float::constant(0.0))
}

fn at(shape: &[Extent; 4], place: [Unsigned; 4]) -> Unsigned {
    place.iter().zip(shape).fold(Unsigned::of(0), |flat, (&place, &size)| flat * scalar(&[size]) + place)
}

/// Results from images and filters.
fn forward(call: Call<'_>, sizes: &Sizes) -> Kernel {
    let Sizes { images, filters, results, .. } = sizes;
    let by_library = sizes.by_library(call, Conv2dKind::Results, [0, 1]);
    let product = Product {
        m: vec![results[0], results[2], results[3]],
        n: vec![Extent::Fixed(sizes.of_group)],
        k: filters[1..].to_vec(),
        matrices: sizes.groups(),
        precision: call.group.precision,
        by_terms: [false, true],
        has_library: by_library.is_some(),
    };
    library::compile(call, by_library, ([0, 1], Rounded::Single), |kernel, store| {
        product.stages(kernel, call.scratch_number(0), |stage| {
            let (x, w) = (call.input(0), call.input(1));
            let of_x = |group: Unsigned, row: Unsigned, term: Unsigned| {
                let (place, tap) = (position(row, &product.m), position(term, &product.k));
                let ((y, has_y), (x_, has_x)) =
                    (sizes.below(0, place[1], tap[1]), sizes.below(1, place[2], tap[2]));
                let channel = group * scalar(&[filters[1]]) + tap[0];
                if_there(&x, has_y & has_x, at(images, [place[0], channel, y, x_]))
            };
            let filter =
                |group: Unsigned, column: Unsigned| group * Unsigned::of(sizes.of_group as u32) + column;
            let of_w = |group, column, term| w.float(filter(group, column) * scalar(&filters[1..]) + term);
            stage.write(&of_x, &of_w, &|group, row, column, sum| {
                let place = position(row, &product.m);
                store(at(results, [place[0], filter(group, column), place[1], place[2]]), sum);
            });
        })
    })
}

/// What results give to images: operand `grad` is of the results. It is also what a transposed convolution computes.
fn backward(call: Call<'_>, sizes: &Sizes, grad: usize) -> Kernel {
    let Sizes { images, filters, results, .. } = sizes;
    let by_library = sizes.by_library(call, Conv2dKind::Images, [1, grad]);
    let product = Product {
        m: vec![images[0], images[2], images[3]],
        n: vec![filters[1]],
        k: vec![Extent::Fixed(sizes.of_group), filters[2], filters[3]],
        matrices: sizes.groups(),
        precision: call.group.precision,
        by_terms: [false, false],
        has_library: by_library.is_some(),
    };
    library::compile(call, by_library, ([1, grad], Rounded::Single), |kernel, store| {
        product.stages(kernel, call.scratch_number(0), |stage| {
            let (grad, w) = (call.input(grad), call.input(1));
            let filter =
                |group: Unsigned, number: Unsigned| group * Unsigned::of(sizes.of_group as u32) + number;
            let of_grad = |group: Unsigned, row: Unsigned, term: Unsigned| {
                let (place, tap) = (position(row, &product.m), position(term, &product.k));
                let ((y, has_y), (x, has_x)) =
                    (sizes.above(0, place[1], tap[1]), sizes.above(1, place[2], tap[2]));
                if_there(&grad, has_y & has_x, at(results, [place[0], filter(group, tap[0]), y, x]))
            };
            let of_w = |group, channel, term| {
                let tap = position(term, &product.k);
                w.float(at(filters, [filter(group, tap[0]), channel, tap[1], tap[2]]))
            };
            stage.write(&of_grad, &of_w, &|group, row, column, sum| {
                let place = position(row, &product.m);
                let channel = group * scalar(&[filters[1]]) + column;
                store(at(images, [place[0], channel, place[1], place[2]]), sum);
            });
        })
    })
}

/// The gradient of the filters.
fn of_filters(call: Call<'_>, sizes: &Sizes) -> Kernel {
    let Sizes { images, filters, results, .. } = sizes;
    // The terms of few elements are shared by our own kernel, which is faster than cuDNN's that give the same bits in every run.
    let is_small = filters.iter().try_fold(1, |size, &extent| Some(size * fixed(extent).ok()?));
    let by_library = match is_small.is_some_and(|size| size <= FEW_FILTERS) {
        true => None,
        false => sizes.by_library(call, Conv2dKind::Filters, [0, 2]),
    };
    let product = Product {
        m: vec![Extent::Fixed(sizes.of_group)],
        n: filters[1..].to_vec(),
        k: vec![results[0], results[2], results[3]],
        matrices: sizes.groups(),
        precision: call.group.precision,
        by_terms: [true, true],
        has_library: by_library.is_some(),
    };
    library::compile(call, by_library, ([0, 2], Rounded::Single), |kernel, store| {
        product.stages(kernel, call.scratch_number(0), |stage| {
            let (x, grad) = (call.input(0), call.input(2));
            let filter = |group: Unsigned, row: Unsigned| group * Unsigned::of(sizes.of_group as u32) + row;
            let of_grad = |group, row, term| {
                let place = position(term, &product.k);
                grad.float(at(results, [place[0], filter(group, row), place[1], place[2]]))
            };
            let of_x = |group: Unsigned, column: Unsigned, term: Unsigned| {
                let (place, tap) = (position(term, &product.k), position(column, &product.n));
                let ((y, has_y), (x_, has_x)) =
                    (sizes.below(0, place[1], tap[1]), sizes.below(1, place[2], tap[2]));
                let channel = group * scalar(&[filters[1]]) + tap[0];
                if_there(&x, has_y & has_x, at(images, [place[0], channel, y, x_]))
            };
            stage.write(&of_grad, &of_x, &|group, row, column, sum| {
                store(filter(group, row) * scalar(&filters[1..]) + column, sum);
            });
        })
    })
}

impl Compile for Conv2d {
    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(forward(call, &Sizes::new(self, call.shape(0), call.shape(1), call.out_shape(0))?))
    }
}

impl Compile for Conv2dTranspose {
    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        // The roles are exchanged: the convolution's images are the result, and its result is the input.
        Ok(backward(call, &Sizes::new(&self.conv(), call.out_shape(0), call.shape(1), call.shape(0))?, 0))
    }
}

impl Compile for Conv2dGrad {
    fn finishes(&self) -> bool {
        true
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let sizes = Sizes::new(&self.conv, call.shape(0), call.shape(1), call.shape(2))?;
        Ok(match self.of {
            Conv2dGradKind::Input => backward(call, &sizes, 2),
            Conv2dGradKind::Filter => of_filters(call, &sizes),
        })
    }
}
