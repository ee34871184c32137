//! What a run did, in numbers.

use std::fmt;

use crate::program::{Located, Role};

/// How often the matrix products of a program were run, and on how many rows: counted where their kernels are launched.
///
/// What counts are the operators that say of themselves that they contract two inputs
/// ([`Operator::contraction`](crate::program::Operator::contraction)). Rows on which a branch does not run are not there, nor
/// are those that have left a loop, nor what lies behind the end of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    products: Vec<ProductStats>,
}

/// The matrix products of one place of the source, and of one role, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProductStats {
    /// Where in the user's source they come from, as in messages: of a layer, the call of it; of a gradient, that of which
    /// it is one. None in programs that know no places.
    pub place: Option<Located>,
    /// [`Role::Forward`], [`Role::Backward`] or [`Role::Optimize`]; a product that is itself the loss is a forward one.
    pub role: Role,
    /// How often a product was launched.
    pub launches: u64,
    /// The rows of all launches: the extents of the first axis of the first factor. With `x` of `[_, 13]`, those of `fc(x, 8)`
    /// are the rows of `_` that were there, forward as well as in each of its two gradients.
    pub rows: u64,
}

impl RunStats {
    /// The products, in the order of the plan: one entry for each place and role, also for those that were not launched.
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

/// A line for each entry: `src/main.rs:8:34: forward: 1 launch of 3 rows`.
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
