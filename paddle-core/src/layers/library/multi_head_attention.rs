/// What queries look for in keys, by several heads, each of which sees a part of all features: for each place of the queries the mean of
/// the values, weighted by `softmax(q · k / √(D / heads))`. Vaswani et al. (2017). With parameters `query`, `key`, `value` and `out`.
///
/// * `query`: `[_, T, D]`.
/// * `key`, `value`: `[_, S, ..]`, often both the same.
/// * `heads`: how many; they divide `D`.
/// * `causal`: whether a place sees only those before it, and itself.
///
/// It gives `[_, T, D]`.
pub fn multi_head_attention(
    query: Tensor<f32, _, T, D>,
    key: Tensor<f32, _, S, K>,
    value: Tensor<f32, _, S, V>,
    heads: usize,
    #[default = false] causal: bool,
) -> Tensor<f32, _, T, D> {
    let (query, key, value) = (fc(query, D, axis = -1), fc(key, D, axis = -1), fc(value, D, axis = -1));
    let asked = transpose(reshape(query, [T, heads, D / heads]), [0, 2, 1, 3]);
    let known = transpose(reshape(key, [S, heads, D / heads]), [0, 2, 1, 3]);
    let given = transpose(reshape(value, [S, heads, D / heads]), [0, 2, 1, 3]);
    let fits = matmul(asked, known, transpose_y = true) / sqrt(D / heads);
    let fits = if causal { select(unsqueeze(arange(T), 1) >= unsqueeze(arange(S), 0), fits, -1e9) } else { fits };
    let weights = softmax(fits);
    let seen = reshape(transpose(matmul(weights, given), [0, 2, 1, 3]), [T, D]);
    let out = fc(seen, D, axis = -1);
    out
}
