//! Numbers of classes and of entries.

/// The first number that is not below `count`, but for one that stands for nothing, whichever thread would come upon one
/// first.
pub(super) fn first_outside(ids: &[i64], count: usize, but: Option<i64>) -> Option<usize> {
    let bad = |id: &i64| usize::try_from(*id).map_or(true, |id| id >= count) && Some(*id) != but;
    // A pass without a branch for each, since almost always all are good.
    if !ids.iter().fold(false, |any, id| any | bad(id)) {
        return None;
    }
    ids.iter().position(bad)
}
