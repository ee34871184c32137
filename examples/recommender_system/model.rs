//! The model of ratings, and what has to be known to ask it: for `recommender_system`, which trains it, and for `serve`.

use paddle::Network;
use paddle::attribute::network;
use paddle::data::Categories;
use serde::{Deserialize, Serialize};

// ANCHOR: model
#[network]
pub(crate) mod recommender {
    /// Users and items have numbers from 1; 0 is whoever was never seen.
    const USERS: usize;
    const ITEMS: usize;
    /// How many words say what is known of ratings.
    const WORDS: usize;
    /// How many ratings there are to learn from.
    const RATINGS: usize;
    const RANK: usize = 8;

    /// What an item is worth, which depends on what is known of the rating, and to whose taste it is.
    fn item_tower(item: _, about: Tensor<f32, _, WORDS>) -> (_, _) {
        let worth = embedding(item, [ITEMS, 1], init = constant(0.0), decay = 10, param = "item.worth");
        let here = embedding(item, [ITEMS, WORDS], init = constant(0.0), decay = 45, param = "item.here");
        let taste = embedding(item, [ITEMS, RANK], init = normal(0.0, 0.1), decay = 40, param = "item.taste");
        (worth + sum(here * about, axis = 1, keep_dim = true), taste)
    }

    /// How content a user is, with such items, and what taste the user has. Of one who was never seen, what is known says all of it.
    fn user_tower(user: _, about: Tensor<f32, _, WORDS>) -> (_, _) {
        if user == 0 {
            let content = fc(about, 1, init = constant(0.0), decay = 20, param = "newcomer.content");
            (content, fc(about, RANK, init = constant(0.0), decay = 40, param = "newcomer.taste"))
        } else {
            let content =
                embedding(user, [USERS, 1], init = constant(0.0), decay = 26, param = "user.content");
            let with =
                embedding(user, [USERS, WORDS], init = constant(0.0), decay = 150, param = "user.with");
            let taste =
                embedding(user, [USERS, RANK], init = normal(0.0, 0.1), decay = 40, param = "user.taste");
            (content + sum(with * about, axis = 1, keep_dim = true), taste)
        }
    }

    fn predict(user: _, item: _, about: Tensor<f32, _, WORDS>) -> Tensor<f32, _> {
        let all =
            fc(fc(about, 16, act = tanh, param = "all.hidden"), 1, bias_init = constant(3.0), param = "all");
        let (worth, of_item) = item_tower(item, about);
        let (content, of_user) = user_tower(user, about);
        let stars = all + worth + content + sum(of_item * of_user, axis = 1, keep_dim = true);
        reshape(stars, [])
    }

    /// The sum of squared errors over all ratings, as a batch lets it be expected: what a table is pulled to zero by, its `decay`, does not depend
    /// on how many ratings there are.
    pub fn cost(
        user: Tensor<i64, _>,
        item: Tensor<i64, _>,
        about: Tensor<f32, _, WORDS>,
        stars: Tensor<f32, _>,
    ) -> Tensor<f32> {
        mean(square(predict(user, item, about) - stars)) * RATINGS
    }

    pub fn rating(
        user: Tensor<i64, _>,
        item: Tensor<i64, _>,
        about: Tensor<f32, _, WORDS>,
    ) -> Tensor<f32, _> {
        predict(user, item, about)
    }
}
// ANCHOR_END: model

/// Names as numbers, and what is known of whom they belong to: it is fitted on ratings to learn from, and saved beside the parameters.
// ANCHOR: catalogue
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    pub(crate) users: Categories,
    pub(crate) items: Categories,
    pub(crate) words: Categories,
    /// The words about each user and each item, in the order of their numbers.
    pub(crate) about_users: Vec<Vec<String>>,
    pub(crate) about_items: Vec<Vec<String>>,
}

/// Who rates what, and a 1 for each word that is known.
pub(crate) type Question = recommender::rating::Row;
// ANCHOR_END: catalogue

/// Which part of a question is nothing that the catalogue has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Item,
    /// The word with this index.
    Word(usize),
}

impl Catalogue {
    /// The network that answers questions.
    pub(crate) fn network(&self) -> Result<Network<recommender::rating::Spec>, paddle::Error> {
        let (users, items, words) = (self.users.len(), self.items.len(), self.words.len());
        recommender::rating::with(recommender::rating::Sizes { USERS: users, ITEMS: items, WORDS: words })
    }

    /// What a user says of an item, and all that is known of that, as numbers. Words that no rating to learn from had are left out.
    pub(crate) fn row<'a>(&self, user: &str, item: &str, words: impl Iterator<Item = &'a str>) -> Question {
        let mut about = vec![0.0; self.words.len()];
        words.map(|word| self.words.id(word) as usize).filter(|&id| id > 0).for_each(|id| about[id] = 1.0);
        Question { user: self.users.id(user), item: self.items.id(item), about }
    }

    /// The row of a question from outside, with what the catalogue knows of the user and the item. A user may be unknown; items and
    /// words may not.
    pub(crate) fn question(&self, user: &str, item: &str, words: &[String]) -> Result<Question, Unknown> {
        let item_id = self.items.id(item) as usize;
        if item_id == 0 {
            return Err(Unknown::Item);
        }
        if let Some(at) = words.iter().position(|word| self.words.id(&word[..]) == 0) {
            return Err(Unknown::Word(at));
        }
        let known = (self.users.id(user) as usize).checked_sub(1).map(|at| &self.about_users[at][..]);
        let about = known.unwrap_or_default().iter().chain(&self.about_items[item_id - 1]).chain(words);
        Ok(self.row(user, item, about.map(String::as_str)))
    }
}
