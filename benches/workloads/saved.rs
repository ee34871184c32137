//! A model that PaddlePaddle saved, or one in ONNX, on batches of numbers that look random; `../peers/saved.py` has the same ones.

use std::path::Path;

use ndarray::ArrayD;
use paddle::core::program::DType;
use paddle::{Batch, Device, Dynamic, Error, Network};

use crate::Run;
use crate::workload::{Inference, POOL, Workload};

pub(crate) fn workload(device: Device, model: &Path, rows: usize) -> Run<Box<dyn Workload>> {
    let (net, values) = Network::<Dynamic>::load(model)?;
    let mut parameters = paddle::Parameters::create_on(device, &net, 0)?;
    for name in values.names() {
        parameters.set(name, &values.get::<f32>(name)?)?;
    }
    let pool = (0..POOL).map(|at| batch(&net, rows, at)).collect::<Run<_>>()?;
    Ok(Box::new(Inference::new(net, parameters, pool)))
}

/// Batch `at` of the pool.
fn batch(net: &Network<Dynamic>, rows: usize, at: usize) -> Run<Batch<Dynamic>> {
    let program = net.program()?;
    let mut batch = Batch::new(net)?;
    for (k, &input) in program.inputs().iter().enumerate() {
        let var = program.var(input);
        let dims = var.ty.dims.iter().map(|dim| dim.constant().and_then(|size| usize::try_from(size).ok()));
        let dims: Option<Vec<usize>> = var.ty.rows.map(|_| Some(rows)).into_iter().chain(dims).collect();
        let shape = dims.ok_or_else(|| format!("`{}` has a size that only a batch knows", var.name))?;
        let element = |i: usize| (i + 3 * at) * 37 + k * 11;
        let count = 0..shape.iter().product::<usize>();
        let fed: Result<(), Error> = match var.ty.dtype {
            DType::I64 => {
                let numbers = count.map(|i| (element(i) % 5) as i64).collect();
                batch.set(&var.name, &ArrayD::from_shape_vec(shape, numbers)?).map_err(Error::from)
            }
            DType::F32 => {
                let numbers = count.map(|i| (element(i) % 41) as f32 / 20.0 - 1.0).collect();
                batch.set(&var.name, &ArrayD::from_shape_vec(shape, numbers)?).map_err(Error::from)
            }
            dtype => return Err(format!("`{}` has elements of type {dtype}", var.name).into()),
        };
        fed?;
    }
    Ok(batch)
}
