//! LeNet: two convolutions with pooling, by a layer of the library.

use paddle::attribute::network;

#[network]
pub mod lenet {
    fn logits(image: Tensor<f32, _, 1, 28, 28>) -> Tensor<f32, _, 10> {
        let first = simple_img_conv_pool(image, 6, 5, 2, 2, act = relu);
        let second = simple_img_conv_pool(first, 16, 5, 2, 2, act = relu);
        let hidden = fc(second, 84, act = tanh);
        let digit = fc(hidden, 10);
        digit
    }

    pub fn cost(image: Tensor<f32, _, 1, 28, 28>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits(image), label))
    }

    pub fn digit(image: Tensor<f32, _, 1, 28, 28>) -> _ {
        softmax(logits(image))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(lenet::cost());
    assert_eq!(cost.parameter_names()[0], "logits.first.conv.w");
    vec![cost, crate::model(lenet::digit())]
}
