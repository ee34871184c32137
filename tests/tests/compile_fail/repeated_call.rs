//! A sub-network in an unrolled loop that does not say whether its parameters are shared.

use paddle::attribute::network;

#[network]
pub mod deep {
    fn block(x: _) -> _ {
        x + fc(x, 13, act = relu)
    }

    fn twice(x: _) -> _ {
        block(block(x), param = "second")
    }

    pub fn stack(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 13> {
        let mut h = x;
        for depth in 0..3 {
            h = twice(h);
            //~ ^^^^^^^^ repeated-parameters
            h = block(h, param = "block{depth}");
        }
        h
    }
}

fn main() {}
