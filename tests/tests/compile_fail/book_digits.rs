//! Filters slide over images with channels, of which a grey image has one.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod classifier {
    fn lenet(image: Tensor<f32, _, H, W>) -> Tensor<f32, _, 10> {
        let edges = batch_norm(conv2d(image, 32, 3, padding = same));
        //~                           ^^^^^ shape
        fc(pool2d(relu(edges), 2, kind = max), 10)
    }

    pub fn small_digit(image: Tensor<f32, _, 8, 8>) -> Tensor<i64, _> {
        argmax(lenet(image), axis = 1)
    }
}
// ANCHOR_END: mistake

fn main() {}
