/// One step of a gated recurrent unit: what it has seen, after one more input. Cho et al. (2014).
///
/// Of the gates `u, r = sigmoid(x · w0 + h · w1 + b)` and the candidate `c = tanh(x · w0 + (r h) · w1 + b)`, with parameters
/// `gates` and `candidate`, it is `(1 - u) h + u c`.
///
/// * `x`: the input, `[_, D]`; with beams, `[_, BEAM, D]`.
/// * `h`: what it has seen so far, `[_, size]`; with beams, `[_, BEAM, size]`.
/// * `size`: the size of what it gives.
/// * `origin_mode`: whether `u` is how much stays, as in the paper, `u h + (1 - u) c`, and not how much is new.
pub fn gru_unit(x: _, h: _, size: usize, #[default = false] origin_mode: bool) -> _ {
    let gates = fc([x, h], 2 * size, axis = -1, act = sigmoid);
    let (u, r) = split(gates, 2, axis = -1);
    let candidate = fc([x, r * h], size, axis = -1, act = tanh);
    if origin_mode { u * h + (1.0 - u) * candidate } else { (1.0 - u) * h + u * candidate }
}
