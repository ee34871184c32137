//! Tensor streams and parameter files.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::wire::{
    TensorRecord, VarKind, WireError, parameter_names, read_params, read_tensor, write_params, write_tensor,
};

use crate::small_program;

fn tensor() -> TensorRecord {
    TensorRecord { lod: vec![vec![0, 2]], element: VarKind::Int16, dims: vec![2, 1], data: vec![1, 0, 2, 0] }
}

/// The bytes of [`tensor`], by hand.
#[rustfmt::skip]
pub(crate) const TENSOR: &[u8] = &[
    0, 0, 0, 0,                                                   // version
    1, 0, 0, 0, 0, 0, 0, 0,                                       // one level of sequences
    16, 0, 0, 0, 0, 0, 0, 0,                                      //   16 bytes
    0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,               //   offsets 0, 2
    0, 0, 0, 0,                                                   // version
    6, 0, 0, 0,                                                   // length of the description
    0x08, 1, 0x10, 2, 0x10, 1,                                    // INT16, [2, 1]
    1, 0, 2, 0,                                                   // elements
];

/// [`TENSOR`] with the bytes from `at` on replaced.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut tensor = TENSOR.to_vec();
    tensor[at..at + bytes.len()].copy_from_slice(bytes);
    tensor
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| name.to_string()).collect()
}

#[test]
fn a_tensor_is_its_bytes() {
    let mut bytes = Vec::new();
    write_tensor(&tensor(), &mut bytes).unwrap();
    assert_eq!(bytes, TENSOR);
    let mut input = &[TENSOR, &[7]].concat()[..];
    assert_eq!(read_tensor(&mut input), Ok(tensor()));
    assert_eq!(input, [7]);
}

#[test]
fn scalars_and_empty_tensors() {
    let scalar = TensorRecord { lod: vec![], element: VarKind::Fp64, dims: vec![], data: vec![1; 8] };
    let empty = TensorRecord { dims: vec![i64::MAX, i64::MAX, 0], data: vec![], ..scalar.clone() };
    for tensor in [scalar, empty] {
        let mut bytes = Vec::new();
        write_tensor(&tensor, &mut bytes).unwrap();
        assert_eq!(read_tensor(&mut &bytes[..]), Ok(tensor));
    }
}

#[test]
fn params_are_in_the_order_of_the_bytes_of_their_names() {
    let order = ["B_up", "_under", "a.b", "alpha", "w_10", "w_2"];
    let params: BTreeMap<_, _> = (0_u8..)
        .zip(order)
        .map(|(i, name)| {
            let tensor = TensorRecord { lod: vec![], element: VarKind::Uint8, dims: vec![1], data: vec![i] };
            (name.to_string(), tensor)
        })
        .collect();
    let bytes = write_params(&params).unwrap();
    let data: Vec<u8> =
        bytes.chunks_exact(bytes.len() / order.len()).map(|one| *one.last().unwrap()).collect();
    assert_eq!(data, [0, 1, 2, 3, 4, 5]);
    assert_eq!(read_params(&bytes, &names(&order)), Ok(params));
}

#[test]
fn parameters_are_the_persistable_tensors() {
    let mut program = small_program();
    let vars = &mut program.blocks[0].vars;
    let mut feed = vars[0].clone();
    feed.name = "feed".into();
    feed.r#type.r#type = VarKind::FeedMinibatch.into();
    let mut temporary = vars[0].clone();
    temporary.name = "temporary".into();
    temporary.persistable = None;
    vars.extend([feed, temporary]);
    assert_eq!(parameter_names(&program), names(&["w"]));
}

#[test]
fn params_must_be_exactly_those_of_the_program() {
    let two = [TENSOR, TENSOR].concat();
    assert!(read_params(&two, &names(&["a", "b"])).is_ok());
    let error = read_params(&two, &names(&["a"])).unwrap_err();
    assert_eq!(error, WireError::TrailingBytes { count: TENSOR.len(), last: Some("a".into()) });
    let error = read_params(&two, &names(&["a", "b", "c"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter `c`: the bytes end too early: the version takes 4 bytes, but 0 are left"
    );
    assert_eq!(read_params(&[], &names(&[])), Ok(BTreeMap::new()));
    assert_eq!(read_params(&[1], &names(&[])), Err(WireError::TrailingBytes { count: 1, last: None }));
}

#[test]
fn lengths_are_compared_with_what_is_there() {
    let read = |bytes: &[u8]| read_tensor(&mut &*bytes).unwrap_err();
    let huge = u64::MAX.to_le_bytes();
    assert_eq!(read(&with(0, &[1])), WireError::TensorVersion { part: "the sequence part", found: 1 });
    // As many levels as there can be: the second one is read from the bytes that follow the first.
    assert!(matches!(read(&with(4, &huge)), WireError::Truncated { part: "a sequence level", .. }));
    assert_eq!(
        read(&with(12, &huge)),
        WireError::Truncated { part: "a sequence level", needed: u64::MAX, left: TENSOR.len() - 20 }
    );
    assert_eq!(read(&with(12, &[15])), WireError::LodLength { length: 15 });
    assert_eq!(read(&with(36, &[2])), WireError::TensorVersion { part: "the tensor part", found: 2 });
    assert_eq!(read(&with(40, &[255; 4])), WireError::DescLength { length: -1 });
    assert!(matches!(
        read(&with(40, &i32::MAX.to_le_bytes())),
        WireError::Truncated { part: "the description", .. }
    ));
    assert_eq!(
        read(&with(44, &[0x10, 3])),
        WireError::MissingField { message: "TensorDesc", field: "data_type", offset: 0 }
    );
    assert_eq!(read(&with(45, &[7])), WireError::NotAnElement { kind: VarKind::LodTensor });
    assert_eq!(read(&with(45, &[99])), WireError::UnknownNumber { enumeration: "VarKind", value: 99 });
    assert_eq!(read(&with(47, &[127])), WireError::Truncated { part: "the data", needed: 254, left: 4 });
}

#[test]
fn sizes_that_no_memory_has_are_errors() {
    let of = |dims: &[i64]| TensorRecord {
        lod: vec![],
        element: VarKind::Complex128,
        dims: dims.to_vec(),
        data: vec![],
    };
    for dims in [&[-1][..], &[i64::MIN], &[0, -1], &[i64::MAX], &[1 << 32, 1 << 32], &[1 << 60]] {
        let error = write_tensor(&of(dims), &mut Vec::new()).unwrap_err();
        assert_eq!(error, WireError::TensorSize { dims: dims.to_vec(), element: VarKind::Complex128 });
    }
    let mut output = vec![1];
    let error = write_tensor(&of(&[1 << 40]), &mut output).unwrap_err();
    assert_eq!(error, WireError::DataLength { expected: 1 << 44, found: 0 });
    assert_eq!(output, [1], "nothing is written of a tensor that is wrong");
}
