//! Leaves: the shards of a batch, as they go to trainers. A leaf has what is fed to the network, and the numbers that say where
//! its rows are in the batch.

use paddle_core::plan::{Feed, HostSlice};
use paddle_core::program::DType;
use prost::Message;

use super::values::{bytes_of, values_of};
use crate::element::Values;

/// A leaf as it is sent.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Leaf {
    #[prost(message, repeated, tag = "1")]
    feeds: Vec<Fed>,
}

#[derive(Clone, PartialEq, Message)]
struct Fed {
    #[prost(bytes = "vec", tag = "1")]
    values: Vec<u8>,
    #[prost(uint64, repeated, tag = "2")]
    shape: Vec<u64>,
    #[prost(message, repeated, tag = "3")]
    offsets: Vec<Level>,
}

#[derive(Clone, PartialEq, Message)]
struct Level {
    #[prost(int64, repeated, tag = "1")]
    offsets: Vec<i64>,
}

impl Leaf {
    /// Adds what is fed to the next input.
    pub(super) fn push(&mut self, Feed { values, shape, offsets }: Feed<'_>) {
        let offsets = offsets.iter().map(|level| Level { offsets: level.clone() }).collect();
        let shape = shape.iter().map(|&size| size as u64).collect();
        self.feeds.push(Fed { values: bytes_of(values), shape, offsets });
    }
}

/// A leaf as it is fed.
pub(super) struct FedLeaf {
    inputs: Vec<Input>,
}

struct Input {
    values: Values,
    shape: Vec<usize>,
    offsets: Vec<Vec<i64>>,
}

impl FedLeaf {
    /// Reads a leaf for inputs of these types. `None` if there are more feeds than inputs, or a value is no whole number of
    /// elements; the executor checks the rest.
    pub(super) fn read(leaf: &Leaf, inputs: &[DType]) -> Option<FedLeaf> {
        if leaf.feeds.len() > inputs.len() {
            return None;
        }
        let input = |(fed, &dtype): (&Fed, &DType)| {
            let shape = fed.shape.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<_>>()?;
            let offsets = fed.offsets.iter().map(|level| level.offsets.clone()).collect();
            Some(Input { values: values_of(dtype, &fed.values)?, shape, offsets })
        };
        let inputs = leaf.feeds.iter().zip(inputs).map(input).collect::<Option<_>>()?;
        Some(FedLeaf { inputs })
    }

    /// The number of inputs.
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// What is fed to input `k`.
    pub(super) fn feed(&self, k: usize) -> Feed<'_> {
        let Input { values, shape, offsets } = &self.inputs[k];
        Feed { values: values.as_slice(), shape, offsets }
    }
}

/// The bytes of a leaf with these feeds.
pub(super) fn encode<'a>(feeds: impl Iterator<Item = Feed<'a>>) -> Vec<u8> {
    let mut leaf = Leaf::default();
    feeds.for_each(|feed| leaf.push(feed));
    leaf.encode_to_vec()
}

/// A scalar as it is fed.
pub(super) fn scalar(values: HostSlice<'_>) -> Feed<'_> {
    Feed { values, shape: &[], offsets: &[] }
}
