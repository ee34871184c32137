//! Saving and loading of parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use paddle_core::convert::element;
use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{Backend, Stored};
use paddle_core::wire::{TensorRecord, read_params, write_params};

use super::checkpoint::Checkpoint;
use super::error::{FileError, FileFault};
use super::former_names::Names;
use super::load_report::{LoadReport, Mismatch};
use super::matching::Tensors;
use super::notes::Notes;
use super::safetensors::{Contents, Tensor, TensorFile};
use super::{Load, atomic, disk, length};
use crate::Error;
use crate::element::Values;
use crate::parameters::Parameters;
use crate::stored;

/// An upper bound on the bytes that a tensor takes in PaddlePaddle's files besides its elements.
const MAX_DESCRIPTION: usize = 4096;

impl<B: Backend> Parameters<B> {
    /// Writes a safetensors file with checksums, as a whole or not at all: after a kill, or after an error unless its
    /// fault [`is_written`](FileFault::is_written), the former file is unchanged.
    ///
    /// [The module of files](crate::files) has an example.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, there is no memory for a tensor's elements, or a parameter has a
    /// reserved name.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_to(path.as_ref(), &Notes::default())
    }

    /// Like [`save`](Self::save), with notes beside the parameters: what has to be known to use them. [`Notes`] has an
    /// example.
    ///
    /// # Errors
    /// Those of [`save`](Self::save), and [`FileFault::Note`] if a note has no form in JSON.
    pub fn save_with(&self, path: impl AsRef<Path>, notes: &Notes) -> Result<(), Error> {
        self.save_to(path.as_ref(), notes)
    }

    #[inline(never)]
    pub(crate) fn save_to(&self, path: &Path, notes: &Notes) -> Result<(), Error> {
        let (backend, values) = (self.backend(), self.values()?);
        let tensors = self.iter().map(|stored| Tensor::new(&stored.name, stored, backend, values));
        let contents = notes.texts().and_then(|texts| Contents::new(texts, tensors.collect()));
        let written = contents.and_then(|contents| atomic::write(path, |out| contents.write(out)));
        Ok(written.map_err(|fault| fault.of(path))?)
    }

    /// Reads parameters from a safetensors file, and reports what does not match. An error changes nothing. If the file
    /// has checksums, those of the header and of the tensors that are read are checked;
    /// [`checkpoint::verify`](crate::checkpoint::verify) checks all of them.
    ///
    /// Memory is taken only for the parameters that are read, whatever the file says.
    ///
    /// [The module of files](crate::files) has an example.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, is damaged, does not hold tensors, or does not have what [`Load`]
    /// asks for. In the last case the fault is [`FileFault::Differs`], with the names.
    pub fn load(&mut self, path: impl AsRef<Path>, load: Load<'_>) -> Result<LoadReport, Error> {
        self.load_from(path.as_ref(), load)
    }

    #[inline(never)]
    pub(crate) fn load_from(&mut self, path: &Path, load: Load<'_>) -> Result<LoadReport, Error> {
        let mut file = TensorFile::open(path)?;
        let (report, values) = self.read(&mut file, path, load)?;
        self.upload(&values);
        Ok(report)
    }

    /// Like [`load`](Self::load), of a file that is in memory: one that is part of the program, as by `include_bytes!`, or
    /// came over a network. It needs no file system, so it works on `wasm32`, too.
    ///
    /// ```
    /// use paddle::{Load, Parameters, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "line"));
    /// # let path = std::env::temp_dir().join(format!("paddle-doc-{}.safetensors", std::process::id()));
    /// let saved = Parameters::create(&net)?;
    /// saved.save(&path)?;
    /// let bytes = std::fs::read(&path).unwrap();
    /// let mut loaded = Parameters::create_with_seed(&net, 1)?;
    /// loaded.load_bytes(&bytes, Load::Strict)?;
    /// assert_eq!(loaded.get::<f32>("line.w")?, saved.get::<f32>("line.w")?);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`load`](Self::load); they name the file `(in memory)`.
    pub fn load_bytes(&mut self, bytes: &[u8], load: Load<'_>) -> Result<LoadReport, Error> {
        let name = Path::new("(in memory)");
        let mut file = TensorFile::in_memory(bytes, name)?;
        let (report, values) = self.read(&mut file, name, load)?;
        self.upload(&values);
        Ok(report)
    }

    /// The names of the parameters in a file.
    pub(crate) fn names_in_file(&self, file: &TensorFile) -> Names<'_> {
        Names::of(self.former(), file)
    }

    /// The parameters that a file has, with their positions. The states in a checkpoint are no parameters.
    pub(crate) fn read(
        &self,
        file: &mut TensorFile,
        path: &Path,
        load: Load<'_>,
    ) -> Result<(LoadReport, Vec<(String, Values)>), FileError> {
        let names = self.names_in_file(file);
        let states = Checkpoint::of(file, path).iter().flat_map(Checkpoint::state_tensors).collect();
        let tensors = InFile { file, names: &names, states };
        let (report, found) = self.matched(&tensors, load).map_err(|fault| fault.of(path))?;
        let read =
            found.iter().map(|(stored, tensor)| Ok((stored.name.clone(), file.read(tensor, stored.dtype)?)));
        let values = read.collect::<Result<_, FileError>>()?;
        Ok((report, values))
    }

    /// Writes the parameters as PaddlePaddle's parameter file, a `.pdiparams`, as a whole or not at all. The format has
    /// no checksums: reading notices a file that is cut off, but not a changed bit in the elements.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, or there is no memory for its content, which is built as a whole.
    pub fn save_pdiparams(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_pdiparams_of(path.as_ref(), &|_| true)
    }

    /// Writes those parameters whose names `is_wanted` takes.
    #[inline(never)]
    pub(crate) fn save_pdiparams_of(
        &self,
        path: &Path,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let records = self.records_of(is_wanted)?;
        let records = records.map_err(|error| FileFault::OutOfMemory(error).of(path))?;
        let bytes = write_params(&records).map_err(|error| FileFault::Wire(error).of(path))?;
        let written = atomic::write(path, |out| out.write_all(&bytes));
        Ok(written.map_err(|fault| fault.of(path))?)
    }

    /// Those parameters whose names `is_wanted` takes, with their values; or that there is no memory for them.
    #[inline(never)]
    pub(crate) fn records_of(
        &self,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Result<BTreeMap<String, TensorRecord>, OutOfMemory>, Error> {
        let kept = self.values()?;
        let record = |stored: &Stored| {
            let mut data = Vec::new();
            let written = stored::values(self.backend(), kept, stored)?.write_le_bytes(&mut data);
            written.map_err(|error| error.wanted_for(format_args!("parameter `{}`", stored.name)))?;
            let record =
                TensorRecord { lod: Vec::new(), element: element(stored.dtype), dims: dims(stored), data };
            Ok((stored.name.clone(), record))
        };
        let wanted = self.iter().filter(|stored| is_wanted(&stored.name));
        Ok(wanted.map(record).collect())
    }

    /// Reads all parameters from a `.pdiparams` file. The file has no names; its order is that of the names, so it has
    /// to have been written with the same names. An error changes nothing.
    ///
    /// ```
    /// use paddle::{Parameters, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "line"));
    /// # let path = std::env::temp_dir().join(format!("paddle-doc-{}.pdiparams", std::process::id()));
    /// let saved = Parameters::create(&net)?;
    /// saved.save_pdiparams(&path)?;
    /// let mut loaded = Parameters::create_with_seed(&net, 1)?;
    /// assert_ne!(loaded.get::<f32>("line.w")?, saved.get::<f32>("line.w")?);
    /// loaded.load_pdiparams(&path)?;
    /// assert_eq!(loaded.get::<f32>("line.w")?, saved.get::<f32>("line.w")?);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, is longer than the parameters can be, is not in PaddlePaddle's
    /// format, or has another number of parameters, other types or other shapes.
    pub fn load_pdiparams(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.load_pdiparams_from(path.as_ref())
    }

    #[inline(never)]
    pub(crate) fn load_pdiparams_from(&mut self, path: &Path) -> Result<(), Error> {
        let length = length(path)?;
        let most = self.iter().map(|stored| (stored.bytes + MAX_DESCRIPTION) as u64).sum();
        if length > most {
            return Err(FileFault::Long { length, most }.of(path).into());
        }
        let bytes = disk::read(path).map_err(|error| FileFault::read(error).of(path))?;
        let names = self.names().map(str::to_string).collect();
        let records = read_params(&bytes, &names).map_err(|error| FileFault::Wire(error).of(path))?;
        let (mut report, mut values) = (LoadReport::default(), Vec::new());
        for stored in self.iter() {
            let record = &records[&stored.name];
            if record.element == element(stored.dtype) && record.dims == dims(stored) {
                let read = Values::from_le_bytes(stored.dtype, &record.data)
                    .map_err(|error| error.wanted_for(format_args!("parameter `{}`", stored.name)));
                let read = read.map_err(|error| FileFault::OutOfMemory(error).of(path))?;
                values.push((stored.name.clone(), read));
            } else {
                let name = stored.name.clone();
                let found = format!("{}{:?}", record.element, record.dims);
                let expected = format!("{}{:?}", element(stored.dtype), stored.dims);
                report.mismatched.push(Mismatch { parameter: name.clone(), tensor: name, found, expected });
            }
        }
        if !report.mismatched.is_empty() {
            return Err(FileFault::Differs(report).of(path).into());
        }
        self.upload(&values);
        Ok(())
    }
}

/// The tensors of a safetensors file that may be parameters.
struct InFile<'a> {
    file: &'a TensorFile<'a>,
    names: &'a Names<'a>,
    states: BTreeSet<String>,
}

impl Tensors for InFile<'_> {
    fn names(&self) -> BTreeSet<String> {
        let mut names = self.file.names();
        names.retain(|name| !self.states.contains(name));
        names
    }

    fn name_of<'a>(&'a self, parameter: &'a str) -> &'a str {
        self.names.in_file(parameter)
    }

    fn compare(&self, tensor: &str, parameter: &Stored) -> Option<Result<(), String>> {
        self.file.compare(tensor, parameter.dtype, &parameter.dims)
    }
}

/// The dimensions in the form of PaddlePaddle's files.
fn dims(stored: &Stored) -> Vec<i64> {
    stored.dims.iter().map(|&dim| dim as i64).collect()
}
