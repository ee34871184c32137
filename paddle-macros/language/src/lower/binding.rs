//! The binding of an expression, which names the parameters of its layer.

use crate::ast::{Pattern, PatternKind, Target, TargetKind, text};
use crate::parameter_names::Base;

/// The variable that an expression is bound to, or one for each part of a tuple.
#[derive(Debug, Default)]
pub(super) enum Bound {
    #[default]
    Nothing,
    Name(String),
    /// The expression is in an argument of a layer with parameters that is bound to this variable.
    Argument(String),
    Parts(Vec<Bound>),
}

impl Bound {
    pub(super) fn of_pattern(pattern: &Pattern) -> Self {
        match &pattern.kind {
            PatternKind::Name { ident, .. } => Bound::Name(text(ident)),
            PatternKind::Tuple(parts) => Bound::Parts(parts.iter().map(Bound::of_pattern).collect()),
            PatternKind::Invalid(_) | PatternKind::Wildcard => Bound::Nothing,
        }
    }

    pub(super) fn of_target(target: &Target) -> Self {
        match &target.kind {
            TargetKind::Name { ident, .. } => Bound::Name(text(ident)),
            TargetKind::Tuple(parts) => Bound::Parts(parts.iter().map(Bound::of_target).collect()),
            TargetKind::Invalid => Bound::Nothing,
        }
    }

    /// The binding of the arguments of a layer that has this binding.
    pub(super) fn in_arguments(&self) -> Self {
        match self.name() {
            Some(name) => Bound::Argument(name.to_string()),
            None => Bound::Nothing,
        }
    }

    /// The name that a layer with parameters gets.
    pub(super) fn base(&self, layer: &str) -> Base {
        match self {
            Bound::Name(name) => Base::of(name),
            Bound::Argument(name) => Base::of_argument(name, layer),
            Bound::Nothing | Bound::Parts(_) => Base::of(layer),
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Bound::Name(name) | Bound::Argument(name) => Some(name),
            Bound::Nothing | Bound::Parts(_) => None,
        }
    }
}
