//! Two `fn`s of one name.

use paddle::attribute::network;

#[network]
pub mod line {
    fn predict(x: _) -> _ {
        fc(x, 1)
    }

    fn predict(x: _) -> _ {
    //~^^^^^^^ duplicate
        fc(x, 2)
    }

    pub fn cost(x: Tensor<f32, _, 13>) -> Tensor<f32> {
        mean(predict(x))
    }
}

fn main() {}
