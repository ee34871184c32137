//! What a network captures, and what it does not.

fn main() {
    let (width, rate) = (4_usize, 0.5);
    let _plain = paddle::network!(|x: Tensor<f32, _, 4>| fc(x, width));
    //~                                                        ^^^^^ unknown-variable
    let _nothing = paddle::network!(move |x: Tensor<f32, _, 4>| fc(x, 4));
    //~                             ^^^^ not-of-the-language
    let _decides = paddle::network!(move |x: Tensor<f32, _, 4>| {
        if width > 3 { fc(x, 1) } else { fc(x, 2) }
        //~^^^^^^^^^ undecided-size
    });
    drop(rate);
}
