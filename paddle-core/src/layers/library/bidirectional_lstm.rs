/// Long short-term memories that go along sequences in both directions: for each token, what is seen before it beside what is
/// seen behind it, `[2 · size]`. Schuster and Paliwal (1997), Graves and Schmidhuber (2005).
///
/// * `x`: the sequences, of tokens `[D]`.
/// * `size`: the size of what each direction gives for each token.
/// * `peepholes`: as in `lstm_unit`.
pub fn bidirectional_lstm(x: Seq<Tensor<f32, D>>, size: usize, #[default = false] peepholes: bool) -> _ {
    let forward = lstm(x, size, peepholes = peepholes);
    let backward = lstm(x, size, peepholes = peepholes, is_reverse = true);
    concat([forward, backward])
}
