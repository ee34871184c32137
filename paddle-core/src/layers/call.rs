//! A call of a layer: its arguments, and the program that its operators are appended to.

use super::{Kind, Layer};
use crate::ops::{Mismatch, MismatchKind, Op};
use crate::program::{BlockId, BuildError, Program, Site, Type, VarId, Words};

/// What an argument is given as.
#[derive(Clone, Debug)]
pub enum Given {
    /// A value, on the rows of the block.
    Value(VarId),
    /// A size, above 0.
    Size(i64),
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
    /// An activation.
    Activation(&'static Layer),
}

/// An argument as a call passes it.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Which argument.
    pub name: &'static str,
    /// What it is given as.
    pub given: Given,
    /// What the user wrote, for messages: `` `price` ``.
    pub words: String,
}

/// A call of a layer while it is being built.
///
/// The arguments have been checked against the table: all that have a position are there and of their kind.
/// In a [`Mismatch`] that it returns, `input` is an index into `arguments`.
pub struct Call<'a> {
    /// Where the operators go.
    pub program: &'a mut Program,
    /// The block that they are appended to.
    pub block: BlockId,
    /// Their place.
    pub site: Site,
    /// The layer.
    pub layer: &'static Layer,
    /// The arguments.
    pub arguments: Vec<Passed>,
    /// The full name of its parameters, for a layer that has some.
    pub path: String,
}

impl Call<'_> {
    fn find<T>(&self, name: &str, as_kind: impl Fn(&Given) -> Option<T>) -> Option<T> {
        self.arguments.iter().find(|passed| passed.name == name).and_then(|passed| as_kind(&passed.given))
    }

    /// A value.
    pub fn value(&self, name: &str) -> Result<VarId, BuildError> {
        let value = |given: &Given| if let Given::Value(var) = given { Some(*var) } else { None };
        self.find(name, value).ok_or(BuildError::NoSuch { what: Kind::Value.describe() })
    }

    /// A size.
    pub fn size(&self, name: &str) -> Result<i64, BuildError> {
        let size = |given: &Given| if let Given::Size(size) = given { Some(*size) } else { None };
        self.find(name, size).ok_or(BuildError::NoSuch { what: Kind::Size.describe() })
    }

    /// A number, if it is given.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.find(name, |given| if let Given::Number(number) = given { Some(*number) } else { None })
    }

    /// An activation, if it is given.
    pub fn activation(&self, name: &str) -> Option<&'static Layer> {
        self.find(name, |given| if let Given::Activation(layer) = given { Some(*layer) } else { None })
    }

    /// The type of a value.
    pub fn ty(&self, var: VarId) -> &Type {
        self.program.ty(var)
    }

    /// Appends an operator.
    pub fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<Vec<VarId>, BuildError> {
        let words = Words {
            operator: self.layer.name.to_string(),
            inputs: inputs.iter().map(|&input| self.words(input)).collect(),
        };
        let result = self.program.append_op_in_words(self.block, op, inputs, self.site, &words);
        result.map_err(|error| match error {
            BuildError::Mismatch(Mismatch { input, kind, message }) => {
                let input = input.and_then(|at| self.position(inputs[at]));
                BuildError::Mismatch(Mismatch { input, kind, message })
            }
            other => other,
        })
    }

    /// A parameter of the layer, in the global block: `role` is `w`, `b`, …
    pub fn parameter(&mut self, role: &str, initializer: impl Into<Op>) -> Result<VarId, BuildError> {
        self.program.create_parameter(&format!("{}.{role}", self.path), initializer)
    }

    /// Applies the activation that the argument `name` asks for, if it does.
    pub fn activate(&mut self, name: &str, x: VarId) -> Result<VarId, BuildError> {
        let Some(layer) = self.activation(name) else { return Ok(x) };
        let words = self.words(x);
        let arguments = layer.positional.iter().take(1);
        let arguments = arguments.map(|argument| Passed {
            name: argument.name,
            given: Given::Value(x),
            words: words.clone(),
        });
        let mut call = Call {
            program: self.program,
            block: self.block,
            site: self.site,
            layer,
            arguments: arguments.collect(),
            path: String::new(),
        };
        (layer.build)(&mut call)
    }

    /// A mistake in the argument `name`: "`x` is `f32[13]`, but …".
    pub fn wrong(&self, name: &str, kind: MismatchKind, but: &str) -> BuildError {
        let at = self.arguments.iter().position(|passed| passed.name == name);
        let is = self.arguments.iter().find(|passed| passed.name == name).map(|passed| {
            let shown = match &passed.given {
                Given::Value(var) => self.program.show(self.ty(*var)),
                Given::Size(size) => size.to_string(),
                Given::Number(number) => number.to_string(),
                Given::Name(text) => text.clone(),
                Given::Activation(layer) => layer.name.to_string(),
            };
            format!("{} is {shown}", passed.words)
        });
        let message = format!("{}, but {but}", is.unwrap_or_default());
        BuildError::Mismatch(Mismatch { input: at, kind, message })
    }

    fn position(&self, var: VarId) -> Option<usize> {
        let is_it = |passed: &Passed| matches!(passed.given, Given::Value(value) if value == var);
        self.arguments.iter().position(is_it)
    }

    fn words(&self, var: VarId) -> String {
        match self.position(var) {
            Some(at) => self.arguments[at].words.clone(),
            None => format!("`{}`", self.program.var(var).name),
        }
    }
}
