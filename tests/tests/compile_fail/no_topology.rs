//! A module without a network.

use paddle::attribute::network;

#[network]
pub mod line {
//~     ^^^^ no-topology
    fn predict(x: _) -> _ {
        fc(x, 1)
    }
}

fn main() {}
