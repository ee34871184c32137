//! A mistake in a module whose sub-network another one imports is one error.

#[paddle::attribute::network]
mod parts {
    pub fn half(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
        x / tow
        //  ^^^ unknown-variable
    }
}

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        use crate::parts::half;
        half(x)
    });
}
