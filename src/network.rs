//! Networks: what `network!` and `#[network]` make of a model's source.
//!
//! `use paddle::network;` brings the macro [`network!`](crate::network!), and this module, by which a file that has the macro writes
//! the attribute: `#[network::module]`.
//!
//! ```
//! use paddle::network;
//!
//! #[network::module]
//! mod line {
//!     pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
//!         fc(x, 1)
//!     }
//! }
//!
//! let double = network!(|x: Tensor<f32, _, 13>| x * 2.0);
//! assert_eq!(line::price().program()?.parameters().count(), 2);
//! assert_eq!(double.program()?.parameters().count(), 0);
//! # Ok::<(), paddle::Error>(())
//! ```

use std::any::TypeId;
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use paddle_core::convert::from_wire;
use paddle_core::ops::{Number, Program};
use paddle_core::wire::ProgramDesc;

pub use paddle_macros::network_module as module;

use crate::Error;
use crate::batch::{Batch, Row};
use crate::model::Model;
use crate::operator::{self, Operator, Operators};
use crate::sharing::{Agreeing, ParamSpecs};

/// The type that stands for one network of the source. The macros write it.
///
/// It is a bound of functions that take any network:
///
/// ```
/// use paddle::{Error, Network, Outputs, Parameters, Spec, infer};
///
/// fn ask<S: Spec>(net: &Network<S>, parameters: &Parameters, row: S::Row) -> Result<Outputs, Error> {
///     infer(net, parameters, [row])
/// }
///
/// let net = paddle::network!(|x: Tensor<f32, _, 2>| softmax(x));
/// let outputs = ask(&net, &Parameters::create(&net)?, [0.0, 0.0])?;
/// assert_eq!(outputs.at::<f32>(0)?.as_slice(), Some(&[0.5, 0.5][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Spec: 'static {
    /// One sample.
    type Row: Row;
    /// The name of the topology, for messages.
    const NAME: &'static str;
    /// The program: an encoded `ProgramDesc`.
    const PROGRAM: &'static [u8];
    /// The program that initialises the parameters, likewise.
    const STARTUP: &'static [u8];
    /// The parameters, sorted by name; none where they are only known at run time.
    const PARAMS: ParamSpecs = ParamSpecs::NONE;
    /// Why the network cannot be trained; nothing where it can, or where that is only known at run time.
    const UNTRAINABLE: Option<&'static str> = None;
    /// This network beside another one: whether they agree on the parameters that they share.
    #[doc(hidden)]
    type Beside<Other: Spec>: Agreeing;

    /// The operators of the user's own that its source may use.
    const OPERATORS: Operators = Operators::NONE;

    /// The constants of the code around that the program has, by what they are called in it.
    #[doc(hidden)]
    const CONSTANTS: &'static [(&'static str, Elements)] = &[];

    /// The values of the program's sizes from outside, in the order of its symbols.
    fn sizes(&self) -> &[i64] {
        &[]
    }
}

/// The elements of a constant, the last axis fastest. The macros write it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Elements {
    Bool(&'static [bool]),
    I32(&'static [i32]),
    I64(&'static [i64]),
    F32(&'static [f32]),
    F64(&'static [f64]),
}

impl Elements {
    fn numbers(self) -> Vec<Number> {
        match self {
            Elements::Bool(values) => values.iter().map(|&value| Number::Bool(value)).collect(),
            Elements::I32(values) => values.iter().map(|&value| Number::Int(value.into())).collect(),
            Elements::I64(values) => values.iter().map(|&value| Number::Int(value)).collect(),
            Elements::F32(values) => values.iter().map(|&value| Number::Float(value.into())).collect(),
            Elements::F64(values) => values.iter().map(|&value| Number::Float(value)).collect(),
        }
    }
}

/// A network that can be trained as it is, as far as rustc knows: its cost is a floating-point scalar, and has a derivative with respect
/// to each parameter. The macros implement it.
///
/// A function that trains any network asks for it:
///
/// ```
/// use paddle::{Error, Network, Parameters, Rows, Sgd, Trainable, Trainer};
///
/// fn once<S: Trainable>(net: &Network<S>, rows: impl Rows<S>) -> Result<f32, Error> {
///     let mut parameters = Parameters::create(net)?;
///     let mut trainer = Trainer::new(Sgd::new(0.1));
///     let outcome = trainer.step(net, &mut parameters, rows)?;
///     Ok(outcome.cost())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be trained",
    label = "not known to have a cost",
    note = "a function that trains any network says so: `fn f<S: paddle::Trainable>(net: &Network<S>, ..)`"
)]
pub trait Trainable: TrainableInPart {}

/// A network that can be trained if parameters are frozen, which are those without a gradient: see [`Options::freeze`](crate::Options::freeze).
///
/// It is the bound of [`Trainer::step_with`](crate::Trainer::step_with) and [`Trainer::train`](crate::Trainer::train), which take such options:
///
/// ```
/// use paddle::{Error, Network, Options, Parameters, Rows, Sgd, TrainableInPart, Trainer};
///
/// /// One step from the beginning: its cost.
/// fn once<S: TrainableInPart>(net: &Network<S>, rows: impl Rows<S>, options: &Options) -> Result<f32, Error> {
///     let mut parameters = Parameters::create(net)?;
///     let mut trainer = Trainer::new(Sgd::new(0.1));
///     Ok(trainer.step_with(net, &mut parameters, rows, options)?.cost())
/// }
///
/// let net = paddle::network!(|x: Tensor<f32, _, 2>| {
///     let label = softmax(fc(x, 3, param = "teacher"));
///     mean(softmax_with_cross_entropy(fc(x, 3, param = "student"), label, soft_label = true))
/// });
/// assert!(once(&net, [[1.0, 2.0]], &Options::default()).is_err());
/// let frozen = Options::default().freeze(net.params.teacher.w).freeze(net.params.teacher.b);
/// assert!(once(&net, [[1.0, 2.0]], &frozen)? > 0.0);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be trained",
    label = "not known to have a cost",
    note = "a function that trains any network says so: `fn f<S: paddle::Trainable>(net: &Network<S>, ..)`"
)]
pub trait TrainableInPart: Spec {}

/// A network: a program that can be trained and run.
///
/// It is decoded when it is first used, once per process. What the macros generate for one network, such as
/// `net.row(x, y)`, is reached through it.
///
/// ```
/// use paddle::{Network, Spec, network};
///
/// let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
///     let line = fc(x, 1);
///     mean(square(line - y))
/// });
/// // One sample, with a value for each input: `([f32; 3], f32)`.
/// let row = net.row([0.0, 1.0, 2.0], 3.0);
/// assert_eq!(net.batch([row, row])?.rows()?, 2);
/// // The names of its parameters, and the operators that it is made of.
/// assert_eq!(net.params.line.w.as_ref(), "line.w");
/// assert!(net.program()?.find("line.b").is_some());
///
/// /// A function of any network.
/// fn inputs<S: Spec>(net: &Network<S>) -> Result<usize, paddle::Error> {
///     Ok(net.program()?.inputs().len())
/// }
/// assert_eq!(inputs(&net)?, 2);
/// # Ok::<(), paddle::Error>(())
/// ```
pub struct Network<S: Spec> {
    spec: S,
    model: OnceLock<Arc<Model>>,
}

impl<S: Spec> Network<S> {
    /// The network that `spec` stands for.
    ///
    /// The macros call it. Nothing is decoded before the network is used.
    pub fn new(spec: S) -> Self {
        Network { spec, model: OnceLock::new() }
    }

    /// The network that `spec` stands for, with sizes that are known at run time.
    ///
    /// Each one is a network of its own, as far as [`Trainer`](crate::Trainer) and [`infer`](crate::infer()) keep plans.
    ///
    /// # Errors
    /// [`Error::Bind`] if a size is 0, is more than any memory has, or is not what a check of the network asks for.
    pub fn with_sizes(spec: S) -> Result<Self, Error> {
        let model = Arc::new(Self::decode(&spec)?);
        Ok(Network { spec, model: OnceLock::from(model) })
    }

    /// Its program.
    ///
    /// # Errors
    /// [`Error::Wire`], [`Error::Convert`] or [`Error::Operator`] if what the macro embedded cannot be decoded or linked. Of a network that compiled that
    /// is a network whose operators clash: two of one name. All that takes a network has these errors.
    pub fn program(&self) -> Result<&Program, Error> {
        Ok(&self.model()?.program)
    }

    /// A batch of these rows, in the form in which the runtime wants it.
    ///
    /// # Errors
    /// [`Error::Batch`] if a row does not fit: sizes that a type leaves open differ, or values of an input without rows.
    pub fn batch<R: Borrow<S::Row>>(&self, rows: impl IntoIterator<Item = R>) -> Result<Batch<S>, Error> {
        Batch::from_rows(self, rows)
    }

    pub(crate) fn model(&self) -> Result<&Arc<Model>, Error> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let model = Model::embedded(TypeId::of::<S>(), || Self::decode(&self.spec))?;
        Ok(self.model.get_or_init(|| model))
    }

    fn decode(spec: &S) -> Result<Model, Error> {
        let [program, startup] = [S::PROGRAM, S::STARTUP].map(ProgramDesc::decode);
        let mut program = from_wire(&program?, Some(&startup?))?;
        if !spec.sizes().is_empty() {
            let sizes = program.outside_symbols().zip(spec.sizes().iter().copied());
            program = program.bind(&sizes.collect::<Vec<_>>())?;
        }
        if !S::CONSTANTS.is_empty() {
            let constants: Vec<_> =
                S::CONSTANTS.iter().map(|(name, elements)| (*name, elements.numbers())).collect();
            program = program.bind_constants(&constants)?;
        }
        operator::link_all(&mut program, S::OPERATORS.all())?;
        Ok(Model::new(S::NAME, program))
    }
}

impl<S: Spec> Deref for Network<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.spec
    }
}

impl<S: Spec> fmt::Debug for Network<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("name", &S::NAME).finish_non_exhaustive()
    }
}

/// Stands for a network whose program is made or loaded at run time. Its rows are of type `R`; they are compared
/// with the program's inputs when a batch is made. `()` is for those that are fed with arrays only.
///
/// ```
/// use paddle::{Dynamic, Network, Parameters, infer, network};
///
/// // As text it may be in a file.
/// let text = network!(|x: Tensor<f32, _, 2>| square(x)).program()?.to_string();
/// let program = paddle::core::text::parse(&text)?;
/// let net = Network::<Dynamic<[f32; 2]>>::from_program(program)?;
/// let outputs = infer(&net, &Parameters::create(&net)?, [[1.0, 3.0]])?;
/// assert_eq!(outputs.at::<f32>(0)?.as_slice(), Some(&[1.0, 9.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dynamic<R = ()>(PhantomData<fn() -> R>);

impl<R: Row + 'static> Spec for Dynamic<R> {
    type Row = R;
    type Beside<Other: Spec> = ();
    const NAME: &'static str = "network";
    const PROGRAM: &'static [u8] = &[];
    const STARTUP: &'static [u8] = &[];
}

/// What the macros say of a network that cannot be trained: that this is not possible.
#[doc(hidden)]
#[derive(Debug)]
pub struct Training;

/// What is not known before the program is.
impl<R: Row + 'static> TrainableInPart for Dynamic<R> {}
impl<R: Row + 'static> Trainable for Dynamic<R> {}

impl<R: Row + 'static> Network<Dynamic<R>> {
    /// The network of a program.
    ///
    /// # Errors
    /// [`Error::Verify`], with the operator and its place, if the program is not well-formed. Whether rows of the type `R` fit its inputs is asked when a batch is
    /// made.
    pub fn from_program(program: Program) -> Result<Self, Error> {
        program.verify()?;
        let model = Arc::new(Model::new(<Dynamic<R>>::NAME, program));
        Ok(Network { spec: Dynamic(PhantomData), model: OnceLock::from(model) })
    }

    /// The network of a program that the front end has made, by the name that it has there.
    #[cfg(feature = "language")]
    pub(crate) fn of_source(name: &str, program: Program) -> Self {
        let model = Arc::new(Model::new(name, program));
        Network { spec: Dynamic(PhantomData), model: OnceLock::from(model) }
    }

    /// The same network, with these operators, and those that their gradients are made of, linked to those of its program that have their names: a program that was
    /// loaded says what an operator of your own is, but not what computes it.
    ///
    /// # Errors
    /// [`Error::Operator`] if two of them have one name, or the program uses one with other types than it is declared with.
    pub fn with_operators(&self, operators: &[&'static dyn Operator]) -> Result<Self, Error> {
        let mut program = self.program()?.clone();
        operator::link_all(&mut program, operators.iter().flat_map(|operator| operator.operators().all()))?;
        Self::from_program(program)
    }
}
