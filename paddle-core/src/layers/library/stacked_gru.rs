/// Layers of gated recurrent units, each of which reads what the one below it gives: for each token, what the last has seen. Their
/// parameters are `layer0`, `layer1`, …
///
/// * `x`: the sequences, of tokens `[D]`.
/// * `size`: the size of what each layer gives for each token, and each direction.
/// * `layers`: how many.
/// * `origin_mode`, `reset_after`: as in `gru_unit`.
/// * `bidirectional`: whether each goes in both directions.
pub fn stacked_gru(
    x: Seq<Tensor<f32, D>>,
    size: usize,
    layers: usize,
    #[default = false] origin_mode: bool,
    #[default = false] reset_after: bool,
    #[default = false] bidirectional: bool,
) -> _ {
    let mut seen = x;
    for i in 0..layers {
        seen = if bidirectional {
            bidirectional_gru(
                seen,
                size,
                origin_mode = origin_mode,
                reset_after = reset_after,
                param = "layer{i}",
            )
        } else {
            gru(seen, size, origin_mode = origin_mode, reset_after = reset_after, param = "layer{i}")
        };
    }
    seen
}
