//! Two instances of one network, whose parameters differ.

use paddle::Parameters;
use paddle::attribute::network;

#[network]
pub mod mlp {
    pub fn predict<const HIDDEN: usize>(x: Tensor<f32, _, 4>) -> _ {
        fc(x, 2 * HIDDEN)
    }
}

fn main() {
    let _ = Parameters::create((&mlp::predict::<8>(), &mlp::predict::<4>()));
}
