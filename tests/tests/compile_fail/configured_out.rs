//! What is configured out is not there, and its mistakes are none.

use paddle::attribute::network;

#[network]
pub mod line {
    #[cfg(any())]
    fn price(x: _) -> _ {
        nothing(x)
    }

    #[cfg_attr(all(), cfg(any()))]
    const SIZE: usize = 1;

    pub fn cost(x: Tensor<f32, _, 13>) -> Tensor<f32> {
        #[cfg(any())]
        let x = nothing(x);
        #[cfg(all())]
        let y = price(x);
        //~     ^^^^^ unknown-layer
        mean(fc(x, SIZE))
        //~        ^^^^ unknown-variable
    }
}

fn main() {}
