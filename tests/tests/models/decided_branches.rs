//! `if` on constants: a branch that is not taken may be of any type, and is not part of the program.

use paddle::attribute::network;

#[network]
pub mod decided {
    const DEPTH: usize = 2;
    const DROP: bool = !(DEPTH > 3 || DEPTH == 1);
    const DEEP: bool = DEPTH > 1 && !DROP;

    fn head(x: _) -> _ {
        if DEEP {
            let hidden = fc(x, 64);
            (hidden, fc(hidden, 1))
        } else if DEPTH == 2 {
            fc(x, 1)
        } else {
            x
        }
    }

    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        let mut h = x;
        if DROP {
            h = h * 0.5;
        } else {
            h = fc(h, 7);
        }
        if DEEP {
            h = fc(h, 3);
        }
        head(h)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let model = crate::model(decided::price());
    assert_eq!(model.parameter_names().len(), 2);
    vec![model]
}
