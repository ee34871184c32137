//! How far a result may be from the exact one: what the class of its operator allows.

use std::fmt::Debug;

use paddle_core::ops::{AccuracyClass, Terms};
use paddle_core::program::DType;

use crate::host::Host;
use crate::run::Case;
use crate::terms::terms;

/// How far the results of a case of one operator are from the exact ones, as a share of what its class allows: the
/// largest of all elements. Panics if it is more.
pub(crate) fn check(case: &Case, found: &[Host], exact: &[Host], what: &dyn Debug) -> f64 {
    assert_eq!(found.len(), exact.len(), "{what:?}");
    let class = |k: usize| case.op().operation().accuracy(k);
    let is_sum = |k: usize| {
        matches!(class(k), AccuracyClass::Accumulating(_)) && found[k] != exact[k].rounded_as(&found[k])
    };
    // Only sums that are not the best ones need them, and they take time.
    let terms = match (0..exact.len()).any(is_sum) {
        true => terms(case, exact),
        false => vec![Vec::new(); exact.len()],
    };
    let mut worst = 0.0_f64;
    for (k, terms) in terms.iter().enumerate() {
        let Distance { share, element } = distance(class(k), &found[k], &exact[k], terms);
        assert!(
            share <= 1.0,
            "element {element} of result {k} is off by {share:e} times what is allowed ({}): {:?}, not {:?}: {what:?}",
            class(k).name(),
            found[k].element(element),
            exact[k].element(element),
        );
        worst = worst.max(share);
    }
    worst
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
