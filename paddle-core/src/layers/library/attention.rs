/// What a query looks for in sequences: the mean of a sequence's tokens, weighted by how well each fits,
/// `softmax(tanh(query · w + b + token · u) · v)`, with parameters `asked`, `known` and `fit`. Bahdanau, Cho and Bengio (2015).
///
/// * `query`: `[_, Q]`; with beams, `[_, BEAM, Q]`.
/// * `tokens`: the sequences, of tokens `[D]`, of the same rows.
/// * `size`: the size in which the two are compared.
/// * `beams`: whether each row has beams that ask.
///
/// It gives `[_, D]`, or `[_, BEAM, D]`: zeros for a sequence without tokens.
pub fn attention(query: _, tokens: Seq<Tensor<f32, D>>, size: usize, #[default = false] beams: bool) -> _ {
    let asked = fc(query, size, axis = -1);
    let known = fc(tokens, size, bias = false);
    let (known, tokens) = if beams { (unsqueeze(known, 1), unsqueeze(tokens, 1)) } else { (known, tokens) };
    let fit = fc(tanh(sequence_expand(asked, tokens) + known), 1, axis = -1, bias = false);
    sequence_pool(sequence_softmax(fit) * tokens, sum)
}
