/// Layers of long short-term memories, each of which reads what the one below it gives: for each token, what the last gives. Their
/// parameters are `layer0`, `layer1`, …
///
/// * `x`: the sequences, of tokens `[D]`.
/// * `size`: the size of what each layer gives for each token, and each direction.
/// * `layers`: how many.
/// * `peepholes`: as in `lstm_unit`.
/// * `bidirectional`: whether each goes in both directions.
pub fn stacked_lstm(
    x: Seq<Tensor<f32, D>>,
    size: usize,
    layers: usize,
    #[default = false] peepholes: bool,
    #[default = false] bidirectional: bool,
) -> _ {
    let mut seen = x;
    for i in 0..layers {
        seen = if bidirectional {
            bidirectional_lstm(seen, size, peepholes = peepholes, param = "layer{i}")
        } else {
            lstm(seen, size, peepholes = peepholes, param = "layer{i}")
        };
    }
    seen
}
