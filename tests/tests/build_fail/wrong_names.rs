//! Names of parameters are items and fields.

use models::gan;
use paddle::{Parameters, network, parameters};

fn main() {
    let parameters = parameters![gan::d0].unwrap();
    let _ = parameters.get::<f32>(gan::params::D::hiden::w);
    let _ = parameters.get::<f32>(gan::params::D);
    let line = network!(|x: Tensor<f32, _, 3>| fc(x, 1));
    let parameters = Parameters::create(&line).unwrap();
    let _ = parameters.get::<f32>(line.params.fc.v);
}
