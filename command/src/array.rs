//! Arrays whose element type is known at run time, in NumPy's files and in batches.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use ndarray::{Array1, ArrayD, Axis, IxDyn, OwnedRepr};
use ndarray_npy::{
    NpzReader, NpzWriter, ReadNpyError, ReadNpyExt, ReadNpzError, ReadableElement, WriteNpyExt,
};
use paddle::core::program::DType;
use paddle::network::Variable;
use paddle::{Batch, Dynamic, Outputs};

use crate::failure::Failure;

/// An array of one of the types that tensors have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Array {
    Bool(ArrayD<bool>),
    I32(ArrayD<i32>),
    I64(ArrayD<i64>),
    F32(ArrayD<f32>),
    F64(ArrayD<f64>),
}

/// Runs the same code on the array of whichever type.
macro_rules! each {
    ($array:expr, $elements:ident => $result:expr) => {
        match $array {
            Array::Bool($elements) => $result,
            Array::I32($elements) => $result,
            Array::I64($elements) => $result,
            Array::F32($elements) => $result,
            Array::F64($elements) => $result,
        }
    };
}

impl Array {
    pub(crate) fn zeros(dtype: DType, shape: &[usize]) -> Self {
        let shape = IxDyn(shape);
        match dtype {
            DType::Bool => Array::Bool(ArrayD::default(shape)),
            DType::I32 => Array::I32(ArrayD::default(shape)),
            DType::I64 => Array::I64(ArrayD::default(shape)),
            DType::F32 => Array::F32(ArrayD::default(shape)),
            DType::F64 => Array::F64(ArrayD::default(shape)),
        }
    }

    /// The output of this number and type.
    pub(crate) fn of_output(outputs: &Outputs, k: usize, output: &Variable) -> Result<Self, Failure> {
        Ok(match output.dtype {
            DType::Bool => Array::Bool(outputs.at(k)?.to_owned()),
            DType::I32 => Array::I32(outputs.at(k)?.to_owned()),
            DType::I64 => Array::I64(outputs.at(k)?.to_owned()),
            DType::F32 => Array::F32(outputs.at(k)?.to_owned()),
            DType::F64 => Array::F64(outputs.at(k)?.to_owned()),
        })
    }

    /// The lengths of sequences with these offsets.
    pub(crate) fn of_lengths(offsets: &[usize]) -> Self {
        Array::I64(
            offsets.windows(2).map(|ends| (ends[1] - ends[0]) as i64).collect::<Array1<_>>().into_dyn(),
        )
    }

    pub(crate) fn shape(&self) -> &[usize] {
        each!(self, elements => elements.shape())
    }

    /// `f32[2, 10]`.
    pub(crate) fn shown(&self) -> String {
        let dtype = match self {
            Array::Bool(_) => DType::Bool,
            Array::I32(_) => DType::I32,
            Array::I64(_) => DType::I64,
            Array::F32(_) => DType::F32,
            Array::F64(_) => DType::F64,
        };
        format!("{dtype}{:?}", self.shape())
    }

    /// The first elements as text.
    pub(crate) fn first(&self, count: usize) -> Vec<String> {
        each!(self, elements => elements.iter().take(count).map(|element| format!("{element:?}")).collect())
    }

    /// The elements as lengths: whole numbers that are not negative.
    pub(crate) fn lengths(&self) -> Option<Vec<usize>> {
        match self {
            Array::I32(lengths) if lengths.ndim() == 1 => {
                lengths.iter().map(|&length| length.try_into().ok()).collect()
            }
            Array::I64(lengths) if lengths.ndim() == 1 => {
                lengths.iter().map(|&length| length.try_into().ok()).collect()
            }
            _ => None,
        }
    }

    /// Feeds an input, with the offsets of its levels of sequences.
    pub(crate) fn feed(
        &self,
        batch: &mut Batch<Dynamic>,
        input: &str,
        levels: &[Vec<usize>],
    ) -> Result<(), Failure> {
        let levels: Vec<&[usize]> = levels.iter().map(Vec::as_slice).collect();
        Ok(each!(self, elements => match &levels[..] {
            [] => batch.set(input, elements),
            levels => batch.set_nested_sequences(input, elements, levels),
        })?)
    }

    /// The arrays one behind the other, along the first axis; `None` if their types or other sizes differ.
    pub(crate) fn concatenate(arrays: &[&Array]) -> Option<Array> {
        macro_rules! of_type {
            ($variant:ident) => {{
                let views = arrays.iter().map(|&array| match array {
                    Array::$variant(elements) => Some(elements.view()),
                    _ => None,
                });
                let views: Vec<_> = views.collect::<Option<_>>()?;
                Some(Array::$variant(ndarray::concatenate(Axis(0), &views).ok()?))
            }};
        }
        match arrays.first()? {
            Array::Bool(_) => of_type!(Bool),
            Array::I32(_) => of_type!(I32),
            Array::I64(_) => of_type!(I64),
            Array::F32(_) => of_type!(F32),
            Array::F64(_) => of_type!(F64),
        }
    }

    /// The first type for which `read` finds elements of that type.
    fn read(mut read: impl Reader) -> Result<Self, ReadNpyError> {
        macro_rules! tried {
            ($($variant:ident)*) => {$(
                match read.array() {
                    Ok(elements) => return Ok(Array::$variant(elements)),
                    Err(ReadNpyError::WrongDescriptor(_)) => {}
                    Err(error) => return Err(error),
                }
            )*};
        }
        tried!(F32 I64 Bool I32);
        read.array().map(Array::F64)
    }

    /// Reads a `.npy` file.
    pub(crate) fn of_npy(path: &Path) -> Result<Self, Failure> {
        let bytes = std::fs::read(path).map_err(|error| Failure::of(path, error))?;
        Array::read(Npy(&bytes)).map_err(|error| Failure::of(path, explained(error)))
    }

    /// Writes a `.npy` file.
    pub(crate) fn write_npy(&self, path: &Path) -> Result<(), Failure> {
        let file = File::create(path).map_err(|error| Failure::of(path, error))?;
        let mut writer = BufWriter::new(file);
        each!(self, elements => elements.write_npy(&mut writer)).map_err(|error| Failure::of(path, error))?;
        writer.flush().map_err(|error| Failure::of(path, error))
    }
}

/// What arrays are read from, for as many types as it takes.
trait Reader {
    fn array<T: ReadableElement>(&mut self) -> Result<ArrayD<T>, ReadNpyError>;
}

struct Npy<'a>(&'a [u8]);

impl Reader for Npy<'_> {
    fn array<T: ReadableElement>(&mut self) -> Result<ArrayD<T>, ReadNpyError> {
        ArrayD::read_npy(self.0)
    }
}

struct OfNpz<'a, R: Read + Seek>(&'a mut NpzReader<R>, usize);

impl<R: Read + Seek> Reader for OfNpz<'_, R> {
    fn array<T: ReadableElement>(&mut self) -> Result<ArrayD<T>, ReadNpyError> {
        self.0.by_index::<OwnedRepr<T>, IxDyn>(self.1).map_err(|error| match error {
            ReadNpzError::Npy(error) => error,
            ReadNpzError::Zip(error) => ReadNpyError::Io(error.into()),
        })
    }
}

/// An error in reading, in the words of tensors.
fn explained(error: ReadNpyError) -> String {
    match error {
        ReadNpyError::WrongDescriptor(found) => {
            format!("found elements of NumPy's type {found}, expected bool, int32, int64, float32 or float64")
        }
        error => error.to_string(),
    }
}

/// Reads the arrays of a `.npz` file, stored or compressed, by their names.
pub(crate) fn of_npz(path: &Path) -> Result<BTreeMap<String, Array>, Failure> {
    let file = File::open(path).map_err(|error| Failure::of(path, error))?;
    let mut npz = NpzReader::new(BufReader::new(file)).map_err(|error| Failure::of(path, error))?;
    let names = npz.names().map_err(|error| Failure::of(path, error))?;
    let mut arrays = BTreeMap::new();
    for (at, name) in names.into_iter().enumerate() {
        let array = Array::read(OfNpz(&mut npz, at))
            .map_err(|error| Failure::of(path, format!("array `{name}`: {}", explained(error))))?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

/// Writes a `.npz` file, compressed.
pub(crate) fn write_npz(path: &Path, arrays: &[(String, Array)]) -> Result<(), Failure> {
    let file = File::create(path).map_err(|error| Failure::of(path, error))?;
    let mut npz = NpzWriter::new_compressed(BufWriter::new(file));
    for (name, array) in arrays {
        each!(array, elements => npz.add_array(name.as_str(), elements))
            .map_err(|error| Failure::of(path, error))?;
    }
    npz.finish().map(drop).map_err(|error| Failure::of(path, error))
}
