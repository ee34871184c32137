/// Attention between sequences, of any lengths: `multi_head_attention` without padding. For each token of the queries the mean of the
/// values, weighted by `softmax(q · k / √(D / heads))`. Vaswani et al. (2017). With parameters `query`, `key`, `value` and `out`, which
/// are those of `multi_head_attention`.
///
/// * `query`: sequences of tokens `[D]`.
/// * `key`, `value`: sequences of the same rows, of tokens `[..]`, often all three the same.
/// * `heads`: how many; they divide `D`.
/// * `causal`: whether a token sees only those at positions before its own, and at its own.
///
/// It gives tokens `[D]` of the sequences of the queries.
pub fn sequence_attention(
    query: Seq<Tensor<f32, D>>,
    key: Seq<Tensor<f32, K>>,
    value: Seq<Tensor<f32, V>>,
    heads: usize,
    #[default = false] causal: bool,
) -> Seq<Tensor<f32, D>> {
    let pairs = if causal { sequence_range(sequence_positions(query) + 1) } else { sequence_pairs(query, key) };
    let (query, key, value) = (fc(query, D), fc(key, D), fc(value, D));
    let asked = reshape(query, [heads, D / heads]) / sqrt(D / heads);
    let (known, given) = (reshape(key, [heads, D / heads]), reshape(value, [heads, D / heads]));
    let weights = sequence_softmax(sequence_products(asked, known, pairs));
    let seen = reshape(sequence_sums(weights, given, pairs), [D]);
    let out = fc(seen, D);
    out
}
