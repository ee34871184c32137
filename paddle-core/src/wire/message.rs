//! Messages as tables: `messages!` turns a table of fields, written as in a `.proto` file, into a struct and its
//! [`prost::Message`].
//!
//! `paddle-core` is compiled for the procedural macros of every user, so `prost` is used without its derive,
//! which would bring a code generator of its own. One declarative macro over [`prost::encoding`] is enough here:
//! proto2, no maps, no `oneof`.
//!
//! The rules of proto2 that it implements:
//! - `required`: the plain value. It is always written; its absence is an error (`completeness.rs`).
//! - `optional`: an [`Option`]. It is written if it is there, even if it is the default.
//! - `repeated`: a [`Vec`]. It is written with a key for each element, and read packed or not.
//! - Fields are written in the order of their numbers.
//! - An unknown field is kept as it is, and written after the others.

use prost::DecodeError;
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, encode_key, skip_field};

/// The encodings of the kinds of fields, by their names in a `.proto` file.
pub(super) mod kind {
    pub(in crate::wire) use prost::encoding::{
        bool, double, float, int32, int32 as enumeration, int64, message, string,
    };

    #[cfg(feature = "read")]
    pub(in crate::wire) use prost::encoding::bytes;
}

/// The part of a message's table that `completeness.rs` reads.
pub(super) struct Schema {
    /// The name of the message.
    pub(super) name: &'static str,
    /// Its fields, in the order of their numbers.
    pub(super) fields: &'static [Field],
}

/// One field of a [`Schema`].
pub(super) struct Field {
    /// The number in the `.proto` file.
    pub(super) number: u32,
    /// The name in the `.proto` file.
    pub(super) name: &'static str,
    /// Whether the field is required.
    pub(super) required: bool,
    /// The schema of the field's messages, if the field holds messages.
    pub(super) message: Option<&'static Schema>,
}

impl Schema {
    /// The schema. Panics unless the numbers ascend and fit the set of bits in which `completeness.rs` keeps them.
    pub(super) const fn new(name: &'static str, fields: &'static [Field]) -> Schema {
        let mut last = 0;
        let mut i = 0;
        while i < fields.len() {
            assert!(
                last < fields[i].number && fields[i].number < 64,
                "field numbers ascend and are below 64"
            );
            last = fields[i].number;
            i += 1;
        }
        Schema { name, fields }
    }
}

/// The name of a field as the `.proto` file has it: `type` for `r#type`.
pub(super) const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Moves an unknown field, key included, from `input` to the end of `unknown`.
pub(super) fn keep_unknown(
    number: u32,
    wire_type: WireType,
    input: &mut impl Buf,
    unknown: &mut Vec<u8>,
    context: DecodeContext,
) -> Result<(), DecodeError> {
    encode_key(number, wire_type, unknown);
    skip_field(wire_type, number, &mut Recorder { input, record: unknown }, context)
}

/// A buffer that keeps a copy of the bytes that are read from it.
struct Recorder<'a, B> {
    input: &'a mut B,
    record: &'a mut Vec<u8>,
}

impl<B: Buf> Buf for Recorder<'_, B> {
    fn remaining(&self) -> usize {
        self.input.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.input.chunk()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let chunk = self.input.chunk();
            let step = chunk.len().min(count);
            self.record.extend_from_slice(&chunk[..step]);
            self.input.advance(step);
            count -= step;
        }
    }
}

/// Defines messages. A line is `rule kind name = number;`. The kind of a message or of an enumeration has its Rust type
/// in parentheses: `repeated message(BlockDesc) blocks = 1;`.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $Message:ident {$(
            $(#[$field_doc:meta])*
            $rule:ident $kind:ident $(($Type:ident))? $name:ident = $number:literal;
        )*}
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Message {
            $(
                $(#[$field_doc])*
                pub $name: $crate::wire::message::field_type!($rule $kind $($Type)?),
            )*
            /// Unknown fields, as they were read. They are written after the known fields.
            pub unknown: Vec<u8>,
        }

        impl $Message {
            pub(in crate::wire) const SCHEMA: &'static Schema = &Schema::new(
                stringify!($Message),
                &[$(Field {
                    number: $number,
                    name: plain(stringify!($name)),
                    required: $crate::wire::message::is_required!($rule),
                    message: $crate::wire::message::schema_of!($kind $($Type)?),
                }),*],
            );

            /// Reads the message. It takes memory at most proportional to the number of bytes, whatever they are.
            pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
                check(Self::SCHEMA, bytes)?;
                <Self as prost::Message>::decode(bytes).map_err(|cause| WireError::FieldValue { cause })
            }

            /// The bytes of the message.
            pub fn encode_to_vec(&self) -> Vec<u8> {
                prost::Message::encode_to_vec(self)
            }
        }

        impl prost::Message for $Message {
            fn encode_raw(&self, buf: &mut impl BufMut) {
                $($crate::wire::message::encode_field!($rule $kind $number, &self.$name, buf);)*
                buf.put_slice(&self.unknown);
            }

            fn merge_field(
                &mut self,
                number: u32,
                wire_type: WireType,
                buf: &mut impl Buf,
                context: DecodeContext,
            ) -> Result<(), DecodeError> {
                match number {
                    $($number => $crate::wire::message::merge_field!(
                        $rule $kind, &mut self.$name, wire_type, buf, context
                    )
                    .map_err(|mut error: DecodeError| {
                        error.push(Self::SCHEMA.name, plain(stringify!($name)));
                        error
                    }),)*
                    _ => keep_unknown(number, wire_type, buf, &mut self.unknown, context),
                }
            }

            fn encoded_len(&self) -> usize {
                self.unknown.len()
                    $(+ $crate::wire::message::encoded_len!($rule $kind $number, &self.$name))*
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    )*};
}

macro_rules! field_type {
    (required $($kind:ident)+) => { $crate::wire::message::value_type!($($kind)+) };
    (optional $($kind:ident)+) => { Option<$crate::wire::message::value_type!($($kind)+)> };
    (repeated $($kind:ident)+) => { Vec<$crate::wire::message::value_type!($($kind)+)> };
}

macro_rules! value_type {
    (int32) => {
        i32
    };
    (int64) => {
        i64
    };
    (bool) => {
        bool
    };
    (float) => {
        f32
    };
    (double) => {
        f64
    };
    (string) => {
        String
    };
    (bytes) => {
        Vec<u8>
    };
    // A file may have a number that no variant has; the number has to survive.
    (enumeration $Enum:ident) => {
        i32
    };
    (message $Message:ident) => {
        $Message
    };
}

macro_rules! is_required {
    (required) => {
        true
    };
    ($other:ident) => {
        false
    };
}

macro_rules! schema_of {
    (message $Message:ident) => {
        Some($Message::SCHEMA)
    };
    ($($kind:ident)+) => {
        None
    };
}

macro_rules! encode_field {
    (required $kind:ident $number:literal, $value:expr, $buf:expr) => {
        kind::$kind::encode($number, $value, $buf)
    };
    (optional $kind:ident $number:literal, $value:expr, $buf:expr) => {
        if let Some(value) = $value {
            kind::$kind::encode($number, value, $buf);
        }
    };
    (repeated $kind:ident $number:literal, $value:expr, $buf:expr) => {
        kind::$kind::encode_repeated($number, $value, $buf)
    };
}

macro_rules! merge_field {
    (required $kind:ident, $value:expr, $wire_type:expr, $buf:expr, $context:expr) => {
        kind::$kind::merge($wire_type, $value, $buf, $context)
    };
    (optional $kind:ident, $value:expr, $wire_type:expr, $buf:expr, $context:expr) => {
        kind::$kind::merge($wire_type, Option::get_or_insert_default($value), $buf, $context)
    };
    (repeated $kind:ident, $value:expr, $wire_type:expr, $buf:expr, $context:expr) => {
        kind::$kind::merge_repeated($wire_type, $value, $buf, $context)
    };
}

macro_rules! encoded_len {
    (required $kind:ident $number:literal, $value:expr) => {
        kind::$kind::encoded_len($number, $value)
    };
    (optional $kind:ident $number:literal, $value:expr) => {
        Option::as_ref($value).map_or(0, |value| kind::$kind::encoded_len($number, value))
    };
    (repeated $kind:ident $number:literal, $value:expr) => {
        kind::$kind::encoded_len_repeated($number, $value)
    };
}

pub(super) use {
    encode_field, encoded_len, field_type, is_required, merge_field, messages, schema_of, value_type,
};
