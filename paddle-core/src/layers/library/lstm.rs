/// A long short-term memory along sequences: for each token, what it gives. Hochreiter and Schmidhuber (1997).
///
/// * `x`: the sequences, of tokens `[D]`.
/// * `size`: the size of what it gives for each token, and of what it remembers.
/// * `peepholes`: as in `lstm_unit`, which is the step.
/// * `is_reverse`: whether it goes from the last token to the first.
pub fn lstm(
    x: Seq<Tensor<f32, D>>,
    size: usize,
    #[default = false] peepholes: bool,
    #[default = false] is_reverse: bool,
) -> _ {
    let x = if is_reverse { sequence_reverse(x) } else { x };
    let (mut h, mut c) = (zeros(size), zeros(size));
    let seen = for x in x {
        let unit = lstm_unit(x, h, c, size, peepholes = peepholes);
        (h, c) = unit;
        h
    };
    if is_reverse { sequence_reverse(seen) } else { seen }
}
