/// One step of a beam search: of all words that may follow the texts of each row's beams, the `size` that make the most
/// probable texts, best first, of equal ones the first. Gives `(parents, words, scores)`, each `[_, size]`: which beam each
/// text goes on from, which word follows, and the text's score.
///
/// A text that has ended has one way to go on: with `end` again, and the score that it has.
///
/// * `words`: the last word of each text, `[_, BEAM]`, i64.
/// * `scores`: the logarithm of how probable each text is, `[_, BEAM]`.
/// * `next`: the logarithms of how probable each word is behind each text, `[_, BEAM, WORDS]`.
/// * `size`: how many texts are kept, at most `BEAM · WORDS`.
/// * `end`: the word that ends a text.
///
/// What else belongs to the beams follows them: `h = gather(h, parents)`. A search may start with
/// `let (scores, words) = top_k(log_softmax(first), BEAM)`, and go on `while !all(words == END, axis = 1)`: then a row leaves it when
/// all its texts have ended.
pub fn beam_search(
    words: Tensor<i64, _, BEAM>,
    scores: Tensor<f32, _, BEAM>,
    next: Tensor<f32, _, BEAM, WORDS>,
    size: usize,
    end: usize,
) -> (_, _, _) {
    let impossible = -1e30;
    let again = select(arange(WORDS) == end, 0.0, impossible);
    let gain = select(unsqueeze(words == end, 2), again, next);
    let (scores, places) = top_k(reshape(unsqueeze(scores, 2) + gain, [BEAM * WORDS]), size);
    (places / WORDS, places % WORDS, scores)
}
