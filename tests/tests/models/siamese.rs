//! A siamese network: two images go through one network, and a pair is pulled together or pushed apart.

use paddle::attribute::network;

#[network]
pub mod siamese {
    const MARGIN: f32 = 1.0;

    fn embed(x: Tensor<f32, _, 16>) -> Tensor<f32, _, 4> {
        let hidden = fc(x, 8, act = relu);
        fc(hidden, 4)
    }

    /// Both calls share the parameters that `param` names.
    fn distance(a: _, b: _) -> Tensor<f32, _, 1> {
        let difference = embed(a, param = "embed") - embed(b, param = "embed");
        sqrt(sum(square(difference), axis = 1, keep_dim = true) + 1e-6)
    }

    /// Contrastive loss (Hadsell et al. 2006).
    pub fn cost(a: Tensor<f32, _, 16>, b: Tensor<f32, _, 16>, same: Tensor<bool, _, 1>) -> Tensor<f32> {
        let d = distance(a, b);
        let loss = if same { square(d) } else { square(relu(MARGIN - d)) };
        mean(loss)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(siamese::cost())]
}
