//! What the machines of a cluster pass on to each other and do not look into: plans, moments, values, results, as bytes.

use paddle_core::convert::{from_ours, to_wire};
use paddle_core::ops::Program;
use paddle_core::plan::{Arithmetic, HostSlice, Numbers, Precision};
use paddle_core::program::DType;
use paddle_core::wire::ProgramDesc;
use prost::Message;

use super::operators::link_known;
use super::values;
use crate::Error;

/// A program in our dialect.
#[derive(Clone, PartialEq, Message)]
pub(super) struct EncodedProgram {
    #[prost(bytes = "vec", tag = "1")]
    main: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    startup: Vec<u8>,
}

impl EncodedProgram {
    pub(super) fn of(program: &Program) -> Self {
        let wire = to_wire(program);
        EncodedProgram { main: wire.main.encode_to_vec(), startup: wire.startup.encode_to_vec() }
    }

    pub(super) fn decode(&self) -> Result<Program, Error> {
        let [main, startup] = [&self.main, &self.startup].map(|bytes| ProgramDesc::decode(bytes));
        let mut program = from_ours(&main?, Some(&startup?))?;
        link_known(&mut program)?;
        Ok(program)
    }
}

/// A piece of a parameter, with its number in the job.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PieceDesc {
    #[prost(uint32, tag = "1")]
    pub(super) id: u32,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(uint32, tag = "3")]
    pub(super) server: u32,
    #[prost(string, tag = "4")]
    pub(super) dtype: String,
    #[prost(uint64, repeated, tag = "5")]
    pub(super) dims: Vec<u64>,
    /// Whether trainers get its rows as they need them, and not all of it in front of a step.
    #[prost(bool, tag = "6")]
    pub(super) by_rows: bool,
}

impl PieceDesc {
    pub(super) fn dtype(&self) -> Option<DType> {
        const ALL: [DType; 5] = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];
        ALL.into_iter().find(|dtype| dtype.to_string() == self.dtype)
    }
}

/// The programs of a training step, for all machines.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PlanDesc {
    #[prost(message, required, tag = "1")]
    pub(super) trainer: EncodedProgram,
    /// By rank.
    #[prost(message, repeated, tag = "2")]
    pub(super) servers: Vec<EncodedProgram>,
    /// The pieces of all parameters that the network uses.
    #[prost(message, repeated, tag = "3")]
    pub(super) pieces: Vec<PieceDesc>,
    /// Whether products are computed in bf16.
    #[prost(bool, tag = "4")]
    pub(super) bf16: bool,
    /// The number of the trainer whose updater's states the servers use.
    #[prost(uint32, tag = "5")]
    pub(super) states_of: u32,
    /// Whether trainers check that all numbers are finite.
    #[prost(bool, tag = "6")]
    pub(super) finite: bool,
    /// Whether products are those of sums of two numbers in bf16.
    #[prost(bool, tag = "11")]
    pub(super) bf16x3: bool,
    /// The pieces that trainers receive, in the order in which they need them.
    #[prost(uint32, repeated, tag = "12")]
    pub(super) received: Vec<u32>,
    /// Whether a stage sends something before it goes back.
    #[prost(bool, tag = "10")]
    pub(super) passes_on: bool,
}

impl PlanDesc {
    /// The same, computed in this way.
    pub(super) fn with(self, Arithmetic { precision, numbers }: Arithmetic) -> Self {
        let (bf16, bf16x3) = (precision == Precision::Bf16, precision == Precision::Bf16x3);
        PlanDesc { bf16, bf16x3, finite: numbers == Numbers::Finite, ..self }
    }

    pub(super) fn arithmetic(&self) -> Arithmetic {
        let precision = match self {
            PlanDesc { bf16: true, .. } => Precision::Bf16,
            PlanDesc { bf16x3: true, .. } => Precision::Bf16x3,
            _ => Precision::F32,
        };
        let numbers = if self.finite { Numbers::Finite } else { Numbers::default() };
        Arithmetic { precision, numbers }
    }
}

/// The numbers that a step depends on, beside the batch and the parameters.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct MomentDesc {
    #[prost(uint64, tag = "1")]
    pub(super) seed: u64,
    #[prost(uint64, tag = "2")]
    pub(super) step: u64,
    #[prost(double, tag = "3")]
    pub(super) rate: f64,
}

/// The values of pieces.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValuesDesc {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<PieceValues>,
}

/// The value of a piece, and the updater's states of it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PieceValues {
    #[prost(uint32, tag = "1")]
    pub(super) id: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: bytes::Bytes,
    #[prost(message, repeated, tag = "3")]
    pub(super) states: Vec<StateValues>,
}

/// The value of an updater's state.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StateValues {
    /// The number of the trainer to whose updater it belongs.
    #[prost(uint32, tag = "4")]
    pub(super) trainer: u32,
    #[prost(string, tag = "1")]
    pub(super) slot: String,
    #[prost(uint64, repeated, tag = "2")]
    pub(super) dims: Vec<u64>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) value: bytes::Bytes,
}

/// What a server shares before an update.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SharedDesc {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<SharedValues>,
}

/// What a server shares of a piece.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SharedValues {
    #[prost(string, tag = "1")]
    pub(super) piece: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: bytes::Bytes,
}

/// Adds the value of a piece to an encoded [`ValuesDesc`]. `append` adds its bytes, as many as it has, which are not copied once more.
pub(super) fn append_value<E>(
    bytes: &mut Vec<u8>,
    (id, length): (u32, usize),
    append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    // The numbers of fields, with their kinds: a message of 1, a number of 1, bytes of 2.
    const PIECE: u8 = 1 << 3 | 2;
    const ID: u8 = 1 << 3;
    const VALUE: u8 = 2 << 3 | 2;
    let number = |bytes: &mut Vec<u8>, number: usize| {
        // A vector has room.
        let _ = prost::encode_length_delimiter(number, bytes);
    };
    let inner = 2 + [id as usize, length].map(prost::length_delimiter_len).iter().sum::<usize>() + length;
    bytes.push(PIECE);
    number(bytes, inner);
    bytes.push(ID);
    number(bytes, id as usize);
    bytes.push(VALUE);
    number(bytes, length);
    append(bytes)
}

/// A sum of gradients.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sum {
    /// For rows of a table: their numbers within the piece.
    pub(super) ids: Vec<i64>,
    pub(super) elements: bytes::Bytes,
}

impl Sum {
    /// How many ids there are, the ids, and the elements.
    pub(super) fn encode(ids: &[i64], elements: HostSlice<'_>) -> bytes::Bytes {
        let mut bytes =
            Vec::with_capacity(8 + size_of_val(ids) + elements.len() * values::size_of(elements.dtype()));
        bytes.extend_from_slice(&(ids.len() as u64).to_le_bytes());
        values::append(&mut bytes, HostSlice::I64(ids));
        values::append(&mut bytes, elements);
        bytes.into()
    }

    pub(super) fn decode(mut bytes: bytes::Bytes) -> Option<Self> {
        let count = u64::from_le_bytes(*bytes.first_chunk()?);
        let end = usize::try_from(count).ok()?.checked_mul(8)?.checked_add(8)?;
        let ids = bytes.get(8..end)?.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id)).collect();
        Some(Sum { ids, elements: bytes.split_off(end) })
    }
}

/// The scalar outputs of some leaves, in order.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OutputsDesc {
    #[prost(message, repeated, tag = "1")]
    pub(super) leaves: Vec<LeafOutputs>,
}

/// The outputs of a leaf; those that are no scalars are 0.
#[derive(Clone, PartialEq, Message)]
pub(super) struct LeafOutputs {
    #[prost(double, repeated, tag = "1")]
    pub(super) outputs: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_their_description_is() {
        let pieces = [(0, vec![1; 3]), (1, Vec::new()), (77_777, vec![2; 300])];
        let mut bytes = Vec::new();
        for (id, value) in &pieces {
            append_value(&mut bytes, (*id, value.len()), |bytes| {
                bytes.extend_from_slice(value);
                Ok::<_, ()>(())
            })
            .unwrap();
        }
        let pieces = pieces.map(|(id, value)| PieceValues { id, value: value.into(), states: Vec::new() });
        assert_eq!(ValuesDesc::decode(&bytes[..]).unwrap().pieces, pieces);
    }

    #[test]
    fn sums_become_bytes_and_sums_again_and_nonsense_none() {
        for ids in [&[][..], &[3, 700]] {
            let bytes = Sum::encode(ids, HostSlice::F32(&[1.5, -2.0]));
            let elements = values::bytes_of(HostSlice::F32(&[1.5, -2.0])).into();
            assert_eq!(Sum::decode(bytes.clone()), Some(Sum { ids: ids.to_vec(), elements }));
            assert_eq!(Sum::decode(bytes.slice(..5)), None);
        }
        for nonsense in [&[1, 0, 0, 0, 0, 0, 0, 0, 5][..], &[255; 16]] {
            assert_eq!(Sum::decode(bytes::Bytes::copy_from_slice(nonsense)), None);
        }
    }
}
