//! Control flow at compile time: `for`, `match`, ranges.

use super::Parser;
use super::break_continue::{for_those_that_stay, left};
use super::item::names;
use crate::ast::{Arm, Case, CaseKind, ExprKind};
use crate::report::Extent;

impl Parser<'_> {
    pub(super) fn unrolled(&mut self, repeat: syn::ExprForLoop) -> ExprKind {
        self.no_label(&repeat.label);
        let at = Extent::of(&repeat);
        let (pattern, items) = (self.pattern(*repeat.pat), self.boxed(*repeat.expr));
        let (body, leaves) = self.loop_body(repeat.body);
        let body = for_those_that_stay(body, &leaves);
        let span = repeat.for_token.span;
        left(ExprKind::For { span, pattern, items, body }, &leaves, at)
    }

    pub(super) fn range(&mut self, range: syn::ExprRange) -> ExprKind {
        let (inclusive, op) = match &range.limits {
            syn::RangeLimits::HalfOpen(op) => (false, op.spans[0]),
            syn::RangeLimits::Closed(op) => (true, op.spans[0]),
        };
        match (range.start, range.end) {
            (Some(start), Some(end)) => {
                ExprKind::Range { start: self.boxed(*start), op, end: self.boxed(*end), inclusive }
            }
            (start, end) => {
                let range = syn::ExprRange { attrs: range.attrs, start, limits: range.limits, end };
                self.invalid(
                    &range,
                    "a range without an end",
                    "write both, `0..n`; a part of a value is `x[(.., 1..)]`",
                )
            }
        }
    }

    pub(super) fn choice(&mut self, choice: syn::ExprMatch) -> ExprKind {
        let value = self.boxed(*choice.expr);
        let arms = choice.arms.into_iter().map(|arm| {
            let (case, guard) = match arm.pat {
                syn::Pat::Guard(guarded) => (*guarded.pat, Some(self.expr(*guarded.guard))),
                case => (case, None),
            };
            Arm { case: self.case(case), guard, body: self.statement(*arm.body) }
        });
        ExprKind::Match { span: choice.match_token.span, value, arms: arms.collect() }
    }

    fn case(&mut self, pattern: syn::Pat) -> Case {
        let at = Extent::of(&pattern);
        let kind = match pattern {
            syn::Pat::Wild(_) => CaseKind::Any,
            syn::Pat::Ident(name)
                if name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none() =>
            {
                CaseKind::Name { ident: name.ident, constant: false, binding: None }
            }
            syn::Pat::Lit(literal) => CaseKind::Value(self.expr(syn::Expr::Lit(literal))),
            syn::Pat::Range(range) => CaseKind::Range {
                inclusive: matches!(range.limits, syn::RangeLimits::Closed(_)),
                start: range.start.map(|start| self.boxed(*start)),
                end: range.end.map(|end| self.boxed(*end)),
            },
            syn::Pat::Or(either) => {
                CaseKind::Either(either.cases.into_iter().map(|case| self.case(case)).collect())
            }
            syn::Pat::Tuple(tuple) => {
                CaseKind::Tuple(tuple.elems.into_iter().map(|part| self.case(part)).collect())
            }
            syn::Pat::Paren(paren) => return self.case(*paren.pat),
            other => {
                let instead =
                    "write a literal, a `const`, `4..=9`, `1 | 2`, a name, `_`, or a tuple of these";
                self.foreign(&other, "this pattern", instead);
                CaseKind::Invalid(names(&other))
            }
        };
        Case { kind, at }
    }
}
