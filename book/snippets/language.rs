//! The language in an hour.

use paddle::reader::{DataSet, Reader};
use paddle::testing::{assert_learns, check_gradients};
use paddle::{Adam, Options, Parameters, Trainer, attribute::network, infer};

#[test]
fn a_network() -> Result<(), paddle::Error> {
    // ANCHOR: a_network
    let net = paddle::network!(|x: Tensor<f32, _, 2>| {
        let hidden = fc(x, 8, act = tanh);
        softmax(fc(hidden, 3))
    });
    let parameters = Parameters::create(&net)?;
    let outputs = infer(&net, &parameters, [[0.5, 1.0], [0.0, 2.0]])?;
    assert_eq!(outputs.at::<f32>(0)?.shape(), [2, 3]);
    // ANCHOR_END: a_network
    Ok(())
}

// ANCHOR: a_module
#[network]
mod price {
    fn guess(x: Tensor<f32, _, D>) -> Tensor<f32, _, 1> {
        let hidden = fc(x, 16, act = relu);
        fc(hidden, 1)
    }

    pub fn cost(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(guess(x) - y))
    }

    pub fn predict(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 1> {
        guess(x)
    }
}
// ANCHOR_END: a_module

// ANCHOR: parameters
#[test]
fn parameters_have_names() -> Result<(), paddle::Error> {
    let parameters = Parameters::create((&price::cost(), &price::predict()))?;
    // A name is an item of Rust, too: one that does not exist does not compile.
    let weights = parameters.get::<f32>(price::params::guess::hidden::w)?;
    assert_eq!(weights.shape(), [3, 16]);
    Ok(())
}
// ANCHOR_END: parameters

#[test]
fn training() -> Result<(), paddle::Error> {
    // ANCHOR: training
    let (cost, predict) = (price::cost(), price::predict());
    let mut parameters = Parameters::create((&cost, &predict))?;
    let rows =
        [cost.row([1.0, 0.0, 0.0], 3.0), cost.row([0.0, 1.0, 0.0], 5.0), cost.row([0.0, 0.0, 1.0], 4.0)];
    let reader = rows.passes(500).shuffle(3).seed(1).batch(3);
    Trainer::new(Adam::new(0.01)).train(&cost, &mut parameters, reader, Options::default(), |_| Ok(()))?;
    let outputs = infer(&predict, &parameters, [[0.0, 1.0, 0.0]])?;
    assert!((outputs.at::<f32>(0)?[[0, 0]] - 5.0).abs() < 0.1);
    // ANCHOR_END: training
    Ok(())
}

#[test]
fn a_branch() -> Result<(), paddle::Error> {
    // ANCHOR: a_branch
    let net = paddle::network!(|x: Tensor<f32, _, 1>| if x > 0.0 { sqrt(x) } else { -x });
    let outputs = infer(&net, &Parameters::create(&net)?, [4.0, -3.0, 9.0])?;
    assert_eq!(outputs.at::<f32>(0)?.iter().copied().collect::<Vec<_>>(), [2.0, 3.0, 3.0]);
    // ANCHOR_END: a_branch
    Ok(())
}

#[test]
fn a_loop_by_row() -> Result<(), paddle::Error> {
    // ANCHOR: a_loop_by_row
    let net = paddle::network!(|x: Tensor<f32, _>| {
        let (mut left, mut halvings) = (x, 0);
        while left > 1.0 {
            left /= 2.0;
            halvings += 1;
        }
        halvings
    });
    let outputs = infer(&net, &Parameters::create(&net)?, [1.0, 2.0, 1000.0])?;
    assert_eq!(outputs.at::<i64>(0)?.iter().copied().collect::<Vec<_>>(), [0, 1, 10]);
    // ANCHOR_END: a_loop_by_row
    Ok(())
}

#[test]
fn a_sequence() -> Result<(), paddle::Error> {
    // ANCHOR: a_sequence
    let net = paddle::network!(|words: Seq<i64>| {
        let mut h = zeros(4);
        for word in embedding(words, [100, 8]) {
            h = tanh(fc([word, h], 4));
        }
        h
    });
    // Three texts, of three words, of none, and of one.
    let outputs = infer(&net, &Parameters::create(&net)?, [vec![5, 8, 13], vec![], vec![21]])?;
    assert_eq!(outputs.at::<f32>(0)?.shape(), [3, 4]);
    // ANCHOR_END: a_sequence
    Ok(())
}

#[test]
fn the_compiler_decides() -> Result<(), paddle::Error> {
    // ANCHOR: the_compiler_decides
    let net = paddle::network!(|x: Tensor<f32, _, 8>| {
        const SIZES: [usize; 3] = [32, 16, 4];
        let mut h = x;
        for (i, size) in SIZES.enumerate() {
            h = fc(h, size, act = relu, param = "layer{i}");
        }
        h
    });
    let program = net.program()?;
    assert_eq!(program.show(program.ty(program.outputs()[0])), "f32[_, 4]");
    // ANCHOR_END: the_compiler_decides
    Ok(())
}

// ANCHOR: a_test
#[test]
fn the_price_is_learned() {
    let rows = [([1.0, 0.0, 2.0], 3.0), ([0.5, -1.0, 0.0], -2.0)].map(price::cost::Row::from);
    // It can learn these rows by heart, all parameters change, and all inputs matter.
    assert_learns(&price::cost(), &rows);
    // Its gradients are the differences of its cost.
    check_gradients(&price::cost(), &rows).unwrap();
}
// ANCHOR_END: a_test

#[test]
fn saving() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("paddle-book-{}.safetensors", std::process::id()));
    // ANCHOR: saving
    let net = price::predict();
    let parameters = Parameters::create(&net)?;
    parameters.save(&path)?;
    let mut others = Parameters::create_with_seed(&net, 7)?;
    others.load(&path, paddle::Load::Strict)?;
    let answers = |parameters| infer(&net, parameters, [[1.0, 2.0, 3.0]]);
    assert_eq!(answers(&parameters)?.at::<f32>(0)?, answers(&others)?.at::<f32>(0)?);
    // ANCHOR_END: saving
    std::fs::remove_file(path)?;
    Ok(())
}
