//! Biased matrix factorisation, fitted to the end: what models of ratings are compared with.

use super::lbfgs::dot;
use crate::reader::Random;

/// Ratings as a mean, a bias of each user and of each item, and the product of a vector of each:
/// `m + bᵤ + bᵢ + pᵤ · qᵢ`. Koren, Bell and Volinsky, "Matrix factorization techniques for recommender systems", 2009.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorisation {
    mean: f64,
    /// Of each user: 1, then its bias, then its vector. Of each item: its bias, then 1, then its vector.
    users: Vec<Vec<f64>>,
    items: Vec<Vec<f64>>,
}

/// Settings of a [`Factorisation`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// The number of elements of a vector.
    pub rank: usize,
    /// The factor of the squares of users' biases in the cost.
    pub of_users: f64,
    /// The factor of the squares of items' biases in the cost.
    pub of_items: f64,
    /// The factor of the squares of vectors in the cost.
    pub of_vectors: f64,
    /// How often users, and then items, are solved for.
    pub rounds: usize,
    /// Of the vectors at first.
    pub seed: u64,
}

impl Factorisation {
    /// Fits ratings, as numbers of user and item with the rating, of so many users and items. It minimises the sum of squared errors and of
    /// the weighted squares of all biases and vectors, by turns for users and for items, each of which is a linear system: alternating
    /// least squares.
    ///
    /// ```
    /// use paddle::data::{Factorisation, Factors};
    ///
    /// // Users 0 and 2 like the first item and neither of the others, users 1 and 3 the other way around.
    /// let stars = |user, item| if (user % 2 == 0) == (item == 0) { 5.0 } else { 1.0 };
    /// let pairs = (0..4).flat_map(|user| [0, 1, 2].map(|item| (user, item)));
    /// let ratings: Vec<_> = pairs.filter(|&pair| pair != (0, 2)).map(|(user, item)| (user, item, stars(user, item))).collect();
    /// let settings = Factors { rank: 1, of_users: 0.1, of_items: 0.1, of_vectors: 0.1, rounds: 50, seed: 1 };
    /// let fitted = Factorisation::fit(&ratings, 4, 3, settings);
    /// assert!(fitted.rating(0, 2) < 2.0 && fitted.rating(1, 2) > 4.0);
    /// ```
    pub fn fit(ratings: &[(usize, usize, f64)], users: usize, items: usize, settings: Factors) -> Self {
        let Factors { rank, of_users, of_items, of_vectors, rounds, seed } = settings;
        let mean = ratings.iter().map(|&(.., stars)| stars).sum::<f64>() / ratings.len().max(1) as f64;
        let mut random = Random::new(seed);
        let mut party = |own: usize| {
            let mut all = vec![0.0, 0.0];
            all[1 - own] = 1.0;
            all.extend((0..rank).map(|_| 0.1 * f64::from(random.normal())));
            all
        };
        let mut fitted = Factorisation {
            mean,
            users: (0..users).map(|_| party(1)).collect(),
            items: (0..items).map(|_| party(0)).collect(),
        };
        let (mut by_user, mut by_item) = (vec![Vec::new(); users], vec![Vec::new(); items]);
        for &(user, item, stars) in ratings {
            by_user[user].push((item, stars - mean));
            by_item[item].push((user, stars - mean));
        }
        for _ in 0..rounds {
            solve(&mut fitted.users, &fitted.items, &by_user, 1, [of_users, of_vectors]);
            solve(&mut fitted.items, &fitted.users, &by_item, 0, [of_items, of_vectors]);
        }
        fitted
    }

    /// What the user would say of the item. The bias and the vector of whoever has no rating are zero.
    pub fn rating(&self, user: usize, item: usize) -> f64 {
        self.mean + dot(&self.users[user], &self.items[item])
    }
}

/// Solves for the bias, at `own`, and the vector of each of these parties, with those of the others as they are. What is rated `of` each is the
/// other party, and by how much the rating is above the mean. Those without ratings become zero.
fn solve(
    parties: &mut [Vec<f64>],
    others: &[Vec<f64>],
    of: &[Vec<(usize, f64)>],
    own: usize,
    [of_bias, of_vectors]: [f64; 2],
) {
    for (party, of) in parties.iter_mut().zip(of) {
        // The unknowns are the bias and the vector; the other's bias is known.
        let size = party.len() - 1;
        let place = |k: usize| if k == 0 { own } else { k + 1 };
        let (mut matrix, mut right) = (vec![vec![0.0; size]; size], vec![0.0; size]);
        for &(other, above) in of {
            let other = &others[other];
            let left = above - other[1 - own];
            for i in 0..size {
                right[i] += other[place(i)] * left;
                (0..=i).for_each(|j| matrix[i][j] += other[place(i)] * other[place(j)]);
            }
        }
        (0..size).for_each(|i| matrix[i][i] += if i == 0 { of_bias } else { of_vectors });
        cholesky(&mut matrix, &mut right);
        (0..size).for_each(|k| party[place(k)] = right[k]);
    }
}

/// Solves `matrix · x = right` in place: Cholesky. The matrix is symmetric and positive definite; its lower half is read.
fn cholesky(matrix: &mut [Vec<f64>], right: &mut [f64]) {
    for i in 0..right.len() {
        for j in 0..=i {
            let left = matrix[i][j] - dot(&matrix[i][..j], &matrix[j][..j]);
            matrix[i][j] = if i == j { left.sqrt() } else { left / matrix[j][j] };
        }
        right[i] = (right[i] - dot(&matrix[i][..i], &right[..i])) / matrix[i][i];
    }
    for i in (0..right.len()).rev() {
        right[i] /= matrix[i][i];
        (0..i).for_each(|j| right[j] -= matrix[i][j] * right[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_by_hand() {
        let (mut matrix, mut right) = (vec![vec![4.0, 0.0], vec![2.0, 5.0]], vec![8.0, 12.0]);
        cholesky(&mut matrix, &mut right);
        assert_eq!(right, [1.0, 2.0]);
    }

    /// No change of a number makes the cost less.
    #[test]
    fn it_is_a_minimum() {
        let mut random = Random::new(3);
        let ratings: Vec<_> =
            (0..200).map(|k| (k % 20, random.below(10), random.between(1, 5) as f64)).collect();
        let settings =
            Factors { rank: 2, of_users: 2.0, of_items: 1.0, of_vectors: 0.5, rounds: 500, seed: 1 };
        let fitted = Factorisation::fit(&ratings, 20, 10, settings);
        let cost = |fitted: &Factorisation| {
            let error =
                |&(user, item, stars): &(usize, usize, f64)| (fitted.rating(user, item) - stars).powi(2);
            let sum = |all: &[Vec<f64>], own: usize, of: f64| {
                let squares =
                    |party: &Vec<f64>| of * party[own].powi(2) + 0.5 * dot(&party[2..], &party[2..]);
                all.iter().map(squares).sum::<f64>()
            };
            ratings.iter().map(error).sum::<f64>() + sum(&fitted.users, 1, 2.0) + sum(&fitted.items, 0, 1.0)
        };
        let least = cost(&fitted);
        for (at, by) in [(1, 0.01), (1, -0.01), (2, 0.01), (3, -0.01)] {
            let mut other = fitted.clone();
            other.users[4][at] += by;
            assert!(cost(&other) > least, "{at} {by}");
        }
        for (at, by) in [(0, 0.01), (0, -0.01), (2, -0.01), (3, 0.01)] {
            let mut other = fitted.clone();
            other.items[7][at] += by;
            assert!(cost(&other) > least, "{at} {by}");
        }
    }
}
