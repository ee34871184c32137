//! A classifier of digits, to judge images by.

use std::error::Error;

use fastrand::Rng;
use ndarray::{Array3, ArrayView3};
use paddle::attribute::network;
use paddle::data::Image;
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Batch, Options, Parameters, Trainer, infer, test};

#[network]
mod digit {
    fn logits(image: Tensor<f32, _, 8, 8>) -> Tensor<f32, _, 10> {
        let edges = conv2d(reshape(image, [1, 8, 8]), 32, 3, padding = same, act = relu);
        let shapes = pool2d(conv2d(edges, 32, 3, padding = same, act = relu), 2, kind = max);
        let hidden = fc(dropout(shapes, 0.25), 128, act = relu);
        fc(dropout(hidden, 0.5), 10)
    }

    /// Smooth labels keep it from being sure of what it has never seen.
    pub fn cost(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let logits = logits(image);
        let accuracy = accuracy(softmax(logits), label);
        let smooth = label_smooth(reshape(one_hot(label, 10), [10]), epsilon = 0.02);
        (mean(softmax_with_cross_entropy(logits, smooth, soft_label = true)), accuracy)
    }

    /// How probable the most probable class is, and which it is.
    pub fn class(image: Tensor<f32, _, 8, 8>) -> (Tensor<f32, _, 1>, Tensor<i64, _, 1>) {
        top_k(softmax(logits(image)), 1)
    }
}

/// A classifier, and what it is worth.
pub(crate) struct Judge {
    parameters: Parameters,
    /// Of digits that it was not trained on.
    pub(crate) test_accuracy: f32,
    /// How sure it is, in the mean, of images of uniform noise.
    pub(crate) confidence_on_noise: f32,
}

impl Judge {
    /// Trains a classifier.
    pub(crate) fn train(
        training: &[Image<8, 8>],
        testing: &[Image<8, 8>],
        seed: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let net = digit::cost();
        let mut parameters = Parameters::create_with_seed(&net, seed)?;
        let row = |image: &Image<8, 8>| net.row(image.pixels, image.label);
        let reader = training.iter().passes(30).shuffle(training.len()).seed(seed).map_data(row).batch(64);
        let (mut trainer, options) =
            (Trainer::new(Adam::new(1e-3)).seed(seed), Options::default().progress());
        trainer.train(&net, &mut parameters, reader, options, |_| Ok(()))?;
        let tested = test(&net, &parameters, testing.iter().map(row).batch(256))?;
        let test_accuracy = tested.metric("accuracy").unwrap_or_default();
        let mut judge = Judge { parameters, test_accuracy, confidence_on_noise: 0.0 };
        let mut rng = Rng::with_seed(seed);
        (_, judge.confidence_on_noise) =
            judge.judge(Array3::from_shape_simple_fn((1000, 8, 8), || rng.f32()).view())?;
        Ok(judge)
    }

    /// How many classes at least 2 % of the images are of each, and how sure the classifier is in the mean.
    pub(crate) fn judge(&self, images: ArrayView3<f32>) -> Result<(usize, f32), Box<dyn Error>> {
        let net = digit::class();
        let outputs = infer(&net, &self.parameters, &Batch::new(&net)?.with("image", &images)?)?;
        let (confidence, class) = (outputs.at::<f32>(0)?, outputs.at::<i64>(1)?);
        let share =
            |digit: i64| class.iter().filter(|class| **class == digit).count() as f64 / class.len() as f64;
        Ok(((0..10).filter(|&digit| share(digit) >= 0.02).count(), confidence.mean().unwrap_or_default()))
    }
}
