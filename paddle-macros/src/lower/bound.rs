//! What the expression at hand is bound to: it names the parameters of layers.

use crate::ast::{Pattern, PatternKind, Target, TargetKind, text};

/// Nothing, a variable, or several for the parts of a tuple.
#[derive(Debug, Default)]
pub(super) enum Bound {
    #[default]
    Nothing,
    Name(String),
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

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Bound::Name(name) => Some(name),
            Bound::Nothing | Bound::Parts(_) => None,
        }
    }
}
