//! A sub-network whose size is given at run time is imported.

#[paddle::attribute::network]
mod parts {
    const WORDS: usize;
    const MORE: usize = WORDS + 1;

    pub fn wide(x: Tensor<f32, _, MORE>) -> _ {
        x + 1.0
    }

    pub fn half<const N: usize>(x: Tensor<f32, _, N>) -> _ {
        x / 2.0
    }
}

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        use crate::parts::{wide, half};
        //~                ^^^^ not-importable
        //~                      ^^^^ not-importable
        half(wide(x))
    });
}
