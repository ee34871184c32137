//! A stack of blocks, each with parameters of its own.

use paddle::attribute::network;

#[network]
pub mod residual {
    //! Eight blocks, of which each adds to what it is fed.

    /// How many.
    const BLOCKS: usize = 8;

    fn block(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        let hidden = fc(x, 2 * 16, act = relu);
        x + fc(hidden, 16)
    }

    /// The mean square of the distance.
    pub fn cost(x: Tensor<f32, _, 16>, y: Tensor<f32, _, 16>) -> Tensor<f32> {
        let mut h = x;
        for i in 0..BLOCKS {
            h = block(h, param = "block{i}");
        }
        mean(square(h - y))
    }

    /// The first blocks alone share their parameters.
    pub fn first(x: Tensor<f32, _, 16>) -> _ {
        let mut h = x;
        for i in 0..=BLOCKS / 4 {
            h = block(h, param = "block{i}");
        }
        h
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let (cost, first) = (crate::model(residual::cost()), crate::model(residual::first()));
    assert_eq!([cost.parameters().count(), first.parameters().count()], [32, 12]);
    assert!(first.parameters().all(|id| cost.parameters().any(|of| cost.var(of).name == first.var(id).name)));
    vec![cost, first]
}
