//! Tensor streams and `.pdiparams` files. All numbers are little endian.
//!
//! One tensor:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | version of the sequence part: 0 |
//! | 8 | number of levels of sequences; then, for each level: |
//! | · 8 | · length of the level in bytes |
//! | · n | · its offsets, 8 bytes each: `[0, 2, 5]` is a sequence of 2 rows and one of 3 |
//! | 4 | version of the tensor part: 0 |
//! | 4 | length of the [`TensorDesc`] |
//! | n | the [`TensorDesc`]: element type and dimensions |
//! | n | the elements, row by row |
//!
//! A `.pdiparams` file is nothing but such tensors: no names, no count. They are those of the program's
//! persistable tensor variables, ordered by the bytes of their names, so the file can be read only with the
//! program at hand. A program without any has no such file.

use std::collections::{BTreeMap, BTreeSet};

use super::{ProgramDesc, TensorDesc, VarKind, WireError};
use crate::memory::{TryGrow, try_collect};

/// The number of bytes of a stored tensor without its levels, its description and its elements.
const PREFIXES: usize = 4 + 8 + 4 + 4;

/// A tensor as it is stored. The levels need not agree with the dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorRecord {
    /// The offsets of the sequences, one list for each level.
    pub lod: Vec<Vec<u64>>,
    /// The element type.
    pub element: VarKind,
    /// The dimensions; none for a scalar.
    pub dims: Vec<i64>,
    /// The elements, row by row, little endian.
    pub data: Vec<u8>,
}

/// The names of the tensors in the `.pdiparams` file of a program: its persistable `LOD_TENSOR` variables. (`feed` and
/// `fetch` are persistable too, but of other kinds.)
pub fn parameter_names(program: &ProgramDesc) -> BTreeSet<String> {
    let vars = program.blocks.iter().flat_map(|block| &block.vars);
    vars.filter(|var| var.persistable == Some(true) && var.r#type.r#type == i32::from(VarKind::LodTensor))
        .map(|var| var.name.clone())
        .collect()
}

/// Reads the tensors of these names. They have to take all of the bytes.
pub fn read_params(
    mut bytes: &[u8],
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, TensorRecord>, WireError> {
    let mut params = BTreeMap::new();
    for name in names {
        let tensor = read_tensor(&mut bytes).map_err(|cause| of_parameter(name, cause))?;
        params.insert(name.clone(), tensor);
    }
    match bytes.len() {
        0 => Ok(params),
        count => Err(WireError::TrailingBytes { count, last: names.last().cloned() }),
    }
}

/// Writes the tensors in the order of the bytes of their names, which is the order of the map.
pub fn write_params(params: &BTreeMap<String, TensorRecord>) -> Result<Vec<u8>, WireError> {
    let mut bytes = Vec::new();
    for (name, tensor) in params {
        write_tensor(tensor, &mut bytes).map_err(|cause| of_parameter(name, cause))?;
    }
    Ok(bytes)
}

fn of_parameter(name: &str, cause: WireError) -> WireError {
    match cause {
        WireError::OutOfMemory(error) => error.wanted_for(format_args!("parameter `{name}`")).into(),
        cause => WireError::Parameter { name: name.to_owned(), cause: Box::new(cause) },
    }
}

/// Reads one tensor and moves `input` past it. Every length is compared with the remaining bytes before memory is
/// allocated for it.
pub fn read_tensor(input: &mut &[u8]) -> Result<TensorRecord, WireError> {
    version(input, "the sequence part")?;
    let levels = u64::from_le_bytes(array(input, "the number of sequence levels")?);
    let mut lod = Vec::new();
    for _ in 0..levels {
        let length = u64::from_le_bytes(array(input, "the length of a sequence level")?);
        let (offsets, []) = take(input, length, "a sequence level")?.as_chunks() else {
            return Err(WireError::LodLength { length });
        };
        lod.push(try_collect(offsets.iter().copied().map(u64::from_le_bytes))?);
    }
    version(input, "the tensor part")?;
    let length = i32::from_le_bytes(array(input, "the length of the description")?);
    let length = u64::try_from(length).map_err(|_| WireError::DescLength { length })?;
    let TensorDesc { data_type, dims, .. } = TensorDesc::decode(take(input, length, "the description")?)?;
    let element = VarKind::try_from(data_type)?;
    let mut data = Vec::new();
    data.try_extend_from_slice(take(input, data_length(element, &dims)? as u64, "the data")?)?;
    Ok(TensorRecord { lod, element, dims, data })
}

/// Appends one tensor to `output`.
pub fn write_tensor(tensor: &TensorRecord, output: &mut Vec<u8>) -> Result<(), WireError> {
    let TensorRecord { lod, element, dims, data } = tensor;
    let expected = data_length(*element, dims)?;
    if data.len() != expected {
        return Err(WireError::DataLength { expected, found: data.len() });
    }
    let desc = TensorDesc { data_type: (*element).into(), dims: dims.clone(), ..TensorDesc::default() };
    let desc = desc.encode_to_vec();
    let desc_length = i32::try_from(desc.len())
        .map_err(|_| WireError::TensorSize { dims: dims.clone(), element: *element })?;

    let offsets: usize = lod.iter().map(|level| size_of::<u64>() + size_of_val(level.as_slice())).sum();
    output.try_grow(PREFIXES + offsets + desc.len() + data.len())?;
    output.extend(0_u32.to_le_bytes());
    output.extend((lod.len() as u64).to_le_bytes());
    for level in lod {
        output.extend((size_of_val(level.as_slice()) as u64).to_le_bytes());
        output.extend(level.iter().flat_map(|offset| offset.to_le_bytes()));
    }
    output.extend(0_u32.to_le_bytes());
    output.extend(desc_length.to_le_bytes());
    output.extend(desc);
    output.extend(data);
    Ok(())
}

/// The number of bytes of a tensor's elements.
fn data_length(element: VarKind, dims: &[i64]) -> Result<usize, WireError> {
    let size = element.element_size().ok_or(WireError::NotAnElement { kind: element })?;
    let wrong = || WireError::TensorSize { dims: dims.to_vec(), element };
    let dims = dims.iter().map(|&dim| usize::try_from(dim)).collect::<Result<Vec<_>, _>>();
    let dims = dims.map_err(|_| wrong())?;
    if dims.contains(&0) {
        return Ok(0);
    }
    dims.iter().try_fold(size, |length, &dim| length.checked_mul(dim)).ok_or_else(wrong)
}

/// Takes the next `length` bytes of `input`.
fn take<'a>(input: &mut &'a [u8], length: u64, part: &'static str) -> Result<&'a [u8], WireError> {
    let taken = usize::try_from(length).ok().and_then(|length| input.split_off(..length));
    taken.ok_or(WireError::Truncated { part, needed: length, left: input.len() })
}

/// Takes the next `N` bytes of `input`.
fn array<const N: usize>(input: &mut &[u8], part: &'static str) -> Result<[u8; N], WireError> {
    let (first, rest) = input.split_first_chunk().ok_or(WireError::Truncated {
        part,
        needed: N as u64,
        left: input.len(),
    })?;
    *input = rest;
    Ok(*first)
}

/// Reads the version of a part. The only known version is 0.
fn version(input: &mut &[u8], part: &'static str) -> Result<(), WireError> {
    match u32::from_le_bytes(array(input, "the version")?) {
        0 => Ok(()),
        found => Err(WireError::TensorVersion { part, found }),
    }
}
