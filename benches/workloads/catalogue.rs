//! The workloads by name.

use std::error::Error;

use paddle::Device;

use crate::workload::Workload;
use crate::{
    adaptive, convnext, decoder64, documents, efficient, gan, grouped, lenet, lstm, mixer, mlp, ranking,
    recommender, regression, resnet, separable, temporal, transformer, translation, unet, volumes,
};

/// Makes a workload on a device, with so many rows in a batch.
pub(crate) type Make = fn(Device, usize) -> Result<Box<dyn Workload>, paddle::Error>;

/// The names, and how many rows a batch has if nobody says otherwise.
const ALL: [(&str, usize, Make); 26] = [
    ("W1", 64, mlp::training),
    ("W2", 64, lenet::workload),
    ("W3", 32, lstm::workload),
    ("W4", 20, regression::workload),
    ("W5", 64, ranking::workload),
    ("W6", 64, gan::workload),
    ("W7", 32, resnet::training),
    ("W8a", 1, mlp::inference),
    ("W8b", 1, resnet::inference),
    ("W9", 64, adaptive::workload),
    ("encoder", 32, transformer::encoder),
    ("decoder", 32, transformer::decoder),
    ("decoder64", 16, decoder64::workload),
    ("unet", 8, unet::workload),
    ("documents", 16, documents::workload),
    ("separable", 16, separable::training),
    ("separable1", 1, separable::inference),
    ("temporal", 8, temporal::workload),
    ("convnext", 8, convnext::workload),
    ("mixer", 16, mixer::workload),
    ("efficient", 16, efficient::training),
    ("efficient1", 1, efficient::inference),
    ("volumes", 2, volumes::workload),
    ("grouped", 16, grouped::workload),
    ("recommender", 128, recommender::workload),
    ("translation", 32, translation::workload),
];

/// The names of all workloads.
pub(crate) fn names() -> Vec<String> {
    ALL.iter().map(|(name, ..)| name.to_string()).collect()
}

/// The rows of a batch of the workload with a name, and what makes it.
pub(crate) fn workload(name: &str) -> Result<(usize, Make), Box<dyn Error>> {
    match ALL.iter().find(|(known, ..)| *known == name) {
        Some((_, rows, make)) => Ok((*rows, *make)),
        None => Err(format!("there is no workload `{name}`; there are {}", names().join(", ")).into()),
    }
}
