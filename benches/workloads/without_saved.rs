//! Instead of models of others, what they need.

use std::path::Path;

use paddle::Device;

use crate::Run;
use crate::workload::Workload;

pub(crate) fn workload(_: Device, _: &Path, _: usize) -> Run<Box<dyn Workload>> {
    Err("models of PaddlePaddle and in ONNX need the feature `models`: cargo bench --features models --bench workloads".into())
}
