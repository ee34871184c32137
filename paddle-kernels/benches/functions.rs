//! What an element of each element-wise operator costs through the executor, on each instruction set that this machine has:
//! a row for each operator, in nanoseconds, and in brackets how many times that of `relu` in the same column.
//!
//! ```text
//! cargo bench -p paddle-kernels --bench functions -- [part of a name]…
//! ```
//!
//! On one thread, of values that stay in the second level of caches; the best of many runs, as others use the machine too.
//! `benches/NOTES.md` of the repository has what was measured.

use std::env;
use std::error::Error;
use std::time::{Duration, Instant};

use paddle_core::ops::{Attribute, LossGrad, Number, Op, Sample, Unary, UnaryGrad, UnaryKind};
use paddle_core::plan::{Buffers, Executor, Feed, HostSlice, Part, Storage};
use paddle_core::program::DType;
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;

/// The elements of each operand.
const COUNT: usize = 1 << 14;
/// How long each operator runs again and again, and how often at least.
const TIME: Duration = Duration::from_millis(20);
const RUNS: usize = 5;

/// An operator, what it is called, and where its operands are.
struct Case {
    name: String,
    op: Op,
    ranges: Vec<(f64, f64)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let parts: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let isas: Vec<Isa> = Isa::available().collect();
    for dtype in [DType::F32, DType::F64] {
        let relu = nanoseconds(&isas, &sample(Unary::of(UnaryKind::Relu).into(), &[(-8.0, 8.0)], dtype))?;
        println!("| {dtype} |{}", isas.iter().map(|isa| format!(" {} |", isa.name())).collect::<String>());
        println!("|---|{}", "---|".repeat(isas.len()));
        for Case { name, op, ranges } in cases() {
            if parts.is_empty() || parts.iter().any(|part| name.contains(part)) {
                let found = nanoseconds(&isas, &sample(op, &ranges, dtype))?;
                let cells =
                    found.iter().zip(&relu).map(|(ns, relu)| format!(" {ns:.2} ({:.0}) |", ns / relu));
                println!("| {name} |{}", cells.collect::<String>());
            }
        }
        println!();
    }
    Ok(())
}

/// The element-wise operators on floating-point numbers: those that have samples, and the gradients of the tables. Of the
/// ones that differ in attributes only, those whose flags differ, as they choose a formula. Those whose operands cannot be
/// of one shape are left out.
fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for Sample { op, inputs, .. } in Op::samples() {
        let is_of_floats = !inputs.is_empty() && inputs.iter().all(|input| input.dtype == DType::F32);
        if !op.schema().effects.element_wise || !is_of_floats {
            continue;
        }
        let mut ranges: Vec<_> = inputs.iter().map(|input| input.range).collect();
        let grad = match &op {
            Op::Unary(unary) if op.effects().differentiable => {
                Some(Op::from(UnaryGrad { kind: unary.kind, coefficients: unary.coefficients }))
            }
            Op::Loss(loss) => Some(LossGrad { kind: loss.kind, coefficients: loss.coefficients }.into()),
            _ => None,
        };
        let mut push = |op: Op, ranges: &[(f64, f64)]| {
            let flags = op.attributes().into_iter().filter_map(|(name, attribute)| {
                (attribute == Attribute::Number(Number::Bool(true))).then(|| format!(" {name}"))
            });
            let name = op.name().to_owned() + &flags.collect::<String>();
            let takes_one_shape = sample(op.clone(), ranges, DType::F32).program().is_ok();
            if takes_one_shape && cases.iter().all(|other| other.name != name) {
                cases.push(Case { name, op, ranges: ranges.to_vec() });
            }
        };
        push(op, &ranges);
        if let Some(grad) = grad {
            ranges.push((-2.0, 2.0));
            push(grad, &ranges);
        }
    }
    cases
}

/// An operator on so many elements of this type from each range.
fn sample(op: Op, ranges: &[(f64, f64)], dtype: DType) -> Sample {
    let input = |sample: Sample, &(low, high): &(f64, f64)| {
        sample.dense(&[COUNT as i64]).within(low, high).dtype(dtype)
    };
    ranges.iter().fold(Sample::of(op), input)
}

/// What an element costs on each instruction set.
fn nanoseconds(isas: &[Isa], sample: &Sample) -> Result<Vec<f64>, Box<dyn Error>> {
    isas.iter().map(|&isa| measure(Cpu::with_isa(1, isa)?, sample)).collect()
}

fn measure(cpu: Cpu, sample: &Sample) -> Result<f64, Box<dyn Error>> {
    let mut parameters = Buffers::default();
    let mut executor = Executor::new(cpu, &sample.program()?, &Storage::new())?;
    let values = sample.inputs.iter().map(|input| {
        let (low, high) = input.range;
        (0..COUNT).map(|i| low + (high - low) * (i * 7919 % 1009) as f64 / 1009.0).collect()
    });
    let doubles: Vec<Vec<f64>> = values.collect();
    let floats: Vec<Vec<f32>> =
        doubles.iter().map(|values| values.iter().map(|&value| value as f32).collect()).collect();
    executor.begin(&|i| Feed {
        values: match sample.inputs[i].dtype {
            DType::F64 => HostSlice::F64(&doubles[i]),
            _ => HostSlice::F32(&floats[i]),
        },
        shape: &[COUNT],
        offsets: &[],
    })?;
    let (start, mut runs, mut best) = (Instant::now(), 0, Duration::MAX);
    while runs < RUNS || start.elapsed() < TIME {
        let before = Instant::now();
        executor.run(Part::Compute, &mut parameters)?;
        best = best.min(before.elapsed());
        runs += 1;
    }
    Ok(best.as_secs_f64() * 1e9 / COUNT as f64)
}
