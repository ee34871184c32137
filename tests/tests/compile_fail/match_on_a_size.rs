//! A size that is not known yet decides nothing.

use paddle::attribute::network;

#[network]
pub mod models {
    const V: usize;

    pub fn whole(x: Tensor<f32, _, 3>) -> _ {
        match V {
        //~   ^ undecided-size
            1 => x,
            _ => -x,
        }
    }
}

fn main() {}
