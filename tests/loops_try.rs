use paddle::{Parameters, infer, network};
#[test]
fn rnn() {
    let net = network!(|words: Seq<Tensor<f32, 3>>| {
        let mut h = zeros(4);
        let hs = for x in words {
            h = tanh(fc(x, 4) + fc(h, 4));
            h
        };
        let last = sequence_pool(hs, last);
        (h, last, hs)
    });
    println!("{}", net.program().unwrap());
    let parameters = Parameters::create(&net).unwrap();
    let rows: Vec<Vec<[f32; 3]>> = vec![vec![[1.0, 2.0, 3.0]; 2], vec![], vec![[0.5, -1.0, 0.25]; 3]];
    let out = infer(&net, &parameters, rows).unwrap();
    println!("{:?} {:?}", out.at::<f32>(0).unwrap(), out.at::<f32>(1).unwrap());
}
#[test]
fn act() {
    let net = network!(|x: Tensor<f32, _, 3>| {
        let mut n = 0;
        let mut y = x;
        let ws = while sum(square(y), axis = 1) > 0.5 && n < 20 {
            y = fc(y, 3, act = tanh, init = constant(0.3));
            n += 1;
            if n > 2 { y = y * 0.5; }
            sum(y, axis = 1)
        };
        (y, n, sequence_length(ws))
    });
    println!("{}", net.program().unwrap());
    let parameters = Parameters::create(&net).unwrap();
    let out = infer(&net, &parameters, vec![[1.0f32, 2.0, 3.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]).unwrap();
    println!("{:?} {:?} {:?}", out.at::<f32>(0).unwrap(), out.at::<i64>(1).unwrap(), out.at::<i64>(2).unwrap());
}
