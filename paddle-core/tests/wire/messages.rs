//! The rules of proto2.

use paddle_core::wire::{AttrType, ProgramDesc, TensorDesc, Tuple, VarDesc, VarKind, WireError};

use crate::{SMALL_PROGRAM, small_program};

#[test]
fn a_program_is_its_bytes() {
    assert_eq!(small_program().encode_to_vec(), SMALL_PROGRAM);
    assert_eq!(ProgramDesc::decode(SMALL_PROGRAM), Ok(small_program()));
}

#[test]
fn no_bytes_are_an_empty_program() {
    assert_eq!(ProgramDesc::decode(&[]), Ok(ProgramDesc::default()));
    assert_eq!(ProgramDesc::default().encode_to_vec(), Vec::<u8>::new());
}

#[test]
fn packed_scalars_are_read_and_written_unpacked() {
    let desc = TensorDesc::decode(&[0x08, 5, 0x12, 2, 4, 6]).unwrap();
    assert_eq!(desc.dims, [4, 6]);
    assert_eq!(desc.encode_to_vec(), [0x08, 5, 0x10, 4, 0x10, 6]);
    let tuple = Tuple::decode(&[0x0a, 2, 5, 3]).unwrap();
    assert_eq!(tuple.encode_to_vec(), [0x08, 5, 0x08, 3]);
}

#[test]
fn the_last_scalar_wins_and_messages_merge() {
    // Two occurrences of the type, the second without its tensor.
    let var = VarDesc::decode(&[
        0x0a, 1, b'a', 0x0a, 1, b'b', 0x12, 8, 0x08, 7, 0x1a, 4, 0x0a, 2, 0x08, 5, 0x12, 2, 0x08, 13,
    ])
    .unwrap();
    assert_eq!(var.name, "b");
    assert_eq!(var.r#type.r#type, 13);
    assert_eq!(var.r#type.lod_tensor.unwrap().tensor.data_type, 5);
}

#[test]
fn unknown_fields_are_kept() {
    // After the known field: a varint, 8 bytes, a string, a group with a varint inside, 4 bytes.
    let bytes = [
        0x08, 5, 0x18, 0xac, 0x02, 0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2a, 2, b'h', b'i', 0x33, 0x08, 1, 0x34,
        0x3d, 1, 2, 3, 4,
    ];
    let mut desc = TensorDesc::decode(&bytes).unwrap();
    assert_eq!(desc.unknown, bytes[2..]);
    assert_eq!(desc.encode_to_vec(), bytes);
    desc.dims.push(9);
    assert_eq!(desc.encode_to_vec()[..5], [0x08, 5, 0x10, 9, 0x18]);
}

#[test]
fn unknown_numbers_of_enumerations_are_kept() {
    let bytes = [0x08, 99];
    let desc = TensorDesc::decode(&bytes).unwrap();
    assert_eq!(desc.encode_to_vec(), bytes);
    let error = VarKind::try_from(desc.data_type).unwrap_err();
    assert_eq!(error, WireError::UnknownNumber { enumeration: "VarKind", value: 99 });
    assert_eq!(error.to_string(), "99 is not a number of `VarKind`");
}

#[test]
fn enumerations_have_their_numbers() {
    let kinds: Vec<i32> =
        (-1..100).filter(|&n| VarKind::try_from(n).is_ok_and(|it| i32::from(it) == n)).collect();
    assert_eq!(kinds, (0..16).chain(17..34).chain(36..39).collect::<Vec<_>>());
    let types: Vec<i32> =
        (-1..100).filter(|&n| AttrType::try_from(n).is_ok_and(|it| i32::from(it) == n)).collect();
    assert_eq!(types, (0..18).collect::<Vec<_>>());
    assert_eq!((i32::from(VarKind::SizeT), VarKind::SizeT.to_string()), (19, "SIZE_T".into()));
    assert_eq!((i32::from(AttrType::Float64), AttrType::Float64.to_string()), (15, "FLOAT64".into()));
}

#[test]
fn a_missing_required_field_is_named() {
    // A variable without a type.
    let error = VarDesc::decode(&[0x0a, 1, b'w']).unwrap_err();
    assert_eq!(error, WireError::MissingField { message: "VarDesc", field: "type", offset: 0 });
    assert_eq!(error.to_string(), "the `VarDesc` at byte 0 lacks its required field `type`");

    // The same inside a program, from which the type of the operator is taken out.
    let mut bytes = SMALL_PROGRAM.to_vec();
    let taken: Vec<u8> = bytes.drain(85..92).collect();
    assert_eq!(taken, b"\x1a\x05scale");
    bytes[1..3].copy_from_slice(&[0x80 | (128 - 7), 0]);
    bytes[51] -= 7;
    let error = ProgramDesc::decode(&bytes).unwrap_err();
    assert_eq!(error, WireError::MissingField { message: "OpDesc", field: "type", offset: 52 });
}

#[test]
fn a_wrong_value_is_named() {
    // A name of two bytes that are not UTF-8, and a name that is a number.
    for name in [&[0x0a, 2, 0xff, 0xff][..], &[0x08, 1]] {
        let bytes = [name, &[0x12, 2, 0x08, 7]].concat();
        let error = VarDesc::decode(&bytes).unwrap_err();
        assert!(matches!(error, WireError::FieldValue { .. }), "{error:?}");
        assert!(error.to_string().contains("VarDesc.name: "), "{error}");
    }
}
