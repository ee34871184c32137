//! Rows for training and rows for testing.

/// Splits rows into (training, test): every `every`-th row is a test row, counted from one.
///
/// With `every` = 5 these are the fifth, the tenth, … row (indices 4, 9, …). With 0 there are none.
///
/// ```
/// let (train, test) = paddle::data::split(0..12, 5);
/// assert_eq!(train, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11]);
/// assert_eq!(test, [4, 9]);
/// ```
pub fn split<T>(rows: impl IntoIterator<Item = T>, every: usize) -> (Vec<T>, Vec<T>) {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (row, number) in rows.into_iter().zip(1_usize..) {
        if number.is_multiple_of(every) { test.push(row) } else { train.push(row) }
    }
    (train, test)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn extremes() {
        assert_eq!(split(0..3, 0), (vec![0, 1, 2], vec![]));
        assert_eq!(split(0..3, 1), (vec![], vec![0, 1, 2]));
        assert_eq!(split(0..3, usize::MAX), (vec![0, 1, 2], vec![]));
        assert_eq!(split(0..0, 5), (vec![], vec![]));
    }
}
