//! Everything of a module imported.

#[paddle::attribute::network]
mod line {
    use super::parts::*;
    //~               ^ not-of-the-language

    pub fn cost(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        mean(tower(x))
    }
}

fn main() {
    let _ = line::cost();
}
