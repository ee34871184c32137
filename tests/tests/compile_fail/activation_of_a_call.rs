//! A sub-network takes an activation; this is none.

#[paddle::attribute::network]
mod line {
    fn brick(x: _, #[default = relu] act: Activation) -> _ {
        fc(x, 4, act = act)
    }

    pub fn cost(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        mean(brick(x, act = thanh))
        //~                 ^^^^^ unknown-activation
    }
}

fn main() {
    let _ = line::cost();
}
