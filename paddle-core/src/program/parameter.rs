//! Parameters: what one use asks for, and whether two uses agree.
//!
//! The full name identifies a parameter. All uses of a name, in one program or in several that share their parameters,
//! have to agree on type, initialiser and options. A use that leaves out the initialiser or an option agrees with any.

use super::build::{BuildError, Inferred};
use super::{
    Answer, BlockId, Condition, Definition, Located, Mismatch, MismatchKind, OpInterface, Operator, Program,
    Site, Type, VarId,
};

/// The options of a parameter: everything but its type and its initialiser.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterOptions {
    /// Whether the user chose the initialiser. A chosen initialiser replaces a default one.
    pub chosen: bool,
    /// Whether `backward` computes its gradient. Moving statistics have none: their operator changes them.
    pub trainable: bool,
    /// The factor on the learning rate.
    pub lr: Option<f64>,
    /// The factor of L2 decay: `decay · parameter` is added to the gradient.
    pub decay: Option<f64>,
    /// The bound on the absolute value of each element of the gradient.
    pub clip: Option<f64>,
    /// The name of the parameter in older files. A file without the present name is read by this one.
    pub former: Option<String>,
}

impl Default for ParameterOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl ParameterOptions {
    /// The options of a use that asks for nothing.
    pub(super) const DEFAULT: Self =
        ParameterOptions { chosen: false, trainable: true, lr: None, decay: None, clip: None, former: None };

    /// The numeric options, under their names as arguments of layers.
    pub fn numbers(&self) -> [(&'static str, Option<f64>); 3] {
        [("lr", self.lr), ("decay", self.decay), ("clip", self.clip)]
    }

    /// The numeric option of this name, to be set.
    pub fn number_mut(&mut self, name: &str) -> Option<&mut Option<f64>> {
        match name {
            "lr" => Some(&mut self.lr),
            "decay" => Some(&mut self.decay),
            "clip" => Some(&mut self.clip),
            _ => None,
        }
    }

    /// The first numeric option that is out of range: its name, and the range in words.
    pub fn out_of_range(&self) -> Option<(&'static str, &'static str)> {
        let wrong = |(name, value): (&'static str, Option<f64>)| {
            let value = value?;
            let (fits, expected) = match name {
                "clip" => (value > 0.0, "a number above 0"),
                _ => (value >= 0.0, "0 or a number above"),
            };
            (!fits || !value.is_finite()).then_some((name, expected))
        };
        self.numbers().into_iter().find_map(wrong)
    }

    /// The options of two uses together. The uses have to agree.
    fn and(&self, other: &Self) -> Self {
        ParameterOptions {
            chosen: self.chosen || other.chosen,
            trainable: self.trainable,
            lr: self.lr.or(other.lr),
            decay: self.decay.or(other.decay),
            clip: self.clip.or(other.clip),
            former: self.former.clone().or_else(|| other.former.clone()),
        }
    }
}

/// A use of a parameter, for [`Program::create_parameter`].
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterUse<O> {
    /// The initialiser. It determines the type.
    pub initializer: O,
    /// The options.
    pub options: ParameterOptions,
    /// The place of the use in the user's source.
    pub site: Site,
}

impl<O> ParameterUse<O> {
    /// A use that asks for this initialiser and nothing else.
    pub fn of(initializer: impl Into<O>) -> Self {
        let options = ParameterOptions { chosen: true, ..ParameterOptions::default() };
        ParameterUse { initializer: initializer.into(), options, site: Site::default() }
    }
}

/// A parameter of a program.
#[derive(Clone, Debug)]
pub struct Parameter<'a, O> {
    program: &'a Program<O>,
    /// Its type.
    pub ty: &'a Type,
    /// What initialises it.
    pub initializer: &'a O,
    /// Its options.
    pub options: &'a ParameterOptions,
}

/// The difference between two uses of a parameter that disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The value in the first use: `[13, 1]`, `` initialised by `xavier()` ``.
    pub first: String,
    /// The value in the second use.
    pub second: String,
}

impl<'a, O: OpInterface> Parameter<'a, O> {
    pub(super) fn new(
        program: &'a Program<O>,
        ty: &'a Type,
        initializer: &'a O,
        options: &'a ParameterOptions,
    ) -> Self {
        Parameter { program, ty, initializer, options }
    }

    /// The type as text. If the other use has the same element type, only the shape.
    fn show(&self, beside: &Parameter<'_, O>) -> String {
        match self.ty.dtype == beside.ty.dtype {
            true => self.program.show_shape(self.ty),
            false => self.program.show(self.ty),
        }
    }

    /// The initialiser in the syntax of the language, if the user chose it.
    pub fn chosen_initializer(&self) -> Option<String> {
        self.options.chosen.then(|| self.initializer.as_initializer())
    }

    /// The options of both uses together, or what the uses disagree on.
    #[inline(never)]
    pub fn agree(&self, second: &Parameter<'_, O>) -> Result<ParameterOptions, Disagreement> {
        if self.ty != second.ty {
            return Err(Disagreement { first: self.show(second), second: second.show(self) });
        }
        if let (Some(first), Some(second)) = (self.chosen_initializer(), second.chosen_initializer())
            && first != second
        {
            let show = |initializer| format!("initialised by `{initializer}`");
            return Err(Disagreement { first: show(first), second: show(second) });
        }
        if self.options.trainable != second.options.trainable {
            let how = |trainable| if trainable { "trained" } else { "a statistic, which is not trained" };
            let [first, second] = [self, second].map(|it| how(it.options.trainable).to_string());
            return Err(Disagreement { first, second });
        }
        for ((name, first), (_, other)) in self.options.numbers().into_iter().zip(second.options.numbers()) {
            if let (Some(first), Some(second)) = (first, other)
                && first != second
            {
                let show = |number| format!("trained with `{name} = {number:?}`");
                return Err(Disagreement { first: show(first), second: show(second) });
            }
        }
        Ok(self.options.and(second.options))
    }
}

impl<O: OpInterface> Program<O> {
    /// Adds a parameter to the global block, and its initialiser to the startup part. A second use of the name returns
    /// the same parameter: it has to agree, and may choose what the first use left out.
    #[inline(never)]
    pub fn create_parameter(
        &mut self,
        name: &str,
        wanted: impl Into<ParameterUse<O>>,
    ) -> Result<VarId, BuildError> {
        let ParameterUse { initializer, options, site } = wanted.into();
        let not_an_initializer = || BuildError::NotAnInitializer { name: name.to_string() };
        let Inferred { types, checks } = self.infer(BlockId::GLOBAL, &initializer, &[], &[], None)?;
        let [ty] = &types[..] else { return Err(not_an_initializer()) };
        if let Some((option, expected)) = options.out_of_range() {
            let message = format!("`{option}` of parameter `{name}` has to be {expected}");
            return Err(Mismatch { input: None, kind: MismatchKind::Attribute, message }.into());
        }
        if let Some(var) = self.find(name) {
            let Some(first) = self.parameter(var) else {
                return Err(BuildError::NameTaken { name: name.to_string() });
            };
            // If the types may be equal, depending on symbols, checks are added.
            let open = self.open_equalities(first.ty, ty);
            let message = || {
                let (first, second) = (self.show_shape(first.ty), self.show_shape(ty));
                format!("parameter `{name}` is {second} here, but {first} at its first use")
            };
            let checks: Vec<_> = open.iter().flatten().map(|open| (open.clone(), message())).collect();
            let ty = if open.is_some() { first.ty } else { ty };
            let agreed = first.agree(&Parameter::new(self, ty, &initializer, &options));
            let agreed = agreed.map_err(|Disagreement { first, second }| BuildError::ParameterConflict {
                name: name.to_string(),
                first,
                second,
            })?;
            let gives_way = options.chosen && !first.options.chosen;
            if let Some(operator) = self.startup.iter_mut().find(|operator| operator.outputs == [var])
                && gives_way
            {
                operator.op = initializer;
            }
            self.parameter_options.insert(var, agreed);
            self.record(checks, site.place);
            return Ok(var);
        }
        if ty.rows.is_some() {
            return Err(not_an_initializer());
        }
        let var = self.add_var(name, ty.clone(), BlockId::GLOBAL, Definition::Parameter)?;
        self.record(checks, None);
        let (inputs, blocks) = (Vec::new(), Vec::new());
        self.startup.push(Operator { op: initializer, inputs, outputs: vec![var], blocks, site });
        self.parameter_options.insert(var, options);
        Ok(var)
    }

    /// Marks a parameter as not trainable.
    pub(crate) fn keep(&mut self, parameter: VarId) {
        let options = ParameterOptions { trainable: false, ..self.parameter_options(parameter).clone() };
        self.set_parameter_options(parameter, options);
    }

    /// Replaces the options of a parameter.
    pub(crate) fn set_parameter_options(&mut self, parameter: VarId, options: ParameterOptions) {
        self.parameter_options.insert(parameter, options);
    }

    /// The conditions under which two types are equal. `None` if they never are.
    fn open_equalities(&self, a: &Type, b: &Type) -> Option<Vec<Condition>> {
        if (a.dtype, a.rows, a.dims.len()) != (b.dtype, b.rows, b.dims.len()) {
            return None;
        }
        let mut open = Vec::new();
        for (a, b) in a.dims.iter().zip(&b.dims) {
            match self.compare(a, b) {
                Answer::Holds => {}
                Answer::Fails => return None,
                Answer::Depends => open.push(Condition::Equal(a.clone(), b.clone())),
            }
        }
        Some(open)
    }

    /// The type of the initialiser's output. `None` if it does not have exactly one.
    pub(crate) fn infer_initializer(&self, op: &O) -> Result<Option<Type>, BuildError> {
        let types = self.infer(BlockId::GLOBAL, op, &[], &[], None)?.types;
        Ok(<[Type; 1]>::try_from(types).ok().map(|[ty]| ty))
    }

    /// A parameter as this program uses it; `None` if the value is not a parameter.
    pub fn parameter(&self, id: VarId) -> Option<Parameter<'_, O>> {
        let initializer = &self.initializer(id)?.op;
        Some(Parameter::new(self, self.ty(id), initializer, self.parameter_options(id)))
    }

    /// The place of the first use of a parameter in the user's source.
    pub fn parameter_place(&self, id: VarId) -> Option<Located> {
        self.initializer(id)?.site.place.map(|place| self.locate(place))
    }
}
