//! Several views of a text: word vectors pooled in every way, joined, and read.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|title: Seq<i64>, body: Seq<i64>, label: Tensor<i64, _, 1>| {
        const WORDS: usize = 300;
        let vector = |words| embedding(words, [WORDS, 8], param = "word");
        let (title, body) = (vector(title), vector(body));
        let features = concat([
            sequence_pool(title, sum),
            sequence_pool(body, max),
            sequence_pool(body, sqrt),
            sequence_pool(body, first) - sequence_pool(body, last),
        ]);
        let logits = fc(features, 4);
        (mean(softmax_with_cross_entropy(logits, label)), accuracy(logits, label, k = 2))
    });
    vec![crate::model(net)]
}
