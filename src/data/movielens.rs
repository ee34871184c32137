//! MovieLens' ratings of films (Harper and Konstan 2015), from a folder that the user has.
//!
//! The files are those of either of two formats: `ratings.dat`, `users.dat` and `movies.dat`, with `::` between fields, as the data
//! set of a million ratings has them; or `ratings.csv` and `movies.csv`, as newer ones have, in which nothing is known of users.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::shortened;
use super::ratings::{Party, Rating, Ratings};
use super::{DataError, Delimited};
use crate::files::disk;

/// Reads a folder's ratings, from 0.5 to 5. Of users is known the sex, the age and the occupation, as numbers of MovieLens, if there is
/// a file of users; of films are known the genres.
///
/// ```
/// use paddle::data::movielens;
///
/// let error = movielens::read("no/such/folder").unwrap_err();
/// assert!(error.to_string().starts_with("no/such/folder/ratings.csv"));
/// ```
///
/// # Errors
/// A file cannot be read, or does not have its format: with the line.
pub fn read(folder: impl AsRef<Path>) -> Result<Ratings, DataError> {
    let folder = folder.as_ref();
    if disk::metadata(&folder.join("ratings.dat")).is_ok() { of_dat(folder) } else { of_csv(folder) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RatingRow {
    user_id: String,
    movie_id: String,
    rating: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MovieRow {
    movie_id: String,
    genres: String,
}

fn of_csv(folder: &Path) -> Result<Ratings, DataError> {
    let mut all = Collected::default();
    // A header, then a row a line: no field of these files has line breaks.
    let ratings = folder.join("ratings.csv");
    let rows = Delimited::<RatingRow>::csv(&ratings)?.rows()?;
    for (movie, line) in Delimited::<MovieRow>::csv(folder.join("movies.csv"))?.rows()?.iter().zip(2..) {
        all.item(&folder.join("movies.csv"), line, &movie.movie_id, &movie.genres)?;
    }
    for (row, line) in rows.iter().zip(2..) {
        all.users.number(&row.user_id, Vec::new);
        all.rating(&ratings, line, [&row.user_id, &row.movie_id, &row.rating])?;
    }
    Ok(all.ratings())
}

fn of_dat(folder: &Path) -> Result<Ratings, DataError> {
    let mut all = Collected::default();
    for_each_line(&folder.join("users.dat"), |path, line, [user, sex, age, occupation, _]: [&str; 5]| {
        let about = || vec![format!("sex {sex}"), format!("age {age}"), format!("occupation {occupation}")];
        all.users.add(path, line, user, about)
    })?;
    for_each_line(&folder.join("movies.dat"), |path, line, [movie, _, genres]: [&str; 3]| {
        all.item(path, line, movie, genres)
    })?;
    for_each_line(&folder.join("ratings.dat"), |path, line, [user, movie, stars, _]: [&str; 4]| {
        all.rating(path, line, [user, movie, stars])
    })?;
    Ok(all.ratings())
}

/// Calls `each` with the number of each line and its fields, between `::`. Letters that are not UTF-8, as in titles, are replaced.
fn for_each_line<const N: usize>(
    path: &Path,
    mut each: impl FnMut(&Path, usize, [&str; N]) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let bytes = disk::read(path).map_err(|source| DataError::Io { path: path.into(), source })?;
    for (text, line) in String::from_utf8_lossy(&bytes).lines().zip(1..) {
        let fields: Vec<&str> = text.split("::").collect();
        let found = fields.len();
        let fields = fields.try_into().map_err(|_| DataError::Columns {
            path: path.into(),
            line,
            found,
            expected: N,
        })?;
        each(path, line, fields)?;
    }
    Ok(())
}

/// Parties, with their numbers by name.
#[derive(Default)]
struct Parties {
    numbers: HashMap<String, usize>,
    all: Vec<Party>,
}

impl Parties {
    /// The number of a party, which is added if it is new.
    fn number(&mut self, name: &str, about: impl FnOnce() -> Vec<String>) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.numbers.insert(name.into(), self.all.len());
        self.all.push(Party { name: name.into(), about: about() });
        self.all.len() - 1
    }

    fn add(
        &mut self,
        path: &Path,
        line: usize,
        name: &str,
        about: impl FnOnce() -> Vec<String>,
    ) -> Result<(), DataError> {
        let before = self.all.len();
        match self.number(name, about) == before {
            true => Ok(()),
            false => Err(wrong(path, line, 1, format!("`{}` is there twice", shortened(name)))),
        }
    }

    fn find(&self, path: &Path, line: usize, column: usize, name: &str) -> Result<usize, DataError> {
        let found = self.numbers.get(name).copied();
        found.ok_or_else(|| wrong(path, line, column, format!("no other file has `{}`", shortened(name))))
    }
}

#[derive(Default)]
struct Collected {
    users: Parties,
    items: Parties,
    all: Vec<Rating>,
}

impl Collected {
    fn item(&mut self, path: &Path, line: usize, name: &str, genres: &str) -> Result<(), DataError> {
        self.items.add(path, line, name, || genres.split('|').map(str::to_string).collect())
    }

    fn rating(&mut self, path: &Path, line: usize, [user, item, stars]: [&str; 3]) -> Result<(), DataError> {
        let (user, item) = (self.users.find(path, line, 1, user)?, self.items.find(path, line, 2, item)?);
        let parsed = stars.parse().ok().filter(|stars| (0.5..=5.0).contains(stars));
        let stars = parsed.ok_or_else(|| {
            wrong(path, line, 3, format!("found `{}`, expected a rating from 0.5 to 5", shortened(stars)))
        })?;
        self.all.push(Rating { user, item, about: Vec::new(), stars });
        Ok(())
    }

    fn ratings(self) -> Ratings {
        Ratings { users: self.users.all, items: self.items.all, ratings: self.all }
    }
}

fn wrong(path: &Path, line: usize, column: usize, why: String) -> DataError {
    DataError::Value { path: PathBuf::from(path), line, column, why }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with these files. Each test has its own.
    fn folder(test: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("paddle-movielens-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
        folder
    }

    const USERS: (&str, &[u8]) = ("users.dat", b"1::F::25::4::90210\n2::M::56::16::70072\n");
    // The title of the second film is in Latin 1.
    const MOVIES: (&str, &[u8]) =
        ("movies.dat", b"10::Toy (1995)::Animation|Comedy\n20::\xc9t\xe9, L' (1996)::Drama\n");

    #[test]
    fn both_formats() {
        let dat =
            folder("dat", &[USERS, MOVIES, ("ratings.dat", b"2::20::4::978300760\n1::10::1::978302109\n")]);
        let all = read(&dat).unwrap();
        fs::remove_dir_all(&dat).unwrap();
        let rows: Vec<_> =
            all.ratings.iter().map(|rating| (rating.user, rating.item, rating.stars)).collect();
        assert_eq!(rows, [(1, 1, 4.0), (0, 0, 1.0)]);
        let about: Vec<_> = all.about(&all.ratings[1]).collect();
        assert_eq!(about, ["sex F", "age 25", "occupation 4", "Animation", "Comedy"]);

        let csv = folder(
            "csv",
            &[
                ("movies.csv", b"movieId,title,genres\n7,\"Usual Suspects, The\",Crime|Mystery\n"),
                ("ratings.csv", b"userId,movieId,rating,timestamp\n3,7,4.5,964982703\n"),
            ],
        );
        let all = read(&csv).unwrap();
        fs::remove_dir_all(&csv).unwrap();
        assert_eq!((&all.users[0].name[..], all.users[0].about.len(), all.ratings[0].stars), ("3", 0, 4.5));
        assert_eq!(all.about(&all.ratings[0]).collect::<Vec<_>>(), ["Crime", "Mystery"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases: [(&[u8], &str); 5] = [
            (b"1::10::5\n", "ratings.dat, line 1: found 3 columns, expected 4"),
            (b"1::10::5::0\n3::10::5::0\n", "ratings.dat, line 2, column 1: no other file has `3`"),
            (b"1::30::5::0\n", "ratings.dat, line 1, column 2: no other file has `30`"),
            (b"1::10::6::0\n", "ratings.dat, line 1, column 3: found `6`, expected a rating from 0.5 to 5"),
            (
                b"1::10::NaN::0\n",
                "ratings.dat, line 1, column 3: found `NaN`, expected a rating from 0.5 to 5",
            ),
        ];
        for (k, (ratings, expected)) in cases.into_iter().enumerate() {
            let folder = folder(&format!("wrong{k}"), &[USERS, MOVIES, ("ratings.dat", ratings)]);
            let error = read(&folder).unwrap_err().to_string();
            fs::remove_dir_all(&folder).unwrap();
            assert_eq!(error.replace(&format!("{}/", folder.display()), ""), expected);
        }
        let twice = folder(
            "twice",
            &[("users.dat", b"1::F::25::4::0\n1::M::25::4::0\n"), MOVIES, ("ratings.dat", b"")],
        );
        let error = read(&twice).unwrap_err().to_string();
        fs::remove_dir_all(&twice).unwrap();
        assert!(error.ends_with("users.dat, line 2, column 1: `1` is there twice"), "{error}");
    }
}
