//! Networks of another crate that share their parameters with one of this crate.

use models::gan;
use paddle::attribute::network;
use paddle::{Parameters, parameters};

#[network]
mod judge {
    pub fn score(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 1> {
        let hidden = fc(x, 4, param = "D.hidden");
        fc(hidden, 1, param = "D.out")
    }
}

fn main() {
    assert_eq!(parameters![gan::d0, judge::score].unwrap().len(), 4);
    assert_eq!(Parameters::create((&gan::d1(), &judge::score())).unwrap().len(), 6);
}
