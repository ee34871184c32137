/// One step of a causal `multi_head_attention` of a text with itself: of one place, which sees those before it, and itself, by the keys
/// and values that are kept of them. It has the parameters of that layer, `query`, `key`, `value` and `out`, and gives what that gives
/// at this place, `(seen, keys, values)`, with the keys and values of this place among those that are kept.
///
/// * `x`: what is at the place, `[_, D]`.
/// * `keys`, `values`: what is kept, `[_, T, D]`; at first anything, `zeros([T, D])`.
/// * `position`: the place, from 0 on and below `T`: a whole number, or one for each row.
/// * `heads`: how many; they divide `D`.
pub fn cached_attention(
    x: Tensor<f32, _, D>,
    keys: Tensor<f32, _, T, D>,
    values: Tensor<f32, _, T, D>,
    position: _,
    heads: usize,
) -> (Tensor<f32, _, D>, Tensor<f32, _, T, D>, Tensor<f32, _, T, D>) {
    let (query, key, value) = (fc(x, D), fc(x, D), fc(x, D));
    let position = reshape(position, [1]);
    let is_here = unsqueeze(arange(T) == position, -1);
    let keys = select(is_here, unsqueeze(key, 1), keys);
    let values = select(is_here, unsqueeze(value, 1), values);
    let asked = reshape(query, [heads, D / heads]);
    let known = reshape(keys, [T, heads, D / heads]);
    let given = reshape(values, [T, heads, D / heads]);
    let fits = einsum("bhd,bthd->bht", asked, known) / sqrt(D / heads);
    let is_seen = unsqueeze(arange(T) <= position, -2);
    let weights = softmax(select(is_seen, fits, -1e9));
    let out = fc(reshape(einsum("bht,bthd->bhd", weights, given), [D]), D);
    (out, keys, values)
}
