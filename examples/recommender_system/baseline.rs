//! What `recommender_system` is compared with: biased matrix factorisation, whose settings are chosen by the ratings for validation.

use std::collections::HashMap;

use paddle::data::ratings::{Part, Rating, Ratings};
use paddle::data::{Factorisation, Factors};

use super::Judged;

/// What the best factorisation is worth.
pub(crate) struct Baseline {
    pub(crate) judged: Judged,
    pub(crate) chosen: Factors,
    /// Whether an item is told apart by what is known of the rating, too.
    pub(crate) is_fine: bool,
}

/// Fits factorisations to the ratings to learn from, and keeps the one that is best on those for validation. An item is its name; or its
/// name with all that is known of the rating, as of lectures of several semesters, so that the factorisation is told as much as the
/// towers are.
pub(crate) fn fit(all: &Ratings, seed: u64) -> Baseline {
    let [coarse, fine] = [false, true].map(|is_fine| tuned(all, is_fine, seed));
    if coarse.0 <= fine.0 { coarse.1 } else { fine.1 }
}

/// The best of one kind of items, and its error on the ratings for validation.
fn tuned(all: &Ratings, is_fine: bool, seed: u64) -> (f64, Baseline) {
    let mut numbers = HashMap::new();
    let number = |rating: &Rating| {
        let (about, next) = (if is_fine { rating.about.clone() } else { Vec::new() }, numbers.len());
        *numbers.entry((rating.item, about)).or_insert(next)
    };
    let items: Vec<usize> = all.ratings.iter().map(number).collect();
    let of_part = |part| -> Vec<(usize, usize, f64)> {
        let of_part = all.ratings.iter().zip(&items).filter(|(rating, _)| all.part(rating) == part);
        of_part.map(|(rating, &item)| (rating.user, item, rating.stars.into())).collect()
    };
    let [learned, validation, held_out, of_new] =
        [Part::Training, Part::Validation, Part::HeldOut, Part::OfNewUser].map(of_part);
    let fit = |settings| Factorisation::fit(&learned, all.users.len(), numbers.len(), settings);
    let best = |candidates: Vec<Factors>| {
        let tried = candidates.into_iter().map(|settings| (rmse(&validation, &fit(settings)), settings));
        tried.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are candidates")
    };

    // The factors of the biases without vectors, then the rank and the factor of the vectors.
    let settings = Factors { rank: 0, of_users: 0.0, of_items: 0.0, of_vectors: 0.0, rounds: 20, seed };
    let biases = [5.0, 10.0, 14.0, 20.0].into_iter().flat_map(|of_users| {
        [2.0, 4.0, 6.0, 10.0].map(|of_items| Factors { of_users, of_items, ..settings })
    });
    let without = best(biases.collect());
    let with = [1, 2, 4, 8].into_iter().flat_map(|rank| {
        [4.0, 8.0, 16.0, 24.0, 32.0].map(|of_vectors| Factors { rank, of_vectors, ..without.1 })
    });
    let with = best(with.collect());
    let (error, chosen) = if with.0 < without.0 { with } else { without };
    let fitted = fit(chosen);
    let judged = Judged { rmse: rmse(&held_out, &fitted), new_rmse: rmse(&of_new, &fitted) };
    (error, Baseline { judged, chosen, is_fine })
}

/// The root of the mean squared error. Of a user or an item without ratings, the bias and the vector are zero.
fn rmse(ratings: &[(usize, usize, f64)], fitted: &Factorisation) -> f64 {
    let errors = ratings.iter().map(|&(user, item, stars)| (fitted.rating(user, item) - stars).powi(2));
    (errors.sum::<f64>() / ratings.len().max(1) as f64).sqrt()
}
