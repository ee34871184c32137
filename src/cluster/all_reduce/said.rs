//! What ranks that train as equals say to each other: about a step, and that they do the same.

use std::collections::BTreeMap;

use bytes::Bytes;
use paddle_cluster::message::Part;
use paddle_cluster::tree::Node;
use paddle_engines::collective::Collective;
use prost::Message;

use crate::cluster::desc::LeafOutputs;
use crate::cluster::{ClusterError, Placed, values};

/// What a rank says to another one about a step.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StepDesc {
    /// What has to be the same in all ranks.
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) header: Bytes,
    #[prost(uint32, tag = "2")]
    pub(super) plan: u32,
    #[prost(uint64, tag = "3")]
    pub(super) rows: u64,
    /// The checksum of one shard of the batch: in each step that of another one.
    #[prost(fixed32, tag = "4")]
    pub(super) sample: u32,
    /// Why the rank could not compute its shards.
    #[prost(string, optional, tag = "5")]
    pub(super) error: Option<String>,
    /// Whether it could not for want of what another rank has.
    #[prost(bool, tag = "9")]
    pub(super) follows: bool,
    /// Whether the rank was told to stop behind this step.
    #[prost(bool, tag = "8")]
    pub(super) stops: bool,
    #[prost(message, repeated, tag = "6")]
    pub(super) outputs: Vec<LeafOutputs>,
    /// Sums of the gradients of the other rank's pieces.
    #[prost(message, repeated, tag = "7")]
    pub(super) parts: Vec<PartDesc>,
    /// Whether the rank still computes, and there are sums and nothing else. The rest follows.
    #[prost(bool, tag = "12")]
    pub(super) goes_on: bool,
}

/// What a rank says to another one that needs rows of tables.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RowsDesc {
    /// Whether it is asked for all rows, for whoever reads parameters, and not for those of a step.
    #[prost(bool, tag = "10")]
    pub(super) all: bool,
    /// The rows of each of its pieces.
    #[prost(message, repeated, tag = "11")]
    pub(super) pieces: Vec<PieceRows>,
}

/// Rows of a piece.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PieceRows {
    #[prost(uint32, tag = "1")]
    pub(super) piece: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) elements: Bytes,
}

/// Rows that are given to each rank, and those that each has given.
pub(super) fn exchange(way: &mut dyn Collective, to: Vec<RowsDesc>) -> Result<Vec<RowsDesc>, ClusterError> {
    let all = to.first().is_some_and(|desc| desc.all);
    let to = to.into_iter().map(|desc| desc.encode_to_vec().into()).collect();
    let mut heard = Vec::new();
    for (rank, bytes) in (0..).zip(way.all_to_all(to)?) {
        match RowsDesc::decode(bytes) {
            Ok(desc) if desc.all == all => heard.push(desc),
            // It is at another place of the program.
            _ => {
                let what =
                    if all { "another step instead of a look at parameters" } else { "something else to do" };
                return Err(ClusterError::Apart { rank, what: what.to_string() });
            }
        }
    }
    Ok(heard)
}

/// A sum over the leaves of a node.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PartDesc {
    #[prost(uint32, tag = "1")]
    pub(super) piece: u32,
    #[prost(uint32, tag = "2")]
    pub(super) start: u32,
    #[prost(uint32, tag = "3")]
    pub(super) end: u32,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) sum: Bytes,
}

/// Sends sums to the ranks of their pieces while others are computed. `owner` is the rank of a piece. Returns those of this rank.
pub(super) fn send_ahead(
    way: &mut dyn Collective,
    parts: Vec<Part<Bytes>>,
    owner: impl Fn(u32) -> u32,
) -> Result<Vec<PartDesc>, ClusterError> {
    let mut to: BTreeMap<u32, StepDesc> = BTreeMap::new();
    for part in parts {
        let desc = to.entry(owner(part.piece)).or_default();
        desc.goes_on = true;
        desc.parts.push(part.into());
    }
    let own = to.remove(&way.rank()).unwrap_or_default();
    for (rank, desc) in to {
        way.send(rank, desc.encode_to_vec().into())?;
    }
    Ok(own.parts)
}

/// Says to each rank how a step went, and hears it from each, with all sums that came before.
pub(super) fn all_to_all(way: &mut dyn Collective, to: Vec<StepDesc>) -> Result<Vec<StepDesc>, ClusterError> {
    let own = way.rank();
    let mut heard = vec![StepDesc::default(); to.len()];
    for (rank, desc) in (0..).zip(to) {
        match rank == own {
            true => heard[rank as usize] = desc,
            false => way.send(rank, desc.encode_to_vec().into())?,
        }
    }
    for rank in (0..way.size()).filter(|&rank| rank != own) {
        let mut parts = Vec::new();
        loop {
            let desc = StepDesc::decode(way.receive(rank)?);
            let mut desc = desc.map_err(|_| ClusterError::Message { what: "a step" })?;
            parts.append(&mut desc.parts);
            if !desc.goes_on {
                heard[rank as usize] = StepDesc { parts, ..desc };
                break;
            }
        }
    }
    Ok(heard)
}

impl From<Part<Bytes>> for PartDesc {
    fn from(Part { piece, node: Node { start, end }, sum }: Part<Bytes>) -> Self {
        PartDesc { piece, start, end, sum }
    }
}

/// Errors if a number is not the same in all ranks.
pub(super) fn same(way: &mut dyn Collective, own: u32, what: &str) -> Result<(), ClusterError> {
    let all = way.all_gather(Bytes::copy_from_slice(&own.to_le_bytes()))?;
    match all.iter().position(|other| other[..] != own.to_le_bytes()) {
        None => Ok(()),
        Some(rank) => Err(ClusterError::Apart { rank: rank as u32, what: what.to_string() }),
    }
}

/// A checksum of values and of what they belong to.
pub(super) fn digest(values: &[Placed]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for Placed { parameter, state, dims, values } in values {
        hasher.update(format!("{parameter} {state:?} {dims:?}").as_bytes());
        hasher.update(&values::bytes_of(values.as_slice()));
    }
    hasher.finalize()
}

/// What is not the same in another rank.
pub(super) fn difference(other: &StepDesc, own: &StepDesc) -> Option<String> {
    let what = match () {
        () if other.plan != own.plan => "a step of another network or with other options",
        () if other.header != own.header => "a step of another number, seed or learning rate",
        () if other.rows != own.rows => {
            return Some(format!("a batch of other size ({} rows, not {})", other.rows, own.rows));
        }
        () if other.sample != own.sample => "other rows in its batch",
        () => return None,
    };
    Some(what.to_string())
}
