//! Const parameters are sizes of networks, and of nothing else.

use paddle::attribute::network;

#[network]
pub mod models {
    fn part<const N: usize>(x: _) -> _ {
        //~ ^^^^^^^^^^^^^^ not-of-the-language
        x
    }

    pub fn whole<const RATE: i64>(x: Tensor<f32, _, 4>) -> _ {
        //~                  ^^^ not-of-the-language
        part(x)
    }

    pub fn sized<const N: usize>(x: Tensor<f32, _, N>) -> _ {
        relu(x)
    }
}

fn main() {}
