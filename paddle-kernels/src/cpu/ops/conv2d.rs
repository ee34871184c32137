//! `conv2d`, its gradients, and its transpose, which is one of them.
//!
//! | | kernels |
//! | --- | --- |
//! | groups of few channels | `side_by_side`: a lane for each group |
//! | filters of one element, channels as the fastest axis | `pointwise`: products of what is there |
//! | filters of 3 by 3 or 5 by 5 elements, of stride 1 | `winograd`: products of transformed tiles |
//! | results; gradients of images | `correlate`: a few results for a few filters in registers, over all channels |
//! | gradients of filters | `gradient`: a few elements of a few filters in registers, over all results |
//! | gradients of images with few channels or wide borders | `scatter`: products, added to the elements of each window |
//! | filters that are too large for the others; all of `f64` | products of matrices, of which `panels` makes what is needed |
//!
//! The last takes images in row-major order, and `winograd` those with the channels as the fastest axis: where it saves more
//! than copies take, images are turned for it. All others take both. In bf16, `amx` multiplies where the machine has tiles
//! and they are faster than these kernels; elsewhere `rounded` leaves numbers as they are.
#![allow(unsafe_code, reason = "calls the matrix product")]

#[cfg(target_arch = "x86_64")]
mod amx;
mod axis;
mod correlate;
mod direct;
mod filters;
mod gradient;
mod panels;
mod pointwise;
mod product;
#[cfg(target_arch = "x86_64")]
mod rounded;
mod scatter;
mod side_by_side;
mod strips;
mod taps;
mod winograd;

use paddle_core::ops::{Conv2d, Conv2dGrad, Conv2dGradKind, Conv2dTranspose};
use paddle_core::plan::{Extent, KernelError, OperandType, Precision, Takes, Unsupported};
use paddle_core::program::DType;

use self::panels::{Elements, Plane, Slide, Windows};
#[cfg(target_arch = "x86_64")]
use self::rounded::Rounded;
use super::Compile;
use crate::cpu::epilogue::Finish;
use crate::cpu::images::{Images, ImagesType};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::matmul::{Grid, Operand, Product};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;
use crate::cpu::shared::Shared;

/// The result that is computed.
#[derive(Clone, Copy)]
enum Pass {
    Forward,
    Grad(Conv2dGradKind),
}

struct Convolution<T> {
    conv: Conv2d,
    pass: Pass,
    input: ImagesType,
    /// Filters, channels of a group, height, width.
    filter: [Extent; 4],
    output: ImagesType,
    /// Packed filters, or partial gradients of filters.
    scratch: Scratch<T>,
    /// Copies of operands in row-major order, for kernels that take no others.
    copies: Scratch<T>,
    /// Whether the filters are constants, which need not be packed for each launch.
    constant: bool,
}

/// How a convolution takes its operands: the filters, operand 1, are no images.
fn takes(operand: usize) -> Takes {
    if operand == 1 { Takes::RowMajor } else { Takes::Each }
}

impl Compile for Conv2d {
    fn prefers_channels_last(&self) -> bool {
        true
    }

    fn finishes(&self) -> bool {
        true
    }

    fn takes_channels_last(&self, operand: usize) -> Takes {
        takes(operand)
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (input, filter, output) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let layouts = [&input.1, &filter.1, &output.1];
        let constant = single.is_constant(&filter);
        let body = body(single, *self, Pass::Forward, layouts, constant)?;
        Ok((single.signature([input, filter], [output]), body))
    }
}

impl Compile for Conv2dGrad {
    fn prefers_channels_last(&self) -> bool {
        true
    }

    fn takes_channels_last(&self, operand: usize) -> Takes {
        // The gradient of the filters is operand 3.
        let is_filter = matches!(self.of, Conv2dGradKind::Filter) && operand == 3;
        if is_filter { Takes::RowMajor } else { takes(operand) }
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (input, filter, grad) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let out = single.output(0)?;
        // An operand that is not read says nothing about the layout.
        let (images, filters) = match self.of {
            Conv2dGradKind::Input => (&out.1, &filter.1),
            Conv2dGradKind::Filter => (&input.1, &out.1),
        };
        let (layouts, constant) = ([images, filters, &grad.1], single.is_constant(&filter));
        let body = body(single, self.conv, Pass::Grad(self.of), layouts, constant)?;
        let other = match self.of {
            Conv2dGradKind::Input => filter,
            Conv2dGradKind::Filter => input,
        };
        Ok((single.signature([other, grad], [out]), body))
    }
}

impl Compile for Conv2dTranspose {
    fn prefers_channels_last(&self) -> bool {
        true
    }

    fn finishes(&self) -> bool {
        true
    }

    fn takes_channels_last(&self, operand: usize) -> Takes {
        takes(operand)
    }

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
    let [input, filter, output] = layouts;
    let (Some(input), Some(output)) = (ImagesType::new(input), ImagesType::new(output)) else {
        return single.refuse("of values that are not images");
    };
    let Ok(filter) = <[Extent; 4]>::try_from(filter.shape.as_slice()) else {
        return single.refuse("by values that are not filters");
    };
    #[cfg(target_arch = "x86_64")]
    if dtype == DType::F32 && single.precision() == Precision::Bf16 {
        return Ok(Box::new(Rounded::new(Convolution::new(conv, pass, [input, output], filter, constant))));
    }
    Ok(with_float!(single, dtype, T => {
        Box::new(Convolution::<T>::new(conv, pass, [input, output], filter, constant))
    }))
}

/// A convolution in a launch.
#[derive(Clone, Copy, Debug)]
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
    /// Whether the channels of images, and those of results, are the fastest axis.
    last: [bool; 2],
}

impl<T: Float> Convolution<T> {
    /// The types are those of images and of results.
    fn new(
        conv: Conv2d,
        pass: Pass,
        [input, output]: [ImagesType; 2],
        filter: [Extent; 4],
        constant: bool,
    ) -> Self {
        let (scratch, copies) = (Scratch::default(), Scratch::default());
        Convolution { conv, pass, input, filter, output, scratch, copies, constant }
    }

    fn sizes(&self, sizes: &[usize]) -> Sizes {
        let (input, output) = (self.input.get(sizes), self.output.get(sizes));
        let [filters, channels, fh, fw] = self.filter.map(|extent| extent.get(sizes));
        let (images, [h, w], [oh, ow]) = (input.count, input.size, output.size);
        let last = [input.last, output.last];
        let groups = self.conv.groups as usize;
        let window = self.conv.window([fh as i64, fw as i64]);
        let planes = [[h, w], [fh, fw], [oh, ow]].map(|[height, width]| Plane { height, width });
        let [input, filter, output] = planes;
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
            last,
        }
    }
}

/// The operands of a launch, and what they are.
struct Call<'a, T> {
    sizes: Sizes,
    from: [&'a [T]; 2],
    out: &'a mut [T],
    /// The version of the filters, if they are constants.
    version: Option<u64>,
    finish: Finish<'a>,
}

impl<T: Float> Convolution<T> {
    fn call<'a>(&self, operands: Operands<'a>) -> Call<'a, T> {
        let s = self.sizes(operands.sizes());
        let (version, finish) = (operands.version().filter(|_| self.constant), operands.finish());
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
        Call { sizes: s, from: [first, second], out, version, finish }
    }

    fn compute(&self, machine: &Machine, call: Call<'_, T>) -> Result<(), KernelError> {
        let Call { sizes, from, out, version, finish } = call;
        let s = sizes.of_lines();
        let scratch = (&self.scratch, version);
        let run = |s: Sizes, finish: Finish<'_>, from: [&[T]; 2], out: &mut [T]| match self.pass {
            Pass::Forward => s.forward(machine, scratch, from, out, finish),
            Pass::Grad(Conv2dGradKind::Input) => {
                s.grad_input(machine, scratch, from, out)?;
                finish.all(&machine.team, out);
                Ok(())
            }
            Pass::Grad(Conv2dGradKind::Filter) => s.grad_filter(machine, &self.scratch, from, out),
        };
        let order = if s.is_worth_turning::<T>(machine.isa, self.pass) {
            true
        } else if s.last == [false; 2] || s.is_direct::<T>(self.pass) {
            return run(s, finish, from, out);
        } else {
            false
        };
        let run = |s, from: [&[T]; 2], out: &mut [T]| run(s, Finish::default(), from, out);
        self.in_order(machine, (s, order), from, out, run)?;
        finish.all(&machine.team, out);
        Ok(())
    }
}

impl<T: Float> Body for Convolution<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        self.compute(machine, self.call(operands))
    }
}

impl<T: Float> Convolution<T> {
    /// Runs a kernel that takes operands in one order only, which says whether channels are the fastest axis, on copies of those
    /// that are in the other.
    fn in_order(
        &self,
        machine: &Machine,
        (s, last): (Sizes, bool),
        [first, second]: [&[T]; 2],
        out: &mut [T],
        run: impl FnOnce(Sizes, [&[T]; 2], &mut [T]) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let (images, results) = (Some(s.images()), Some(s.results()));
        let operands = match self.pass {
            Pass::Forward => [images, None, results],
            Pass::Grad(Conv2dGradKind::Input) => [None, results, images],
            Pass::Grad(Conv2dGradKind::Filter) => [images, results, None],
        };
        let turned = operands.map(|images| images.filter(|images| images.last != last));
        let [a, b, c] = turned.map(|images| images.map_or(0, Images::len));
        self.copies.lend(a + b + c, |copies| {
            let (first_copy, rest) = copies.split_at_mut(a);
            let (second_copy, result) = rest.split_at_mut(b);
            let mut from = [first, second];
            if let Some(images) = turned[0] {
                images.turn(&machine.team, first, first_copy);
                from[0] = first_copy;
            }
            if let Some(images) = turned[1] {
                images.turn(&machine.team, second, second_copy);
                from[1] = second_copy;
            }
            let s = Sizes { last: [last; 2], ..s };
            match turned[2] {
                None => run(s, from, out),
                Some(images) => {
                    run(s, from, result)?;
                    images.turned().turn(&machine.team, result, out);
                    Ok(())
                }
            }
        })?
    }
}

impl Sizes {
    /// Windows of one element, one at every element, do not depend on lines, so all of them are taken as one line.
    fn of_lines(self) -> Sizes {
        let Sizes { input, filter, output, strides, .. } = self;
        match filter.len() == 1 && strides == [1, 1] && input == output {
            true => {
                let line = Plane { height: 1, width: input.len() };
                Sizes { input: line, output: line, ..self }
            }
            false => self,
        }
    }

    fn images(&self) -> Images {
        let Plane { height, width } = self.input;
        let channels = self.groups * self.channels;
        Images { count: self.images, channels, size: [height, width], last: self.last[0] }
    }

    fn results(&self) -> Images {
        let Plane { height, width } = self.output;
        let channels = self.groups * self.filters;
        Images { count: self.images, channels, size: [height, width], last: self.last[1] }
    }

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
        finish: Finish<'_>,
    ) -> Result<(), KernelError> {
        // The compiler makes no copy of what this constant excludes.
        if const { T::WIDE }
            && (self.forward_side_by_side(machine, scratch, [input, filter], (out, finish))?
                || self.forward_pointwise(machine, scratch, [input, filter], (out, finish))?
                || self.forward_by_tiles(machine, scratch, [input, filter], (out, finish))?
                || self.forward_directly(machine, scratch, [input, filter], (out, finish))?)
        {
            return Ok(());
        }
        let Machine { team, isa, .. } = machine;
        let (depth, windows) = (self.channels * self.filter.len(), self.output.len());
        let grid = Grid::new::<T>(self.filters, windows, depth);
        let shared = Shared(out.as_mut_ptr());
        team.run(self.images * self.groups * grid.tiles(), &|index| {
            let (image, tile) = (index / grid.tiles(), index % grid.tiles());
            let group = image % self.groups;
            let (rows, columns) = grid.tile(tile);
            let product = Product {
                k: depth,
                a: Operand { start: filter[group * self.filters * depth..].as_ptr(), row: depth, column: 1 },
                b: self.windows(image, input),
                c: shared.at(image * self.filters * windows),
                c_row: windows,
                accumulate: false,
            };
            // SAFETY: the tile is inside the result for this image and group, and no other overlaps it.
            unsafe { product.compute(*isa, rows, columns) };
        });
        finish.all(team, out);
        Ok(())
    }

    fn grad_input<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<(), KernelError> {
        // The compiler makes no copy of what this constant excludes.
        if const { T::WIDE }
            && (self.grad_input_side_by_side(machine, scratch, [filter, grad], out)?
                || self.grad_input_pointwise(machine, scratch, [filter, grad], out)?
                || self.grad_input_by_tiles(machine, scratch, [filter, grad], out)?
                || self.grad_input_directly(machine, scratch, [filter, grad], out)?)
        {
            return Ok(());
        }
        self.scatter(machine, scratch, [filter, grad], out)?;
        Ok(())
    }

    fn grad_filter<T: Float>(
        &self,
        machine: &Machine,
        scratch: &Scratch<T>,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<(), KernelError> {
        // The compiler makes no copy of what this constant excludes.
        if const { T::WIDE }
            && (self.grad_filter_side_by_side(machine, scratch, [input, grad], out)?
                || self.grad_filter_pointwise(machine, scratch, [input, grad], out)?
                || self.grad_filter_by_tiles(machine, scratch, [input, grad], out)?
                || self.grad_filter_directly(machine, scratch, [input, grad], out)?)
        {
            return Ok(());
        }
        let Machine { team, isa, .. } = machine;
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
