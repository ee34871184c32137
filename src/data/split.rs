//! Splits of rows into training and test rows.

/// Splits rows into (training, test). Every `every`-th row is a test row.
///
/// With `every` = 5, the test rows have the indices 4, 9, …; with 0 there are none.
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

/// Whether the item with this key is held out. About one in `one_in` is.
///
/// The range of the 64-bit FNV-1a hash is cut into `one_in` equal parts; a key is held out if its hash is in the last
/// part. Keys that differ only in their last letter mostly fall together. With 0 nothing is held out.
///
/// ```
/// use paddle::data::is_held_out;
///
/// let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
/// let held_out: Vec<_> = words.into_iter().filter(|word| is_held_out(word, 5)).collect();
/// assert_eq!(held_out, ["four", "eight"]);
/// ```
pub fn is_held_out(key: &str, one_in: u64) -> bool {
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = key.bytes().fold(0xCBF2_9CE4_8422_2325, mixed);
    one_in > 0 && (u128::from(hash) * u128::from(one_in)) >> 64 == u128::from(one_in - 1)
}

#[cfg(test)]
mod tests {
    use super::{is_held_out, split};

    /// FNV-1a of `a` is 0xAF63DC4C8601EC8C, of `foobar` 0x85944171F73967E8, and of nothing its offset.
    #[test]
    fn keys_are_held_out_by_their_hash() {
        assert_eq!(["", "a", "foobar"].map(|key| is_held_out(key, 2)), [true; 3]);
        assert_eq!(["", "a", "foobar"].map(|key| is_held_out(key, 3)), [true, true, false]);
        assert_eq!(["", "a", "foobar"].map(|key| is_held_out(key, 4)), [true, false, false]);
        assert_eq!([0, 1].map(|one_in| is_held_out("a", one_in)), [false, true]);
    }

    #[test]
    fn extremes() {
        assert_eq!(split(0..3, 0), (vec![0, 1, 2], vec![]));
        assert_eq!(split(0..3, 1), (vec![], vec![0, 1, 2]));
        assert_eq!(split(0..3, usize::MAX), (vec![0, 1, 2], vec![]));
        assert_eq!(split(0..0, 5), (vec![], vec![]));
    }
}
