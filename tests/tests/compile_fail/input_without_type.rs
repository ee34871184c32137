//! An input without a type.

fn main() {
    let _net = paddle::network!(|x| mean(fc(x, 1)));
    //~                          ^ input-type
}
