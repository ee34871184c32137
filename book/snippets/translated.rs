//! What users of other frameworks write, here.

use std::error::Error;

use paddle::attribute::network;
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::updater::schedule::{cosine, warm_up};
use paddle::{Adam, Clip, InferOptions, Load, Options, Parameters, Trainer, infer, infer_with};

// ANCHOR: mlp
#[network]
mod mlp {
    fn logits(x: Tensor<f32, _, 784>) -> Tensor<f32, _, 10> {
        let hidden = fc(x, 128, act = relu);
        fc(dropout(hidden, 0.1), 10)
    }

    pub fn cost(x: Tensor<f32, _, 784>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let logits = logits(x);
        let accuracy = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)), accuracy)
    }

    pub fn classes(x: Tensor<f32, _, 784>) -> Tensor<f32, _, 10> {
        softmax(logits(x))
    }
}
// ANCHOR_END: mlp

fn images() -> Vec<mlp::cost::Row> {
    let image = |i: i64| std::array::from_fn(|k| ((k + 7 * i as usize) % 10) as f32 / 10.0);
    (0..20).map(|i| mlp::cost::Row { x: image(i), label: i % 10 }).collect()
}

#[test]
fn training() -> Result<(), Box<dyn Error>> {
    let images = images();
    let path = std::env::temp_dir().join(format!("paddle-book-mlp-{}.safetensors", std::process::id()));
    // ANCHOR: training
    let net = mlp::cost();
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Adam::new(1e-3));
    let reader = images.iter().passes(5).shuffle(1000).seed(1).batch(10);
    trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
        if let EventKind::EndPass { pass, cost, metrics } = event.kind() {
            println!("pass {pass}: cost {cost:.4}, accuracy {:.4}", metrics[0]);
        }
        Ok(())
    })?;
    // ANCHOR_END: training

    // ANCHOR: loop
    for batch in images.chunks(10) {
        let outcome = trainer.step(&net, &mut parameters, batch)?;
        println!("{}", outcome.cost());
    }
    // ANCHOR_END: loop

    // ANCHOR: evaluate
    let tested = paddle::test(&net, &parameters, images.iter().batch(10))?;
    println!("{} {:?}", tested.cost(), tested.metric("accuracy"));
    // ANCHOR_END: evaluate

    // ANCHOR: infer
    let classes = mlp::classes();
    let outputs = infer(&classes, &parameters, [images[0].x])?;
    let probabilities = outputs.at::<f32>(0)?;
    // ANCHOR_END: infer
    assert_eq!(probabilities.shape(), [1, 10]);

    // ANCHOR: save
    parameters.save(&path)?;
    parameters.load(&path, Load::Strict)?;
    // ANCHOR_END: save
    std::fs::remove_file(path)?;

    // ANCHOR: schedule
    let rate = warm_up(100, 0.0, 1e-3, cosine(1e-3, 10_000));
    let mut trainer = Trainer::new(Adam::new(rate)).clip(Clip::GlobalNorm(1.0)).seed(1);
    // ANCHOR_END: schedule
    trainer.step(&net, &mut parameters, &images)?;
    Ok(())
}

#[test]
fn a_batch_in_parts() -> Result<(), paddle::Error> {
    let (net, images) = (mlp::cost(), images());
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Adam::new(1e-3));
    // ANCHOR: shards
    // Four parts, one after the other, and one update by the gradient of all.
    let options = Options::default().shards(4);
    // ANCHOR_END: shards
    trainer.step_with(&net, &mut parameters, &images, &options)?;
    Ok(())
}

// ANCHOR: convolution
#[network]
mod lenet {
    pub fn logits(image: Tensor<f32, _, 1, 28, 28>) -> Tensor<f32, _, 10> {
        let edges = pool2d(conv2d(image, 20, 5, act = relu), 2, kind = max);
        let parts = pool2d(conv2d(edges, 50, 5, act = relu), 2, kind = max);
        fc(parts, 10)
    }
}
// ANCHOR_END: convolution

// ANCHOR: residual
#[network]
mod resnet {
    fn block(x: Tensor<f32, _, C, H, W>) -> Tensor<f32, _, C, H, W> {
        let inner = batch_norm(conv2d(x, C, 3, padding = same, bias = false), act = relu);
        relu(x + batch_norm(conv2d(inner, C, 3, padding = same, bias = false)))
    }

    pub fn logits(image: Tensor<f32, _, 3, 32, 32>) -> Tensor<f32, _, 10> {
        let mut x = conv2d(image, 16, 3, padding = same);
        for i in 0..3 {
            x = block(x, param = "block{i}");
        }
        fc(global_pool2d(x, kind = avg), 10)
    }
}
// ANCHOR_END: residual

// ANCHOR: sequence
#[network]
mod sentiment {
    pub fn cost(words: Seq<i64>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        let states = bidirectional_lstm(embedding(words, [5000, 64]), 64);
        let text = sequence_pool(states, max);
        mean(softmax_with_cross_entropy(fc(text, 2), class))
    }
}
// ANCHOR_END: sequence

#[test]
fn texts_of_any_length() -> Result<(), paddle::Error> {
    // ANCHOR: sequence_rows
    let net = sentiment::cost();
    let rows = [net.row(vec![17, 4, 301], 1), net.row(vec![5], 0)];
    // ANCHOR_END: sequence_rows
    let mut parameters = Parameters::create(&net)?;
    Trainer::new(Adam::new(1e-3)).step(&net, &mut parameters, rows)?;
    Ok(())
}

// ANCHOR: recurrent
#[network]
mod counter {
    pub fn last(xs: Seq<Tensor<f32, 8>>) -> Tensor<f32, _, 16> {
        let mut h = zeros(16);
        for x in xs {
            h = tanh(fc([x, h], 16));
        }
        h
    }
}
// ANCHOR_END: recurrent

#[test]
fn other_networks() -> Result<(), paddle::Error> {
    assert_eq!(
        infer(&lenet::logits(), &Parameters::create(&lenet::logits())?, [[[[0.5; 28]; 28]]])?
            .at::<f32>(0)?
            .shape(),
        [1, 10]
    );
    let net = resnet::logits();
    let parameters = Parameters::create(&net)?;
    assert_eq!(infer(&net, &parameters, [[[[0.5; 32]; 32]; 3]])?.at::<f32>(0)?.shape(), [1, 10]);
    let net = counter::last();
    assert_eq!(
        infer(&net, &Parameters::create(&net)?, [vec![[1.0; 8]; 3], vec![]])?.at::<f32>(0)?.shape(),
        [2, 16]
    );
    Ok(())
}

#[test]
fn rows_apart() -> Result<(), paddle::Error> {
    // ANCHOR: branch
    let net = paddle::network!(|x: Tensor<f32, _, 4>, kind: Tensor<i64, _>| {
        if kind == 0 { fc(x, 2, param = "first") } else { fc(x, 2, param = "second") }
    });
    // ANCHOR_END: branch
    let outputs = infer(&net, &Parameters::create(&net)?, [([1.0; 4], 0), ([1.0; 4], 1)])?;
    assert_eq!(outputs.at::<f32>(0)?.shape(), [2, 2]);
    Ok(())
}

// ANCHOR: frozen
#[network]
mod tuned {
    fn trunk(x: Tensor<f32, _, 8>) -> Tensor<f32, _, 16> {
        fc(fc(x, 32, act = relu), 16, act = relu)
    }

    pub fn cost(x: Tensor<f32, _, 8>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(fc(trunk(x), 1) - y))
    }
}

fn train_the_head(parameters: &mut Parameters, rows: &[tuned::cost::Row]) -> Result<(), paddle::Error> {
    let options = Options::default().freeze(tuned::params::trunk);
    Trainer::new(Adam::new(1e-3)).step_with(&tuned::cost(), parameters, rows, &options)?;
    Ok(())
}
// ANCHOR_END: frozen

#[test]
fn a_frozen_trunk() -> Result<(), Box<dyn Error>> {
    let mut parameters = Parameters::create(&tuned::cost())?;
    let trunk =
        |parameters: &Parameters| parameters.get::<f32>(tuned::params::trunk::fc::w).map(|it| it.to_owned());
    let before = trunk(&parameters)?;
    train_the_head(&mut parameters, &[tuned::cost::Row { x: [1.0; 8], y: 2.0 }])?;
    assert_eq!(trunk(&parameters)?, before);
    Ok(())
}

#[test]
fn more_than_outputs() -> Result<(), Box<dyn Error>> {
    // ANCHOR: tap
    let net = paddle::network!(|x: Tensor<f32, _, 4>| {
        let hidden = tap(fc(x, 8, act = relu), "features");
        fc(hidden, 3)
    });
    let outputs = infer_with(&net, &Parameters::create(&net)?, [[1.0; 4]], &["features"])?;
    let features = outputs.get::<f32>("features")?;
    // ANCHOR_END: tap
    assert_eq!(features.shape(), [1, 8]);

    // ANCHOR: noise
    let net = paddle::network!(|x: Tensor<f32, _, 4>| x + gaussian_random(x, 4));
    let seeded = infer_with(&net, &Parameters::create(&net)?, [[1.0; 4]], InferOptions::default().seed(7))?;
    // ANCHOR_END: noise
    assert_eq!(seeded.at::<f32>(0)?.shape(), [1, 4]);
    Ok(())
}

#[test]
fn a_summary() -> Result<(), paddle::Error> {
    // ANCHOR: summary
    println!("{}", paddle::summary(&mlp::cost())?);
    println!("{}", mlp::cost().program()?);
    // ANCHOR_END: summary
    Ok(())
}
