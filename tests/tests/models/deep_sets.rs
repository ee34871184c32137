//! A network of sets (Zaheer et al. 2017): elements go through one network, their sum through another.

use paddle::attribute::network;

#[network]
pub mod sets {
    fn pooled(points: Seq<Tensor<f32, 3>>) -> _ {
        let element = fc(points, 8, act = relu);
        let element = fc(element, 8);
        let (all, largest) = (sequence_pool(element, sum), sequence_pool(element, max));
        fc([all, largest], 4, act = tanh)
    }

    pub fn cost(points: Seq<Tensor<f32, 3>>, size: Tensor<f32, _, 1>) -> Tensor<f32> {
        let predicted = fc(pooled(points), 1);
        mean(square(predicted - size))
    }

    pub fn vector(points: Seq<Tensor<f32, 3>>) -> Tensor<f32, _, 4> {
        pooled(points)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(sets::cost()), crate::model(sets::vector())]
}
