//! Counters of a run's matrix products.

use std::fmt;

use crate::program::{Located, Role};

/// How often the matrix products of a program were launched, and on how many rows.
///
/// An operator counts as a product if it contracts two inputs
/// ([`Operator::contraction`](crate::ops::Operator::contraction)). The rows are those on which it ran: not the rows of
/// other branches, nor rows that have left a loop, nor padding behind the end of a sequence.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    products: Vec<ProductStats>,
}

impl Clone for RunStats {
    fn clone(&self) -> Self {
        RunStats { products: self.products.clone() }
    }

    /// Allocates nothing if both are counters of one plan.
    fn clone_from(&mut self, source: &Self) {
        let (ours, theirs) = (&mut self.products, &source.products);
        let same = |(ours, theirs): (&ProductStats, &ProductStats)| {
            (&ours.place, ours.role) == (&theirs.place, theirs.role)
        };
        if ours.len() != theirs.len() || !ours.iter().zip(theirs).all(same) {
            ours.clone_from(theirs);
        }
        for (ours, theirs) in ours.iter_mut().zip(theirs) {
            (ours.launches, ours.rows) = (theirs.launches, theirs.rows);
        }
    }
}

/// The sum over all matrix products of one place in the source and one role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProductStats {
    /// The place of the products in the user's source, as in messages: the call of the layer, also for the gradients
    /// of the layer. None in programs without places.
    pub place: Option<Located>,
    /// [`Role::Forward`], [`Role::Backward`] or [`Role::Optimize`]. A product that computes the loss itself is
    /// [`Role::Forward`].
    pub role: Role,
    /// The number of launches.
    pub launches: u64,
    /// The sum over all launches of the extent of the first factor's first axis. For `fc(x, 8)` with `x` of `[_, 13]`
    /// each launch adds the rows of `_`, forward and in both gradients.
    pub rows: u64,
}

impl RunStats {
    /// The products, in the order of the plan. There is one entry for each place and role, also if it was never
    /// launched.
    pub fn products(&self) -> &[ProductStats] {
        &self.products
    }

    /// The number of the counter for a place and a role.
    pub(super) fn counter(&mut self, place: Option<Located>, role: Role) -> usize {
        let role = if role == Role::Loss { Role::Forward } else { role };
        let known = self.products.iter().position(|known| known.place == place && known.role == role);
        known.unwrap_or_else(|| {
            self.products.push(ProductStats { place, role, launches: 0, rows: 0 });
            self.products.len() - 1
        })
    }

    #[inline]
    pub(super) fn count(&mut self, counter: usize, rows: usize) {
        let product = &mut self.products[counter];
        product.launches += 1;
        product.rows += rows as u64;
    }

    pub(super) fn clear(&mut self) {
        for product in &mut self.products {
            (product.launches, product.rows) = (0, 0);
        }
    }
}

/// Writes a line for each entry: `src/main.rs:8:34: forward: 1 launch of 3 rows`.
impl fmt::Display for RunStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ProductStats { place, role, launches, rows } in &self.products {
            if let Some(place) = place {
                write!(f, "{place}: ")?;
            }
            let launch = if *launches == 1 { "launch" } else { "launches" };
            let row = if *rows == 1 { "row" } else { "rows" };
            writeln!(f, "{}: {launches} {launch} of {rows} {row}", role.name())?;
        }
        Ok(())
    }
}
