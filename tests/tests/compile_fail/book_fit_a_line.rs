//! A line for other data than it gets: `diabetes` has ten features.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod regression {
    fn line(x: Tensor<f32, _, 13>) -> _ {
        fc(x, 1)
    }

    pub fn cost(x: Tensor<f32, _, 10>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(line(x) - y))
        //~              ^ declared-type
    }
}
// ANCHOR_END: mistake

fn main() {}
