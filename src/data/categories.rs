//! Names as classes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The names that a column has, as numbers from 1; 0 is for what is missing and for names that were not seen.
///
/// It is fitted on training rows, saved beside the parameters, and used again where they are: [`files::Notes`](crate::files::Notes).
///
/// ```
/// use paddle::data::Categories;
///
/// let streets = Categories::fit(["Elm", "Oak", "Elm", "Ash"]);
/// assert_eq!(["Ash", "Elm", "Oak", "Fir"].map(|name| streets.id(name)), [1, 2, 3, 0]);
/// assert_eq!((streets.id(None), streets.len(), streets.name(2)), (0, 4, Some("Elm")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Categories {
    /// Sorted, each once.
    names: Vec<String>,
}

impl Categories {
    /// The names of a column. What is missing is left out.
    pub fn fit<'a, N: Into<Option<&'a str>>>(column: impl IntoIterator<Item = N>) -> Self {
        Categories::fit_frequent(column, 1)
    }

    /// The names of a column that occur at least this often. Others count as not seen.
    ///
    /// ```
    /// let streets = paddle::data::Categories::fit_frequent(["Elm", "Oak", "Elm"], 2);
    /// assert_eq!(streets.names().collect::<Vec<_>>(), ["Elm"]);
    /// ```
    pub fn fit_frequent<'a, N: Into<Option<&'a str>>>(
        column: impl IntoIterator<Item = N>,
        least: usize,
    ) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        column.into_iter().filter_map(N::into).for_each(|name| *counts.entry(name).or_insert(0) += 1);
        let names = counts.into_iter().filter(|&(_, count)| count >= least);
        Categories { names: names.map(|(name, _)| name.to_string()).collect() }
    }

    /// The number of a name; 0 if it is missing or was not seen.
    pub fn id<'a>(&self, name: impl Into<Option<&'a str>>) -> i64 {
        let found =
            name.into().and_then(|name| self.names.binary_search_by(|other| other.as_str().cmp(name)).ok());
        found.map_or(0, |at| at as i64 + 1)
    }

    /// The name with this number.
    pub fn name(&self, id: i64) -> Option<&str> {
        let at = usize::try_from(id).ok()?.checked_sub(1)?;
        self.names.get(at).map(String::as_str)
    }

    /// The names, in the order of their numbers from 1.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// How many numbers there are, 0 included: the number of rows of an embedding.
    pub fn len(&self) -> usize {
        self.names.len() + 1
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl TryFrom<Vec<String>> for Categories {
    type Error = &'static str;

    fn try_from(names: Vec<String>) -> Result<Self, &'static str> {
        let is_sorted = names.windows(2).all(|pair| pair[0] < pair[1]);
        if is_sorted {
            Ok(Categories { names })
        } else {
            Err("the names are not sorted, or one is there twice")
        }
    }
}

impl From<Categories> for Vec<String> {
    fn from(categories: Categories) -> Self {
        categories.names
    }
}
