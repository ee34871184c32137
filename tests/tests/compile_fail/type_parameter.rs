//! A type parameter is one mistake, also where it is used.

use paddle::attribute::network;

#[network]
pub mod models {
    fn part<T>(x: T) -> T
    //~     ^ not-of-the-language
    where
        T: Copy,
    {
        x
    }

    pub fn whole(x: Tensor<f32, _, 3>) -> _ {
        part(x)
    }
}

fn main() {}
