//! Texts by the words around each word: windows of several sizes, in the language and as the layer of the library.

use paddle::attribute::network;

#[network]
pub mod texts {
    const WORDS: usize = 40;

    fn words(text: Seq<i64>) -> _ {
        embedding(text, [WORDS, 5], param = "words")
    }

    pub fn cost(text: Seq<i64>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let short = sequence_conv_pool(words(text), 6, 2, act = tanh);
        let long = sequence_conv_pool(words(text), 6, 5, pool_kind = average, act = relu);
        mean(softmax_with_cross_entropy(fc([short, long], 2), label))
    }

    /// A number for each word, of those behind it, and the pairs of neighbours.
    pub fn tags(text: Seq<i64>) -> _ {
        let behind = sequence_conv(words(text), 1, 3, start = 1, bias = false);
        (behind, sequence_window(text, 2, start = 0, pad_value = -1))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(texts::cost()), crate::model(texts::tags())]
}
