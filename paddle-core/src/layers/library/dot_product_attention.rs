/// What a query looks for in sequences: the mean of a sequence's tokens, weighted by how well each fits,
/// `softmax(query · token)`. Luong, Pham and Manning (2015).
///
/// * `query`: `[_, D]`; with beams, `[_, BEAM, D]`.
/// * `tokens`: the sequences, of tokens `[D]`, of the same rows.
/// * `beams`: whether each row has beams that ask.
///
/// It gives the shape of the query: zeros for a sequence without tokens.
pub fn dot_product_attention(query: _, tokens: Seq<Tensor<f32, D>>, #[default = false] beams: bool) -> _ {
    let tokens = if beams { unsqueeze(tokens, 1) } else { tokens };
    let fit = sum(sequence_expand(query, tokens) * tokens, axis = -1, keep_dim = true);
    sequence_pool(sequence_softmax(fit) * tokens, sum)
}
