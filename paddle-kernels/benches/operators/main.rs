//! How fast operators are on one core, each by itself: a line for each, of the best of ten rounds. It is the processor's
//! time that counts, so that other programs matter less.
//!
//! ```text
//! cargo bench -p paddle-kernels --bench operators -- [part of a name]…
//! ```
//!
//! Multiply-adds count as two operations; bytes are those of results and of operands that are read, each once.
//! `benches/NOTES.md` of the repository has what was measured.

mod images;
mod products;
mod rows;
mod sequences;
mod updates;

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use paddle_core::ops::{Program, Sample};
use paddle_core::plan::{
    ALIGNMENT, Backend, Extent, Group, GroupOp, HostSlice, Launch, Layout, Location, Memories, Memory,
    Operand, OperandType, Values,
};
use paddle_core::program::{DType, Dim, Type};
use paddle_kernels::Cpu;

/// How long each is launched again and again, and how long a round of launches is.
const TIME: Duration = Duration::from_millis(600);
const ROUND: Duration = Duration::from_millis(60);

/// An operator on operands of some sizes, what it is called, and what is counted.
struct Case {
    name: String,
    sample: Sample,
    work: Work,
    /// The operands that have their channels as the fastest axis: numbers of inputs, and behind these of outputs.
    last: &'static [usize],
}

/// What is counted.
enum Work {
    /// So many multiply-adds.
    Products(usize),
    /// What is read and written, once.
    Traffic,
    /// So many of something.
    Each(usize, &'static str),
    /// Nothing but the time.
    Time,
}

impl Case {
    fn products(name: String, sample: Sample, count: usize) -> Case {
        Case { name, sample, work: Work::Products(count), last: &[] }
    }

    fn traffic(name: String, sample: Sample) -> Case {
        Case { name, sample, work: Work::Traffic, last: &[] }
    }

    fn each(name: String, sample: Sample, count: usize, what: &'static str) -> Case {
        Case { name, sample, work: Work::Each(count, what), last: &[] }
    }

    /// The same with the channels as the fastest axis of these operands.
    fn channels_last(self, last: &'static [usize]) -> Case {
        Case { last, ..self }
    }

    fn time(name: String, sample: Sample) -> Case {
        Case { name, sample, work: Work::Time, last: &[] }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let parts: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let cpu = Cpu::with_threads(1)?;
    let families = [images::cases(), products::cases(), rows::cases(), sequences::cases(), updates::cases()];
    for Case { name, sample, work, last } in families.into_iter().flatten() {
        if parts.is_empty() || parts.iter().any(|part| name.contains(part)) {
            let (seconds, bytes) = measure(&cpu, &sample, last)?;
            let rate = match work {
                Work::Products(count) => format!("{:7.1} GFLOP/s", 2.0 * count as f64 / seconds / 1e9),
                Work::Traffic => format!("{:7.1} GB/s", bytes as f64 / seconds / 1e9),
                Work::Each(count, what) => format!("{:7.2} ns a {what}", seconds * 1e9 / count as f64),
                Work::Time => String::new(),
            };
            println!("{name:36} {:10.1} µs {rate}", seconds * 1e6);
        }
    }
    Ok(())
}

/// Seconds of a launch in the fastest round of the operator of a sample, and the bytes that it reads and writes.
fn measure(cpu: &Cpu, sample: &Sample, last: &[usize]) -> Result<(f64, usize), Box<dyn Error>> {
    let program = sample.program()?;
    let [operator] = &program.block(Program::GLOBAL).ops[..] else { return Err("one operator".into()) };
    let layouts = |vars: &[_]| vars.iter().map(|&var| layout(program.ty(var))).collect::<Option<Vec<_>>>();
    let mut inputs = layouts(program.inputs()).ok_or("sizes are known")?;
    let mut outputs = layouts(&operator.outputs).ok_or("sizes are known")?;
    for (_, ty) in inputs.iter_mut().chain(&mut outputs).enumerate().filter(|(i, _)| last.contains(i)) {
        ty.layout = Layout::channels_last();
    }
    let (mut sizes, mut slots, mut offsets) = (sample.row_counts(), sample.slots.clone(), Vec::new());
    let operation = operator.op.operation();
    for slot in operation.schema().offsets() {
        let of_input = sample.inputs[sample.slots[slot]].offsets().ok_or("a sample of sequences")?;
        slots.push(inputs.len());
        inputs.push(OperandType::new(DType::I64, vec![Extent::Bound(sizes.len())]));
        sizes.push(of_input.len());
        offsets.push(of_input);
    }
    let is_read =
        |input: usize| slots.iter().enumerate().any(|(k, &slot)| slot == input && operation.input(k).is_read);
    let (mut end, mut bytes, mut locations) = (0, 0, Vec::new());
    for (i, layout) in inputs.iter().chain(&outputs).enumerate() {
        locations.push(Location { memory: Memory::Arena, offset: end });
        let size = layout.elements(&sizes) * cpu.element_bytes(layout.dtype);
        bytes += if i >= inputs.len() || is_read(i) { size } else { 0 };
        end += size.next_multiple_of(ALIGNMENT);
    }
    let op = GroupOp {
        op: operator.op.clone(),
        inputs: slots.into_iter().map(Operand::Input).collect(),
        outputs: (0..outputs.len()).map(Operand::Output).collect(),
    };
    let (mut arena, mut queue) = (cpu.allocate(end)?, cpu.queue()?);
    for ((layout, location), input) in inputs.iter().zip(&locations).zip(&sample.inputs) {
        let (low, high) = input.range;
        let values =
            (0..layout.elements(&sizes)).map(|i| low + (high - low) * (i * 7919 % 1009) as f64 / 1009.0);
        match layout.dtype {
            DType::I64 => {
                let values: Vec<i64> = values.map(|value| value as i64).collect();
                cpu.upload(HostSlice::I64(&values), &mut arena, location.offset);
            }
            _ => {
                let values: Vec<f32> = values.map(|value| value as f32).collect();
                cpu.upload(HostSlice::F32(&values), &mut arena, location.offset);
            }
        }
    }
    for (offsets, location) in offsets.iter().zip(&locations[sample.inputs.len()..]) {
        cpu.upload(HostSlice::I64(offsets), &mut arena, location.offset);
    }
    let group = Group::of(op, inputs, outputs, 0);
    let own = &mut [arena, cpu.allocate(0)?, cpu.allocate(0)?, cpu.allocate(0)?];
    let mut memories = Memories::Of { own, parameters: Values::Read(&[]), states: &mut [] };
    let kernel = cpu.compile(&group).map_err(|error| error.message)?;
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < TIME {
        let (before, round, mut launches) = (processor_seconds(), Instant::now(), 0.0);
        while round.elapsed() < ROUND {
            let launch = Launch { sizes: &sizes, locations: &locations, seed: 0, number: 0, version: None };
            cpu.launch(&mut queue, &kernel, launch, black_box(&mut memories));
            cpu.finish(&mut queue).map_err(|fault| fault.error)?;
            launches += 1.0;
        }
        best = best.min((processor_seconds() - before) / launches);
    }
    Ok((best, bytes))
}

/// The seconds that this thread has worked, in steps of some milliseconds; on other systems than Linux, 0.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn layout(ty: &Type) -> Option<OperandType> {
    let rows = ty.rows.map(|rows| Extent::Bound(rows.0 as usize));
    let dims = ty.dims.iter().map(|dim: &Dim| Some(Extent::Fixed(usize::try_from(dim.constant()?).ok()?)));
    let shape = rows.map(Some).into_iter().chain(dims).collect::<Option<_>>()?;
    Some(OperandType::new(ty.dtype, shape))
}
