//! Attributes of what becomes no function of Rust, and a test.

use paddle::attribute::network;

#[network]
pub mod line {
    #[must_use]
 //~^^^^^^^^^^^ not-of-the-language
    const SIZE: usize;

    #[deprecated]
 //~^^^^^^^^^^^^^ not-of-the-language
    fn price(x: _) -> _ {
        fc(x, 1)
    }

    #[inline]
 //~^^^^^^^^^ not-of-the-language
    pub fn layer(x: _, #[default = 2] size: usize) -> _ {
        fc(x, size)
    }

    #[test]
 //~^^^^^^^ not-of-the-language
    pub fn cost(x: Tensor<f32, _, 13>) -> Tensor<f32> {
        mean(price(fc(x, SIZE)))
    }
}

fn main() {}
