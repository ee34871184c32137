//! A call of an imported layer that does not fit what it does.

#[paddle::attribute::network]
mod parts {
    fn product(x: _, y: _) -> _ {
        x + y
    }

    pub fn gate(x: _, y: _, #[default = 1.0] scale: f32) -> _ {
        product(x, y) * scale
    }
}

#[paddle::attribute::network]
mod line {
    use crate::parts::gate;

    pub fn cost(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        let narrow = fc(x, 3);
        mean(gate(x, narrow))
        //~  ^^^^^^^^^^^^^^^ shape
    }
}

fn main() {
    let _ = line::cost();
}
