//! Parameters: what training changes, by name, for any number of networks.

use std::collections::BTreeSet;
use std::error;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};
use paddle_core::plan::{self, Backend, Storage, Stored};
use paddle_core::program::DType;
use paddle_kernels::cpu::{Cpu, CpuError};

use crate::Error;
use crate::batch::Shape;
use crate::element::{Element, Values};
use crate::infer::Inference;
use crate::model::Model;
use crate::network::{Network, Spec};

/// One set of parameters for one or several networks, on the device that runs them.
///
/// A parameter is its full name: networks that use the same name share it.
pub struct Parameters<B: Backend = Cpu> {
    backend: B,
    storage: Storage,
    /// Tells this set from others; plans are made for one set.
    identity: Arc<()>,
    state: Mutex<State<B>>,
}

/// What inference with a shared reference changes, too: a run takes the buffer out and puts it back.
pub(crate) struct State<B: Backend> {
    pub(crate) values: B::Buffer,
    pub(crate) inference: Inference<B>,
}

impl Parameters<Cpu> {
    /// Creates and initialises the parameters of a network (`&net`), or of several (`(&a, &b)`).
    ///
    /// Errors if two of them use a parameter at different types.
    pub fn create(networks: impl Networks) -> Result<Self, Error> {
        Self::create_with_seed(networks, 0)
    }

    /// The same with another seed of the random numbers that parameters are initialised with. What a parameter
    /// gets depends on the seed and its name, not on what else is in the set.
    pub fn create_with_seed(networks: impl Networks, seed: u64) -> Result<Self, Error> {
        Self::create_on(shared_cpu()?, networks, seed)
    }
}

/// The CPU of all sets that are given no backend: one team of threads for the process.
fn shared_cpu() -> Result<Cpu, CpuError> {
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
    /// The same on another backend: that one runs everything that these parameters are used for.
    pub fn create_on(backend: B, networks: impl Networks, seed: u64) -> Result<Self, Error> {
        let models = networks.models()?;
        let mut storage = Storage::new();
        for model in &models {
            for parameter in model.program.parameters() {
                let var = model.program.var(parameter);
                storage.insert(backend.element_bytes(var.ty.dtype), &var.name, &var.ty)?;
            }
        }
        let mut values = backend.allocate(storage.bytes())?;
        let mut initialized = BTreeSet::new();
        for model in &models {
            let wanted = |name: &str| !initialized.contains(name);
            plan::initialize(&backend, &model.program, &storage, &wanted, &mut values, seed)?;
            let names = model.program.parameters().map(|parameter| model.program.var(parameter).name.clone());
            initialized.extend(names);
        }
        let state = Mutex::new(State { values, inference: Inference::new() });
        Ok(Parameters { backend, storage, identity: Arc::new(()), state })
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.storage.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names, in the order of creation.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.storage.iter().map(|stored| stored.name.as_str())
    }

    /// A copy of a parameter: `let w = parameters.get::<f32>("line.w")?;`
    pub fn get<T: Element>(&self, name: &str) -> Result<ArrayD<T>, Error> {
        let stored = self.find(name, T::DTYPE)?;
        let mut array = ArrayD::<T>::default(IxDyn(&stored.dims));
        if let Some(elements) = array.as_slice_mut() {
            self.with(|state| {
                self.backend.download(&state.values, stored.offset, T::host_mut(elements));
            });
        }
        Ok(array)
    }

    /// Gives a parameter the values of an array of its shape, of any layout.
    pub fn set<T, A, D>(&mut self, name: &str, array: &ArrayBase<A, D>) -> Result<(), Error>
    where
        T: Element,
        A: Data<Elem = T>,
        D: Dimension,
    {
        let stored = self.find(name, T::DTYPE)?;
        if array.shape() != stored.dims {
            let (found, expected) = (Shape(array.shape().to_vec()), Shape(stored.dims.clone()));
            return Err(ParameterError::Shape { name: name.to_string(), found, expected }.into());
        }
        if let Some(elements) = array.as_standard_layout().as_slice() {
            self.with(|state| {
                self.backend.upload(T::host(elements), &mut state.values, stored.offset);
            });
        }
        Ok(())
    }

    /// Gives a parameter values that `read` makes, of the element type that it is told.
    pub(crate) fn set_values(
        &mut self,
        name: &str,
        read: impl FnOnce(DType) -> Values,
    ) -> Result<(), ParameterError> {
        let Some(stored) = self.storage.find(name) else {
            return Err(ParameterError::NoSuch { name: name.to_string() });
        };
        let values = read(stored.dtype);
        if values.len() != stored.elements() {
            let (found, expected) = (Shape(vec![values.len()]), Shape(stored.dims.clone()));
            return Err(ParameterError::Shape { name: name.to_string(), found, expected });
        }
        self.with(|state| self.backend.upload(values.as_slice(), &mut state.values, stored.offset));
        Ok(())
    }

    fn find(&self, name: &str, dtype: DType) -> Result<&Stored, ParameterError> {
        let Some(stored) = self.storage.find(name) else {
            return Err(ParameterError::NoSuch { name: name.to_string() });
        };
        if stored.dtype != dtype {
            let (name, expected) = (name.to_string(), stored.dtype);
            return Err(ParameterError::Type { name, found: dtype, expected });
        }
        Ok(stored)
    }

    pub(crate) fn backend(&self) -> &B {
        &self.backend
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    pub(crate) fn buffer(&mut self) -> &mut B::Buffer {
        &mut self.state.get_mut().unwrap_or_else(PoisonError::into_inner).values
    }

    /// Uses the values, while nobody else does.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut State<B>) -> R) -> R {
        action(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
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

/// A network, or a tuple of networks, whose parameters are to be one set.
pub trait Networks: sealed::Models {}

impl<T: sealed::Models> Networks for T {}

mod sealed {
    use std::sync::Arc;

    use super::{Error, Model, Network, Spec};

    pub trait Models {
        fn models(&self) -> Result<Vec<Arc<Model>>, Error>;
    }

    impl<S: Spec> Models for &Network<S> {
        fn models(&self) -> Result<Vec<Arc<Model>>, Error> {
            Ok(vec![Arc::clone(self.model()?)])
        }
    }

    macro_rules! tuples {
        ($($spec:ident)*) => {
            impl<$($spec: Spec),*> Models for ($(&Network<$spec>,)*) {
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

/// Why a parameter cannot be read or set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is none of this name.
    NoSuch {
        /// The name.
        name: String,
    },
    /// It has another element type.
    Type {
        /// The name.
        name: String,
        /// The type that was given or asked for.
        found: DType,
        /// The parameter's.
        expected: DType,
    },
    /// It has another shape.
    Shape {
        /// The name.
        name: String,
        /// The shape that was given.
        found: Shape,
        /// The parameter's.
        expected: Shape,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch { name } => write!(f, "there is no parameter `{name}`"),
            Self::Type { name, found, expected } => {
                write!(f, "parameter `{name}`: found elements of type {found}, expected {expected}")
            }
            Self::Shape { name, found, expected } => {
                write!(f, "parameter `{name}`: found {found}, expected {expected}")
            }
        }
    }
}

impl error::Error for ParameterError {}
