//! A way around a block that changes the shape, without a layer on it.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod classifier {
    fn block(x: _, width: usize, stride: usize) -> _ {
        let first = relu(conv2d(x, width, 3, stride = stride, padding = same, param = ".first"));
        let second = conv2d(first, width, 3, padding = same, param = ".second");
        relu(second + x)
        //~           ^ shape
    }

    pub fn class(image: Tensor<f32, _, 3, 32, 32>) -> Tensor<i64, _> {
        let mut x = conv2d(image, 24, 3, padding = same);
        for (stage, width) in [24, 48, 96].enumerate() {
            x = block(x, width, 2, param = ".stage{stage}");
        }
        argmax(fc(x, 10), axis = 1)
    }
}
// ANCHOR_END: mistake

fn main() {}
