//! The workloads by name.

use std::error::Error;

use paddle::Cpu;

use crate::workload::Workload;
use crate::{
    adaptive, decoder64, documents, gan, lenet, lstm, mlp, ranking, regression, resnet, separable,
    transformer, unet,
};

/// Makes a workload on a backend.
type Make = fn(Cpu) -> Result<Box<dyn Workload>, paddle::Error>;

const ALL: [(&str, Make); 17] = [
    ("W1", mlp::training),
    ("W2", lenet::workload),
    ("W3", lstm::workload),
    ("W4", regression::workload),
    ("W5", ranking::workload),
    ("W6", gan::workload),
    ("W7", resnet::training),
    ("W8a", mlp::inference),
    ("W8b", resnet::inference),
    ("W9", adaptive::workload),
    ("encoder", transformer::encoder),
    ("decoder", transformer::decoder),
    ("decoder64", decoder64::workload),
    ("unet", unet::workload),
    ("documents", documents::workload),
    ("separable", separable::training),
    ("separable1", separable::inference),
];

/// The names of all workloads.
pub(crate) fn names() -> Vec<String> {
    ALL.iter().map(|(name, _)| name.to_string()).collect()
}

/// The workload with a name.
pub(crate) fn workload(name: &str, backend: Cpu) -> Result<Box<dyn Workload>, Box<dyn Error>> {
    match ALL.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => Ok(make(backend)?),
        None => Err(format!("there is no workload `{name}`; there are {}", names().join(", ")).into()),
    }
}
