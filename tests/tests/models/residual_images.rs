//! A residual network of images: blocks that keep their shape, and blocks that halve it and go around by 1 × 1 filters.

use paddle::attribute::network;

#[network]
pub mod resnet {
    fn convolution(x: _, filters: usize, #[default = 1] stride: usize, #[default = relu] act: Activation) -> _ {
        conv2d(x, filters, 3, stride = stride, padding = 1, bias = false, act = act)
    }

    fn block(x: Tensor<f32, _, C, H, W>) -> Tensor<f32, _, C, H, W> {
        let first = convolution(x, C);
        let second = convolution(first, C, act = identity, param = "second");
        relu(x + second)
    }

    fn down(x: _, filters: usize) -> _ {
        let way = convolution(x, filters, stride = 2);
        let way = convolution(way, filters, act = identity, param = "second");
        let around = conv2d(x, filters, 1, stride = 2, bias = false);
        relu(way + around)
    }

    pub fn cost(image: Tensor<f32, _, 3, 8, 8>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let mut h = convolution(image, 4, param = "stem");
        for (stage, filters) in [(0, 8), (1, 16)] {
            h = block(h, param = "stage{stage}.block");
            h = down(h, filters, param = "stage{stage}.down");
        }
        let features = pool2d(h, 2, kind = avg);
        mean(softmax_with_cross_entropy(fc(features, 10, param = "head"), label))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(resnet::cost())]
}
