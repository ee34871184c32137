//! What a backend can do at most, measured with the plans that everything else runs as.

use std::time::Duration;

use super::super::backend::{Backend, HostSlice};
use super::super::error::{PlanError, RunError};
use super::super::executor::{Executor, Feed, Part};
use super::super::storage::{Buffers, Storage};
use super::{Clock, PlanProfile};
use crate::memory::{OutOfMemory, try_vec};
use crate::ops::{Matmul, Op, Program, Scale};
use crate::program::{DType, Site, Type, VarId};

/// What a backend can do at most, in single precision: measured, not looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// The floating-point operations of a large matrix product per second.
    pub flops_per_second: f64,
    /// The bytes per second that a launch reads and writes, if they are more than caches hold.
    pub bytes_per_second: f64,
}

/// The least time of a product that is measured well; a larger one is not tried then. A card needs large ones to be busy.
const LONG_PRODUCT: Duration = Duration::from_millis(4);

/// Likewise of a copy, which has to be larger than caches.
const LONG_COPY: Duration = Duration::from_millis(12);

/// The runs of each size, of which the fastest counts.
const RUNS: usize = 4;

impl Peaks {
    /// Measures a backend, in some tenths of a second: a matrix product, and a copy. None if it cannot run them, if
    /// there is no memory for them, or if there is no [`Clock`].
    pub fn measure<B: Backend + Clone>(backend: &B) -> Option<Peaks> {
        let product = |n: usize| Trial {
            op: Matmul::PLAIN.into(),
            inputs: vec![[n, n]; 2],
            amount: 2.0 * (n as f64).powi(3),
        };
        let copy = |mib: usize| Trial {
            op: Scale { scale: 1.0, bias: 0.0 }.into(),
            inputs: vec![[mib << 8, 1 << 10]],
            amount: ((2 * mib) << 20) as f64,
        };
        let sizes = [64, 128, 256, 512, 1024, 2048, 4096];
        let of_products = rates(backend, sizes.map(product), LONG_PRODUCT);
        // The largest: smaller ones may have come from a cache.
        let bytes_per_second = rates(backend, [8, 32, 64].map(copy), LONG_COPY).pop()?;
        let flops_per_second = of_products.into_iter().max_by(f64::total_cmp)?;
        Some(Peaks { flops_per_second, bytes_per_second })
    }

    /// The least time of this many operations and bytes, whichever takes longer, in seconds: that of a launch of a few
    /// bytes is a part of a nanosecond, which a [`Duration`] would round to none.
    pub fn floor(&self, flops: u64, bytes: u64) -> f64 {
        (flops as f64 / self.flops_per_second).max(bytes as f64 / self.bytes_per_second)
    }
}

/// One operator over matrices of these sizes, and how much it computes or moves.
struct Trial {
    op: Op,
    inputs: Vec<[usize; 2]>,
    amount: f64,
}

/// What each trial does in a second, up to the first that takes long enough.
fn rates<B: Backend + Clone>(
    backend: &B,
    trials: impl IntoIterator<Item = Trial>,
    long_enough: Duration,
) -> Vec<f64> {
    let mut rates = Vec::new();
    for Trial { op, inputs, amount } in trials {
        let Ok(Some(Fastest { time, waited })) = fastest(backend, op, &inputs) else { break };
        rates.push(amount / time.as_secs_f64());
        if waited >= long_enough {
            break;
        }
    }
    rates
}

/// The fastest of some runs of an operator.
struct Fastest {
    time: Duration,
    /// By the host's clock, whatever the device has.
    waited: Duration,
}

/// The time of the fastest of some runs of an operator; none if there is no clock.
fn fastest<B: Backend + Clone>(
    backend: &B,
    op: Op,
    inputs: &[[usize; 2]],
) -> Result<Option<Fastest>, Unmeasured> {
    let mut program = Program::new();
    let matrix = |[rows, columns]: [usize; 2]| Type::new(DType::F32, [rows as i64, columns as i64]);
    let named = inputs.iter().zip(["x", "y"]);
    let operands: Vec<VarId> = named
        .map(|(&shape, name)| program.create_input(name, matrix(shape)))
        .collect::<Result<_, _>>()
        .map_err(|_| Unmeasured)?;
    let results = program.append_op(Program::GLOBAL, op, &operands, Site::default());
    let results = results.map_err(|_| Unmeasured)?;
    program.set_outputs(&results).map_err(|_| Unmeasured)?;
    let mut executor = Executor::new(backend.clone(), &program, &Storage::new())?;
    let elements = inputs.iter().map(|[rows, columns]| rows * columns).max().unwrap_or(0);
    let mut values: Vec<f32> = try_vec(elements)?;
    values.fill(0.5);
    executor.begin(&|k| {
        let [rows, columns] = inputs[k];
        Feed { values: HostSlice::F32(&values[..rows * columns]), shape: &inputs[k], offsets: &[] }
    })?;
    executor.begin_profile(Clock::start())?;
    for _ in 0..RUNS {
        executor.run(Part::Compute, &mut Buffers::default())?;
    }
    let Some(PlanProfile { events, parts, .. }) = executor.end_profile() else { return Ok(None) };
    let runs = events.chunks((events.len() / RUNS).max(1));
    let time = runs.map(|launches| launches.iter().map(|launch| launch.time).sum::<Duration>()).min();
    let waited = parts.iter().map(|part| part.time).min();
    let fastest = time.zip(waited).map(|(time, waited)| Fastest { time, waited });
    Ok(fastest.filter(|fastest| !fastest.time.is_zero()))
}

/// The reason does not matter: a profile is without peaks then.
struct Unmeasured;

impl From<PlanError> for Unmeasured {
    fn from(_: PlanError) -> Self {
        Unmeasured
    }
}

impl From<RunError> for Unmeasured {
    fn from(_: RunError) -> Self {
        Unmeasured
    }
}

impl From<OutOfMemory> for Unmeasured {
    fn from(_: OutOfMemory) -> Self {
        Unmeasured
    }
}
