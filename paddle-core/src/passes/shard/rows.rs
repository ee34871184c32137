//! The rows of each shard. They depend only on the number of rows and the number of shards.

use std::num::NonZero;
use std::ops::Range;

/// The rows of the shard `at` of a batch. Shards have equally many rows, except that the first ones may have one more.
pub fn rows_of_shard(rows: usize, shards: NonZero<u32>, at: usize) -> Range<usize> {
    let (each, more) = (rows / shards.get() as usize, rows % shards.get() as usize);
    let start = at * each + at.min(more);
    start..start + each + usize::from(at < more)
}

/// The number of shards of a batch that are computed: those that have rows, and at least the first, which stands for an
/// empty batch.
pub fn shards_with_rows(rows: usize, shards: NonZero<u32>) -> usize {
    rows.clamp(1, shards.get() as usize)
}

/// The share of the shard `at`: its `own` rows divided by all `rows`. In a batch without rows the first shard has the
/// share 1.
pub fn share_of_shard(own: usize, rows: usize, at: usize) -> f64 {
    match rows {
        0 => f64::from(u8::from(at == 0)),
        _ => own as f64 / rows as f64,
    }
}

/// The share of a shard in values of which a batch without rows has none.
pub fn weight_of_shard(own: usize, rows: usize) -> f64 {
    own as f64 / rows.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_follow_on_each_other_and_the_first_are_the_largest() {
        for rows in 0..40 {
            for shards in (1..12).map(|shards| NonZero::new(shards).unwrap()) {
                let cut: Vec<_> =
                    (0..shards.get() as usize).map(|at| rows_of_shard(rows, shards, at)).collect();
                let sizes: Vec<_> = cut.iter().map(|shard| shard.len()).collect();
                assert_eq!((cut[0].start, cut[cut.len() - 1].end), (0, rows));
                assert!(cut.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] - sizes[sizes.len() - 1] <= 1);
                let computed = shards_with_rows(rows, shards);
                assert_eq!(computed, sizes.iter().filter(|&&size| size > 0).count().max(1));
                let shares = sizes.iter().enumerate().map(|(at, &own)| share_of_shard(own, rows, at));
                assert!((shares.take(computed).sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
        let many = NonZero::<u32>::MAX;
        assert_eq!([0, 1].map(|at| rows_of_shard(2, many, at)), [0..1, 1..2]);
        assert_eq!(rows_of_shard(usize::MAX, NonZero::<u32>::MIN, 0), 0..usize::MAX);
    }
}
