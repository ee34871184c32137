/// Gated recurrent units that go along sequences in both directions: for each token, what is seen before it beside what is
/// seen behind it, `[2 · size]`. Schuster and Paliwal (1997).
///
/// * `x`: the sequences, of tokens `[D]`.
/// * `size`: the size of what each direction gives for each token.
/// * `origin_mode`, `reset_after`: as in `gru_unit`.
pub fn bidirectional_gru(
    x: Seq<Tensor<f32, D>>,
    size: usize,
    #[default = false] origin_mode: bool,
    #[default = false] reset_after: bool,
) -> _ {
    let forward = gru(x, size, origin_mode = origin_mode, reset_after = reset_after);
    let backward = gru(x, size, origin_mode = origin_mode, reset_after = reset_after, is_reverse = true);
    concat([forward, backward])
}
