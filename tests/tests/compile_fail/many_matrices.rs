//! Products of many matrices, of which there are not as many.

use paddle::attribute::network;

#[network]
mod attention {
    pub fn summed(x: Tensor<f32, _, 4, 6>, y: Tensor<f32, _, 5, 3>) -> Tensor<f32, _, 4, 3> {
        matmul(x, y)
        //~       ^ shape
    }

    pub fn counted(x: Tensor<f32, _, 2, 4, 6>, y: Tensor<f32, 3, 6, 5>) -> Tensor<f32, _, 2, 4, 5> {
        matmul(x, y)
        //~       ^ shape
    }

    pub fn behind(x: Tensor<f32, _, 6>, y: Tensor<f32, 3, 6, 5>) -> Tensor<f32, 3, _, 5> {
        matmul(x, y)
        //~    ^ row-spaces
    }

    pub fn scalar(x: Tensor<f32, _, 6>, y: Tensor<f32>) -> Tensor<f32, _, 6> {
        matmul(x, y)
        //~       ^ shape
    }
}

fn main() {}
