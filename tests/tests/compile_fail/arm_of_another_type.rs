//! A number as the pattern of a text.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        const MODE: &str = "train";
        match MODE {
            3 => fc(x, 1),
         //~^ constant
            _ => fc(x, 2),
        }
    });
}
