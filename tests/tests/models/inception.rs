//! Branches of an image that are joined by channels, and a gate for each channel by what the whole image is like.

use paddle::attribute::network;

#[network]
pub mod inception {
    fn mixed(x: Tensor<f32, _, C, 8, 8>) -> _ {
        let one = conv2d(x, 4, 1, act = relu);
        let three = conv2d(conv2d(x, 2, 1, act = relu), 4, 3, padding = 1, act = relu);
        let pooled = conv2d(pool2d(x, 3, stride = 1, padding = 1), 2, 1);
        concat([one, three, pooled], axis = 1)
    }

    /// Squeeze and excitation.
    fn excite(x: Tensor<f32, _, C, H, W>) -> Tensor<f32, _, C, H, W> {
        let squeezed = mean(x, axis = [2, 3]);
        let gate = fc(fc(squeezed, 3, act = relu), C, act = sigmoid);
        x * reshape(gate, [C, 1, 1])
    }

    pub fn cost(image: Tensor<f32, _, 3, 8, 8>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let mut h = image;
        for i in 0..2 {
            h = excite(mixed(h, param = "mixed{i}"), param = "excite{i}");
        }
        let global = mean(h, axis = [-1, -2]);
        mean(square(fc(global, 2) - y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(inception::cost())]
}
