//! What becomes of a program that nobody meant: it is exported, runs, and is trained for a step, or ends in a typed error.

use std::collections::BTreeMap;

use crate::training::say;
use ndarray::{ArrayD, IxDyn};
use paddle::core::convert::{element, export, to_onnx};
use paddle::core::ops::{Op, Program};
use paddle::core::program::{DType, Dim, RowsId, SymbolId, VarId};
use paddle::core::wire::TensorRecord;
use paddle::{Batch, Dynamic, Error, Network, Parameters, Sgd, Trainer, infer};

/// Loops that may run more often are not run: they would only be slow.
const LIMIT: i64 = 100;

/// Values of more elements are not computed: they would only be slow, and some take more memory than fuzzing allows.
const LARGEST: i64 = 1 << 24;

/// More elements are not fed.
const MOST: usize = 1 << 14;

/// Runs a network on batches that `data` decides, and trains it for a step.
pub fn run(net: &Network<Dynamic>, parameters: &mut Parameters, data: &[u8]) {
    let Ok(program) = net.program() else { return };
    exported(program);
    let mut operators = program.blocks().iter().flat_map(|block| &block.ops);
    if operators.any(|operator| matches!(&operator.op, Op::While(op) if op.limit > LIMIT)) {
        return;
    }
    let size = |dim: &Dim| dim.constant().unwrap_or(1);
    let elements = |dims: &[Dim]| dims.iter().try_fold(1i64, |all, dim| all.checked_mul(size(dim)));
    if program.vars().iter().any(|var| elements(&var.ty.dims).is_none_or(|elements| elements > LARGEST)) {
        return;
    }
    let seed = data.iter().fold(0u64, |seed, byte| (seed ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let mut random = fastrand::Rng::with_seed(seed);
    for rows in [random.usize(1..5), 0] {
        let Ok(batch) = batch(net, program, rows, &mut random) else { return };
        say(infer(net, parameters, &batch).map(drop));
        say(Trainer::new(Sgd::new(0.01)).step(net, parameters, &batch).map(drop));
    }
}

/// Writes a program for PaddlePaddle and in ONNX, with parameters of zeros.
fn exported(program: &Program) {
    let mut zeros = BTreeMap::new();
    for parameter in program.parameters() {
        let var = program.var(parameter);
        let dims: Option<Vec<i64>> = var.ty.dims.iter().map(|dim| dim.constant()).collect();
        let Some(dims) = dims else { return };
        let count = dims.iter().try_fold(var.ty.dtype.bytes() as i64, |bytes, &size| bytes.checked_mul(size));
        let Some(bytes) = count.and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes <= MOST)
        else {
            return;
        };
        let record =
            TensorRecord { lod: Vec::new(), element: element(var.ty.dtype), dims, data: vec![0; bytes] };
        zeros.insert(var.name.clone(), record);
    }
    let _ = export(program, &zeros);
    let _ = to_onnx(program, &zeros);
}

/// A batch of so many rows, as the inputs say. Sizes that have names are small.
fn batch(
    net: &Network<Dynamic>,
    program: &Program,
    rows: usize,
    random: &mut fastrand::Rng,
) -> Result<Batch<Dynamic>, Error> {
    let mut batch = Batch::new(net)?;
    let mut sizes: BTreeMap<SymbolId, i64> = BTreeMap::new();
    let mut offsets: BTreeMap<RowsId, Vec<usize>> = BTreeMap::new();
    for &input in program.inputs() {
        let ty = program.ty(input);
        let levels = program.levels(ty);
        for &tokens in &levels {
            let around = program.row_space(tokens).parent.and_then(|parent| offsets.get(&parent));
            let count = around.map_or(rows, |offsets| offsets.last().copied().unwrap_or(0));
            offsets.entry(tokens).or_insert_with(|| {
                let mut all = vec![0];
                for at in 0..count {
                    all.push(all[at] + random.usize(0..4));
                }
                all
            });
        }
        let levels: Vec<&[usize]> = levels.iter().map(|tokens| offsets[tokens].as_slice()).collect();
        let leading = match levels.last() {
            Some(offsets) => offsets.last().copied().unwrap_or(0),
            None => rows,
        };
        let mut shape: Vec<usize> = ty.rows.iter().map(|_| leading).collect();
        for dim in &ty.dims {
            for symbol in dim.symbols() {
                sizes.entry(symbol).or_insert_with(|| random.i64(1..5));
            }
            let size = dim.evaluate(&|symbol| sizes.get(&symbol).copied());
            shape.push(size.and_then(|size| usize::try_from(size).ok()).unwrap_or(1));
        }
        let elements = shape.iter().try_fold(1usize, |elements, &size| elements.checked_mul(size));
        if elements.is_none_or(|elements| elements > MOST) {
            return Ok(batch);
        }
        feed(&mut batch, program, input, IxDyn(&shape), &levels, random)?;
    }
    Ok(batch)
}

fn feed(
    batch: &mut Batch<Dynamic>,
    program: &Program,
    input: VarId,
    shape: IxDyn,
    levels: &[&[usize]],
    random: &mut fastrand::Rng,
) -> Result<(), Error> {
    let (name, dtype) = (&program.var(input).name, program.ty(input).dtype);
    let mut whole = || random.i32(-1..4);
    match dtype {
        DType::Bool => {
            batch.set_nested_sequences(name, &ArrayD::from_shape_simple_fn(shape, || whole() > 1), levels)?
        }
        DType::I32 => {
            batch.set_nested_sequences(name, &ArrayD::from_shape_simple_fn(shape, whole), levels)?
        }
        DType::I64 => batch.set_nested_sequences(
            name,
            &ArrayD::from_shape_simple_fn(shape, || i64::from(whole())),
            levels,
        )?,
        DType::F32 => batch.set_nested_sequences(
            name,
            &ArrayD::from_shape_simple_fn(shape, || whole() as f32 / 2.0),
            levels,
        )?,
        DType::F64 => {
            let values = ArrayD::from_shape_simple_fn(shape, || f64::from(whole()) / 2.0);
            batch.set_nested_sequences(name, &values, levels)?
        }
    }
    Ok(())
}
