//! The arrays of a pickle, by their names.

use std::collections::BTreeMap;

use super::error::{PickleError, PickleFault};
use super::machine::{Array, Id, Machine, Object};
use crate::memory::TryGrow;
use crate::wire::{TensorRecord, VarKind};

/// Where `paddle.save` writes which parameter has which name in the tree of layers.
const NAMES: &str = "StructuredToParameterName@@";

/// Where `paddle.save` writes, in protocols 2 and 3, which arrays are in slices: those above 1 GB.
const SLICES: &str = "UnpackBigParamInfor@@";

/// The values in a file of `paddle.save`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedValues {
    /// The arrays. Those of a dictionary within the dictionary have the names of both, with a dot between them.
    pub arrays: BTreeMap<String, TensorRecord>,
    /// For names in the tree of layers, `0.weight`, the names of parameters, `linear_0.w_0`, if the file says them.
    pub parameters: BTreeMap<String, String>,
    /// The names of values that are no arrays, such as the settings of an updater.
    pub others: Vec<String>,
}

/// Reads a `.pdparams` or `.pdopt` file. Nothing in it is executed.
///
/// # Errors
/// If the bytes are no pickle of a dictionary, or it has anything but plain data and NumPy's arrays. The memory that
/// is taken is bounded by the length of the bytes.
pub fn read_saved(bytes: &[u8]) -> Result<SavedValues, PickleError> {
    let (machine, found) = Machine::run(bytes)?;
    let Object::Dict(entries) = &machine.objects[found] else { return Err(PickleFault::NoDictionary.at(0)) };
    let mut reader = Arrays { machine: &machine, left: bytes.len(), found: SavedValues::default() };
    for &(key, value) in entries {
        let key = reader.key(key)?;
        if key == SLICES {
            return Err(PickleFault::Slices.at(0));
        }
        match &machine.objects[value] {
            Object::Dict(names) if key == NAMES => {
                for &(name, parameter) in names {
                    let (name, parameter) = (reader.key(name)?, reader.key(parameter)?);
                    reader.spend(1 + name.len() + parameter.len())?;
                    reader.found.parameters.insert(name.into(), parameter.into());
                }
            }
            Object::Dict(inner) => {
                for &(name, value) in inner {
                    let name = reader.key(name)?;
                    reader.spend(1 + key.len() + name.len())?;
                    reader.value(format!("{key}.{name}"), value)?;
                }
            }
            _ => reader.value(key.to_string(), value)?,
        }
    }
    Ok(reader.found)
}

struct Arrays<'m, 'a> {
    machine: &'m Machine<'a>,
    /// The bytes that may still be taken.
    left: usize,
    found: SavedValues,
}

impl<'a> Arrays<'_, 'a> {
    fn key(&self, key: Id) -> Result<&'a str, PickleError> {
        match &self.machine.objects[key] {
            Object::Text(key) => Ok(key),
            _ => Err(PickleFault::NoDictionary.at(0)),
        }
    }

    /// Objects may stand in many places, but copies of them have no more bytes than the file.
    fn spend(&mut self, bytes: usize) -> Result<(), PickleError> {
        self.left = self.left.checked_sub(bytes).ok_or(PickleFault::Repeated.at(0))?;
        Ok(())
    }

    fn value(&mut self, name: String, value: Id) -> Result<(), PickleError> {
        let array = match &self.machine.objects[value] {
            Object::Array(Some(array)) => *array,
            // A tensor outside of the outermost dictionary is a pair of its name and its array.
            Object::List(pair) if pair.len() == 2 => {
                match [pair[0], pair[1]].map(|id| &self.machine.objects[id]) {
                    [Object::Text(_), Object::Array(Some(array))] => *array,
                    _ => return self.other(name),
                }
            }
            _ => return self.other(name),
        };
        let record = self.record(&array)?;
        self.found.arrays.insert(name, record);
        Ok(())
    }

    fn other(&mut self, name: String) -> Result<(), PickleError> {
        self.found.others.push(name);
        Ok(())
    }

    fn record(&mut self, array: &Array) -> Result<TensorRecord, PickleError> {
        let wrong = |fault: PickleFault| fault.at(array.offset);
        let objects = &self.machine.objects;
        let Object::Type { name, order } = &objects[array.element] else {
            return Err(wrong(PickleFault::Operand("type of elements")));
        };
        let (element, width) = match *name {
            "b1" => (VarKind::Bool, 1),
            "u1" => (VarKind::Uint8, 1),
            "i1" => (VarKind::Int8, 1),
            "i2" => (VarKind::Int16, 2),
            "i4" => (VarKind::Int32, 4),
            "i8" => (VarKind::Int64, 8),
            "f2" => (VarKind::Fp16, 2),
            // NumPy has no such type; PaddlePaddle gives it the bits.
            "u2" => (VarKind::Bf16, 2),
            "f4" => (VarKind::Fp32, 4),
            "f8" => (VarKind::Fp64, 8),
            name => return Err(wrong(PickleFault::Element(name.to_string()))),
        };
        if order.is_some_and(|order| !matches!(order, "<" | "|" | "=")) {
            return Err(wrong(PickleFault::Element(format!("{}{name}", order.unwrap_or_default()))));
        }
        let Object::List(shape) = &objects[array.shape] else {
            return Err(wrong(PickleFault::Operand("shape")));
        };
        let mut dims = Vec::new();
        for &size in shape {
            match objects[size] {
                Object::Int(size) if size >= 0 => dims.push(size),
                _ => return Err(wrong(PickleFault::Array("a size is no number, or negative".into()))),
            }
        }
        if array.is_columns && dims.iter().filter(|&&size| size > 1).count() > 1 {
            return Err(wrong(PickleFault::Array("its first axis runs fastest, which is not read".into())));
        }
        let mut data = Vec::new();
        let room = |count: usize| {
            move |error: crate::memory::OutOfMemory| {
                wrong(PickleFault::OutOfMemory(error.wanted_for(format_args!("an array of {count} bytes"))))
            }
        };
        match objects[array.data] {
            Object::Bytes(bytes) => {
                self.left = self.left.checked_sub(bytes.len()).ok_or(wrong(PickleFault::Repeated))?;
                data.try_extend_from_slice(bytes).map_err(room(bytes.len()))?;
            }
            Object::Latin(text) => {
                self.left = self.left.checked_sub(text.len()).ok_or(wrong(PickleFault::Repeated))?;
                data.try_grow(text.len()).map_err(room(text.len()))?;
                for c in text.chars() {
                    let byte = u8::try_from(u32::from(c));
                    data.push(byte.map_err(|_| wrong(PickleFault::Array("a character is no byte".into())))?);
                }
            }
            _ => return Err(wrong(PickleFault::Operand("bytes"))),
        }
        let count = dims.iter().try_fold(width, |bytes: i64, &size| bytes.checked_mul(size));
        if count.and_then(|count| usize::try_from(count).ok()) != Some(data.len()) {
            let why = format!("{} bytes are not those of {element}{dims:?}", data.len());
            return Err(wrong(PickleFault::Array(why)));
        }
        Ok(TensorRecord { lod: Vec::new(), element, dims, data })
    }
}
