//! Models that compile, without a warning, and what their rows look like.

use paddle::network;

/// Compiles a model and gives its program's text.
macro_rules! text {
    ($($model:tt)*) => {
        paddle::network!($($model)*).program().unwrap().to_string()
    };
}

/// Both forms in one file, which has the macro by its name.
#[network::module]
mod beside_the_macro {
    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        fc(x, 1)
    }
}

#[test]
fn a_module_beside_the_macro() {
    let outputs = |text: String| text.lines().last().map(str::to_string);
    let module = beside_the_macro::price().program().unwrap().to_string();
    let closure = text!(|x: Tensor<f32, _, 13>| fc(x, 1));
    assert_eq!(outputs(module), outputs(closure));
}

#[test]
fn a_line() {
    let net = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(square(price - y))
    });
    let row: ([f32; 13], f32) = net.row([0.0; 13], 1.0);
    net.batch([row]).unwrap();
}

#[test]
fn rows_of_every_kind() {
    let net = network!(|image: Tensor<f32, _, 2, 3>,
                        words: Tensor<f32, _, T>,
                        label: Tensor<i64, _, 1>,
                        chosen: Tensor<bool, _>,
                        rate: Tensor<f32>| {
        let image = fc(image, 4, act = relu);
        let loss = softmax_with_cross_entropy(image, label);
        let loss = if chosen { loss } else { scale(loss, 0.5) };
        mean(loss) * rate + sum(words)
    });
    let row: ([[f32; 3]; 2], Vec<f32>, i64, bool, f32) = net.row([[0.0; 3]; 2], vec![1.0, 2.0], 3, true, 0.1);
    net.batch([row]).unwrap();
}

#[test]
fn one_input_is_the_row() {
    let net = network!(|x: Tensor<f32, _, 13>| fc(x, 1));
    let row: [f32; 13] = net.row([0.0; 13]);
    net.batch([row]).unwrap();
}

#[test]
fn an_input_may_have_any_name() {
    let net = network!(|network: Tensor<f32, _, 2>, r#type: Tensor<f32, _, 2>, v: Tensor<f32>| {
        let any = network * v;
        any - r#type
    });
    let row: ([f32; 2], [f32; 2], f32) = net.row([0.0; 2], [1.0; 2], 2.0);
    net.batch([row]).unwrap();
}

#[test]
fn parts_from_a_macro() {
    macro_rules! wide {
        ($x:ident: $ty:ty, $size:expr, $act:ident, $more:expr) => {
            network!(|$x: $ty| -> Tensor<f32, _, { $size * 2 }> { fc($x, $size * 2, act = $act) + $more })
        };
    }
    let net = wide!(x: Tensor<f32, _, 4>, 1 + 2, tanh, 0.5 * 2.0);
    assert!(net.program().unwrap().to_string().contains("f32[4, 6]"));
}

#[test]
fn sub_networks() {
    let text = text!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>| {
        let bias = mean(y);
        let encode = |z| tanh(fc(z, 2, param = "encoder") + bias);
        let swap = |(a, b)| (b, a);
        let (b, a) = swap((encode(x), encode(y)));
        mean(square(a - b))
    });
    assert_eq!(text.matches("parameter encoder.w").count(), 1);
}

#[test]
fn branches() {
    let text = text!(|x: Tensor<f32, _, 1>, limit: Tensor<f32>| {
        let mut grade = 0.0;
        if x > limit && !(x >= 20.0 || x == 15.0) {
            grade = x;
        } else if x != 3.0 {
            grade -= 1.0;
        }
        let best = if mean(grade) <= 0.0 { 1.0 } else { limit % 7.0 };
        mean(-grade / best)
    });
    assert_eq!(text.matches(" = if(").count(), 3);
}

#[test]
fn loops() {
    let text = text!(|x: Tensor<f32, _, 4>, n: Tensor<i64>| {
        let mut pair = (x, 0);
        let mut steps = 0.0;
        while steps < 100.0 {
            let (h, i) = pair;
            let h = if i < n { fc(h, 4, act = tanh, param = "step") } else { h };
            pair = (h, i + 1);
            steps += 1.0;
        }
        let (h, _) = pair;
        mean(h)
    });
    assert_eq!(text.matches(" = while(").count(), 1);
}

/// Two networks of one sub-network.
#[paddle::attribute::network]
pub mod line {
    //! Documentation and attributes may stand inside, too.
    #![allow(clippy::excessive_precision)]

    const SIZE: usize = 2 * HALF;
    const HALF: usize = 3;
    const RATE: f32 = 0.5;

    fn predict(x: Tensor<f32, _, N>) -> Tensor<f32, _, 1> {
        const LAST: usize = 1;
        let hidden = fc(x, SIZE, act = relu);
        fc(hidden, LAST)
    }

    /// What is trained.
    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> (Tensor<f32>, Tensor<f32, _, 1>) {
        let price = predict(x);
        (mean(square(price - y)) * RATE, price)
    }

    /// What is run.
    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        predict(x)
    }
}

network! {
    /// The other form of a module.
    pub mod sum_of {
        /// With two names of one size.
        pub fn both(a: Tensor<f32, _, T>, b: Tensor<f32, _, T>) -> Tensor<f32, _, T> {
            a + b
        }
    }
}

/// A private module with parts that nothing uses.
mod hidden {
    paddle::network! {
        mod inner {
            pub fn both(a: Tensor<f64, _>, b: Tensor<bool, _>) -> Tensor<f64, _> {
                if b { a } else { 0.0 }
            }
        }
    }

    pub(super) fn rows() -> usize {
        inner::both().batch([inner::both().row(1.0, true)]).unwrap().rows().unwrap()
    }
}

#[test]
fn modules() {
    assert_eq!(hidden::rows(), 1);
    let (cost, price) = (line::cost(), line::price());
    cost.batch([line::cost::Row { x: [0.0; 13], y: 1.0 }, ([0.0; 13], 1.0).into()]).unwrap();
    cost.batch([cost.row([0.0; 13], 1.0)]).unwrap();
    price.batch([[0.0f32; 13]]).unwrap();
    let parameters = |net: &paddle::core::ops::Program| -> Vec<String> {
        net.parameters().map(|id| net.var(id).name.clone()).collect()
    };
    let of_cost = parameters(cost.program().unwrap());
    assert_eq!(of_cost, ["predict.hidden.w", "predict.hidden.b", "predict.fc.w", "predict.fc.b"]);
    assert_eq!(of_cost, parameters(price.program().unwrap()));
    sum_of::both().batch([sum_of::both::Row { a: vec![1.0], b: vec![2.0] }]).unwrap();
}
