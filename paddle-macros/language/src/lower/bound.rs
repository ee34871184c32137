//! What the expression at hand is bound to: it names the parameters of layers.

use crate::ast::{Pattern, PatternKind, Target, TargetKind, text};
use crate::names::Base;

/// Nothing, a variable, or several for the parts of a tuple.
#[derive(Debug, Default)]
pub(super) enum Bound {
    #[default]
    Nothing,
    Name(String),
    /// The variable that a layer with parameters is bound to, in whose arguments the expression stands.
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

    /// Of the arguments of a layer that is bound to this.
    pub(super) fn in_arguments(&self) -> Self {
        match self.name() {
            Some(name) => Bound::Argument(name.to_string()),
            None => Bound::Nothing,
        }
    }

    /// What a layer with parameters is to be called.
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
