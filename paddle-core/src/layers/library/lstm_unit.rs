/// One step of a long short-term memory: what it gives, and what it remembers, `(h, c)`. Hochreiter and Schmidhuber (1997),
/// with the forget gate of Gers, Schmidhuber and Cummins (2000).
///
/// Of `g, i, f, o = x · w0 + h · w1 + b`, with parameters `gates` in this order, which is PaddlePaddle's, it is
/// `c' = sigmoid(f) c + sigmoid(i) tanh(g)` and `h' = sigmoid(o) tanh(c')`.
///
/// * `x`: the input, `[_, D]`; with beams, `[_, BEAM, D]`.
/// * `h`, `c`: what it gave and remembered before, `[_, size]`; with beams, `[_, BEAM, size]`.
/// * `size`: the size of both.
/// * `peepholes`: whether each unit's gates see what it remembers, weighted by `[size]` parameters of their own, zero at
///   first: `input` and `forget` what was remembered, `output` what is now. Gers and Schmidhuber (2000).
pub fn lstm_unit(x: _, h: _, c: _, size: usize, #[default = false] peepholes: bool) -> (_, _) {
    let gates = fc([x, h], 4 * size, axis = -1);
    let (g, mut i, mut f, mut o) = split(gates, 4, axis = -1);
    if peepholes {
        let input = parameter(size, init = constant(0.0));
        let forget = parameter(size, init = constant(0.0));
        i += c * input;
        f += c * forget;
    }
    let c = sigmoid(f) * c + sigmoid(i) * tanh(g);
    if peepholes {
        let output = parameter(size, init = constant(0.0));
        o += c * output;
    }
    (sigmoid(o) * tanh(c), c)
}
