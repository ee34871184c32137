//! Const parameters of a `fn` have no defaults, as in Rust.

use paddle::attribute::network;

#[network]
pub mod models {
    pub fn whole<const N: usize = 3>(x: Tensor<f32, _, N>) -> _ {
    //~                           ^ not-of-the-language
        relu(x)
    }
}

fn main() {}
