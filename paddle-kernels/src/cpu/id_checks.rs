//! Checks of class ids and table ids.

/// The position of the first id that is out of range, but not the id `but`, which stands for nothing. The whole slice
/// is searched in order, so the result does not depend on threads.
pub(super) fn first_outside(ids: &[i64], count: usize, but: Option<i64>) -> Option<usize> {
    let bad = |id: &i64| usize::try_from(*id).map_or(true, |id| id >= count) && Some(*id) != but;
    // Almost always all ids are good, so a first pass checks them without branches.
    if !ids.iter().fold(false, |any, id| any | bad(id)) {
        return None;
    }
    ids.iter().position(bad)
}
