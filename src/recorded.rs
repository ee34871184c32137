//! Trainings that PaddlePaddle recorded.

use std::path::Path;

use paddle_core::convert;
use paddle_core::passes::clip::Clip;
use paddle_core::passes::optimize::Decay;
use paddle_core::plan::Backend;
use paddle_core::wire::ProgramDesc;

use crate::Error;
use crate::load::decoded;
use crate::network::{Dynamic, Network};
use crate::trainer::Trainer;
use crate::updater::{ByName, Schedule};

/// A training that the real PaddlePaddle recorded: the program that its `minimize` has given gradients and updates.
///
/// The network is the forward part, with the cost first. Trained by [`trainer`](Self::trainer), it does what the program says:
/// clips gradients, adds decay, and updates each parameter by its rule, with the learning rate. Parameters that the
/// program does not update stay, and no gradient passes where the program stops it. The gradients are computed anew,
/// so they may differ from those of the written operators by rounding.
///
/// ```
/// use paddle::core::wire::{
///     BlockDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarKind, VarType,
/// };
/// use paddle::{Batch, Parameters, Recorded};
///
/// # fn var(name: &str, dims: &[i64], lasts: bool) -> VarDesc {
/// #     let tensor = TensorDesc { data_type: VarKind::Fp32.into(), dims: dims.to_vec(), ..Default::default() };
/// #     let lod_tensor = Some(LodTensorDesc { tensor, ..Default::default() });
/// #     let ty = VarType { r#type: VarKind::LodTensor.into(), lod_tensor, ..Default::default() };
/// #     let flags = |of: bool| Some(of);
/// #     VarDesc {
/// #         name: name.to_string(),
/// #         r#type: ty,
/// #         persistable: flags(lasts),
/// #         is_parameter: flags(lasts && name == "w"),
/// #         need_check_feed: flags(name == "x"),
/// #         ..Default::default()
/// #     }
/// # }
/// # let op = |name: &str, role: i32| OpDesc::new(name).with_attr(OpAttr::int("op_role", role));
/// # let vars = vec![
/// #     var("x", &[-1, 1], false), var("w", &[1, 1], true), var("rate", &[1], true),
/// #     var("line", &[-1, 1], false), var("cost", &[], false),
/// # ];
/// # let ops = vec![
/// #     op("mul", 0).with_input("X", ["x"]).with_input("Y", ["w"]).with_output("Out", ["line"]),
/// #     op("reduce_mean", 256).with_attr(OpAttr::bool("reduce_all", true)).with_input("X", ["line"]).with_output("Out", ["cost"]),
/// #     op("fill_constant", 257).with_attr(OpAttr::float("value", 1.0)).with_output("Out", ["cost@GRAD"]),
/// #     op("sgd", 2).with_input("Param", ["w"]).with_input("Grad", ["w@GRAD"]).with_input("LearningRate", ["rate"])
/// #         .with_output("ParamOut", ["w"]),
/// # ];
/// # let block = BlockDesc { parent_idx: -1, vars, ops, ..Default::default() };
/// # let main = ProgramDesc { blocks: vec![block], ..Default::default() };
/// # let fill = OpDesc::new("fill_constant").with_attr(OpAttr::float("value", 0.5)).with_output("Out", ["rate"]);
/// # let startup = ProgramDesc { blocks: vec![BlockDesc { parent_idx: -1, ops: vec![fill], ..Default::default() }], ..Default::default() };
/// # let folder = std::env::temp_dir().join(format!("paddle-recorded-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # std::fs::write(folder.join("main.pdprogram"), main.encode_to_vec()).unwrap();
/// # std::fs::write(folder.join("startup.pdprogram"), startup.encode_to_vec()).unwrap();
/// // What `program.desc.serialize_to_string()` gives in Python, of the main and of the startup program.
/// let recorded = Recorded::load(folder.join("main.pdprogram"), Some(folder.join("startup.pdprogram")), &[])?;
/// assert_eq!(recorded.rate(), Some(0.5));
/// let mut parameters = Parameters::create(recorded.network())?;
/// # parameters.set("w", &ndarray::array![[2.0f32]])?;
/// let mut trainer = recorded.trainer();
/// let batch = Batch::new(recorded.network())?.with("x", &ndarray::array![[1.0f32], [3.0]])?;
/// let cost = trainer.step(recorded.network(), &mut parameters, &batch)?.cost();
/// # assert_eq!((cost, parameters.get::<f32>("w")?[[0, 0]]), (4.0, 2.0 - 0.5 * 2.0));
/// # let nowhere = Recorded::load(folder.join("main.pdprogram"), None, &[])?;
/// # let step = nowhere.trainer().step(nowhere.network(), &mut parameters, &Batch::new(nowhere.network())?.with("x", &ndarray::array![[1.0f32]])?).map(|outcome| outcome.cost());
/// # assert!(matches!(step, Err(paddle::Error::Setting(_))), "{step:?}");
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Debug)]
pub struct Recorded {
    network: Network<Dynamic>,
    updater: ByName,
    clip: Option<Clip>,
    decay: Option<Decay>,
    rate: Option<f64>,
}

impl Recorded {
    /// Reads a recorded training from the file of its main program, and, if there is one, that of its startup program, by
    /// which parameters are initialised. `fetch` are the names of scalars that are wanted as metrics, for example the
    /// output of `accuracy`.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or is no program; [`Error::Unsupported`] with everything that is not
    /// supported, each with its place: operators of the forward part, and what is done to gradients.
    pub fn load<P: AsRef<Path>>(main: P, startup: Option<P>, fetch: &[&str]) -> Result<Self, Error> {
        let main = decoded(main.as_ref())?;
        let startup = startup.map(|path| decoded(path.as_ref())).transpose()?;
        Self::of(&main, startup.as_ref(), fetch)
    }

    fn of(main: &ProgramDesc, startup: Option<&ProgramDesc>, fetch: &[&str]) -> Result<Self, Error> {
        let convert::Recorded { program, updates, clip, decay, rate } =
            convert::load_recorded(main, startup, fetch)?;
        let network = Network::from_program(program)?;
        Ok(Recorded { network, updater: ByName::new(rate.unwrap_or(f64::NAN), updates), clip, decay, rate })
    }

    /// The forward part, to be trained and run.
    pub fn network(&self) -> &Network<Dynamic> {
        &self.network
    }

    /// The learning rate with which the startup program fills its variable; `None` if it does not, or was not given.
    /// Schedules are no part of programs.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// A trainer that does what was recorded, with the learning rate of the startup program. If there is none, its steps are
    /// errors, [`Error::Setting`]; use [`trainer_at`](Self::trainer_at).
    pub fn trainer<B: Backend + Clone>(&self) -> Trainer<ByName, B> {
        self.with(self.updater.clone())
    }

    /// A trainer that does what was recorded, with this learning rate: a number, or a [`Schedule`].
    pub fn trainer_at<B: Backend + Clone>(&self, rate: impl Schedule + 'static) -> Trainer<ByName, B> {
        self.with(self.updater.at(rate))
    }

    fn with<B: Backend + Clone>(&self, updater: ByName) -> Trainer<ByName, B> {
        let mut trainer = Trainer::new(updater);
        if let Some(clip) = self.clip {
            trainer = trainer.clip(clip);
        }
        if let Some(decay) = self.decay {
            trainer = trainer.decay(decay);
        }
        trainer
    }
}
