//! A `const` and a sub-network of one name.

use paddle::attribute::network;

#[network]
pub mod models {
    fn size(x: _) -> _ {
        x
    }

    const size: usize = 3;
    //~   ^^^^ duplicate

    pub fn whole(x: Tensor<f32, _, 3>) -> _ {
        size(x)
    }
}

fn main() {}
