//! A size that is known at run time belongs to a module, which has a place for it.

use paddle::network;

fn main() {
    #[rustfmt::skip]
    let _ = network!(|x: Tensor<f32, _, 4>| { const WORDS: usize; relu(x) });
    //~                                       ^^^^^^^^^^^^^^^^^^^ not-of-the-language
}
