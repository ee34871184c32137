use paddle::attribute::network;

#[network]
pub mod seqpool_lod {
    pub fn predict(ids: Seq<Tensor<i64, 1>>) -> (Tensor<f32, _, 4>, Tensor<f32, _, 8>) {
        let emb_lod = embedding(reshape(ids, []), [50, 8], param = ["embedding_0.w_0"]);
        let fc1 = fc(sequence_pool(emb_lod, average), 4, param = ["fc_0.w_0", "fc_0.b_0"]);
        (softmax(fc1), sequence_pool(emb_lod, max))
    }
}
