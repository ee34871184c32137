//! The random numbers of the workloads: SplitMix64 by position, the same bits in every framework.

/// Number `i` of `seed`, in [0, 1).
fn uniform(seed: u64, i: u64) -> f32 {
    let z =
        seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 40) as f32 * (1.0 / (1 << 24) as f32)
}

/// `count` numbers in [0, 1).
pub(crate) fn unit(seed: u64, count: usize) -> Vec<f32> {
    (0..count as u64).map(|i| uniform(seed, i)).collect()
}

/// `count` numbers in [-1, 1).
pub(crate) fn symmetric(seed: u64, count: usize) -> Vec<f32> {
    (0..count as u64).map(|i| 2.0 * uniform(seed, i) - 1.0).collect()
}

/// `count` whole numbers below `end`.
pub(crate) fn integers(seed: u64, count: usize, end: i64) -> Vec<i64> {
    (0..count as u64).map(|i| ((uniform(seed, i) * end as f32) as i64).min(end - 1)).collect()
}

/// Xavier's weights of a fully connected layer, `[fan_in, fan_out]`: number `k` of workload `workload`.
pub(crate) fn weights(workload: u64, k: u64, fan_in: usize, fan_out: usize) -> Vec<f32> {
    let bound = (6.0 / (fan_in + fan_out) as f64).sqrt() as f32;
    symmetric(1000 * workload + k, fan_in * fan_out).into_iter().map(|x| bound * x).collect()
}

/// The seed of field `field` of pool batch `batch`.
pub(crate) fn field(workload: u64, batch: u64, field: u64) -> u64 {
    1000 * workload + 500 + 10 * batch + field
}
