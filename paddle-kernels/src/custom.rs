//! Operators that users write: the arguments of their kernels, and the link between a kernel and
//! [`Custom::kernel`](paddle_core::ops::Custom).

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind};

use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn};
use paddle_core::ops::{AccuracyClass, Arguments, Custom, Definition, LinkedKernel, Number, Sample};
use paddle_core::plan::{HostSlice, HostSliceMut};
use paddle_core::text;

/// The declaration of an operator in the source. `#[operator]` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The operator's name.
    pub name: &'static str,
    /// Whether row `i` of the output depends on row `i` of the inputs only.
    pub row_wise: bool,
    /// The defaults of the operator's numbers: [`Arguments`] as text.
    pub arguments: &'static str,
    /// The types of its values, and its gradient: a [`Definition`] as text.
    pub definition: &'static str,
}

impl Declaration {
    /// The operator with default numbers and without a kernel; `None` if the declaration is not valid.
    pub fn op(&self) -> Option<Custom> {
        Some(Custom {
            name: self.name.to_string(),
            row_wise: self.row_wise,
            arguments: Arguments::parse(self.arguments)?,
            definition: Definition::new(text::parse(self.definition).ok()?).ok()?,
            kernel: LinkedKernel::none(),
        })
    }
}

/// The operators that the networks of a module may use: the module's own, and those of its imports. The macros write
/// it.
#[derive(Clone, Copy)]
pub struct Operators {
    /// The operators that the module declares.
    pub own: &'static [&'static dyn Operator],
    /// The operators of the modules that it imports from.
    pub imported: &'static [Operators],
}

impl Operators {
    /// No operators.
    pub const NONE: Operators = Operators { own: &[], imported: &[] };

    /// All operators. One may occur more than once.
    pub fn all(&self) -> Vec<&'static dyn Operator> {
        let imported = self.imported.iter().flat_map(Operators::all);
        self.own.iter().copied().chain(imported).collect()
    }
}

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().iter().map(|operator| operator.declaration().name)).finish()
    }
}

/// A type that stands for an operator in the source.
pub trait Declared: Any + Send + Sync + RefUnwindSafe {
    /// The declaration of the operator.
    fn declaration(&self) -> Declaration;

    /// The operators of its module, which its gradient may use, and those that the module imports.
    fn operators(&self) -> Operators;
}

/// The arithmetic of a user's operator on each backend, and its test cases.
///
/// A kernel writes every element of the output, and reads the inputs only. If it returns an error or panics, the run
/// fails with that error.
pub trait Operator: Declared {
    /// Computes the output on the CPU.
    ///
    /// A row-wise operator is called for some of the rows at a time, on several threads. The result for a row must not
    /// depend on the other rows.
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String>;

    /// Computes the output in the plainest way, as the oracle of the tests. Values of type `f32` are `f64` here. A
    /// row-wise operator is called for one row at a time.
    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String>;

    /// How far the results of [`Operator::cpu`] may be from those of [`Operator::reference`], and why.
    fn accuracy(&self) -> AccuracyClass {
        AccuracyClass::Accumulating("what the kernel rounds is not known")
    }

    /// Test cases: `op`, a sample without inputs, with inputs of no rows, of one row and of many.
    fn samples(&self, op: Sample) -> Vec<Sample>;
}

/// The kernel to link to an operator that this one computes.
pub fn kernel(operator: &'static dyn Operator) -> LinkedKernel {
    LinkedKernel::new(operator)
}

/// The kernel that is linked to an operator.
pub(crate) fn linked(op: &Custom) -> Option<&'static dyn Operator> {
    op.kernel.get::<&'static dyn Operator>().copied()
}

/// The largest number of dimensions that a value of such an operator may have.
pub(crate) const MOST_AXES: usize = 8;

/// A shape that is stored without an allocation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    sizes: [usize; MOST_AXES],
    rank: usize,
}

impl Shape {
    /// The shape with these sizes, of which only the first eight are kept.
    pub(crate) fn new(sizes: impl Iterator<Item = usize>) -> Self {
        let mut shape = Shape::default();
        for (place, size) in shape.sizes.iter_mut().zip(sizes) {
            *place = size;
            shape.rank += 1;
        }
        shape
    }

    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }

    /// The shape with another number of rows.
    pub(crate) fn with_rows(mut self, rows: usize) -> Self {
        self.sizes[0] = rows;
        self
    }
}

/// An input of a call.
pub(crate) struct Input<'a> {
    pub(crate) elements: HostSlice<'a>,
    pub(crate) shape: Shape,
}

/// The inputs of a call of a kernel: arrays, and the numbers that the operator was given.
pub struct Inputs<'a> {
    pub(crate) op: &'a Custom,
    pub(crate) input: &'a dyn Fn(usize) -> Option<Input<'a>>,
}

impl<'a> Inputs<'a> {
    /// Input `k`, from 0, in the shape that the operator's signature declares. Rows are the first axis.
    ///
    /// It is an error if there is no such input, or the input has another type.
    pub fn get<T: Element>(&self, k: usize) -> Result<ArrayViewD<'a, T>, String> {
        let Input { elements, shape } =
            (self.input)(k).ok_or_else(|| format!("`{}` has no input {k}", self.op.name))?;
        let found = elements.dtype();
        let elements = T::slice(elements)
            .ok_or_else(|| format!("input {k} of `{}` is {found}, not {}", self.op.name, T::NAME))?;
        ArrayViewD::from_shape(IxDyn(shape.sizes()), elements).map_err(|error| error.to_string())
    }

    /// The number that the operator was given for this argument; a truth value is 0 or 1.
    ///
    /// It is an error if the operator has no such argument.
    pub fn number(&self, name: &str) -> Result<f64, String> {
        let number = self.op.arguments.get(name).map(Number::as_f64);
        number.ok_or_else(|| format!("`{}` has no argument `{name}` that is a number", self.op.name))
    }
}

/// The output of a call of a kernel. Its elements are arbitrary until they are written.
pub struct Output<'a> {
    pub(crate) op: &'a Custom,
    pub(crate) elements: HostSliceMut<'a>,
    pub(crate) shape: Shape,
}

impl Output<'_> {
    /// The array, in the shape that the operator's signature declares. Rows are the first axis.
    ///
    /// It is an error if the output has another type.
    pub fn get<T: Element>(&mut self) -> Result<ArrayViewMutD<'_, T>, String> {
        let found = self.elements.dtype();
        let elements = T::slice_mut(&mut self.elements)
            .ok_or_else(|| format!("the output of `{}` is {found}, not {}", self.op.name, T::NAME))?;
        ArrayViewMutD::from_shape(IxDyn(self.shape.sizes()), elements).map_err(|error| error.to_string())
    }
}

/// The element types of arrays: `f32`, `f64`, `i32`, `i64` and `bool`.
pub trait Element: sealed::Element {}

mod sealed {
    use super::{HostSlice, HostSliceMut};

    pub trait Element: Copy + 'static {
        const NAME: &'static str;
        fn slice(host: HostSlice<'_>) -> Option<&[Self]>;
        fn slice_mut<'a>(host: &'a mut HostSliceMut<'_>) -> Option<&'a mut [Self]>;
    }
}

macro_rules! element {
    ($($type:ident $variant:ident),*) => {$(
        impl Element for $type {}

        impl sealed::Element for $type {
            const NAME: &'static str = stringify!($type);

            fn slice(host: HostSlice<'_>) -> Option<&[Self]> {
                match host {
                    HostSlice::$variant(slice) => Some(slice),
                    _ => None,
                }
            }

            fn slice_mut<'a>(host: &'a mut HostSliceMut<'_>) -> Option<&'a mut [Self]> {
                match host {
                    HostSliceMut::$variant(slice) => Some(slice),
                    _ => None,
                }
            }
        }
    )*};
}
element!(f32 F32, f64 F64, i32 I32, i64 I64, bool Bool);

/// Calls a kernel, and turns a panic into an error.
pub(crate) fn call(op: &Custom, kernel: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    // The values of a kernel that panicked are never read, as the run has failed.
    match catch_unwind(AssertUnwindSafe(kernel)) {
        Ok(result) => result.map_err(|error| format!("`{}`: {error}", op.name)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(format!("the kernel of `{}` panicked: {text}", op.name))
        }
    }
}
