//! An imported sub-network given one argument too many.

#[paddle::attribute::network]
mod parts {
    pub fn half(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
        x / 2.0
    }
}

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        use crate::parts::half;
        half(x, 2)
        //~     ^ argument-count
    });
}
