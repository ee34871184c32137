//! Texts that decide.

use paddle::attribute::network;

#[network]
pub mod modes {
    const MODE: &str = "train";

    fn activate(x: _, kind: _) -> _ {
        match kind {
            "relu" => relu(x),
            "tanh" => tanh(x),
            _ => x,
        }
    }

    pub fn cost(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        let h = activate(fc(x, 4), "tanh");
        let kind = "relu";
        let h = activate(fc(h, 4), kind);
        if MODE == "train" && MODE != "infer" { mean(square(h)) } else { h }
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(modes::cost())]
}
