//! Interpolation of images, and its gradient. Threads share the channels of all images, or rows of results where the channels
//! are the fastest axis.

mod neighbours;
mod planes;

use std::marker::PhantomData;

use paddle_core::ops::{Along, Interpolate, InterpolateGrad};
use paddle_core::plan::{KernelError, OperandType, Takes, Unsupported};

use super::Compile;
use crate::cpu::images::{Images, ImagesType};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;

/// The least number of elements that one thread computes at a time.
const PIECE: usize = 1 << 12;
/// Neighbouring results of a row whose places are found at once.
const COLUMNS: usize = 256;

/// Where an element of the result lies along an axis of the image, and the weights of the elements on both sides.
#[derive(Clone, Copy)]
struct Place<T> {
    first: usize,
    second: usize,
    weights: [T; 2],
}

impl<T: Float> Place<T> {
    #[inline(always)]
    fn of(along: &Along, at: usize) -> Place<T> {
        let between = along.between(at);
        let second = f64::from(between.weight);
        let weights = [T::of(1.0 - second), T::of(second)];
        Place { first: between.first, second: between.second, weights }
    }

    /// The places of some neighbours, from `first` on.
    #[inline(always)]
    fn some(along: &Along, first: usize, count: usize) -> [Place<T>; COLUMNS] {
        let mut places = [Place { first: 0, second: 0, weights: [T::ZERO; 2] }; COLUMNS];
        for (at, place) in places[..count].iter_mut().enumerate() {
            *place = Place::of(along, first + at);
        }
        places
    }

    /// Whether the element is one of the image.
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.weights[1] == T::ZERO
    }
}

/// The images of an operator, and the result of the forward pass.
#[derive(Clone)]
struct Shape {
    op: Interpolate,
    images: [ImagesType; 2],
}

impl Shape {
    fn new(single: &Single<'_>, op: &Interpolate, types: [&OperandType; 2]) -> Result<Shape, Unsupported> {
        match types.map(ImagesType::new) {
            [Some(input), Some(output)] => Ok(Shape { op: op.clone(), images: [input, output] }),
            _ => single.refuse("of values that are not images"),
        }
    }

    /// The images and the results of a launch, of which there are so many elements.
    fn get(&self, sizes: &[usize], elements: [usize; 2]) -> Sizes {
        let images = self.images.map(|images| images.get(sizes));
        let [input, output] = images;
        let alike = |of: Images| (of.count, of.channels, of.last);
        let is_expected = images.map(Images::len) == elements && alike(input) == alike(output);
        assert!(is_expected, "the shapes that were compiled");
        Sizes { input, output, along: self.op.along(input.size, output.size) }
    }
}

/// The sizes of a launch.
#[derive(Clone, Copy)]
struct Sizes {
    input: Images,
    output: Images,
    along: [Along; 2],
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for Interpolate {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let shape = Shape::new(single, self, [&x.1, &out.1])?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Forward::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let shape = &self.shape;
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let sizes = shape.get(sizes, [x.len(), out.len()]);
        match sizes.output.last {
            // There is nothing to lie between.
            _ if x.is_empty() => out.fill(T::ZERO),
            true => neighbours::forward(machine, &sizes, x, out),
            false => planes::forward(machine, &sizes, x, out),
        }
        Ok(())
    }
}

struct Backward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for InterpolateGrad {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (grad, out) = (single.input(1)?, single.output(0)?);
        let shape = Shape::new(single, &self.0, [&out.1, &grad.1])?;
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { shape, element: PhantomData }));
        Ok((single.signature([grad], [out]), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let shape = &self.shape;
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(0), writes.one::<T>());
        let sizes = shape.get(sizes, [out.len(), grad.len()]);
        match sizes.output.last {
            true => neighbours::backward(machine, &sizes, grad, out),
            false => planes::backward(machine, &sizes, grad, out),
        }
        Ok(())
    }
}
