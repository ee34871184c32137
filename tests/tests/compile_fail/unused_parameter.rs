//! Layers of a cost that nothing depends on: the last of those one behind the other is to blame.

use paddle::attribute::network;

#[network]
pub mod line {
    fn trunk(x: _) -> (_, _) {
        (fc(x, 3), fc(x, 4))
        //~        ^^^^^^^^ unused-parameter
    }

    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 3>) -> Tensor<f32> {
        let unused = fc(fc(x, 5), 1, bias = false);
        //~          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unused-parameter
        let (used, other) = trunk(x);
        mean(square(used - y))
    }
}

fn main() {}
