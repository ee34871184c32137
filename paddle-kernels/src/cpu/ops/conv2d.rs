//! `conv2d`, its gradients, and its transpose, which is one of them.
//!
//! | | kernels |
//! | --- | --- |
//! | groups of one channel | `depthwise`: neighbouring results from elements of one plane |
//! | results; gradients of images | `correlate`: a few results for a few filters in registers, over all channels |
//! | gradients of filters | `gradient`: a few elements of a few filters in registers, over all results |
//! | gradients of images with few channels or wide borders | `scatter`: products, added to the elements of each window |
//! | filters that are too large for the others | products of matrices, of which `panels` makes what is needed |
#![allow(unsafe_code, reason = "calls the matrix product")]

mod axis;
mod correlate;
mod depthwise;
mod direct;
mod filters;
mod gradient;
mod panels;
mod scatter;
mod strips;
mod taps;

use paddle_core::ops::{Conv2d, Conv2dGrad, Conv2dGradKind, Conv2dTranspose};
use paddle_core::plan::{Extent, KernelError, OperandType, Unsupported};

use self::panels::{Elements, Plane, Slide, Windows};
use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::matmul::{Grid, Operand, Product};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;

/// The result that is computed.
#[derive(Clone, Copy)]
enum Pass {
    Forward,
    Grad(Conv2dGradKind),
}

struct Convolution<T> {
    conv: Conv2d,
    pass: Pass,
    /// Images, channels, height, width.
    input: [Extent; 4],
    /// Filters, channels of a group, height, width.
    filter: [Extent; 4],
    /// Images, filters, height, width.
    output: [Extent; 4],
    /// Packed filters, or partial gradients of filters.
    scratch: Scratch<T>,
    /// Whether the filters are constants, which need not be packed for each launch.
    constant: bool,
}

impl Compile for Conv2d {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (input, filter, output) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let layouts = [&input.1, &filter.1, &output.1];
        let constant = single.is_constant(&filter);
        let body = body(single, *self, Pass::Forward, layouts, constant)?;
        Ok((single.signature([input, filter], [output]), body))
    }
}

impl Compile for Conv2dGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (input, filter, grad) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let out = single.output(0)?;
        let (layouts, constant) = ([&input.1, &filter.1, &grad.1], single.is_constant(&filter));
        let body = body(single, self.conv, Pass::Grad(self.of), layouts, constant)?;
        let other = match self.of {
            Conv2dGradKind::Input => filter,
            Conv2dGradKind::Filter => input,
        };
        Ok((single.signature([other, grad], [out]), body))
    }
}

impl Compile for Conv2dTranspose {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (input, filter, output) = (single.input(0)?, single.input(1)?, single.output(0)?);
        // The roles are exchanged: the convolution's images are the result, and its result is the input.
        let layouts = [&output.1, &filter.1, &input.1];
        let constant = single.is_constant(&filter);
        let body = body(single, self.conv(), Pass::Grad(Conv2dGradKind::Input), layouts, constant)?;
        Ok((single.signature([filter, input], [output]), body))
    }
}

fn body(
    single: &Single<'_>,
    conv: Conv2d,
    pass: Pass,
    layouts: [&OperandType; 3],
    constant: bool,
) -> Result<Box<dyn Body>, Unsupported> {
    let dtype = layouts[0].dtype;
    let [Some(input), Some(filter), Some(output)] =
        layouts.map(|layout| <[Extent; 4]>::try_from(layout.shape.as_slice()).ok())
    else {
        return single.refuse("of values that are not images");
    };
    Ok(with_float!(single, dtype, T => Box::new(Convolution::<T> {
        conv, pass, input, filter, output, scratch: Scratch::default(), constant,
    })))
}

/// A convolution in a launch.
#[derive(Clone, Copy)]
struct Sizes {
    images: usize,
    groups: usize,
    /// The channels of a group.
    channels: usize,
    /// The filters of a group.
    filters: usize,
    input: Plane,
    filter: Plane,
    output: Plane,
    strides: [usize; 2],
    dilations: [usize; 2],
    /// The padding above and on the left.
    padding: [usize; 2],
}

impl<T: Float> Convolution<T> {
    fn sizes(&self, sizes: &[usize]) -> Sizes {
        let get = |extents: [Extent; 4]| extents.map(|extent| extent.get(sizes));
        let ([images, _, h, w], [filters, channels, fh, fw]) = (get(self.input), get(self.filter));
        let [_, _, oh, ow] = get(self.output);
        let groups = self.conv.groups as usize;
        let window = self.conv.window([fh as i64, fw as i64]);
        let planes = [[h, w], [fh, fw], [oh, ow]].map(|[height, width]| Plane { height, width });
        let [mut input, filter, mut output] = planes;
        // Windows of one element, one at every element, do not depend on lines, so all of them are taken as one line.
        if filter.len() == 1 && window.stride == [1, 1] && [h, w] == [oh, ow] {
            [input, output] = [input, output].map(|plane| Plane { height: 1, width: plane.len() });
        }
        Sizes {
            images,
            groups,
            channels,
            filters: filters / groups,
            input,
            filter,
            output,
            strides: window.stride.map(|stride| stride as usize),
            dilations: window.dilation.map(|dilation| dilation as usize),
            padding: [window.around(0, h)[0], window.around(1, w)[0]],
        }
    }
}

impl<T: Float> Body for Convolution<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let s = self.sizes(operands.sizes());
        let version = operands.version().filter(|_| self.constant);
        let (reads, writes) = operands.split();
        let (first, second, out) = (reads.get::<T>(0), reads.get::<T>(1), writes.one::<T>());
        let images = s.images * s.groups * s.channels * s.input.len();
        let filters = s.groups * s.filters * s.channels * s.filter.len();
        let outputs = s.images * s.groups * s.filters * s.output.len();
        let expected = match self.pass {
            Pass::Forward => [images, filters, outputs],
            Pass::Grad(Conv2dGradKind::Input) => [filters, outputs, images],
            Pass::Grad(Conv2dGradKind::Filter) => [images, outputs, filters],
        };
        assert_eq!([first.len(), second.len(), out.len()], expected, "the shapes that were compiled");
        let (scratch, from) = ((&self.scratch, version), [first, second]);
        match self.pass {
            Pass::Forward => s.forward(machine, scratch, from, out),
            Pass::Grad(Conv2dGradKind::Input) => s.grad_input(machine, scratch, from, out),
            Pass::Grad(Conv2dGradKind::Filter) => s.grad_filter(machine, &self.scratch, from, out),
        }
    }
}

/// An output whose tiles threads write.
struct Shared<T>(*mut T);

// SAFETY: threads write tiles that do not overlap.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

impl Sizes {
    /// The windows of output element (y, x) along both axes.
    fn slides(&self) -> [Slide; 2] {
        [0, 1].map(|axis| Slide {
            step: self.strides[axis] as isize,
            tap: self.dilations[axis] as isize,
            start: -(self.padding[axis] as isize),
            divisor: 1,
        })
    }

    /// The windows over the channels of one group of an image. `at` counts the groups of all images.
    fn windows<'a, T: Float>(&self, at: usize, input: &'a [T]) -> Windows<'a, T> {
        let elements = self.channels * self.input.len();
        Windows {
            planes: &input[at * elements..][..elements],
            source: self.input,
            filter: self.filter,
            result: self.output,
            slides: self.slides(),
        }
    }

    fn forward<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [input, filter]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<(), KernelError> {
        if let Some(channel) = self.over_channels() {
            self.forward_alone(machine, channel, [input, filter], out);
            return Ok(());
        }
        if self.forward_directly(machine, scratch, [input, filter], out)? {
            return Ok(());
        }
        let Machine { team, isa } = machine;
        let (depth, windows) = (self.channels * self.filter.len(), self.output.len());
        let grid = Grid::new::<T>(self.filters, windows, depth);
        let out = Shared(out.as_mut_ptr());
        team.run(self.images * self.groups * grid.tiles(), &|index| {
            let (image, tile) = (index / grid.tiles(), index % grid.tiles());
            let group = image % self.groups;
            let (rows, columns) = grid.tile(tile);
            let product = Product {
                k: depth,
                a: Operand { start: filter[group * self.filters * depth..].as_ptr(), row: depth, column: 1 },
                b: self.windows(image, input),
                c: out.at(image * self.filters * windows),
                c_row: windows,
                accumulate: false,
            };
            // SAFETY: the tile is inside the result for this image and group, and no other overlaps it.
            unsafe { product.compute(*isa, rows, columns) };
        });
        Ok(())
    }

    fn grad_input<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<(), KernelError> {
        if let Some(channel) = self.over_gradients() {
            self.grad_input_alone(machine, channel, [filter, grad], out);
            return Ok(());
        }
        if self.grad_input_directly(machine, scratch, [filter, grad], out)? {
            return Ok(());
        }
        self.scatter(machine, filter, grad, out);
        Ok(())
    }

    fn grad_filter<T: Float>(
        &self,
        machine: &Machine,
        scratch: &Scratch<T>,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<(), KernelError> {
        if let Some(channel) = self.over_channels() {
            self.grad_filter_alone(machine, channel, [input, grad], out);
            return Ok(());
        }
        if self.grad_filter_directly(machine, scratch, [input, grad], out)? {
            return Ok(());
        }
        let Machine { team, isa } = machine;
        let (depth, windows) = (self.channels * self.filter.len(), self.output.len());
        if self.images == 0 {
            out.fill(T::ZERO);
            return Ok(());
        }
        let grid = Grid::new::<T>(self.filters, depth, self.images * windows);
        let out = Shared(out.as_mut_ptr());
        team.run(self.groups * grid.tiles(), &|index| {
            let (group, tile) = (index / grid.tiles(), index % grid.tiles());
            let (rows, columns) = grid.tile(tile);
            for image in 0..self.images {
                let at = image * self.groups + group;
                let product = Product {
                    k: windows,
                    a: Operand {
                        start: grad[at * self.filters * windows..].as_ptr(),
                        row: windows,
                        column: 1,
                    },
                    b: Elements(self.windows(at, input)),
                    c: out.at(group * self.filters * depth),
                    c_row: depth,
                    accumulate: image > 0,
                };
                // SAFETY: the tile is inside the filters of this group, and no other overlaps it.
                unsafe { product.compute(*isa, rows.clone(), columns.clone()) };
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
