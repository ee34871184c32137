//! Parameters of layers: every layer that has some takes the same arguments for them, and asks for them here.

use super::Call;
use crate::ops::{Mismatch, MismatchKind, Op, ParameterUse};
use crate::program::{BuildError, ParameterOptions, VarId};

/// Passes the arguments that layers with parameters have in common to a macro, behind arguments of their own:
/// `with_parameter_arguments!(weights callback! (front) [own])` expands to `callback! { front [own and common] }`.
/// Layers with a bias, `weights_and_bias`, have one more.
#[macro_export]
macro_rules! with_parameter_arguments {
    (weights $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $($callback)::+! {
            $($front)* [
                param: Name "The name of the parameters: `param = \"D\"` makes `D.w`; every use of a name shares.",
                init: Initializer "What the weights are at first, such as `uniform(-0.1, 0.1)`.",
                lr: Number = 1.0 "The factor of the learning rate of these parameters. With 0 they stay as they are.",
                decay: Number "How much of these parameters is added to their gradients, after clipping (L2 decay).",
                clip: Number "The bound of each element of the gradients of these parameters.",
                $($own)*
            ]
        }
    };
    (weights_and_bias $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $crate::with_parameter_arguments! {
            weights $($callback)::+! ($($front)*)
            [bias_init: Initializer "What the bias is at first, such as `constant(0.1)`.", $($own)*]
        }
    };
}

impl Call<'_> {
    /// A parameter of the layer, in the global block: `role` is `w`, `b`, …
    ///
    /// `default` says of what type it is, and initialises it unless the call says what does: `init`, for the bias
    /// (`b`, `shift`) `bias_init`.
    pub fn parameter(&mut self, role: &str, default: impl Into<Op>) -> Result<VarId, BuildError> {
        let mut initializer = default.into();
        let mut options = ParameterOptions::default();
        for name in ["lr", "decay", "clip"] {
            if let Some(number) = options.number_mut(name) {
                *number = self.given_number(name);
            }
        }
        if let Some((name, expected)) = options.out_of_range() {
            let found = self.given_number(name).unwrap_or_default();
            return Err(self.refuse(name, format!("`{name}` has to be {expected}, but this is {found}")));
        }
        let argument = if matches!(role, "b" | "shift") { "bias_init" } else { "init" };
        if let Some(chosen) = self.chosen(argument, &initializer)? {
            options.chosen = true;
            initializer = chosen;
        }
        self.create(role, ParameterUse { initializer, options, site: self.site })
    }

    /// A moving statistic of the layer: kept with the parameters, but changed by its operator and not trained.
    pub fn statistic(&mut self, role: &str, initializer: impl Into<Op>) -> Result<VarId, BuildError> {
        let options = ParameterOptions { trainable: false, ..ParameterOptions::default() };
        self.create(role, ParameterUse { initializer: initializer.into(), options, site: self.site })
    }

    /// The initialiser that an argument asks for, of the type that another one has.
    fn chosen(&self, argument: &str, like: &Op) -> Result<Option<Op>, BuildError> {
        let Some((initializer, numbers)) = self.initializer(argument) else { return Ok(None) };
        let Some(ty) = self.program.infer_initializer(like)? else { return Ok(None) };
        let op = initializer.op(numbers, ty).map_err(|error| BuildError::Mismatch(error.into()))?;
        match self.program.infer_initializer(&op) {
            Err(BuildError::Mismatch(Mismatch { message, .. })) => Err(self.refuse(argument, message)),
            other => other.map(|_| Some(op)),
        }
    }

    /// A number that an argument cannot have.
    fn refuse(&self, argument: &str, message: String) -> BuildError {
        let input = self.arguments.iter().position(|passed| passed.name == argument);
        BuildError::Mismatch(Mismatch { input, kind: MismatchKind::Attribute, message })
    }

    fn create(&mut self, role: &str, mut wanted: ParameterUse) -> Result<VarId, BuildError> {
        wanted.options.former = self.former.as_ref().map(|former| format!("{former}.{role}"));
        self.program.create_parameter(&format!("{}.{role}", self.path), wanted)
    }
}
