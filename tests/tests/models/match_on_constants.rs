//! `match` on constants: literals, ranges, alternatives, names, guards, tuples.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 8>| {
        const KIND: &str = "tanh";
        const WIDE: usize = 9;
        const NONE: usize = 0;
        let mut h = x;
        for i in 0..6 {
            h = match i {
                NONE => h + 1.0,
                1 | 2 => h * 2.0,
                3..=4 if WIDE > 100 => fc(h, 1000, param = "wide"),
                3.. => match KIND {
                    "relu" => relu(h),
                    "tanh" => tanh(h),
                    _ => h,
                },
                n => h * n,
            };
        }
        match (WIDE % 2, KIND) {
            (0, _) => h,
            (rest, "tanh") if rest == 1 => {
                let (a, b) = (h, rest);
                a * b
            }
            (_, other) => fc(h, 2, param = other),
        }
    });
    let text = net.program().unwrap().to_string();
    assert_eq!(text.matches(" = tanh(").count(), 3, "{text}");
    vec![crate::model(net)]
}
