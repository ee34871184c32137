//! Models that compile, and the programs that they become.

use paddle::attribute::network as networks;

#[test]
fn an_expression() {
    let net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(square(price - y))
    });
    println!("{}", net.program().unwrap());
    let (_x, _y): ([f32; 13], f32) = net.row([0.0; 13], 1.0);
}

#[networks]
pub mod line {
    const SIZE: usize = 1;

    fn predict(x: Tensor<f32, _, N>) -> Tensor<f32, _, SIZE> {
        fc(x, SIZE)
    }

    /// The cost.
    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(predict(x) - y))
    }

    pub fn price(x: Tensor<f32, _, 13>) -> _ {
        predict(x)
    }
}

#[test]
fn a_module() {
    println!("{}", line::cost().program().unwrap());
    println!("{}", line::price().program().unwrap());
    let _ = line::cost::Row { x: [0.0; 13], y: 1.0 };
}

#[test]
fn seed() {
    let net = paddle::network!(|x: Tensor<f32, _, 1>, z: Tensor<f32, _, 1>, y: Tensor<f32>| {
        let (o1, o2) = if x > 15.0 {
            let d = x + y;
            (d, softmax(d))
        } else {
            let d = fc(z, 1);
            (d, d + 1.0)
        };
        (o1, o2)
    });
    println!("{}", net.program().unwrap());
}

#[test]
fn repeat() {
    let net = paddle::network!(|x: Tensor<f32, _, 4>, n: Tensor<i64>| {
        let mut h = x;
        let mut i = 0;
        while i < n {
            h = fc(h, 4, act = tanh);
            i += 1;
        }
        let mut m = 0.0;
        if mean(h) > 0.0 {
            m = mean(h);
        }
        m
    });
    println!("{}", net.program().unwrap());
}
