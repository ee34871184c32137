//! Ratings of items by users, with what is known of both.

use super::split::is_held_out;

/// Ratings of items by users. [`evaluations`](super::evaluations) and [`movielens`](super::movielens) read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ratings {
    /// Who rates.
    pub users: Vec<Party>,
    /// What is rated.
    pub items: Vec<Party>,
    /// All ratings, in the order of the file.
    pub ratings: Vec<Rating>,
}

/// A user or an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Party {
    /// How it is called.
    pub name: String,
    /// What is known of it, in words: `female`, `Comedy`.
    pub about: Vec<String>,
}

/// One rating.
#[derive(Clone, Debug, PartialEq)]
pub struct Rating {
    /// The number of the user, from 0.
    pub user: usize,
    /// The number of the item, from 0.
    pub item: usize,
    /// What is known of this rating alone, in words.
    pub about: Vec<String>,
    /// How much the user likes the item; more is better.
    pub stars: f32,
}

/// What a rating is for: [`Ratings::part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Models are fitted on it.
    Training,
    /// Settings are chosen by it.
    Validation,
    /// Models are judged by it.
    HeldOut,
    /// Models are judged by it, too: no rating of its user is for training or validation.
    OfNewUser,
}

impl Ratings {
    /// What a rating is for, by the names of its user and item: of the users one in 50 is new, and of the ratings of the others a
    /// tenth is for validation, and a tenth held out.
    ///
    /// ```
    /// use paddle::data::evaluations;
    /// use paddle::data::ratings::Part;
    ///
    /// let all = evaluations::ratings();
    /// let count = |part| all.ratings.iter().filter(|rating| all.part(rating) == part).count();
    /// let parts = [Part::Training, Part::Validation, Part::HeldOut, Part::OfNewUser].map(count);
    /// assert_eq!(parts, [58_273, 6_566, 7_276, 1_306]);
    /// ```
    pub fn part(&self, rating: &Rating) -> Part {
        let (user, item) = (&self.users[rating.user].name, &self.items[rating.item].name);
        // Keys that differ in their ends only would mostly fall together.
        if is_held_out(&format!("user {user} is new"), 50) {
            Part::OfNewUser
        } else if is_held_out(&format!("user {user} rates item {item}"), 10) {
            Part::HeldOut
        } else if is_held_out(&format!("item {item} is rated by user {user} to choose"), 10) {
            Part::Validation
        } else {
            Part::Training
        }
    }

    /// The ratings of a part.
    pub fn of_part(&self, part: Part) -> impl Iterator<Item = &Rating> {
        self.ratings.iter().filter(move |rating| self.part(rating) == part)
    }

    /// All that is known of a rating: of its user, of its item, and of itself.
    pub fn about<'a>(&'a self, rating: &'a Rating) -> impl Iterator<Item = &'a str> {
        let (user, item) = (&self.users[rating.user], &self.items[rating.item]);
        user.about.iter().chain(&item.about).chain(&rating.about).map(String::as_str)
    }
}
