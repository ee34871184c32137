//! How far a result may be from the exact one: what the class of its operator allows.

use std::fmt::Debug;

use paddle_core::ops::{AccuracyClass, Terms};
use paddle_core::program::DType;

use crate::host::Host;
use crate::run::Case;
use crate::terms::terms;

/// Panics if a result of a case of one operator is too far from the exact one. Returns the largest distance of all, as
/// a share of what its class allows.
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
    let results = found.iter().zip(exact).zip(terms).enumerate();
    results.map(|(k, ((found, exact), terms))| near(class(k), found, exact, &terms, what)).fold(0.0, f64::max)
}

/// The same of one result.
pub(crate) fn near(
    class: AccuracyClass,
    found: &Host,
    exact: &Host,
    terms: &[Terms],
    what: &dyn Debug,
) -> f64 {
    if !found.is_float() {
        assert_eq!(found, exact, "{what:?}");
        return 0.0;
    }
    let dtype = found.slice().dtype();
    // In double precision the reference rounds as well: both may be that far from what is exact.
    let roundings = if dtype == DType::F64 { 2.0 } else { 1.0 };
    let rounded = exact.rounded_as(found).floats();
    let (found, exact) = (found.floats(), exact.floats());
    assert_eq!(found.len(), exact.len(), "{what:?}");
    let mut worst = 0.0_f64;
    for (i, (&found, &exact)) in found.iter().zip(&exact).enumerate() {
        // What has no value has none on any backend.
        if found == rounded[i] || (found.is_nan() && rounded[i].is_nan()) {
            continue;
        }
        let terms = terms.get(i).copied().unwrap_or_default();
        let allowed = roundings * class.allows(dtype, exact, terms);
        let share = (found - exact).abs() / allowed;
        assert!(
            share <= 1.0,
            "element {i} is {found:e}, not {exact:e} ± {allowed:e} ({}): {what:?}",
            class.name()
        );
        worst = worst.max(share);
    }
    worst
}
