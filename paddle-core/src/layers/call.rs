//! A call of a layer: its arguments, and the program to which its operators are appended.

use std::cell::Cell;

use super::{Build, Initializer, Kind, Layer, LeftOut};
use crate::ops::compositions::Emit;
use crate::ops::{Mismatch, MismatchKind, Number, Op, Program};
use crate::program::{BlockId, BuildError, DType, Dim, Site, Type, VarId, Words};

/// The form in which an argument is given.
#[derive(Clone, Debug)]
pub enum Given {
    /// A value, on the rows of the block.
    Value(VarId),
    /// Several values, at least one.
    Values(Vec<VarId>),
    /// A size, above 0.
    Size(Dim),
    /// Several sizes. There is at least one, except in a shape.
    Sizes(Vec<Dim>),
    /// A whole number.
    Int(i64),
    /// Several whole numbers, at least one.
    Ints(Vec<i64>),
    /// A number.
    Number(f64),
    /// A truth value.
    Flag(bool),
    /// One of the words that the argument allows.
    Choice(&'static str),
    /// A name.
    Name(String),
    /// The whole name of each parameter, in the order in which the layer creates them.
    Names(Vec<String>),
    /// A text.
    Text(String),
    /// An activation.
    Activation(&'static Layer),
    /// An initialiser with its arguments, as many as it takes.
    Initializer(&'static Initializer, Vec<f64>),
}

/// An argument as a call passes it.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The name of the argument.
    pub name: &'static str,
    /// The form in which it is given.
    pub given: Given,
    /// What the user wrote, for messages: `` `price` ``.
    pub words: String,
    /// The words of each part, if the argument is a list that is written out.
    pub parts: Vec<String>,
    /// Whether the layer has read it.
    read: Cell<bool>,
}

impl Passed {
    /// An argument.
    pub fn new(name: &'static str, given: Given, words: String, parts: Vec<String>) -> Self {
        Passed { name, given, words, parts, read: Cell::new(false) }
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
pub enum Built {
    /// One value.
    One(VarId),
    /// Several values, the parts of a tuple.
    Several(Vec<VarId>),
}

/// A call of a layer while it is built.
///
/// The arguments have been checked against the table: all positional ones are there and of their kind. In a
/// [`Mismatch`] that the call returns, `input` counts the arguments and the parts of each: an argument comes first,
/// then its parts.
pub struct Call<'a> {
    /// The program to which the operators are appended.
    pub program: &'a mut Program,
    /// The block to which the operators are appended.
    pub block: BlockId,
    /// The place of the operators.
    pub site: Site,
    /// The layer.
    pub layer: &'static Layer,
    /// The arguments.
    pub arguments: Vec<Passed>,
    /// The full name of the parameters. If the layer has none, a path that no other layer has.
    pub path: String,
    /// The former name of the parameters, which older files have, if it differs.
    pub former: Option<String>,
    /// How many parameters the call has created.
    pub created: usize,
}

impl Emit for Call<'_> {
    type Error = BuildError;

    fn ty(&self, var: VarId) -> &Type {
        self.ty(var)
    }

    fn emit(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, BuildError> {
        self.emit_one(op, inputs)
    }
}

impl Call<'_> {
    /// Appends the operators of the call. An argument that has no effect besides the others is an error.
    pub fn build(&mut self) -> Result<Built, BuildError> {
        self.check_numbers()?;
        let built = match self.layer.build {
            Build::One(build) => Built::One(build(self)?),
            Build::Several(build) => Built::Several(build(self)?),
        };
        self.check_names()?;
        let is_unread = |passed: &&Passed| passed.name != "param" && !passed.read.get();
        let Some(passed) = self.arguments.iter().find(is_unread) else { return Ok(built) };
        let words = self.arguments.iter().filter(|other| other.name != passed.name).filter_map(|other| {
            match other.given {
                Given::Flag(flag) => Some(format!("`{} = {flag}`", other.name)),
                Given::Choice(word) => Some(format!("`{} = {word}`", other.name)),
                // In place of a parameter.
                Given::Value(_) if self.layer.named(other.name).is_some() => {
                    Some(format!("`{}`", other.name))
                }
                _ => None,
            }
        });
        let beside = words.collect::<Vec<_>>().join(" and ");
        let beside = if beside.is_empty() { "here".to_string() } else { format!("with {beside}") };
        let message = format!(
            "`{}` of `{}` has no effect {beside}; leave out one of them",
            passed.name, self.layer.name
        );
        let input = self.place(passed.name);
        Err(BuildError::Mismatch(Mismatch { input, kind: MismatchKind::Attribute, message }))
    }

    /// Checks that each of the listed names is that of a parameter.
    fn check_names(&self) -> Result<(), BuildError> {
        match self.listed_names() {
            Some(names) if names.len() > self.created => {
                let (name, count) = (self.layer.name, self.created);
                let parameters = if count == 1 { "parameter" } else { "parameters" };
                Err(self.wrong_names(format!("`{name}` has {count} {parameters} here")))
            }
            _ => Ok(()),
        }
    }

    /// The names of the parameters, if each is given as a whole.
    pub(super) fn listed_names(&self) -> Option<&[String]> {
        self.arguments.iter().find_map(|passed| match &passed.given {
            Given::Names(names) => Some(&names[..]),
            _ => None,
        })
    }

    /// The error for names that are not as many as the parameters.
    pub(super) fn wrong_names(&self, but: String) -> BuildError {
        self.wrong("param", MismatchKind::Attribute, &but)
    }

    /// Checks the numbers that mean the same in all layers.
    fn check_numbers(&self) -> Result<(), BuildError> {
        for passed in &self.arguments {
            let Given::Number(number) = passed.given else { continue };
            let (holds, expected) = match passed.name {
                "epsilon" => (number >= 0.0 && number.is_finite(), "a small number, not below 0"),
                "delta" => (number > 0.0 && number.is_finite(), "above 0"),
                _ => continue,
            };
            if !holds {
                let but = format!("it has to be {expected}");
                return Err(self.wrong(passed.name, MismatchKind::Attribute, &but));
            }
        }
        Ok(())
    }

    /// The argument `name`, if it is given. It counts as read.
    fn passed(&self, name: &str) -> Option<&Passed> {
        let passed = self.arguments.iter().find(|passed| passed.name == name)?;
        passed.read.set(true);
        Some(passed)
    }

    fn find<T>(&self, name: &str, as_kind: impl Fn(&Given) -> Option<T>) -> Option<T> {
        self.passed(name).and_then(|passed| as_kind(&passed.given))
    }

    /// The initialiser of a parameter, if it is given, with its arguments.
    pub fn initializer(&self, name: &str) -> Option<(&'static Initializer, &[f64])> {
        match &self.passed(name)?.given {
            Given::Initializer(initializer, numbers) => Some((*initializer, numbers)),
            _ => None,
        }
    }

    /// The elements of a value of whole numbers, if they are written out.
    pub fn written_out(&self, var: VarId) -> Option<Vec<i64>> {
        let whole = |number: Number| match number {
            Number::Int(int) => Some(int),
            Number::Float(_) | Number::Bool(_) => None,
        };
        match &self.program.writer(var)?.op {
            Op::AssignValue(constants) => constants.values.iter().copied().map(whole).collect(),
            Op::Fill(constant) => whole(constant.value).map(|number| vec![number]),
            _ => None,
        }
    }

    /// A value, if it is given.
    pub fn given_value(&self, name: &str) -> Option<VarId> {
        self.find(name, |given| if let Given::Value(var) = given { Some(*var) } else { None })
    }

    /// A value.
    pub fn value(&self, name: &str) -> Result<VarId, BuildError> {
        self.given_value(name).ok_or(BuildError::NoSuch { what: Kind::Value.describe() })
    }

    /// Several values.
    pub fn values(&self, name: &str) -> Result<Vec<VarId>, BuildError> {
        let values = |given: &Given| if let Given::Values(vars) = given { Some(vars.clone()) } else { None };
        self.find(name, values).ok_or(BuildError::NoSuch { what: Kind::Values.describe() })
    }

    /// The default of an argument.
    fn left_out(&self, name: &str) -> Option<LeftOut> {
        self.layer.named(name)?.default
    }

    /// The default of an argument that is a whole number.
    fn left_out_int(&self, name: &str) -> Option<i64> {
        if let LeftOut::Int(int) = self.left_out(name)? { Some(int) } else { None }
    }

    /// A size: the given one, or the default.
    pub fn size(&self, name: &str) -> Result<Dim, BuildError> {
        let size =
            self.find(name, |given| if let Given::Size(size) = given { Some(size.clone()) } else { None });
        let size = size.or_else(|| self.left_out_int(name).map(Dim::from));
        size.ok_or(BuildError::NoSuch { what: Kind::Size.describe() })
    }

    /// Sizes: the given ones, or the default, if there is one.
    pub fn sizes(&self, name: &str) -> Option<Vec<Dim>> {
        let sizes =
            self.find(name, |given| if let Given::Sizes(sizes) = given { Some(sizes.clone()) } else { None });
        sizes.or_else(|| Some(vec![Dim::from(self.left_out_int(name)?)]))
    }

    /// A whole number, if it is given.
    pub fn given_int(&self, name: &str) -> Option<i64> {
        self.find(name, |given| if let Given::Int(int) = given { Some(*int) } else { None })
    }

    /// A whole number: the given one, or the default.
    pub fn int(&self, name: &str) -> Result<i64, BuildError> {
        let int = self.given_int(name).or_else(|| self.left_out_int(name));
        int.ok_or(BuildError::NoSuch { what: Kind::Int.describe() })
    }

    /// Whole numbers, if they are given.
    pub fn given_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.find(name, |given| if let Given::Ints(ints) = given { Some(ints.clone()) } else { None })
    }

    /// Whole numbers: the given ones, or the default, if there is one.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.given_ints(name).or_else(|| Some(vec![self.left_out_int(name)?]))
    }

    /// A number, if it is given.
    pub fn given_number(&self, name: &str) -> Option<f64> {
        self.find(name, |given| if let Given::Number(number) = given { Some(*number) } else { None })
    }

    /// A number: the given one, or the default.
    pub fn number(&self, name: &str) -> Result<f64, BuildError> {
        let left_out =
            || if let LeftOut::Number(number) = self.left_out(name)? { Some(number) } else { None };
        self.given_number(name).or_else(left_out).ok_or(BuildError::NoSuch { what: Kind::Number.describe() })
    }

    /// A truth value, if it is given.
    pub fn given_flag(&self, name: &str) -> Option<bool> {
        self.find(name, |given| if let Given::Flag(truth) = given { Some(*truth) } else { None })
    }

    /// A truth value: the given one, or the default.
    pub fn flag(&self, name: &str) -> Result<bool, BuildError> {
        let left_out = || if let LeftOut::Flag(truth) = self.left_out(name)? { Some(truth) } else { None };
        self.given_flag(name).or_else(left_out).ok_or(BuildError::NoSuch { what: Kind::Flag.describe() })
    }

    /// A word, if it is given.
    pub fn given_choice(&self, name: &str) -> Option<&'static str> {
        self.find(name, |given| if let Given::Choice(word) = given { Some(*word) } else { None })
    }

    /// A word: the given one, or the default.
    pub fn choice(&self, name: &str) -> Result<&'static str, BuildError> {
        let left_out = || if let LeftOut::Word(word) = self.left_out(name)? { Some(word) } else { None };
        self.given_choice(name).or_else(left_out).ok_or(BuildError::NoSuch { what: "word" })
    }

    /// An element type, if its name is given.
    pub fn element_type(&self, name: &str) -> Option<DType> {
        self.given_choice(name).and_then(DType::from_name)
    }

    /// A name.
    pub fn name(&self, name: &str) -> Result<String, BuildError> {
        let text = |given: &Given| if let Given::Name(text) = given { Some(text.clone()) } else { None };
        self.find(name, text).ok_or(BuildError::NoSuch { what: "name" })
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<String, BuildError> {
        let text = |given: &Given| if let Given::Text(text) = given { Some(text.clone()) } else { None };
        self.find(name, text).ok_or(BuildError::NoSuch { what: Kind::Text.describe() })
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
        self.append(op.into(), inputs, inputs)
    }

    /// Appends an operator that has one output.
    pub fn emit_one(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, BuildError> {
        self.append_one(op.into(), inputs)
    }

    /// Appends an operator whose inputs were made from the given values. Messages name these values, and blame them.
    pub fn emit_for(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        made_of: &[VarId],
    ) -> Result<Vec<VarId>, BuildError> {
        self.append(op.into(), inputs, made_of)
    }

    fn append_one(&mut self, op: Op, inputs: &[VarId]) -> Result<VarId, BuildError> {
        Ok(self.append(op, inputs, inputs)?[0])
    }

    fn append(&mut self, op: Op, inputs: &[VarId], made_of: &[VarId]) -> Result<Vec<VarId>, BuildError> {
        let words = Words {
            operator: self.layer.name.to_string(),
            inputs: made_of.iter().map(|&value| self.words(value)).collect(),
        };
        let result = self.program.append_op_in_words(self.block, op, inputs, self.site, &words);
        result.map_err(|error| match error {
            BuildError::Mismatch(Mismatch { input, kind, message }) => {
                let input = input.and_then(|at| self.position(made_of[at]));
                BuildError::Mismatch(Mismatch { input, kind, message })
            }
            other => other,
        })
    }

    /// Appends an operator that has the argument `name` as an attribute. The argument is blamed if the attribute is not
    /// allowed.
    pub fn emit_with(
        &mut self,
        name: &str,
        op: impl Into<Op>,
        inputs: &[VarId],
    ) -> Result<Vec<VarId>, BuildError> {
        self.emit(op, inputs).map_err(|error| match error {
            BuildError::Mismatch(Mismatch { kind: MismatchKind::Attribute, input, message }) => {
                let input = self.place(name).or(input);
                BuildError::Mismatch(Mismatch { input, kind: MismatchKind::Attribute, message })
            }
            other => other,
        })
    }

    /// Applies the activation in the argument `name`, if there is one.
    pub fn activate(&mut self, name: &str, x: VarId) -> Result<VarId, BuildError> {
        let Some(layer) = self.activation(name) else { return Ok(x) };
        let words = self.words(x);
        let arguments = layer.positional.iter().take(1);
        let arguments =
            arguments.map(|argument| Passed::new(argument.name, Given::Value(x), words.clone(), Vec::new()));
        let mut call = Call {
            program: self.program,
            block: self.block,
            site: self.site,
            layer,
            arguments: arguments.collect(),
            path: String::new(),
            former: None,
            created: 0,
        };
        match call.build()? {
            Built::One(y) => Ok(y),
            // The table has no such activation.
            Built::Several(_) => Err(BuildError::NoSuch { what: "activation" }),
        }
    }

    /// The error of a mistake in the argument `name`: "`x` is `f32[13]`, but …".
    pub fn wrong(&self, name: &str, kind: MismatchKind, but: &str) -> BuildError {
        let passed = self.arguments.iter().find(|passed| passed.name == name);
        let is = passed.map(|passed| match &passed.given {
            Given::Value(_) | Given::Values(_) => {
                format!("{} is {}", passed.words, self.shown(&passed.given))
            }
            // The words of the source are also the argument's name.
            given => format!("`{name}` is {}", self.shown(given)),
        });
        let message = format!("{}, but {but}", is.unwrap_or_default());
        BuildError::Mismatch(Mismatch { input: self.place(name), kind, message })
    }

    /// The error of a mistake in a value, which may be a part of an argument.
    pub fn wrong_value(&self, var: VarId, kind: MismatchKind, but: &str) -> BuildError {
        let message = format!("{} is {}, but {but}", self.words(var), self.program.show(self.ty(var)));
        BuildError::Mismatch(Mismatch { input: self.position(var), kind, message })
    }

    fn shown(&self, given: &Given) -> String {
        let types = |vars: &[VarId]| {
            vars.iter().map(|&var| self.program.show(self.ty(var))).collect::<Vec<_>>().join(", ")
        };
        let list = |parts: Vec<String>| match &parts[..] {
            [one] => one.clone(),
            parts => format!("[{}]", parts.join(", ")),
        };
        match given {
            Given::Value(var) => types(&[*var]),
            Given::Values(vars) => types(vars),
            Given::Size(size) => self.program.show_dim(size),
            Given::Sizes(sizes) => list(sizes.iter().map(|size| self.program.show_dim(size)).collect()),
            Given::Int(int) => int.to_string(),
            Given::Ints(ints) => list(ints.iter().map(i64::to_string).collect()),
            Given::Number(number) => number.to_string(),
            Given::Flag(truth) => truth.to_string(),
            Given::Choice(word) => word.to_string(),
            Given::Name(text) => text.clone(),
            Given::Names(names) => format!("{names:?}"),
            Given::Text(text) => format!("\"{text}\""),
            Given::Activation(layer) => layer.name.to_string(),
            Given::Initializer(initializer, _) => initializer.name.to_string(),
        }
    }

    /// The position of the argument `name` among the arguments and their parts.
    fn place(&self, name: &str) -> Option<usize> {
        let at = self.arguments.iter().position(|passed| passed.name == name)?;
        Some(self.arguments[..at].iter().map(|passed| 1 + passed.parts.len()).sum())
    }

    /// The position of a value among the arguments and their parts.
    fn position(&self, var: VarId) -> Option<usize> {
        let (passed, part) = self.find_value(var)?;
        let part = part.filter(|part| *part < passed.parts.len());
        Some(self.place(passed.name)? + part.map_or(0, |part| 1 + part))
    }

    /// The argument that holds a value. If the value is a part of it, also the number of the part.
    fn find_value(&self, var: VarId) -> Option<(&Passed, Option<usize>)> {
        self.arguments.iter().find_map(|passed| match &passed.given {
            Given::Value(value) if *value == var => Some((passed, None)),
            Given::Values(values) => {
                values.iter().position(|value| *value == var).map(|part| (passed, Some(part)))
            }
            _ => None,
        })
    }

    /// The words of the source for a value.
    pub(super) fn words(&self, var: VarId) -> String {
        let words = self.find_value(var).and_then(|(passed, part)| match part {
            Some(part) if passed.parts.is_empty() => (part == 0).then_some(&passed.words),
            Some(part) => passed.parts.get(part),
            None => Some(&passed.words),
        });
        words.cloned().unwrap_or_else(|| format!("`{}`", self.program.var(var).name))
    }
}
