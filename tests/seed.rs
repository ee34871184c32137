//! The program that the project began with: two branches, each on its rows.

use paddle::{Parameters, infer, network};

#[test]
fn each_branch_computes_its_rows() {
    let net = network!(|x: Tensor<f32, _, 1>, z: Tensor<f32, _, 1>, y: Tensor<f32>| {
        let (o1, o2) = if x > 15.0 {
            let d = x + y;
            (d, softmax(d))
        } else {
            let d = fc(z, 1);
            (d, d + 1.0)
        };
        (o1, o2)
    });
    let parameters = Parameters::create(&net).unwrap();
    let w = parameters.get::<f32>("d.w").unwrap().sum();
    for xs in [vec![10.0, 20.0, 30.0], vec![20.0, 30.0], vec![1.0, 2.0]] {
        let rows: Vec<(f32, f32, f32)> = xs.iter().map(|&x| net.row(x, x, 1.0)).collect();
        let outputs = infer(&net, &parameters, &rows).unwrap();
        let expected = |x: f32| if x > 15.0 { (x + 1.0, 1.0) } else { (w * x, w * x + 1.0) };
        let [o1, o2] = ["o1", "o2"].map(|name| outputs.get::<f32>(name).unwrap().into_owned());
        for (i, (&a, &b)) in o1.iter().zip(&o2).enumerate() {
            let (first, second) = expected(xs[i]);
            assert!((a - first).abs() < 1e-5 && (b - second).abs() < 1e-5, "{xs:?}: {o1} {o2}");
        }
        assert_eq!(o1.shape(), [xs.len(), 1]);
    }
}
