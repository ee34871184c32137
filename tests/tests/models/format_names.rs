//! Names of parameters from constants.

use paddle::attribute::network;

#[network]
pub mod towers {
    const TOWER: &str = "left";
    const NAMES: [&str; 2] = ["near", "far"];

    fn tower(x: _) -> _ {
        let mut h = x;
        for i in 0..2 {
            h = fc(h, 4, act = tanh, param = "{TOWER}.layer{i}");
        }
        h
    }

    pub fn both(x: Tensor<f32, _, 4>) -> _ {
        let mut sum = tower(x);
        for name in NAMES {
            sum += fc(x, 4, param = name);
        }
        sum + fc(x, 4, param = NAMES[0]) + fc(x, 4, param = "braces{TOWER}")
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let model = crate::model(towers::both());
    let expected = ["left.layer0", "left.layer1", "near", "far", "bracesleft"];
    let expected: Vec<String> = expected.iter().flat_map(|name| [format!("{name}.w"), format!("{name}.b")]).collect();
    assert_eq!(model.parameter_names(), expected);
    vec![model]
}
