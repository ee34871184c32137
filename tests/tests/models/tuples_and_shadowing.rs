//! Tuples in tuples, several results, shadowing, and variables that are assigned later.

use paddle::attribute::network;

#[network]
pub mod several {
    fn split(pair: (_, _)) -> ((_, _), _) {
        let (a, b) = pair;
        ((b, a), a * b)
    }

    pub fn results(x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>) -> _ {
        let ((x, y), product) = split((x, y));
        let x = x - y;
        let x = {
            let y = x * 2.0;
            y + 1.0
        };
        let chosen;
        if 2 > 1 {
            chosen = product;
        } else {
            chosen = x;
        }
        let (mut first, mut second) = (x, chosen);
        (first, second) = (second, first);
        first += y;
        second -= y;
        (first, second)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let model = crate::model(several::results());
    let names: Vec<&str> = model.outputs().iter().map(|&var| model.var(var).name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    vec![model]
}
