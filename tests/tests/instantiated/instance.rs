//! An instance that does not fit: found when it is built, at the line that does not fit.

use paddle::attribute::network;

#[network]
pub mod models {
    pub fn halves<const WIDTH: usize>(x: Tensor<f32, _, WIDTH>) -> _ {
        let y: Tensor<f32, _, { 2 * (WIDTH / 2) }> = relu(x);
        //~                                          ^^^^^^^ declared-type
        y
    }
}

fn main() {
    let _ = models::halves::<4>();
    let _ = models::halves::<5>();
}
