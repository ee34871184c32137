//! The distance from the exact result that the class of an operator allows.

use std::fmt::Debug;

use paddle_core::ops::{AccuracyClass, Terms};
use paddle_core::program::DType;

use crate::host::Host;
use crate::run::Case;
use crate::terms::terms;

/// Panics if a result of a case of one operator differs from the exact one by more than its class allows.
pub(crate) fn check(case: &Case, found: &[Host], exact: &[Host], what: &dyn Debug) {
    // It takes long to find all terms. More terms only allow more, so the search ends when they are enough.
    let is_enough = |terms: &[Vec<Terms>]| worst(case, found, exact, terms).1.share <= 1.0;
    let terms = terms(case, exact, &is_enough);
    let (k, Distance { share, element }) = worst(case, found, exact, &terms);
    assert!(
        share <= 1.0,
        "element {element} of result {k} is off by {share:e} times what is allowed ({}): {:?}, not {:?}: {what:?}",
        case.op().operation().accuracy().name(),
        found[k].element(element),
        exact[k].element(element),
    );
}

/// The largest distance of an element from the exact one, divided by the allowed distance.
pub(crate) fn share(case: &Case, found: &[Host], exact: &[Host]) -> f64 {
    worst(case, found, exact, &terms(case, exact, &|_| false)).1.share
}

/// The result with the largest error.
fn worst(case: &Case, found: &[Host], exact: &[Host], terms: &[Vec<Terms>]) -> (usize, Distance) {
    assert_eq!(found.len(), exact.len());
    let class = case.op().operation().accuracy();
    let distances = (0..found.len()).map(|k| (k, distance(class, &found[k], &exact[k], &terms[k])));
    let none = (0, Distance { share: 0.0, element: 0 });
    distances.fold(none, |worst, next| if next.1.share > worst.1.share { next } else { worst })
}

/// The distance of the element with the largest error.
pub(crate) struct Distance {
    /// The distance divided by the allowed one.
    pub(crate) share: f64,
    pub(crate) element: usize,
}

/// The distance of a result from the exact one.
pub(crate) fn distance(class: AccuracyClass, found: &Host, exact: &Host, terms: &[Terms]) -> Distance {
    assert_eq!(found.len(), exact.len());
    let mut worst = Distance { share: 0.0, element: 0 };
    if !found.is_float() {
        let different = (0..found.len()).find(|&i| found.element(i) != exact.element(i));
        return different.map_or(worst, |element| Distance { share: f64::INFINITY, element });
    }
    let dtype = found.slice().dtype();
    // In double precision the reference rounds as well, so both may be this far from the exact result.
    let roundings = if dtype == DType::F64 { 2.0 } else { 1.0 };
    let rounded = exact.rounded_as(found).floats();
    for (element, (found, exact)) in found.floats().into_iter().zip(exact.floats()).enumerate() {
        // A result without a value has none on any backend.
        if found == rounded[element] || (found.is_nan() && rounded[element].is_nan()) {
            continue;
        }
        let terms = terms.get(element).copied().unwrap_or_default();
        let share = (found - exact).abs() / (roundings * class.allows(dtype, exact, terms));
        // NaN counts as the largest distance.
        if share.is_nan() || share > worst.share {
            worst = Distance { share: if share.is_nan() { f64::INFINITY } else { share }, element };
        }
    }
    worst
}
