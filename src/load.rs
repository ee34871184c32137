//! Loading of models that PaddlePaddle saved, and of models in ONNX.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use paddle_core::convert::{
    ConvertError, Fault, OnnxModel, decode_program, element, load_onnx_to_train, load_params, load_saved,
    load_to_train,
};
use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::model_files::{
    file_of, has_extension, has_no_name_of_its_own, read_external_data, values_beside, within,
};
use paddle_core::ops::Program;
use paddle_core::plan::{Backend, Stored};
use paddle_core::wire::onnx::ModelProto;
use paddle_core::wire::pickle::{SavedValues, read_saved};
use paddle_core::wire::{ProgramDesc, TensorRecord, WireError, parameter_names, read_params};

use crate::Error;
use crate::element::Values;
use crate::files::disk::{self, Disk};
use crate::files::matching::Tensors;
use crate::files::{FileError, FileFault, Load, LoadReport};
use crate::network::{Dynamic, Network};
use crate::parameters::Parameters;

/// Loads a model that PaddlePaddle saved, from the bytes of its `.pdmodel` or `.json` and of its `.pdiparams`:
/// [`Network::load`] for files that are in memory. The feature `models` enables it.
///
/// # Errors
/// [`Error::Wire`] if the first bytes are not a program, [`Error::Unsupported`] with everything in the program that is
/// not supported, [`Error::Convert`] if the other bytes are not its parameters, and those of [`Parameters::create`].
///
/// ```
/// use paddle::{Error, load_inference_model};
///
/// let error = load_inference_model(b"no program", b"").unwrap_err();
/// assert!(matches!(error, Error::Wire(_)));
/// ```
pub fn load_inference_model(
    pdmodel: &[u8],
    pdiparams: &[u8],
) -> Result<(Network<Dynamic>, Parameters), Error> {
    let (program, records) = of_desc(&decode_program(pdmodel)?, pdiparams)?;
    with_values(program, &records)
}

/// Loads a model in ONNX from the bytes of its file: [`Network::load`] for one that is in memory. The feature `models` enables it.
///
/// # Errors
/// [`Error::Wire`] if the bytes are no model, [`Error::Unsupported`] with everything in it that is not supported, and those of
/// [`Parameters::create`].
///
/// ```
/// use paddle::{Error, load_onnx};
///
/// let error = load_onnx(b"no model").unwrap_err();
/// assert!(matches!(error, Error::Wire(_)));
/// ```
pub fn load_onnx(model: &[u8]) -> Result<(Network<Dynamic>, Parameters), Error> {
    let (program, records) = of_onnx(&ModelProto::decode(model)?)?;
    with_values(program, &records)
}

impl Network<Dynamic> {
    /// The file `.pdmodel`, `.onnx`, `.json` or `__model__` that a path means, as [`load`](Self::load) takes it. It need not exist, unless the path is a
    /// folder.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use paddle::{Dynamic, Network};
    ///
    /// let file = Network::<Dynamic>::file_of("models/resnet.v2")?;
    /// assert_eq!(file, Path::new("models/resnet.v2.pdmodel"));
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] if the path is a folder that cannot be read, or has no model or several.
    pub fn file_of(path: impl AsRef<Path>) -> Result<PathBuf, Error> {
        Ok(file_of(path.as_ref(), &Disk).map_err(FileError::from)?)
    }

    /// Loads a model that PaddlePaddle's `save_inference_model` or `jit.save` wrote, or a model in ONNX, with the values of its
    /// parameters. The feature `models` enables it.
    ///
    /// `path` is a folder with one model, the model's `.pdmodel`, `.json` (from version 3 on) or `.onnx` file, or that without its
    /// extension, as PaddlePaddle takes it. The values of a `.pdmodel` or `.json` are in the `.pdiparams` file beside it; a model without
    /// parameters has none. Older models are called `__model__`, and their values are in `__params__`, or in a file for each parameter.
    /// An `.onnx` file has its own values, or names files within its folder that have them; their names are those of its initialisers.
    ///
    /// The network computes as it was saved where it is asked by [`infer`](crate::infer()). Its program may be trained, too, once
    /// it has a cost: then normalisation moves its statistics, which are no parameters of the updater, and dropout drops.
    /// [`Options::freeze_named`](crate::Options::freeze_named) freezes some of the parameters.
    ///
    /// The network is fed with arrays, by the names that its inputs have in the model.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read, or is no program or no file of parameters, with the byte where that
    /// shows. [`Error::Unsupported`] with all operators, attributes and types that are not supported, each with its
    /// place. [`Error::Convert`] if the values are not those of the model's parameters.
    ///
    /// ```
    /// use paddle::core::{convert, wire};
    /// use paddle::{Batch, Error, Network, Parameters, infer, network};
    ///
    /// let line = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "line"));
    /// let parameters = Parameters::create(&line)?;
    /// # let folder = std::env::temp_dir().join(format!("paddle-model-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let bytes = convert::to_wire(line.program()?).main.encode_to_vec();
    /// # std::fs::write(folder.join("line.pdmodel"), bytes).unwrap();
    /// # parameters.save_pdiparams(folder.join("line.pdiparams"))?;
    /// // A folder with `line.pdmodel` and `line.pdiparams`.
    /// let (net, loaded) = Network::load(&folder)?;
    /// assert_eq!(loaded.get::<f32>("line.w")?, parameters.get::<f32>("line.w")?);
    /// let x = ndarray::array![[1.0f32, 2.0]].into_dyn();
    /// let y = infer(&net, &loaded, &Batch::new(&net)?.with("x", &x)?)?;
    /// assert_eq!(y.at::<f32>(0)?.shape(), [1, 1]);
    ///
    /// // What cannot be run is listed, all of it.
    /// # let op = wire::OpDesc::new;
    /// # let block = wire::BlockDesc { parent_idx: -1, ops: vec![op("psroi_pool"), op("fusion_lstm")], ..Default::default() };
    /// # let bytes = wire::ProgramDesc { blocks: vec![block], ..Default::default() }.encode_to_vec();
    /// # std::fs::write(folder.join("detector.pdmodel"), bytes).unwrap();
    /// let Err(Error::Unsupported(error)) = Network::load(folder.join("detector")) else { panic!() };
    /// assert_eq!(error.faults[1].to_string(), "block 0, operator 1 `fusion_lstm`: there is no such operator here");
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<(Self, Parameters), Error> {
        let (program, records) = saved(path.as_ref())?;
        with_values(program, &records)
    }
}

impl<B: Backend> Parameters<B> {
    /// Takes the values of a model that PaddlePaddle saved, or of one in ONNX, by the names that its parameters have. `path` is
    /// what [`Network::load`] takes, or a file `.pdparams` or `.pdopt` of `paddle.save`, in which nothing is executed. Its names are those
    /// of parameters, `linear_0.w_0`, and where it does not say these, `0.weight`. A network that `include_model!` or `paddle decompile` made of the
    /// model has these names. An error changes nothing.
    ///
    /// ```
    /// use paddle::core::convert::to_wire;
    /// use paddle::{Load, Parameters, network};
    ///
    /// let trunk = network!(|x: Tensor<f32, _, 2>| fc(x, 4, param = "trunk"));
    /// # let folder = std::env::temp_dir().join(format!("paddle-values-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let bytes = to_wire(trunk.program()?).main.encode_to_vec();
    /// # std::fs::write(folder.join("trunk.pdmodel"), bytes).unwrap();
    /// let saved = Parameters::create(&trunk)?;
    /// saved.save_pdiparams(folder.join("trunk.pdiparams"))?; // beside `trunk.pdmodel`
    ///
    /// let cost = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
    ///     let head = fc(relu(fc(x, 4, param = "trunk")), 1);
    ///     mean(square(head - y))
    /// });
    /// let mut parameters = Parameters::create_with_seed(&cost, 1)?;
    /// let report = parameters.load_model(folder.join("trunk"), Load::Intersect)?;
    /// assert_eq!((report.loaded, report.missing), (2, vec!["head.w".to_string(), "head.b".to_string()]));
    /// assert_eq!(parameters.get::<f32>("trunk.w")?, saved.get::<f32>("trunk.w")?);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Network::load`], and [`Error::File`] with [`FileFault::Differs`] if the model does not have what [`Load`] asks for.
    pub fn load_model(&mut self, path: impl AsRef<Path>, load: Load<'_>) -> Result<LoadReport, Error> {
        let path = path.as_ref();
        let (_, records) = match holds_saved_values(path) {
            true => load_saved(saved_values(path)?)?,
            false => saved(path)?,
        };
        let (report, found) = self.matched(&Records(&records), load).map_err(|fault| fault.of(path))?;
        let read = found.into_iter().map(|(stored, tensor)| {
            let values = Values::from_le_bytes(stored.dtype, &records[&tensor].data);
            let wanted = |error: OutOfMemory| error.wanted_for(format_args!("parameter `{}`", stored.name));
            Ok((stored.name.clone(), values.map_err(wanted)?))
        });
        let values = read.collect::<Result<Vec<_>, Error>>()?;
        self.upload(&values);
        Ok(report)
    }
}

impl Parameters {
    /// The values in a file `.pdparams` or `.pdopt`, which `paddle.save` wrote, as parameters that no network has yet. Their names
    /// are those that [`load_model`](Self::load_model) says. What is no array, such as the settings of an updater, is left out.
    ///
    /// ```no_run
    /// use paddle::Parameters;
    ///
    /// Parameters::of_saved("resnet.pdparams")?.save("resnet.safetensors")?;
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] with [`FileFault::Pickle`] if the file has anything but plain data and NumPy's arrays, with the byte where
    /// that stands, and those of [`Parameters::create`].
    pub fn of_saved(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (program, records) = load_saved(saved_values(path.as_ref())?)?;
        Ok(with_values(program, &records)?.1)
    }
}

/// Whether a file is one of `paddle.save`, by its name.
pub(crate) fn holds_saved_values(path: &Path) -> bool {
    ["pdparams", "pdopt"].into_iter().any(|extension| has_extension(path, extension))
}

fn saved_values(path: &Path) -> Result<SavedValues, FileError> {
    read_saved(&read(path)?).map_err(|error| FileFault::Pickle(error).of(path))
}

/// The values of a model, by their names.
struct Records<'a>(&'a BTreeMap<String, TensorRecord>);

impl Tensors for Records<'_> {
    fn names(&self) -> BTreeSet<String> {
        self.0.keys().cloned().collect()
    }

    fn name_of<'a>(&'a self, parameter: &'a str) -> &'a str {
        parameter
    }

    fn compare(&self, tensor: &str, parameter: &Stored) -> Option<Result<(), String>> {
        let TensorRecord { element: found, dims, .. } = self.0.get(tensor)?;
        let same = *found == element(parameter.dtype)
            && dims.iter().copied().eq(parameter.dims.iter().map(|&dim| dim as i64));
        Some(if same { Ok(()) } else { Err(format!("{found}{dims:?}")) })
    }
}

/// A model in files: its program, and the values of its parameters.
fn saved(path: &Path) -> Result<(Program, BTreeMap<String, TensorRecord>), Error> {
    let model = file_of(path, &Disk).map_err(FileError::from)?;
    if has_extension(&model, "onnx") {
        let desc = ModelProto::decode(&read(&model)?);
        let mut desc = desc.map_err(|error| of_file(error, &model))?;
        read_external_data(&mut desc, &model, &Disk).map_err(FileError::from)?;
        return of_onnx(&desc);
    }
    let desc = decoded(&model)?;
    let values = values_beside(&model);
    let bytes = match read(&values) {
        Err(error) if error.fault.is_absence() && has_no_name_of_its_own(&model) => {
            values_by_file(&desc, &model)?
        }
        Err(error) if error.fault.is_absence() => Vec::new(),
        bytes => bytes?,
    };
    of_desc(&desc, &bytes).map_err(|error| match error {
        Error::Convert(error) => match *error {
            ConvertError { fault: Fault::Wire(error), .. } => of_file(error, &values).into(),
            error => error.into(),
        },
        error => error,
    })
}

/// The values of parameters that have a file each, beside their model and under their names, as one file would have them.
fn values_by_file(desc: &ProgramDesc, model: &Path) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    for name in parameter_names(desc) {
        let Some(path) = within(model, &name) else {
            let why = "its name is no path within the folder of the model".to_string();
            return Err(FileFault::Location { tensor: name, why }.of(model).into());
        };
        let bytes = read(&path)?;
        read_params(&bytes, &BTreeSet::from([name])).map_err(|error| of_file(error, &path))?;
        let room = all.try_extend_from_slice(&bytes);
        room.map_err(|error| FileFault::OutOfMemory(error.wanted_for("values of parameters")).of(&path))?;
    }
    Ok(all)
}

fn of_file(error: WireError, path: &Path) -> FileError {
    FileFault::Wire(error).of(path)
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    disk::read(path).map_err(|error| FileFault::read(error).of(path))
}

/// The program in a file.
pub(crate) fn decoded(path: &Path) -> Result<ProgramDesc, FileError> {
    decode_program(&read(path)?).map_err(|error| of_file(error, path))
}

fn of_desc(desc: &ProgramDesc, pdiparams: &[u8]) -> Result<(Program, BTreeMap<String, TensorRecord>), Error> {
    let program = load_to_train(desc)?;
    let records = load_params(desc, &program, pdiparams)?;
    Ok((program, records))
}

fn of_onnx(model: &ModelProto) -> Result<(Program, BTreeMap<String, TensorRecord>), Error> {
    let OnnxModel { program, parameters } = load_onnx_to_train(model)?;
    Ok((program, parameters))
}

/// The network of a program, and parameters of these values.
fn with_values(
    program: Program,
    records: &BTreeMap<String, TensorRecord>,
) -> Result<(Network<Dynamic>, Parameters), Error> {
    let net = Network::from_program(program)?;
    let mut parameters = Parameters::create(&net)?;
    for (name, record) in records {
        let wanted = |error: OutOfMemory| error.wanted_for(format_args!("parameter `{name}`"));
        parameters.set_values(name, |dtype| Values::from_le_bytes(dtype, &record.data).map_err(wanted))?;
    }
    Ok((net, parameters))
}
