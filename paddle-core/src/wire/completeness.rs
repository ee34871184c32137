//! The check that bytes are a complete message, before anything is built from them.
//!
//! It finds lengths that exceed the input and required fields that are absent, and reports the message, the field and
//! the place. Every element of a list of messages then has its required fields, so a few hostile bytes cannot ask for
//! many large structs. (In protobuf, a field that holds one message may come in several parts, which are merged. Here
//! each part has to be complete; no writer produces other parts.)

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::WireError;
use super::message::Schema;

/// Checks the fields of a message and of the messages in it.
pub(super) fn check(schema: &Schema, bytes: &[u8]) -> Result<(), WireError> {
    check_at(schema, bytes, 0)
}

/// Checks a message that begins at the byte `offset` of the input. The recursion is as deep as the schema: no message
/// of `framework.proto` contains itself.
fn check_at(schema: &Schema, bytes: &[u8], offset: usize) -> Result<(), WireError> {
    let mut seen = 0_u64;
    let mut rest = bytes;
    while !rest.is_empty() {
        let start = offset + bytes.len() - rest.len();
        let malformed = |cause| WireError::Malformed { message: schema.name, offset: start, cause };
        let (number, wire_type) = decode_key(&mut rest).map_err(malformed)?;
        if number < u64::BITS {
            seen |= 1 << number;
        }
        let value = rest;
        skip_field(wire_type, number, &mut rest, DecodeContext::default()).map_err(malformed)?;
        if wire_type == WireType::LengthDelimited
            && let Some(field) = schema.fields.iter().find(|field| field.number == number)
            && let Some(inner) = field.message
        {
            let mut value = &value[..value.len() - rest.len()];
            decode_varint(&mut value).map_err(malformed)?;
            check_at(inner, value, offset + bytes.len() - rest.len() - value.len())?;
        }
    }
    match schema.fields.iter().find(|field| field.required && seen & 1 << field.number == 0) {
        Some(field) => Err(WireError::MissingField { message: schema.name, field: field.name, offset }),
        None => Ok(()),
    }
}
