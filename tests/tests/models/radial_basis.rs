//! Radial basis functions: the centres come from outside, the weights are trained.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        const CENTRES: [f32; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];
        const WIDTH: f32 = 0.25;
        let basis = |x, centre| exp(-square((x - centre) / WIDTH));
        let mut sum = 0.0 * x;
        for (i, centre) in [(0, CENTRES[0]), (1, CENTRES[1]), (2, CENTRES[2]), (3, CENTRES[3]), (4, CENTRES[4])] {
            sum += fc(basis(x, centre), 1, param = "basis{i}");
        }
        mean(square(sum - y))
    });
    vec![crate::model(net)]
}
