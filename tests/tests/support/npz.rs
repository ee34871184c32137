//! Reads `.npz` files as `numpy.savez` writes them: a zip archive of arrays that are stored, not compressed.

use std::collections::BTreeMap;
use std::path::Path;

use paddle::core::wire::VarKind;

use super::tensor::{Tensor, Values};

/// The arrays of a file by name.
pub(crate) fn read(path: &Path) -> BTreeMap<String, Tensor> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut rest = bytes.as_slice();
    let mut arrays = BTreeMap::new();
    // Local headers follow each other; the archive's directory comes after the last one.
    while let Some(header) = rest.strip_prefix(b"PK\x03\x04") {
        assert_eq!(number(header, 4), 0, "{path:?} is compressed");
        let (name, extra) = (number(header, 22), number(header, 24));
        let file = std::str::from_utf8(&header[26..26 + name]).expect("a name is text");
        let (array, length) = array(&header[26 + name + extra..]);
        arrays.insert(file.strip_suffix(".npy").expect("an array").to_string(), array);
        rest = &header[26 + name + extra + length..];
    }
    assert!(rest.starts_with(b"PK\x01\x02"), "{path:?} is not what numpy.savez writes");
    arrays
}

fn number(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// An array in NumPy's own format, and the number of bytes that it takes.
fn array(bytes: &[u8]) -> (Tensor, usize) {
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"), "an array in version 1.0 of the format");
    let header_end = 10 + number(bytes, 8);
    let header = std::str::from_utf8(&bytes[10..header_end]).expect("a header is text");
    assert!(header.contains("'fortran_order': False"), "{header}");
    let after = |key: &str| header.split_once(key).unwrap_or_else(|| panic!("{key} in {header}")).1;
    let kind = after("'descr': '").split('\'').next().expect("there is something");
    let element = match kind {
        "<f4" => VarKind::Fp32,
        "<f8" => VarKind::Fp64,
        "<i4" => VarKind::Int32,
        "<i8" => VarKind::Int64,
        "|b1" => VarKind::Bool,
        "|u1" => VarKind::Uint8,
        "|i1" => VarKind::Int8,
        "<i2" => VarKind::Int16,
        "<f2" => VarKind::Fp16,
        other => panic!("elements of type {other}"),
    };
    let shape = after("'shape': (").split(')').next().expect("there is something");
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|dim| !dim.is_empty())
        .map(|dim| dim.parse().expect("a size"))
        .collect();
    let end = header_end + shape.iter().product::<usize>() * element.element_size().expect("an element type");
    let values = Values::from_bytes(element, &bytes[header_end..end]);
    (Tensor { shape, values, offsets: Vec::new() }, end)
}

/// An array, and the offsets that lie beside it where its rows are tokens of sequences.
pub(crate) fn with_offsets(arrays: &BTreeMap<String, Tensor>, name: &str) -> Tensor {
    let array = arrays[name].clone();
    match arrays.get(&format!("{name}.lod0")).map(|offsets| &offsets.values) {
        Some(Values::I64(offsets)) => array.with_offsets(offsets),
        Some(other) => panic!("offsets of `{name}` are {other:?}"),
        None => array,
    }
}
