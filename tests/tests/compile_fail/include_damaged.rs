//! A model that is cut off.

use paddle::attribute::network;

#[network]
pub mod small {
    include_model!("models/damaged.pdmodel");
    //~            ^^^^^^^^^^^^^^^^^^^^^^^^ model
}

fn main() {}
