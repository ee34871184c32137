//! The boxes that operators on detections consider.

/// The numbers of at most `limit` boxes (negative for all) whose score is above `threshold`, in the order of falling scores, and of the
/// boxes among equal ones.
pub(crate) fn candidates(scores: &[f64], threshold: f64, limit: i64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scores.len()).filter(|&k| scores[k] > threshold).collect();
    left.sort_by(|&a, &b| scores[b].partial_cmp(&scores[a]).expect("what is above a number is one"));
    left.truncate(usize::try_from(limit).unwrap_or(scores.len()));
    left
}
