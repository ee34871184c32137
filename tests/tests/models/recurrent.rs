//! Recurrent networks over sequences: a decoder that attends to an encoder, one that goes both ways, branches in loops.

use paddle::attribute::network;

#[network]
pub mod translation {
    const WORDS: usize = 30;
    const HIDDEN: usize = 5;

    fn encode(words: Seq<i64>) -> Seq<Tensor<f32, HIDDEN>> {
        let mut h = zeros(HIDDEN);
        for word in embedding(words, [WORDS, 4]) {
            h = tanh(fc([word, h], HIDDEN));
            h
        }
    }

    fn attend(query: Tensor<f32, _, HIDDEN>, keys: Seq<Tensor<f32, HIDDEN>>) -> Tensor<f32, _, HIDDEN> {
        let fits = sum(sequence_expand(query, keys) * keys, axis = 1, keep_dim = true);
        sequence_pool(keys * sequence_softmax(fits), sum)
    }

    pub fn cost(source: Seq<i64>, said: Seq<i64>, want: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        let seen = encode(source);
        let mut h = sequence_pool(seen, last);
        let losses = for (word, next) in (said, want) {
            let context = attend(h, seen);
            h = tanh(fc([embedding(word, [WORDS, 4], param = "said"), h, context], HIDDEN));
            softmax_with_cross_entropy(fc(h, WORDS), next)
        };
        mean(sequence_pool(losses, sum))
    }
}

#[network]
pub mod both_ways {
    fn pass(xs: Seq<Tensor<f32, D>>) -> Seq<Tensor<f32, 3>> {
        let (mut h, mut c) = (zeros(3), zeros(3));
        for x in xs {
            let (i, f, out, g) = split(fc(concat([x, h]), 12), [3, 3, 3, 3]);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(out) * tanh(c);
            h
        }
    }

    pub fn cost(xs: Seq<Tensor<f32, 4>>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let there = pass(xs, param = "there");
        let back = sequence_reverse(pass(sequence_reverse(xs), param = "back"));
        let both = sequence_pool(concat([there, back]), max);
        mean(square(fc(both, 2) - y))
    }
}

#[network]
pub mod decided_on_the_way {
    pub fn cost(xs: Seq<Tensor<f32, 3>>, x: Tensor<f32, _, 3>) -> Tensor<f32> {
        let mut h = x;
        let mut skipped = 0.0;
        for token in xs {
            let z = fc([token, h], 3);
            if sum(z, axis = 1) > 0.3 {
                h = tanh(z);
                // As often as this row still needs.
                let mut n = 0;
                while sum(square(h), axis = 1) > 0.4 && n < 4 {
                    h = h * 0.7 + 0.1 * tanh(fc(x, 3));
                    n += 1;
                }
            } else {
                skipped += 1.0;
            }
        }
        mean(square(h)) + 0.1 * mean(skipped)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(translation::cost()), crate::model(both_ways::cost()), crate::model(decided_on_the_way::cost())]
}
