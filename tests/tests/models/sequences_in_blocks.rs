//! Operators that go along sequences, of the rows of a branch and of those that are still in a loop.

use paddle::attribute::network;

#[network]
pub mod chosen {
    const LETTERS: usize = 2;

    /// Two kinds of rows: one is tagged, the other is read.
    pub fn cost(
        sound: Seq<Tensor<f32, 3>>,
        text: Seq<i64>,
        marks: Seq<i64>,
        kind: Tensor<f32, _, 1>,
    ) -> Tensor<f32> {
        let around = sequence_conv(sound, 4, 3, act = tanh);
        let loss = if kind > 0.0 {
            let emission = fc(sequence_conv(around, 4, 2, act = tanh), LETTERS);
            let tags = crf_decoding(emission, param = "tags");
            let loss = linear_chain_crf(emission, sequence_align(tags, emission), param = "tags");
            loss * cast(unsqueeze(sequence_length(around), 1), f32)
        } else {
            let backwards = sequence_reverse(around);
            let heard = sequence_pool(backwards * sequence_softmax(backwards), sum);
            let known = cast(sequence_mask(sequence_length(marks), 5), f32);
            sum(heard, axis = 1, keep_dim = true) + sum(known, axis = 1, keep_dim = true)
        };
        mean(loss) + mean(warpctc(fc(around, LETTERS + 1), text, blank = LETTERS))
    }

    /// For each mark, what the sound around comes to, in another order each time.
    pub fn steps(sound: Seq<Tensor<f32, 3>>, marks: Seq<Tensor<f32, 3>>, until: Tensor<f32, _, 1>) -> Tensor<f32> {
        let mut h = zeros(3);
        let heard = for mark in marks {
            let near = sequence_conv(sound + sequence_expand(mark + h, sound), 3, 3, act = tanh);
            let both = sequence_concat([near, sequence_reverse(sound)]);
            let first = sequence_slice(both, 1, sequence_length(sound));
            let loud = sequence_filter(first, sum(first, axis = 1) > -1.0);
            h = tanh(sequence_pool(loud, sqrt) + mark);
            let mut n = 0;
            while sum(square(h), axis = 1) > 0.3 && n < 3 {
                let places = cast(sequence_positions(sound), f32);
                let share = sequence_softmax(unsqueeze(places, 1) * 0.1 + sum(sound, axis = 1, keep_dim = true));
                h = 0.8 * h - 0.1 * sequence_pool(sequence_gather(sound, sequence_positions(sound)) * share, sum);
                n += 1;
            }
            h
        };
        let padded = sequence_pad(heard, 4);
        mean(square(padded)) + mean(h * until)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(chosen::cost()), crate::model(chosen::steps())]
}
