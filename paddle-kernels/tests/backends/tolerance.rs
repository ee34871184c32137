//! How far a result may be from the exact one: what the class of its operator allows.

use std::fmt::Debug;

use paddle_core::ops::{AccuracyClass, Terms};
use paddle_core::program::DType;

use crate::host::Host;
use crate::run::Case;
use crate::terms::terms;

/// Panics if a result of a case of one operator is further from the exact one than its class allows.
pub(crate) fn check(case: &Case, found: &[Host], exact: &[Host], what: &dyn Debug) {
    // Terms take time. They only get more, so those that allow what was found are enough.
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

/// How far the results are from the exact ones, as a share of what is allowed: the largest of all elements.
pub(crate) fn share(case: &Case, found: &[Host], exact: &[Host]) -> f64 {
    worst(case, found, exact, &terms(case, exact, &|_| false)).1.share
}

/// The result that is off most.
fn worst(case: &Case, found: &[Host], exact: &[Host], terms: &[Vec<Terms>]) -> (usize, Distance) {
    assert_eq!(found.len(), exact.len());
    let class = case.op().operation().accuracy();
    let distances = (0..found.len()).map(|k| (k, distance(class, &found[k], &exact[k], &terms[k])));
    let none = (0, Distance { share: 0.0, element: 0 });
    distances.fold(none, |worst, next| if next.1.share > worst.1.share { next } else { worst })
}

/// The distance of the element that is off most.
pub(crate) struct Distance {
    /// Of what its class allows.
    pub(crate) share: f64,
    pub(crate) element: usize,
}

/// How far a result is from the exact one.
pub(crate) fn distance(class: AccuracyClass, found: &Host, exact: &Host, terms: &[Terms]) -> Distance {
    assert_eq!(found.len(), exact.len());
    let mut worst = Distance { share: 0.0, element: 0 };
    if !found.is_float() {
        let different = (0..found.len()).find(|&i| found.element(i) != exact.element(i));
        return different.map_or(worst, |element| Distance { share: f64::INFINITY, element });
    }
    let dtype = found.slice().dtype();
    // In double precision the reference rounds as well: both may be that far from what is exact.
    let roundings = if dtype == DType::F64 { 2.0 } else { 1.0 };
    let rounded = exact.rounded_as(found).floats();
    for (element, (found, exact)) in found.floats().into_iter().zip(exact.floats()).enumerate() {
        // What has no value has none on any backend.
        if found == rounded[element] || (found.is_nan() && rounded[element].is_nan()) {
            continue;
        }
        let terms = terms.get(element).copied().unwrap_or_default();
        let share = (found - exact).abs() / (roundings * class.allows(dtype, exact, terms));
        // What is not a number is as far as can be.
        if share.is_nan() || share > worst.share {
            worst = Distance { share: if share.is_nan() { f64::INFINITY } else { share }, element };
        }
    }
    worst
}
