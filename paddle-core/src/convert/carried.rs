//! Our own program within a model that is written for others.
//!
//! What others have no operators for is written as several of theirs: a loop over sequences as a `while` over rows that are
//! gathered. Read again, that would be another program, or one that is not understood. So a model carries the program
//! that it was made of, in a field that others do not know and leave out. It counts only as long as the rest of the model is
//! what it was: a program that others have changed is read as it is.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

#[cfg(feature = "convert")]
use super::to_wire;
#[cfg(feature = "convert")]
use crate::ops::Program;
use crate::wire::ProgramDesc;

/// The number of the field, far from those that PaddlePaddle gives.
const FIELD: u32 = 1000;

/// The bytes of a checksum.
const CHECKSUM: usize = size_of::<u32>();

/// The bytes of a model that carries a program.
#[cfg(feature = "convert")]
pub(super) fn with(model: &ProgramDesc, program: &Program) -> Vec<u8> {
    use prost::encoding::{encode_key, encode_varint};

    let program = to_wire(program).main.encode_to_vec();
    let mut bytes = model.encode_to_vec();
    let checksum = checksum(&bytes, &program);
    encode_key(FIELD, WireType::LengthDelimited, &mut bytes);
    encode_varint((CHECKSUM + program.len()) as u64, &mut bytes);
    bytes.extend(checksum);
    bytes.extend(program);
    bytes
}

/// The program that a model carries, if the model is as it was written.
pub(super) fn by(model: &ProgramDesc) -> Option<ProgramDesc> {
    let (written, program) = find(&model.unknown)?.split_at_checked(CHECKSUM)?;
    let without = ProgramDesc { unknown: Vec::new(), ..model.clone() };
    if written != checksum(&without.encode_to_vec(), program) {
        return None;
    }
    ProgramDesc::decode(program).ok()
}

fn checksum(model: &[u8], program: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(model);
    hasher.update(program);
    hasher.finalize().to_le_bytes()
}

/// The content of the field.
fn find(mut unknown: &[u8]) -> Option<&[u8]> {
    while !unknown.is_empty() {
        let (number, wire_type) = decode_key(&mut unknown).ok()?;
        if number == FIELD && wire_type == WireType::LengthDelimited {
            let length = decode_varint(&mut unknown).ok()?;
            return unknown.get(..usize::try_from(length).ok()?);
        }
        skip_field(wire_type, number, &mut unknown, DecodeContext::default()).ok()?;
    }
    None
}
