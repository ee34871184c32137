//! An argument that `include_model!` does not have.

use paddle::attribute::network;

#[network]
pub mod small {
    include_model!("../included/small", batch = 8);
    //~                                 ^^^^^ not-of-the-language
}

fn main() {}
