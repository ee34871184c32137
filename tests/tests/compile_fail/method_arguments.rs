//! Methods of the language with arguments that they do not have.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>, ys: Seq<f32>| {
        let mut total = 0.0;
        for (x, y) in xs.zip() {
            //~          ^^^^^ argument-count
            total += x * y;
        }
        for y in ys.rev(2) {
            //~     ^^^^^^ argument-count
            total += y;
        }
        total
    });
}
