//! Words are read letter by letter, and others are written, with attention to what was read: what `inflect` and `translate`
//! share.

use paddle::attribute::network;

// ANCHOR: speller
#[network]
pub mod speller {
    /// What is seen around each letter, and what the writer has in mind at first: what was read from the end to the start.
    pub fn read(word: Seq<i64>, symbols: usize, width: usize, drop_letters: f32, drop: f32) -> (_, _) {
        let letters = dropout(embedding(word, [symbols, width], param = "letters"), drop_letters);
        let read = dropout(bidirectional_gru(letters, width), drop);
        (read, fc(sequence_pool(read, first), width, act = tanh, param = "mind"))
    }

    /// What may follow a symbol, and what the writer then has in mind. Bahdanau, Cho and Bengio (2015).
    pub fn next(
        symbol: _,
        mind: _,
        read: _,
        symbols: usize,
        width: usize,
        drop: f32,
        #[default = false] beams: bool,
    ) -> (_, _) {
        let context = attention(mind, read, width, beams = beams);
        let written = concat([embedding(symbol, [symbols, width], param = "letters"), context], axis = -1);
        let mind = gru_unit(written, mind, width, param = ".unit");
        let logits = fc(dropout(concat([mind, context], axis = -1), drop), symbols, axis = -1);
        (logits, mind)
    }

    /// How improbable each of `right` is behind `before`, what stands before each of them.
    pub fn losses(
        before: Seq<i64>,
        right: Seq<Tensor<i64, 1>>,
        mind: _,
        read: _,
        symbols: usize,
        width: usize,
        drop: f32,
    ) -> _ {
        let mut mind = mind;
        for (symbol, right) in (before, right) {
            let (logits, now) = next(symbol, mind, read, symbols, width, drop, param = "next");
            mind = now;
            softmax_with_cross_entropy(logits, right)
        }
    }

    /// The most probable symbols behind `start` that a search with `beam` beams finds: `longest` of them, `end` (0) where there
    /// are none.
    pub fn search(
        start: Tensor<i64, _>,
        mind: _,
        read: _,
        symbols: usize,
        width: usize,
        drop: f32,
        beam: usize,
        longest: usize,
        end: usize,
    ) -> _ {
        let (logits, mind) = next(start, mind, read, symbols, width, drop, param = "next");
        let (mut scores, mut last) = top_k(log_softmax(logits), beam);
        let mut minds = tile(unsqueeze(mind, 1), [beam, 1]);
        let mut texts = pad(unsqueeze(last, 2), [0, 0, longest - 1, 0]);
        let mut length = 1;
        while !all(last == end, axis = 1) && length < longest {
            let (logits, now) = next(last, minds, read, symbols, width, drop, beams = true, param = "next");
            let (parents, said, best) = beam_search(last, scores, log_softmax(logits), beam, end);
            texts = concat([slice(gather(texts, parents), 2, 1, longest), unsqueeze(said, 2)], axis = 2);
            (last, scores, minds) = (said, best, gather(now, parents));
            length += 1;
        }
        reshape(slice(texts, 1, 0, 1), [longest])
    }

    /// How much the writer looks at each letter when it writes what is behind each of `before`: the weights within `attention`.
    pub fn looks(
        before: Seq<i64>,
        mind: _,
        read: _,
        symbols: usize,
        width: usize,
        drop: f32,
        longest: usize,
    ) -> _ {
        let mut mind = mind;
        for symbol in before {
            let asked = fc(mind, width, param = ".next.context.asked");
            let known = fc(read, width, bias = false, param = ".next.context.known");
            let fit = tanh(sequence_expand(asked, read) + known);
            let fit = fc(fit, 1, bias = false, param = ".next.context.fit");
            let (_, now) = next(symbol, mind, read, symbols, width, drop, param = "next");
            mind = now;
            sequence_pad(reshape(sequence_softmax(fit), []), longest)
        }
    }
}
// ANCHOR_END: speller
