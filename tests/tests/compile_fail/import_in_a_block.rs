//! An import inside of a branch.

#[paddle::attribute::network]
mod parts {
    pub fn half(x: Tensor<f32, _, 4>) -> _ {
        x / 2.0
    }
}

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        if mean(x) > 0.0 { use crate::parts::half; half(x) } else { x }
        //~                ^^^^^^^^^^^^^^^^^^^^^^^ not-of-the-language
    });
}
