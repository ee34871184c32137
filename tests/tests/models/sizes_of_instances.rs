//! Sizes that each instantiation has of its own, and sizes that are known at run time.

use paddle::attribute::network;

#[network]
pub mod instances {
    const CLASSES: usize;

    fn hidden(x: _, size: usize) -> _ {
        fc(x, size, act = relu)
    }

    pub fn narrow<const HIDDEN: usize>(x: Tensor<f32, _, 5>) -> Tensor<f32, _, { HIDDEN + 1 }> {
        fc(hidden(x, HIDDEN), HIDDEN + 1)
    }

    pub fn cost(x: Tensor<f32, _, 5>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(fc(hidden(x, 8), CLASSES), label))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let classes = ["cat", "dog", "none"];
    let cost = instances::cost::with(instances::cost::Sizes { CLASSES: classes.len() }).unwrap();
    vec![
        crate::model(instances::narrow::<3>()),
        crate::model(instances::narrow::<8>()),
        crate::model(cost),
    ]
}
