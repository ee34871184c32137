//! Instances that fit. A case that has to pass makes all of them be built, not checked only.

use paddle::attribute::network;

#[network]
pub mod models {
    pub fn halves<const WIDTH: usize>(x: Tensor<f32, _, WIDTH>) -> _ {
        let y: Tensor<f32, _, { 2 * (WIDTH / 2) }> = relu(x);
        y
    }
}

fn main() {
    let _ = (models::halves::<4>(), models::halves::<6>());
}
