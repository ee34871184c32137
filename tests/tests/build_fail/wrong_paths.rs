//! Paths: rustc sees it when it checks the crate.

use models::gan;
use paddle::attribute::network;
use paddle::parameters;

#[network]
mod judge {
    pub fn score(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 4> {
        fc(x, 4, param = "D.hidden", init = msra())
    }
}

fn main() {
    let _ = parameters![gan::d0, judge::score];
}
