//! Parameters: named values that training changes, for any number of networks.

use std::collections::BTreeMap;
use std::error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Parameter;
use paddle_core::plan::{self, Backend, Buffers, HostSlice, PlanError, Storage, Stored};
use paddle_core::program::{DType, Disagreement};
use paddle_kernels::cpu::{Cpu, CpuError};

use crate::Error;
use crate::batch::Shape;
use crate::element::{Element, Values};
#[cfg(feature = "cluster")]
use crate::first_values::Elsewhere;
use crate::first_values::LazyValues;
use crate::infer::Inference;
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::parameter_name::ParameterGroup;
use crate::parameter_values::ParameterValues;
use crate::sharing::HELP;
use crate::stored;

/// One set of parameters for one or several networks, on the device that runs them.
///
/// A parameter is its full name: networks that use the same name share it.
///
/// ```
/// use ndarray::array;
/// use paddle::{Parameters, network};
///
/// let cost = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
///     let line = fc(x, 1, init = constant(0.5));
///     mean(square(line - y))
/// });
/// let price = network!(|x: Tensor<f32, _, 2>| {
///     let line = fc(x, 1);
///     line
/// });
/// // One set for both: `line.w` is one parameter.
/// let mut parameters = Parameters::create((&cost, &price))?;
/// assert_eq!(parameters.names().collect::<Vec<_>>(), ["line.w", "line.b"]);
/// assert_eq!(parameters.get::<f32>("line.w")?, array![[0.5], [0.5]].into_dyn());
/// parameters.set(price.params.line.w, &array![[1.0_f32], [2.0]])?;
/// assert_eq!(parameters.get::<f32>(cost.params.line.w)?[[1, 0]], 2.0);
/// assert!(parameters.get::<f64>("line.w").is_err());
/// # Ok::<(), paddle::Error>(())
/// ```
pub struct Parameters<B: Backend = Cpu> {
    backend: B,
    storage: Storage,
    /// The former names of parameters in older files, by the present names. Parameters that were never renamed are
    /// not in it.
    former: BTreeMap<String, String>,
    /// Identifies this set. A plan is made for one set.
    identity: Arc<()>,
    values: LazyValues<B>,
    inference: Inference<B>,
}

impl Parameters<Cpu> {
    /// Creates the parameters of a network (`&net`), or of several (`(&a, &b)`).
    ///
    /// Their first values are computed when a value is first needed, except for those that were set, or loaded from a
    /// file, before. That changes no value.
    ///
    /// Networks that share a parameter have to agree on it. For networks in the source, a disagreement is an error of
    /// `cargo build`, and with [`parameters!`](crate::parameters!) of `cargo check`. For networks that are made or
    /// loaded at run time, it is an error of this function.
    ///
    /// # Errors
    /// [`Error::Parameter`] or [`Error::Storage`] if networks that are made or loaded at run time do not agree on a
    /// parameter; [`Error::Cpu`] if no threads can be started; [`Error::OutOfMemory`] if there is no memory;
    /// [`Error::Plan`] if a parameter cannot be initialised.
    pub fn create<N: Networks>(networks: N) -> Result<Self, Error> {
        let () = N::AGREE;
        Self::create_with_seed(networks, 0)
    }

    /// Like [`create`](Self::create), with a seed for the random numbers of initialisers. The values of a parameter
    /// depend only on the seed and its name, not on the rest of the set.
    ///
    /// # Errors
    /// Those of [`create`](Self::create).
    pub fn create_with_seed<N: Networks>(networks: N, seed: u64) -> Result<Self, Error> {
        let () = N::AGREE;
        Self::create_on(shared_cpu()?, networks, seed)
    }
}

/// The CPU of all sets that are created without a backend: the process has one team of threads.
pub(crate) fn shared_cpu() -> Result<Cpu, CpuError> {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    match CPU.get() {
        Some(cpu) => Ok(cpu.clone()),
        None => {
            let cpu = Cpu::new()?;
            Ok(CPU.get_or_init(|| cpu).clone())
        }
    }
}

impl<B: Backend> Parameters<B> {
    /// Like [`create_with_seed`](Parameters::create_with_seed), on another backend. That backend runs everything that
    /// these parameters are used for.
    ///
    /// # Errors
    /// Those of [`create`](Self::create), except [`Error::Cpu`]; [`Error::Plan`] also if the backend lacks an
    /// operator that initialises a parameter.
    pub fn create_on<N: Networks>(backend: B, networks: N, seed: u64) -> Result<Self, Error> {
        let () = N::AGREE;
        Self::of_models(backend, &networks.models()?, seed)
    }

    /// The parameters of these networks.
    #[inline(never)]
    pub(crate) fn of_models(backend: B, models: &[Arc<Model>], seed: u64) -> Result<Self, Error> {
        let initialized_by = initialized_by(models)?;
        let (mut storage, mut former) = (Storage::new(), BTreeMap::new());
        for model in models {
            for parameter in model.program.parameters() {
                let var = model.program.var(parameter);
                let side = plan::side_of(&backend, &model.program, parameter);
                storage.insert_on(side, backend.element_bytes(var.ty.dtype), &var.name, &var.ty)?;
                let name = model.program.parameter_options(parameter).former.clone();
                former.extend(name.map(|former| (var.name.clone(), former)));
            }
        }
        let mut buffers = Buffers::default();
        storage.allocate(&backend, &mut buffers, "the parameter")?;
        let (identity, inference) = (Arc::new(()), Inference::new());
        let values = LazyValues::new(&backend, &storage, buffers, models, initialized_by, seed)?;
        Ok(Parameters { backend, storage, former, identity, values, inference })
    }

    /// A set of its own with the same values.
    ///
    /// ```
    /// let net = paddle::network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
    /// let mut parameters = paddle::Parameters::create(&net)?;
    /// let before = parameters.copy()?;
    /// parameters.set("line.w", &ndarray::array![[1.0_f32], [2.0]])?;
    /// assert_ne!(before.get::<f32>("line.w")?, parameters.get::<f32>("line.w")?);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for them, and [`Error::Plan`] if first values cannot be computed.
    pub fn copy(&self) -> Result<Self, Error>
    where
        B: Clone,
    {
        let (backend, storage) = (self.backend.clone(), self.storage.clone());
        let (kept, mut buffers) = (self.values()?, Buffers::default());
        storage.allocate(&backend, &mut buffers, "a copy of the parameter")?;
        for stored in storage.iter() {
            buffers.upload(&backend, stored, stored::values(&backend, kept, stored)?.as_slice());
        }
        let (former, identity, inference) = (self.former.clone(), Arc::new(()), Inference::new());
        Ok(Parameters { backend, storage, former, identity, values: LazyValues::of(buffers), inference })
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.storage.iter().len()
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name, element type and dimensions of each parameter, in the order of creation.
    ///
    /// ```
    /// let net = paddle::network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
    /// let parameters = paddle::Parameters::create(&net)?;
    /// let line: Vec<_> = parameters.iter().map(|p| format!("{} {}{:?}", p.name, p.dtype, p.dims)).collect();
    /// assert_eq!(line, ["line.w f32[2, 1]", "line.b f32[1]"]);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &Stored> {
        self.storage.iter()
    }

    /// The names, in the order of creation.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.storage.iter().map(|stored| stored.name.as_str())
    }

    /// The names of a group, such as `params::D`, in the order of creation.
    pub fn names_in(&self, group: impl Into<ParameterGroup>) -> impl Iterator<Item = &str> {
        let group = group.into();
        self.names().filter(move |name| group.contains(name))
    }

    /// A copy of a parameter: `let w = parameters.get::<f32>(params::line::w)?;`, or by its name, `"line.w"`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no parameter of this name, it has another element type, or there is no memory
    /// for the copy.
    pub fn get<T: Element>(&self, name: impl AsRef<str>) -> Result<ArrayD<T>, Error> {
        Ok(stored::get(&self.backend, &self.storage, self.values()?, name.as_ref())?)
    }

    /// Sets a parameter to the elements of an array of its shape. The array may have any layout.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no parameter of this name, or it has another element type or shape. Then
    /// nothing has changed.
    pub fn set<T, A, D>(&mut self, name: impl AsRef<str>, array: &ArrayBase<A, D>) -> Result<(), Error>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        let Parameters { backend, storage, values, .. } = self;
        let mut set = |to: &Stored, from: HostSlice<'_>| values.set(backend, to, from);
        Ok(stored::set(storage, name.as_ref(), array, &mut set)?)
    }

    /// Sets a parameter to the values that `read` returns for its element type.
    pub(crate) fn set_values(
        &mut self,
        name: &str,
        read: impl FnOnce(DType) -> Result<Values, OutOfMemory>,
    ) -> Result<(), ParameterError> {
        let Some(stored) = self.storage.find(name) else {
            return Err(ParameterError::NoSuch { name: name.to_string() });
        };
        let values = read(stored.dtype)?;
        if values.len() != stored.elements() {
            let (found, expected) = (Shape(vec![values.len()]), Shape(stored.dims.clone()));
            return Err(ParameterError::Shape { name: name.to_string(), found, expected });
        }
        self.values.set(&self.backend, stored, values.as_slice());
        Ok(())
    }

    pub(crate) fn backend(&self) -> &B {
        &self.backend
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(crate) fn former(&self) -> &BTreeMap<String, String> {
        &self.former
    }

    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    /// The values of the parameters. Errors if first values cannot be computed.
    pub(crate) fn values(&self) -> Result<&ParameterValues<B>, PlanError> {
        self.values.get(&self.backend, &self.storage)
    }

    /// What all processes that train these parameters agree on: the number that the first of them has, and whether this one is the first.
    pub(crate) fn agree(&self, own: u64) -> Result<(u64, bool), PlanError> {
        self.values.agree(own)
    }

    /// The values, for exclusive use. Errors if first values cannot be computed.
    pub(crate) fn buffers_mut(&mut self) -> Result<&mut Buffers<B>, PlanError> {
        Ok(self.values.get_mut(&self.backend, &self.storage)?.buffers_mut())
    }

    /// Leaves the values to a place that has newer ones.
    #[cfg(feature = "cluster")]
    pub(crate) fn leave(&mut self, elsewhere: Arc<dyn Elsewhere>) {
        self.values.leave(elsewhere);
    }

    /// Whether the values are elsewhere, and have not been changed here.
    #[cfg(feature = "cluster")]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.values.is_elsewhere()
    }

    /// Sets parameters, by name, to values of their types.
    #[inline(never)]
    pub(crate) fn upload(&mut self, values: &[(String, Values)]) {
        for (name, values) in values {
            if let Some(stored) = self.storage.find(name) {
                self.values.set(&self.backend, stored, values.as_slice());
            }
        }
    }

    /// The plans for inference.
    pub(crate) fn inference(&self) -> &Inference<B> {
        &self.inference
    }

    /// Errors if an element of a parameter is NaN or infinite.
    #[inline(never)]
    pub(crate) fn check_finite(&self) -> Result<(), Error> {
        let values = self.values()?;
        self.iter().try_for_each(|stored| {
            let found = plan::not_finite(&self.backend, values, stored);
            let Some((element, found)) = found else { return Ok(()) };
            let (name, found) = (stored.name.clone(), found.to_string());
            Err(ParameterError::NotFinite { name, element, found }.into())
        })
    }
}

impl<B: Backend> fmt::Debug for Parameters<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.storage.iter().map(|stored| {
            let shape = Shape(stored.dims.clone());
            (&stored.name, format!("{}{shape}", stored.dtype))
        });
        f.debug_map().entries(types).finish()
    }
}

/// The index of the network that initialises each parameter: the first that has an initialiser for it, or else the
/// first that has the parameter.
///
/// Errors if two networks do not agree on a parameter.
fn initialized_by(models: &[Arc<Model>]) -> Result<BTreeMap<String, usize>, ParameterError> {
    let mut uses: BTreeMap<&str, Vec<(usize, Parameter<'_>)>> = BTreeMap::new();
    for (at, model) in models.iter().enumerate() {
        for var in model.program.parameters() {
            let Some(parameter) = model.program.parameter(var) else { continue };
            let name = &model.program.var(var).name;
            let earlier = uses.entry(name).or_default();
            for (other, first) in earlier.iter() {
                first.agree(&parameter).map_err(|Disagreement { first, second }| {
                    let place = |model: &Model| {
                        let place =
                            model.program.find(name).and_then(|var| model.program.parameter_place(var));
                        place.map(|place| format!(" at {place}")).unwrap_or_default()
                    };
                    let (first, second) = (first + &place(&models[*other]), second + &place(model));
                    ParameterError::Conflict { name: name.clone(), first, second }
                })?;
            }
            earlier.push((at, parameter));
        }
    }
    let initializes = |uses: &[(usize, Parameter<'_>)]| {
        let chosen = uses.iter().find(|(_, parameter)| parameter.options.chosen);
        chosen.or(uses.first()).map(|(at, _)| *at)
    };
    Ok(uses.iter().filter_map(|(name, uses)| Some((name.to_string(), initializes(uses)?))).collect())
}

/// A network, or a tuple of networks, for whose parameters one set is created.
///
/// ```
/// use paddle::{Parameters, network};
///
/// let first = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "first"));
/// let second = network!(|x: Tensor<f32, _, 2>| fc(x, 1, param = "second"));
/// assert_eq!(Parameters::create(&first)?.len(), 2);
/// assert_eq!(Parameters::create((&first, &second))?.len(), 4);
/// # Ok::<(), paddle::Error>(())
/// ```
pub trait Networks: sealed::Models {}

impl<T: sealed::Models> Networks for T {}

pub(crate) mod sealed {
    use std::sync::Arc;

    use super::{Error, Model, Network, Spec};
    use crate::sharing::Agreeing;

    pub trait Models {
        /// The number of networks.
        const COUNT: usize;

        /// A constant that does not compile if the networks disagree on a shared parameter. Each public function
        /// reads it itself, so that rustc shows the user's call.
        const AGREE: ();

        fn models(&self) -> Result<Vec<Arc<Model>>, Error>;
    }

    impl<S: Spec> Models for &Network<S> {
        const COUNT: usize = 1;

        const AGREE: () = ();

        fn models(&self) -> Result<Vec<Arc<Model>>, Error> {
            Ok(vec![Arc::clone(self.model()?)])
        }
    }

    macro_rules! pairs {
        () => {};
        ($first:ident $($second:ident)*) => {
            $(let () = <$second::Beside<$first> as Agreeing>::AGREES;)*
            pairs!($($second)*);
        };
    }

    macro_rules! tuples {
        ($($spec:ident)*) => {
            impl<$($spec: Spec),*> Models for ($(&Network<$spec>,)*) {
                const COUNT: usize = [$(stringify!($spec)),*].len();

                const AGREE: () = {
                    pairs!($($spec)*);
                };

                fn models(&self) -> Result<Vec<Arc<Model>>, Error> {
                    #[expect(non_snake_case, reason = "the networks are named as their types")]
                    let ($($spec,)*) = self;
                    Ok(vec![$(Arc::clone($spec.model()?)),*])
                }
            }
        };
    }
    tuples! { A }
    tuples! { A B }
    tuples! { A B C }
    tuples! { A B C D }
    tuples! { A B C D E }
    tuples! { A B C D E F }
    tuples! { A B C D E F G }
    tuples! { A B C D E F G H }
}

/// Why a parameter cannot be created, read or set.
///
/// ```
/// use ndarray::array;
/// use paddle::{Error, ParameterError, Parameters, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
/// let mut parameters = Parameters::create(&net)?;
/// let error = parameters.set("line.w", &array![1.0_f32, 2.0]).unwrap_err();
/// assert!(matches!(&error, Error::Parameter(ParameterError::Shape { .. })));
/// assert_eq!(error.to_string(), "parameter `line.w`: found [2], expected [2, 1]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no parameter of this name.
    NoSuch {
        /// The name.
        name: String,
    },
    /// The updater has no such state of the parameter, or has not updated the parameter yet.
    NoSuchState {
        /// The name.
        name: String,
        /// The slot.
        slot: String,
    },
    /// The updater keeps no averages of the parameters, or has not updated them yet.
    NoAverages,
    /// Networks do not agree on the parameter.
    Conflict {
        /// The name.
        name: String,
        /// The use in one network, and its place.
        first: String,
        /// The use in another network, and its place.
        second: String,
    },
    /// The parameter has another element type.
    Type {
        /// The name.
        name: String,
        /// The type that was given or asked for.
        found: DType,
        /// The parameter's own.
        expected: DType,
    },
    /// An element of the parameter is NaN or infinite, after a step whose cost was finite.
    NotFinite {
        /// The name.
        name: String,
        /// The index of the element in row-major order.
        element: usize,
        /// Its value: `NaN`, `inf` or `-inf`.
        found: String,
    },
    /// The parameter has another shape.
    Shape {
        /// The name.
        name: String,
        /// The shape that was given.
        found: Shape,
        /// The parameter's own.
        expected: Shape,
    },
    /// There is no memory for a copy of the parameter.
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for ParameterError {
    fn from(error: OutOfMemory) -> Self {
        ParameterError::OutOfMemory(error)
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch { name } => write!(f, "there is no parameter `{name}`"),
            Self::NoSuchState { name, slot } => {
                write!(
                    f,
                    "the updater has no state `{slot}` of parameter `{name}`; it gets it in the first step"
                )
            }
            Self::NoAverages => f.write_str(
                "there are no averages: the updater has to be an `Averaged`, which begins with the first step; on a cluster \
                 they are here when the training has ended",
            ),
            Self::Conflict { name, first, second } => {
                write!(f, "parameter `{name}` is {first}, but {second}{HELP}")
            }
            Self::Type { name, found, expected } => {
                write!(f, "parameter `{name}`: found elements of type {found}, expected {expected}")
            }
            Self::NotFinite { name, element, found } => {
                write!(
                    f,
                    "element {element} of parameter `{name}` is {found} after an update; a smaller learning rate, or gradients \
                     that are clipped, may keep it finite"
                )
            }
            Self::Shape { name, found, expected } => {
                write!(f, "parameter `{name}`: found {found}, expected {expected}")
            }
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl error::Error for ParameterError {}
