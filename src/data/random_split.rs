//! Splits of rows at random, which are the same for the same seed.

use std::collections::BTreeMap;

use crate::reader::Random;

/// The numbers below `count` in random order: Fisher and Yates.
fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for end in (2..=count).rev() {
        order.swap(end - 1, random.below(end));
    }
    order
}

/// `share` of `count`, rounded.
fn part(count: usize, share: f64) -> usize {
    (count as f64 * share.clamp(0.0, 1.0)).round() as usize
}

/// Splits rows into (training, test) at random. The test rows are this share of all, from 0 to 1, rounded to whole rows. Rows
/// stay in their order. The same seed gives the same split of as many rows.
///
/// ```
/// let (train, test) = paddle::data::random_split(0..10, 0.3, 1);
/// assert_eq!((train.len(), test.len()), (7, 3));
/// assert!(train.is_sorted() && test.is_sorted());
/// assert_ne!(test, paddle::data::random_split(0..10, 0.3, 2).1);
/// ```
pub fn random_split<T>(rows: impl IntoIterator<Item = T>, share: f64, seed: u64) -> (Vec<T>, Vec<T>) {
    stratified_split(rows, share, seed, |_| ())
}

/// Like [`random_split`], with the same share of the rows of each class: `class` says which a row has. Of each class, the
/// number of test rows is rounded.
///
/// ```
/// let rows = ["a1", "b1", "a2", "a3", "b2", "a4"];
/// let (train, test) = paddle::data::stratified_split(rows, 0.5, 1, |row| row.starts_with('a'));
/// let count = |rows: &[&str]| rows.iter().filter(|row| row.starts_with('a')).count();
/// assert_eq!((count(&train), train.len(), count(&test), test.len()), (2, 3, 2, 3));
/// ```
pub fn stratified_split<T, C: Ord>(
    rows: impl IntoIterator<Item = T>,
    share: f64,
    seed: u64,
    class: impl Fn(&T) -> C,
) -> (Vec<T>, Vec<T>) {
    let rows: Vec<T> = rows.into_iter().collect();
    let (mut random, mut is_test) = (Random::new(seed), vec![false; rows.len()]);
    for places in by_class(&rows, class).values() {
        let chosen = &shuffled(places.len(), &mut random)[..part(places.len(), share)];
        chosen.iter().for_each(|&at| is_test[places[at]] = true);
    }
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (row, is_test) in rows.into_iter().zip(is_test) {
        if is_test { test.push(row) } else { train.push(row) }
    }
    (train, test)
}

/// The places of the rows of each class.
fn by_class<T, C: Ord>(rows: &[T], class: impl Fn(&T) -> C) -> BTreeMap<C, Vec<usize>> {
    let mut places: BTreeMap<C, Vec<usize>> = BTreeMap::new();
    rows.iter().enumerate().for_each(|(at, row)| places.entry(class(row)).or_default().push(at));
    places
}

/// Cuts rows into `count` parts at random, as equal in size as possible, and gives (training, test) for each: it is the test
/// part once. So each row is tested once, by a model that has not seen it (cross-validation). Fewer than 2 parts count as 2.
///
/// ```
/// let rows = [10, 11, 12, 13, 14];
/// let folds = paddle::data::folds(&rows, 2, 1);
/// assert_eq!(folds.iter().map(|(train, test)| (train.len(), test.len())).collect::<Vec<_>>(), [(2, 3), (3, 2)]);
/// let mut tested: Vec<i32> = folds.iter().flat_map(|(_, test)| test.iter().map(|&&row| row)).collect();
/// tested.sort();
/// assert_eq!(tested, rows);
/// ```
pub fn folds<T>(rows: &[T], count: usize, seed: u64) -> Vec<(Vec<&T>, Vec<&T>)> {
    let count = count.max(2);
    let mut fold_of = vec![0; rows.len()];
    for (number, at) in shuffled(rows.len(), &mut Random::new(seed)).into_iter().enumerate() {
        fold_of[at] = number % count;
    }
    let of_fold = |fold: usize| {
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (row, &of) in rows.iter().zip(&fold_of) {
            if of == fold { test.push(row) } else { train.push(row) }
        }
        (train, test)
    };
    (0..count).map(of_fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_part() {
        for share in [0.0, 0.25, 0.999, 1.0, -1.0, 7.0, f64::NAN] {
            let (train, test) = random_split(0..40, share, 3);
            let mut all = [train, test.clone()].concat();
            all.sort();
            assert_eq!(all, (0..40).collect::<Vec<_>>());
            let expected = if share.is_nan() { 0 } else { (40.0 * share.clamp(0.0, 1.0)).round() as usize };
            assert_eq!(test.len(), expected);
        }
        assert_eq!(random_split(0..0, 0.5, 0), (vec![], vec![]));
    }

    #[test]
    fn all_rows_are_chosen_alike() {
        let mut counts = [0; 10];
        for seed in 0..2_000 {
            random_split(0..10, 0.3, seed).1.into_iter().for_each(|row: usize| counts[row] += 1);
        }
        assert!(counts.iter().all(|&count: &i32| (count - 600).abs() < 120), "{counts:?}");
    }

    #[test]
    fn classes_keep_their_shares() {
        let rows: Vec<(usize, usize)> = (0..100).map(|at| (at, if at % 10 == 0 { 1 } else { 0 })).collect();
        let (_, test) = stratified_split(rows, 0.2, 5, |&(_, class)| class);
        assert_eq!([0, 1].map(|class| test.iter().filter(|(_, of)| *of == class).count()), [18, 2]);
    }

    #[test]
    fn folds_differ_by_one_row_at_most_and_by_seed() {
        let rows: Vec<usize> = (0..11).collect();
        for count in [0, 1, 2, 3, 11, 12] {
            let folds = folds(&rows, count, 7);
            assert_eq!(folds.len(), count.max(2));
            let sizes = folds.iter().map(|(_, test)| test.len());
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            assert!(folds.iter().all(|(train, test)| train.len() + test.len() == 11));
        }
        assert_eq!(folds(&rows, 3, 7), folds(&rows, 3, 7));
        assert_ne!(folds(&rows, 3, 7), folds(&rows, 3, 8));
    }
}
