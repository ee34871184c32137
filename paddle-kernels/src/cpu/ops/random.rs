//! `uniform_random`, `gaussian_random`, `truncated_gaussian_random`.

use std::marker::PhantomData;

use paddle_core::ops;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::random::Random;

/// Elements that one thread draws at a time.
const PIECE: usize = 1 << 10;

struct Draw<T> {
    stream: u64,
    distribution: Distribution,
    /// Whether an operand has the numbers of the rows.
    numbered: bool,
    element: PhantomData<T>,
}

#[derive(Clone, Copy)]
enum Distribution {
    Uniform { min: f64, max: f64 },
    Gaussian { mean: f64, std: f64 },
    TruncatedGaussian { mean: f64, std: f64 },
}

impl Compile for ops::UniformRandom {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile(single, Distribution::Uniform { min: self.min, max: self.max })
    }
}

impl Compile for ops::GaussianRandom {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile(single, Distribution::Gaussian { mean: self.mean, std: self.std })
    }
}

impl Compile for ops::TruncatedGaussianRandom {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        compile(single, Distribution::TruncatedGaussian { mean: self.mean, std: self.std })
    }
}

fn compile(single: &Single<'_>, distribution: Distribution) -> Result<Compiled, Unsupported> {
    let (rows, out) = (single.input(0).ok(), single.output(0)?);
    let (dtype, stream, numbered) = (out.1.dtype, single.random_stream(), rows.is_some());
    let body: Box<dyn Body> = with_float!(single, dtype, T => {
        Box::new(Draw::<T> { stream, distribution, numbered, element: PhantomData })
    });
    Ok(match rows {
        Some(rows) => (single.signature([rows], [out]), body),
        None => (single.signature([], [out]), body),
    })
}

impl<T: Drawn> Body for Draw<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let random = Random { seed: operands.seed(), stream: self.stream };
        let (reads, writes) = operands.split();
        let (numbers, out) = (if self.numbered { reads.get::<i64>(0) } else { &[0] }, writes.one::<T>());
        // Without numbers of rows, all elements form one row.
        let width = (out.len() / numbers.len().max(1)).max(1);
        pieces(&machine.team, out, PIECE, &|index, out| {
            let (mut row, mut column) = (index * PIECE / width, index * PIECE % width);
            let mut gaussians = random.gaussians();
            for out in out {
                let position = (numbers[row] as u64).wrapping_mul(width as u64).wrapping_add(column as u64);
                *out = match self.distribution {
                    Distribution::Uniform { min, max } => T::uniform(random, position, min, max),
                    Distribution::Gaussian { mean, std } => T::of(mean + std * gaussians(position)),
                    Distribution::TruncatedGaussian { mean, std } => {
                        T::of(mean + std * random.truncated_gaussian(position))
                    }
                };
                column += 1;
                if column == width {
                    (row, column) = (row + 1, 0);
                }
            }
        });
        Ok(())
    }
}

/// Element types differ in their rounding, which must not reach the upper bound.
trait Drawn: Float {
    fn uniform(random: Random, position: u64, min: f64, max: f64) -> Self;
}

impl Drawn for f32 {
    fn uniform(random: Random, position: u64, min: f64, max: f64) -> f32 {
        random.uniform_f32(position, min, max)
    }
}

impl Drawn for f64 {
    fn uniform(random: Random, position: u64, min: f64, max: f64) -> f64 {
        random.uniform(position, min, max)
    }
}
