//! A value that the model does not have.

use paddle::attribute::network;

#[network]
pub mod small {
    include_model!("../included/small", name = trunk, outputs = ["flatten_1.tmp_0"]);
    //~            ^^^^^^^^^^^^^^^^^^^ model
}

fn main() {}
