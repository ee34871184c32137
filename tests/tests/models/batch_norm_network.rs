//! Batch normalisation and dropout: a network that does something else in training than in use.

use paddle::attribute::network;

#[network]
pub mod normalised {
    fn block(x: _, filters: usize) -> _ {
        let h = conv2d(x, filters, 3, padding = 1, bias = false);
        let h = batch_norm(h, act = relu, momentum = 0.8);
        pool2d(h, 2)
    }

    fn classify(image: Tensor<f32, _, 1, 8, 8>) -> Tensor<f32, _, 4> {
        let h = block(image, 4, param = "first");
        let h = block(h, 8, param = "second");
        let hidden = batch_norm(fc(h, 12, bias = false), act = tanh);
        fc(dropout(hidden, 0.3), 4)
    }

    pub fn cost(image: Tensor<f32, _, 1, 8, 8>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(classify(image), label))
    }

    pub fn answer(image: Tensor<f32, _, 1, 8, 8>) -> _ {
        softmax(classify(image))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(normalised::cost()), crate::model(normalised::answer())]
}
