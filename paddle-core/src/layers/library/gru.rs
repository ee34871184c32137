/// Gated recurrent units along sequences: for each token, what they have seen so far. Cho et al. (2014).
///
/// * `x`: the sequences, of tokens `[D]`.
/// * `size`: the size of what they give for each token.
/// * `origin_mode`, `reset_after`: as in `gru_unit`, which is the step.
/// * `is_reverse`: whether they go from the last token to the first.
pub fn gru(
    x: Seq<Tensor<f32, D>>,
    size: usize,
    #[default = false] origin_mode: bool,
    #[default = false] reset_after: bool,
    #[default = false] is_reverse: bool,
) -> _ {
    let x = if is_reverse { sequence_reverse(x) } else { x };
    let mut h = zeros(size);
    let seen = for x in x {
        let unit = gru_unit(x, h, size, origin_mode = origin_mode, reset_after = reset_after);
        h = unit;
        h
    };
    if is_reverse { sequence_reverse(seen) } else { seen }
}
