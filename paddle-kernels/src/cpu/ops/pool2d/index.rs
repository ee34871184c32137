//! Maxima with their positions, of several channels side by side.

use std::marker::PhantomData;

use paddle_core::ops::MaxPool2dWithIndex;
use paddle_core::plan::{KernelError, Unsupported};

use super::columns::{ELEMENTS, Pool, WINDOWS};
use super::{Shape, channels_at_once};
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::ops::Compile;
use crate::cpu::pieces::pairs;
use crate::cpu::transpose::{LANES, side_by_side};

struct WithIndex<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for MaxPool2dWithIndex {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out, mask) = (single.input(0)?, single.output(0)?, single.output(1)?);
        let shape = Shape::new(single, self.pool(), [&x.1, &out.1])?;
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(WithIndex::<T> { shape, element: PhantomData }));
        Ok((single.signature([x], [out, mask]), body))
    }
}

impl<T: Float> Body for WithIndex<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (pool, _) = self.shape.get(operands.sizes());
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let (out, mask) = writes.two::<T, i32>();
        let [inputs, outputs] = [pool.input, pool.output].map(|[height, width]| height * width);
        assert_eq!(x.len() * outputs, out.len() * inputs, "as many channels");
        let at_once = channels_at_once(inputs);
        let piece = at_once * outputs;
        pairs(&machine.team, (out, piece), (mask, piece), &|index, out, mask| {
            let blocks = out.chunks_mut(LANES * outputs).zip(mask.chunks_mut(LANES * outputs));
            for (block, (out, mask)) in blocks.enumerate() {
                let (first, channels) = (index * at_once + block * LANES, out.len() / outputs);
                with_index(machine.isa, pool, &x[first * inputs..][..channels * inputs], out, mask);
            }
        });
        Ok(())
    }
}

dispatch! {
    fn with_index<const FUSED: bool, T: Float>(isa, pool: Pool, x: &[T], out: &mut [T], mask: &mut [i32]) {
        let [down, across] = pool.output;
        let (plane, results) = (pool.input[0] * pool.input[1], down * across);
        for columns in pool.columns() {
            for y in 0..down {
                let mut largest = [Largest::<T>::NONE; WINDOWS];
                let mut line = [[T::ZERO; LANES]; ELEMENTS];
                for row in pool.rows(y) {
                    for elements in columns.chunks() {
                        let line = &mut line[..elements.len()];
                        side_by_side(x, plane, row * pool.input[1] + elements.start, line);
                        for (at, part) in columns.parts(elements.clone()) {
                            for column in part {
                                let is_first = largest[at].places[0] < 0;
                                let place = row * pool.input[1] + column;
                                largest[at].take(is_first, &line[column - elements.start], place);
                            }
                        }
                    }
                }
                let planes = out.chunks_exact_mut(results).zip(mask.chunks_exact_mut(results));
                for (lane, (out, mask)) in planes.enumerate() {
                    let first = y * across + columns.first;
                    let places = out[first..].iter_mut().zip(&mut mask[first..]);
                    for (largest, (out, mask)) in largest[..columns.len].iter().zip(places) {
                        (*out, *mask) = (largest.values[lane], largest.places[lane]);
                    }
                }
            }
        }
    }
}

/// The largest elements of windows, and their positions.
#[derive(Clone, Copy)]
struct Largest<T> {
    values: [T; LANES],
    places: [i32; LANES],
}

impl<T: Float> Largest<T> {
    /// Of windows without elements.
    const NONE: Largest<T> = Largest { values: [T::ZERO; LANES], places: [-1; LANES] };

    /// Compares with the next element of each channel. The first of equal ones stays, and of those that cannot be compared.
    #[inline(always)]
    fn take(&mut self, is_first: bool, x: &[T; LANES], place: usize) {
        // Two loops, each of which becomes a comparison and a selection of registers.
        for ((place_of, before), x) in self.places.iter_mut().zip(&self.values).zip(x) {
            *place_of = if is_first || *x > *before { place as i32 } else { *place_of };
        }
        for (value, x) in self.values.iter_mut().zip(x) {
            *value = if is_first || *x > *value { *x } else { *value };
        }
    }
}
