//! Patterns, and the variables that they declare.

use std::collections::BTreeMap;

use super::{Entry, Resolver};
use crate::ast::{BindingId, Case, CaseKind, Param, Pattern, PatternKind, text};
use crate::messages::Message;

impl Resolver<'_> {
    pub(super) fn params(&mut self, params: &mut [Param]) {
        for param in &mut *params {
            let keyword = param.keyword();
            if let Some(default) = &mut param.default {
                match keyword {
                    Some(keyword) => {
                        let function = self.functions[self.current.0].name.clone();
                        self.keyword(keyword, &function, "default", default);
                    }
                    None => self.expr(default),
                }
            }
            if let Some(ty) = &mut param.ty {
                self.ty(ty);
            }
            let entry = if keyword.is_some() { Entry::Keyword } else { Entry::Variable };
            self.pattern(&mut param.pattern, &entry);
        }
        self.no_duplicates(params.iter().map(|param| &param.pattern));
    }

    /// Reports a name that occurs twice among patterns that are bound together.
    pub(super) fn no_duplicates<'p>(&mut self, patterns: impl Iterator<Item = &'p Pattern>) {
        let mut seen = BTreeMap::new();
        let mut left: Vec<&Pattern> = patterns.collect();
        left.reverse();
        while let Some(pattern) = left.pop() {
            match &pattern.kind {
                PatternKind::Name { ident, binding, .. } => {
                    if let Some(first) = seen.insert(text(ident), *binding) {
                        self.sink.error(ident.span(), Message::Duplicate { name: text(ident) });
                        // A use of the name may mean either variable, so the first one counts as read.
                        first.iter().for_each(|id| self.bindings[id.0].read = true);
                    }
                }
                PatternKind::Tuple(parts) => left.extend(parts.iter().rev()),
                PatternKind::Invalid(_) | PatternKind::Wildcard => {}
            }
        }
    }

    /// Declares the variables of a pattern.
    pub(super) fn pattern(&mut self, pattern: &mut Pattern, entry: &dyn Fn(BindingId) -> Entry) {
        match &mut pattern.kind {
            PatternKind::Name { ident, binding, .. } => {
                *binding = Some(self.declare(ident, entry));
            }
            PatternKind::Tuple(parts) | PatternKind::Invalid(parts) => {
                for part in parts {
                    self.pattern(part, entry);
                }
            }
            PatternKind::Wildcard => {}
        }
    }

    /// Resolves the pattern of an arm. Alternatives bind nothing.
    pub(super) fn case(&mut self, case: &mut Case, binds: bool) {
        match &mut case.kind {
            CaseKind::Name { ident, constant, binding } => match self.find(&text(ident)) {
                Some((Entry::Constant(id), _)) => (*constant, *binding) = (true, Some(id)),
                _ if binds => *binding = Some(self.declare(ident, Entry::Variable)),
                _ => {
                    let what = "a name in an alternative".to_string();
                    let instead = "write an arm for each alternative, or a literal or `const`".to_string();
                    self.sink.error(ident.span(), Message::NotOfTheLanguage { what, instead });
                }
            },
            CaseKind::Value(value) => self.expr(value),
            CaseKind::Range { start, end, .. } => start.iter_mut().chain(end).for_each(|x| self.expr(x)),
            CaseKind::Either(cases) => cases.iter_mut().for_each(|case| self.case(case, false)),
            CaseKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.case(part, binds)),
            CaseKind::Any => {}
            CaseKind::Invalid(names) => {
                for name in names {
                    self.declare(name, Entry::Unknown);
                }
            }
        }
    }
}
