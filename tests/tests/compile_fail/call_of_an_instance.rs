//! A network with const parameters is instantiated by Rust, not called by other networks.

use paddle::attribute::network;

#[network]
pub mod models {
    pub fn sized<const N: usize>(x: Tensor<f32, _, N>) -> _ {
        relu(x)
    }

    pub fn caller(x: Tensor<f32, _, 4>) -> _ {
        relu(sized(x))
        //~  ^^^^^ not-of-the-language
    }
}

fn main() {}
