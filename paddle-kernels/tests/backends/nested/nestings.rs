//! Every form, and every form in every other one: gradients are compared with differences.

use std::collections::BTreeMap;

use paddle_kernels::differences::Compared;

use super::batch::{Spread, draw_batch};
use super::build::Built;
use super::outline::{Form, Outline};
use crate::draw::Draw;
use crate::gradients::{check, differentiate};

/// The number of programs for each nesting. They differ in the operators around and between the forms.
const PROGRAMS: usize = 3;

#[test]
fn gradients_of_nested_forms_are_differences() {
    let mut draw = Draw::new(31);
    let mut table: BTreeMap<(Form, Option<Form>), Compared> = BTreeMap::new();
    for outer in Form::ALL {
        for inner in Form::ALL.map(Some).into_iter().chain([None]) {
            for _ in 0..PROGRAMS {
                let within = inner.map(|form| Outline::around(form, Vec::new()));
                let built = Built::new(&[Outline::around(outer, within.into_iter().collect())], &mut draw);
                let differentiated = differentiate(built.program.clone());
                for (rows, spread) in [(4, Spread::Even), (2, Spread::Arbitrary)] {
                    let feeds = draw_batch(&built, differentiated.program(), rows, spread, &mut draw);
                    table.entry((outer, inner)).or_default().add(check(&differentiated, &feeds));
                }
            }
        }
    }
    assert_eq!(table.len(), Form::ALL.len() * (Form::ALL.len() + 1));
    for (nesting, Compared { elements, rough, .. }) in table {
        assert!(elements > 100 && rough * 100 <= elements, "{nesting:?}: {rough} of {elements} left out");
    }
}
