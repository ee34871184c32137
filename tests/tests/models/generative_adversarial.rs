//! A generative adversarial network: two networks train against each other, and share parameters by name.

use paddle::attribute::network;

#[network]
pub mod gan {
    const NOISE: usize = 4;
    const SAMPLE: usize = 6;

    /// Noise into samples.
    fn generate(noise: Tensor<f32, _, NOISE>) -> Tensor<f32, _, SAMPLE> {
        let hidden = fc(noise, 16, act = relu, param = "G.hidden");
        fc(hidden, SAMPLE, param = "G.out")
    }

    /// The logit of a sample being real.
    fn discriminate(sample: Tensor<f32, _, SAMPLE>) -> Tensor<f32, _, 1> {
        let hidden = fc(sample, 16, act = leaky_relu, param = "D.hidden");
        fc(hidden, 1, param = "D.out")
    }

    fn should_be_true(logit: _) -> _ {
        mean(softplus(-logit))
    }

    fn should_be_false(logit: _) -> _ {
        mean(softplus(logit))
    }

    /// Trains the generator, through the discriminator.
    pub fn d0(noise: Tensor<f32, _, NOISE>) -> Tensor<f32> {
        should_be_true(discriminate(generate(noise)))
    }

    /// Trains the discriminator.
    pub fn d1(image: Tensor<f32, _, SAMPLE>, noise: Tensor<f32, _, NOISE>) -> (Tensor<f32>, _, _) {
        let (real, fake) = (discriminate(image), discriminate(generate(noise)));
        let on_real = should_be_true(real);
        let on_fake = should_be_false(fake);
        (on_real + on_fake, on_real, on_fake)
    }

    /// Draws samples.
    pub fn generator(noise: Tensor<f32, _, NOISE>) -> _ {
        generate(noise)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let parameters = paddle::parameters![gan::d0, gan::d1, gan::generator].unwrap();
    assert_eq!(parameters.len(), 8);
    vec![crate::model(gan::d0()), crate::model(gan::d1()), crate::model(gan::generator())]
}
