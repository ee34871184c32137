//! Parameters of layers. Every layer that has parameters takes the same arguments for them, and creates them here.

use super::Call;
use crate::ops::{Mismatch, MismatchKind, Op, ParameterUse};
use crate::program::{BuildError, ParameterOptions, VarId};

/// Passes the arguments that layers with parameters share to a macro, behind the layer's own arguments: with the mark of a
/// layer, `with_parameter_arguments!(weights callback! (front) [own])` expands to `callback! { front [own and shared] }`. Layers
/// with other marks have no parameters, and their own arguments alone.
#[macro_export]
macro_rules! with_parameter_arguments {
    (parameters $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $($callback)::+! {
            $($front)* [
                param: Name "The name of the parameters: `param = \"D\"` makes `D.w`; every use of a name shares. A list has the whole name of each, in their order: `param = [\"D.w_0\", \"D.b_0\"]`.",
                init: Initializer "What the weights are at first, such as `uniform(-0.1, 0.1)`.",
                lr: Number = 1.0 "The factor of the learning rate of these parameters. With 0 they stay as they are.",
                decay: Number "How much of these parameters is added to their gradients, after clipping (L2 decay).",
                clip: Number "The bound of each element of the gradients of these parameters.",
                $($own)*
            ]
        }
    };
    (weights $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $crate::with_parameter_arguments! {
            parameters $($callback)::+! ($($front)*)
            [w: Value "A value in place of the parameter `w`, of its shape.", $($own)*]
        }
    };
    (weights_and_bias $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $crate::with_parameter_arguments! {
            weights $($callback)::+! ($($front)*)
            [
                b: Value "A value in place of the parameter `b`, of its shape.",
                bias_init: Initializer "What the bias is at first, such as `constant(0.1)`.",
                $($own)*
            ]
        }
    };
    (scale_and_shift $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $crate::with_parameter_arguments! {
            parameters $($callback)::+! ($($front)*)
            [
                scale: Value "A value in place of the parameter `scale`, of its shape.",
                shift: Value "A value in place of the parameter `shift`, of its shape.",
                bias_init: Initializer "What the shift is at first, such as `constant(0.1)`.",
                $($own)*
            ]
        }
    };
    (scale_shift_and_statistics $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $crate::with_parameter_arguments! {
            scale_and_shift $($callback)::+! ($($front)*)
            [
                mean: Value "A value in place of the statistic `mean`, of its shape, beside `variance`. They are used in training, too, and no gradient passes to them.",
                variance: Value "A value in place of the statistic `variance`, of its shape, beside `mean`.",
                $($own)*
            ]
        }
    };
    ($mark:ident $($callback:ident)::+! ($($front:tt)*) [$($own:tt)*]) => {
        $($callback)::+! { $($front)* [$($own)*] }
    };
}

impl Call<'_> {
    /// Creates a parameter of the layer in the global block, or takes the value that the call gives in its place. `role` is `w`,
    /// `b`, …
    ///
    /// `default` has the parameter's type, and initialises it unless the call gives an initialiser: `init`, or
    /// `bias_init` for the bias (`b`, `shift`).
    pub fn parameter(&mut self, role: &str, default: impl Into<Op>) -> Result<VarId, BuildError> {
        let default = default.into();
        match self.given_value(role) {
            Some(var) => self.in_place_of(role, var, &default),
            None => self.create_in_role(role, default),
        }
    }

    /// The value that the call gives in place of a parameter. It has the type that the parameter would have.
    fn in_place_of(&self, role: &str, var: VarId, default: &Op) -> Result<VarId, BuildError> {
        let Some(expected) = self.program.infer_initializer(default)? else { return Ok(var) };
        let found = self.ty(var);
        if *found == expected {
            return Ok(var);
        }
        let kind = match found.dtype == expected.dtype {
            true => MismatchKind::Shape,
            false => MismatchKind::ElementType,
        };
        let rows = if found.rows.is_some() { ", the same for all rows" } else { "" };
        let (layer, expected) = (self.layer.name, self.program.show(&expected));
        Err(self.wrong(role, kind, &format!("`{role}` of this `{layer}` has to be {expected}{rows}")))
    }

    fn create_in_role(&mut self, role: &str, mut initializer: Op) -> Result<VarId, BuildError> {
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

    /// Creates a moving statistic of the layer, or takes the value that the call gives in its place. It is kept with the parameters
    /// and changed by its operator, but not trained.
    pub fn statistic(&mut self, role: &str, initializer: impl Into<Op>) -> Result<VarId, BuildError> {
        let initializer = initializer.into();
        if let Some(var) = self.given_value(role) {
            return self.in_place_of(role, var, &initializer);
        }
        let options = ParameterOptions { trainable: false, ..ParameterOptions::default() };
        self.create(role, ParameterUse { initializer, options, site: self.site })
    }

    /// The initialiser in an argument, for the type of `like`.
    fn chosen(&self, argument: &str, like: &Op) -> Result<Option<Op>, BuildError> {
        let Some((initializer, numbers)) = self.initializer(argument) else { return Ok(None) };
        let Some(ty) = self.program.infer_initializer(like)? else { return Ok(None) };
        let op = initializer.op(numbers, ty).map_err(|error| BuildError::Mismatch(error.into()))?;
        match self.program.infer_initializer(&op) {
            Err(BuildError::Mismatch(Mismatch { message, .. })) => Err(self.refuse(argument, message)),
            other => other.map(|_| Some(op)),
        }
    }

    /// The error for a number that an argument cannot have.
    fn refuse(&self, argument: &str, message: String) -> BuildError {
        let input = self.arguments.iter().position(|passed| passed.name == argument);
        BuildError::Mismatch(Mismatch { input, kind: MismatchKind::Attribute, message })
    }

    fn create(&mut self, role: &str, mut wanted: ParameterUse) -> Result<VarId, BuildError> {
        wanted.options.former = self.former.as_ref().map(|former| format!("{former}.{role}"));
        let at = self.created;
        self.created += 1;
        let name = match self.listed_names().map(|names| names.get(at)) {
            None => format!("{}.{role}", self.path),
            Some(Some(name)) => name.clone(),
            Some(None) => return Err(self.wrong_names(format!("there is no name for `{role}`"))),
        };
        self.program.create_parameter(&name, wanted)
    }
}
