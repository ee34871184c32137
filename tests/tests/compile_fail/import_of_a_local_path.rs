//! A sub-network that reads a path which only its own module sees is imported.

const WIDTH: usize = 4;

#[paddle::attribute::network]
mod parts {
    pub fn wide(x: Tensor<f32, _, super::WIDTH>) -> _ {
        x + 1.0
    }
}

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        use crate::parts::wide;
        //~               ^^^^ not-importable
        wide(x)
    });
}
