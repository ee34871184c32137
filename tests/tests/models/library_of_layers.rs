//! Layers of one's own: sizes, activations, words and numbers with defaults; others import them.

use paddle::attribute::network;

/// A library.
#[network]
pub mod blocks {
    /// How strong the shortcut is.
    pub(crate) const SHORTCUT: f32 = 0.5;

    /// A layer, and what is left of its input.
    pub fn leaky(
        x: Tensor<f32, _, D>,
        #[default = 16] hidden: usize,
        #[default = relu] act: Activation,
        #[default = SHORTCUT] keep: f32,
    ) -> Tensor<f32, _, D> {
        keep * x + fc(fc(x, hidden, act = act), D)
    }

    /// Images to features, by the kind of pooling that is asked for.
    pub fn features(image: _, filters: usize, #[default = avg] kind: Word) -> _ {
        let maps = conv2d(image, filters, 3, act = relu);
        pool2d(maps, 2, kind = kind)
    }
}

/// Who uses it.
#[network]
pub mod user {
    use super::blocks::{SHORTCUT, features, leaky as block};

    pub fn cost(image: Tensor<f32, _, 1, 6, 6>, y: Tensor<f32, _, 4>) -> Tensor<f32> {
        let (soft, hard) = (features(image, 3), features(image, 3, kind = max, param = "hard"));
        let h = fc([soft, hard], 4);
        let h = block(h, param = "first");
        let h = block(h, hidden = 3, act = tanh, keep = 2.0 * SHORTCUT, param = "second");
        mean(square(h - y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(user::cost())]
}
