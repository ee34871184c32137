//! Whole numbers and truth values: a rule with counts and flags, as a service would write it.

use paddle::attribute::network;

#[network]
pub mod discount {
    const EVERY: i32 = 10;

    /// The price in cents, and whether there is a gift.
    pub fn price(
        cents: Tensor<i64, _, 1>,
        count: Tensor<i32, _, 1>,
        member: Tensor<bool, _, 1>,
        sale: Tensor<bool>,
    ) -> (Tensor<i64, _, 1>, Tensor<bool, _, 1>) {
        let mut price = cents;
        if member && !sale {
            price -= price / 10;
        } else if sale {
            price = price / 2 + price % 2;
        }
        let gift = count % EVERY == 0 && count > 0 || member && count >= 5;
        (price, gift)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(discount::price())]
}
