/// One step of a gated recurrent unit: what it has seen, after one more input. Cho et al. (2014).
///
/// Of the gates `u, r = sigmoid(x · w0 + h · w1 + b)` and the candidate `c = tanh(x · w0 + (r h) · w1 + b)`, with parameters
/// `gates` and `candidate`, it is `(1 - u) h + u c`.
///
/// With `reset_after` it is that of cuDNN, PyTorch, Keras and `GRUCell` of PaddlePaddle: `r, u = sigmoid(x · w + b + h · w + b)` and
/// `c = tanh(x · w + b + r (h · w + b))`, with parameters `input` for `x` and `state` for `h`, each of all three in this order. Theirs is
/// `origin_mode = true` too: then `input.w` is PyTorch's `weight_ih` turned around, `input.b` its `bias_ih`, and `state` likewise `.._hh`.
///
/// * `x`: the input, `[_, D]`; with beams, `[_, BEAM, D]`.
/// * `h`: what it has seen so far, `[_, size]`; with beams, `[_, BEAM, size]`.
/// * `size`: the size of what it gives.
/// * `origin_mode`: whether `u` is how much stays, as in the paper, `u h + (1 - u) c`, and not how much is new.
/// * `reset_after`: whether `r` is applied behind the product with what it has seen.
pub fn gru_unit(
    x: _,
    h: _,
    size: usize,
    #[default = false] origin_mode: bool,
    #[default = false] reset_after: bool,
) -> _ {
    let (u, c) = if reset_after {
        let input = fc(x, 3 * size, axis = -1);
        let state = fc(h, 3 * size, axis = -1);
        let (input_r, input_u, input_c) = split(input, 3, axis = -1);
        let (state_r, state_u, state_c) = split(state, 3, axis = -1);
        (sigmoid(input_u + state_u), tanh(input_c + sigmoid(input_r + state_r) * state_c))
    } else {
        let gates = fc([x, h], 2 * size, axis = -1, act = sigmoid);
        let (u, r) = split(gates, 2, axis = -1);
        let candidate = fc([x, r * h], size, axis = -1, act = tanh);
        (u, candidate)
    };
    if origin_mode { u * h + (1.0 - u) * c } else { (1.0 - u) * h + u * c }
}
