//! Sub-networks that are generic over shapes: `_`, dimensions that are named anew at each call, closures.

use paddle::attribute::network;

#[network]
pub mod generic {
    /// Twice as wide: the dimension is another one at each call.
    fn twice(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        x + x
    }

    fn any(x: _) -> _ {
        tanh(x)
    }

    /// Both widths go through the same parts.
    pub fn both(x: Tensor<f32, _, 4>, y: Tensor<f32, _, 6>) -> (Tensor<f32, _, 4>, Tensor<f32, _, 6>) {
        let (a, b) = (twice(any(x)), twice(any(y)));
        let half = |x| x * 0.5;
        (half(a), half(b))
    }

    /// A closure knows the dimensions that are named where it is defined.
    fn deep(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        let back = |v| fc(v, D);
        let add = |v: Tensor<f32, _, D>| v + x;
        add(back(fc(x, 2 * D)))
    }

    pub fn dimensions(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
        deep(x)
    }

    pub fn ranks(x: Tensor<f32, _, 2, 3>, y: Tensor<f32>) -> _ {
        (any(x), any(y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(generic::both()), crate::model(generic::ranks()), crate::model(generic::dimensions())]
}
