//! Values: rustc sees it when it builds the function.

use models::gan;
use paddle::{Parameters, network};

fn main() {
    let score = network!(|x: Tensor<f32, _, 3>| fc(x, 8, param = "D.hidden"));
    let _ = Parameters::create((&gan::d0(), &score));
}
