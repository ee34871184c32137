//! An argument that is not what the parameter asks for.

use paddle::attribute::network;

#[network]
pub mod models {
    fn part(a: Tensor<f32, _, 4>, size: usize) -> _ {
        fc(a, size)
    }

    pub fn whole(x: Tensor<f32, _, 3>) -> _ {
        part(x, 2) + part(fc(x, 4), 1.5, param = "other")
        //~  ^ declared-type
        //~                         ^^^ constant
    }
}

fn main() {}
