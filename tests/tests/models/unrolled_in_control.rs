//! Unrolled loops inside of closures, branches and loops of the program, and these inside of unrolled loops.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 4>, n: Tensor<i64>, c: Tensor<bool, _>| {
        let deep = |x| {
            let mut h = x;
            for i in 0..2 {
                h = fc(h, 4, param = "deep{i}");
            }
            h
        };
        let mut h = x;
        if c {
            for i in 1..3 {
                h = h * i;
            }
            h = deep(h);
        }
        let mut i = 0;
        while i < n {
            for k in 0..2 {
                let twice = h + h;
                h = fc(twice, 4, act = tanh, param = "step{k}");
            }
            i += 1;
        }
        for k in 0..2 {
            let mut j = 0;
            let mut sum = h;
            while j < n {
                sum += h;
                j += 1 + k;
            }
            h = if c { sum } else { h - k };
        }
        h
    });
    let text = net.program().unwrap().to_string();
    assert_eq!([text.matches(" = while(").count(), text.matches(" = if(").count()], [3, 3], "{text}");
    vec![crate::model(net)]
}
