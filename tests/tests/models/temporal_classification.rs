//! Letters read from a longer sequence, without saying where each of them is.

use paddle::attribute::network;

#[network]
pub mod reader {
    const LETTERS: usize = 2;

    /// What each letter, and that there is none, counts for each token.
    fn logits(sound: Seq<Tensor<f32, 3>>) -> Seq<Tensor<f32, { LETTERS + 1 }>> {
        fc(sequence_conv(sound, 6, 3, act = relu), LETTERS + 1)
    }

    pub fn cost(sound: Seq<Tensor<f32, 3>>, text: Seq<i64>) -> Tensor<f32> {
        mean(warpctc(logits(sound), text, blank = LETTERS, norm_by_times = true))
    }

    pub fn losses(sound: Seq<Tensor<f32, 3>>, text: Seq<i64>) -> _ {
        warpctc(logits(sound), text, blank = LETTERS)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(reader::cost()), crate::model(reader::losses())]
}
