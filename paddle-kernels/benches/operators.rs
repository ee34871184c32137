//! How fast operators are on one core, each by itself: a line for each, of the best of ten rounds. It is the processor's
//! time that counts, so that other programs matter less.
//!
//! ```text
//! cargo bench -p paddle-kernels --bench operators -- [part of a name]…
//! ```
//!
//! Multiply-adds count as two operations; bytes are those of operands and results, each once. `benches/NOTES.md` of the
//! repository has what was measured.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use paddle_core::ops::{
    BatchNorm, BatchNormGrad, Conv2d, Conv2dGrad, Conv2dGradKind, LayerNorm, LayerNormGrad, Matmul,
    MaxPool2dWithIndex, Padding, Pool2d, Pool2dGrad, PoolKind, Reduce, ReduceKind, Sample, Softmax,
    SoftmaxGrad,
};
use paddle_core::plan::{
    ALIGNMENT, Backend, Extent, Group, GroupOp, HostSlice, Launch, Layout, Location, Memory, Operand,
};
use paddle_core::program::{Dim, Program, Type};
use paddle_kernels::Cpu;

/// How long each is launched again and again, and how long a round of launches is.
const TIME: Duration = Duration::from_millis(600);
const ROUND: Duration = Duration::from_millis(60);

/// What is counted.
enum Work {
    /// So many multiply-adds.
    Products(usize),
    /// What is read and written, once.
    Traffic,
}

fn main() -> Result<(), Box<dyn Error>> {
    let parts: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let cpu = Cpu::with_threads(1)?;
    for (name, sample, work) in cases().into_iter().chain(of_rows_and_columns()) {
        if parts.is_empty() || parts.iter().any(|part| name.contains(part)) {
            let (seconds, bytes) = measure(&cpu, &sample)?;
            let rate = match work {
                Work::Products(count) => format!("{:7.1} GFLOP/s", 2.0 * count as f64 / seconds / 1e9),
                Work::Traffic => format!("{:7.1} GB/s", bytes as f64 / seconds / 1e9),
            };
            println!("{name:36} {:10.1} µs {rate}", seconds * 1e6);
        }
    }
    Ok(())
}

fn cases() -> Vec<(String, Sample, Work)> {
    let product = Sample::of(Matmul { trans_x: false, trans_y: false }).dense(&[512, 512]).dense(&[512, 512]);
    let mut cases = vec![("matmul 512 × 512 × 512".to_string(), product, Work::Products(512 * 512 * 512))];
    // Images, channels, height and width, filters, their height and width, groups.
    for [n, c, size, m, k, groups] in [
        [64, 3, 32, 16, 3, 1],
        [32, 64, 56, 64, 3, 1],
        [32, 256, 14, 256, 1, 1],
        [32, 128, 28, 128, 3, 128],
        [32, 128, 28, 128, 5, 128],
    ] {
        let conv = Conv2d { paddings: Padding::Explicit([k / 2; 4]), groups, ..Conv2d::PLAIN };
        let (images, filters, result) = ([c, size, size], [m, c / groups, k, k], [m, size, size]);
        let products = (n * m * size * size * (c / groups) * k * k) as usize;
        let on = |op: Sample| op.rows(n as usize, &images).dense(&filters);
        let name = |what| format!("{what} {n}x{c}x{size}x{size} {m} {k}x{k} / {groups}");
        cases.push((name("conv2d"), on(Sample::of(conv)), Work::Products(products)));
        for (what, of) in [("… for images", Conv2dGradKind::Input), ("… for filters", Conv2dGradKind::Filter)]
        {
            let grad = on(Sample::of(Conv2dGrad { conv, of })).rows(n as usize, &result);
            cases.push((name(what), grad, Work::Products(products)));
        }
    }
    for kind in [PoolKind::Max, PoolKind::Avg] {
        for (size, stride, padding) in [(2, 2, 0), (3, 2, 1), (3, 1, 1)] {
            let pool = Pool2d {
                strides: [stride; 2],
                paddings: Padding::Explicit([padding; 4]),
                ..Pool2d::of_size(kind, [size; 2])
            };
            let out = [64, 32 / stride, 32 / stride];
            let name = |what| format!("{what} {} 64x64x32x32 {size}x{size} / {stride}", kind.name());
            let on = |op: Sample| op.rows(64, &[64, 32, 32]);
            cases.push((name("pool2d"), on(Sample::of(pool)), Work::Traffic));
            let grad = on(Sample::of(Pool2dGrad(pool))).rows(64, &out).rows(64, &out);
            cases.push((name("… gradient"), grad, Work::Traffic));
        }
        let global = Pool2d { global_pooling: true, ..Pool2d::of_size(kind, [1, 1]) };
        let name = format!("pool2d {} 64x256x14x14 global", kind.name());
        cases.push((name, Sample::of(global).rows(64, &[256, 14, 14]), Work::Traffic));
    }
    let places = Sample::of(MaxPool2dWithIndex::of_size([2, 2])).rows(64, &[64, 32, 32]);
    cases.push(("max_pool2d_with_index 64x64x32x32 2x2".to_string(), places, Work::Traffic));
    for is_test in [false, true] {
        let with = |sample: Sample, channels: i64, count: usize| {
            (0..count).fold(sample, |sample, _| sample.dense(&[channels]).within(0.5, 1.5))
        };
        for dims in [&[64, 32, 32][..], &[256, 14, 14], &[1024]] {
            let (channels, mode) = (dims[0], if is_test { "in test" } else { "in training" });
            let op = BatchNorm { epsilon: 1e-5, momentum: 0.9, is_test };
            let name = |what| format!("{what} {mode} 64x{dims:?}");
            let forward = with(Sample::of(op).rows(64, dims), channels, 4);
            cases.push((name("batch_norm"), forward, Work::Traffic));
            let grad = with(Sample::of(BatchNormGrad { is_test }).rows(64, dims), channels, 3);
            cases.push((name("… gradient"), grad.rows(64, dims), Work::Traffic));
        }
    }
    cases
}

/// What goes along rows and columns, in the second level of caches and in memory, and products of many small matrices.
fn of_rows_and_columns() -> Vec<(String, Sample, Work)> {
    let mut cases = Vec::new();
    for [rows, size] in [[128, 512], [16 << 10, 1 << 10]] {
        let on = |op: Sample| op.rows(rows as usize, &[size]);
        let mut push =
            |what: &str, sample| cases.push((format!("{what} {rows}x{size}"), sample, Work::Traffic));
        for (kind, name) in [(ReduceKind::Sum, "sum"), (ReduceKind::Max, "max")] {
            for (axes, of) in [(vec![1], "rows"), (vec![0], "columns"), (vec![], "everything")] {
                push(&format!("{name} of {of}"), on(Sample::of(Reduce { kind, axes, keep_dim: false })));
            }
        }
        let (epsilon, begin_norm_axis) = (1e-5, 1);
        let forward = on(Sample::of(LayerNorm { epsilon, begin_norm_axis })).dense(&[size]).dense(&[size]);
        push("layer_norm", forward);
        let grad = on(Sample::of(LayerNormGrad { epsilon, begin_norm_axis })).dense(&[size]);
        let grad = grad.rows(rows as usize, &[]).rows(rows as usize, &[]).within(0.5, 1.5);
        push("layer_norm gradient", on(grad));
        push("softmax", on(Sample::of(Softmax)));
        push("softmax gradient", on(on(Sample::of(SoftmaxGrad))));
    }
    for [count, m, k, n] in [[64, 64, 64, 64], [512, 16, 32, 16], [4096, 4, 8, 4]] {
        let op = Matmul { trans_x: false, trans_y: false };
        let product = Sample::of(op).dense(&[count, m, k]).dense(&[count, k, n]);
        cases.push((
            format!("matmul {count} × {m} × {k} × {n}"),
            product,
            Work::Products((count * m * k * n) as usize),
        ));
    }
    cases
}

/// Seconds of a launch in the fastest round of the operator of a sample, and the bytes that it reads and writes.
fn measure(cpu: &Cpu, sample: &Sample) -> Result<(f64, usize), Box<dyn Error>> {
    let program = sample.program()?;
    let [operator] = &program.block(Program::GLOBAL).ops[..] else { return Err("one operator".into()) };
    let layouts = |vars: &[_]| vars.iter().map(|&var| layout(program.ty(var))).collect::<Option<Vec<_>>>();
    let inputs = layouts(program.inputs()).ok_or("sizes are known")?;
    let outputs = layouts(&operator.outputs).ok_or("sizes are known")?;
    let op = GroupOp {
        op: operator.op.clone(),
        inputs: sample.slots.iter().copied().map(Operand::Input).collect(),
        outputs: (0..outputs.len()).map(Operand::Output).collect(),
    };
    let sizes = sample.row_counts();
    let (mut end, mut bytes, mut locations) = (0, 0, Vec::new());
    for layout in inputs.iter().chain(&outputs) {
        locations.push(Location { memory: Memory::Arena, offset: end });
        bytes += layout.elements(&sizes) * cpu.element_bytes(layout.dtype);
        end += (layout.elements(&sizes) * cpu.element_bytes(layout.dtype)).next_multiple_of(ALIGNMENT);
    }
    let mut buffers: Vec<_> = (0..Memory::COUNT).map(|_| cpu.allocate(end)).collect::<Result<_, _>>()?;
    for ((layout, location), input) in inputs.iter().zip(&locations).zip(&sample.inputs) {
        let (low, high) = input.range;
        let value = |i: usize| (low + (high - low) * (i * 7919 % 1009) as f64 / 1009.0) as f32;
        let values: Vec<f32> = (0..layout.elements(&sizes)).map(value).collect();
        cpu.upload(HostSlice::F32(&values), &mut buffers[location.memory as usize], location.offset);
    }
    let group = Group { ops: vec![op], inputs, outputs, temporaries: Vec::new(), stream: 0 };
    let kernel = cpu.compile(&group).map_err(|error| error.message)?;
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < TIME {
        let (before, round, mut launches) = (processor_seconds(), Instant::now(), 0.0);
        while round.elapsed() < ROUND {
            let launch = Launch { sizes: &sizes, locations: &locations, seed: 0 };
            cpu.launch(&kernel, launch, black_box(&mut buffers)).map_err(|error| error.message)?;
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

fn layout(ty: &Type) -> Option<Layout> {
    let rows = ty.rows.map(|rows| Extent::Bound(rows.0 as usize));
    let dims = ty.dims.iter().map(|dim: &Dim| Some(Extent::Fixed(usize::try_from(dim.constant()?).ok()?)));
    let shape = rows.map(Some).into_iter().chain(dims).collect::<Option<_>>()?;
    Some(Layout { dtype: ty.dtype, shape })
}
