//! A model with operators that there are not, of which each is named.

use paddle::attribute::network;

#[network]
pub mod detector {
    include_model!("models/unsupported.pdmodel");
    //~            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ model
}

fn main() {}
