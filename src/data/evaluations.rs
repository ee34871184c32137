//! What students think of lectures: 73,421 ratings of lecturers at ETH Zurich, embedded.
//!
//! `src/data/README.md` has the origin, the licence and the conversion.

use std::collections::HashMap;
use std::path::Path;

use super::gzip;
use super::ratings::{Party, Rating, Ratings};

/// All ratings, from 1 to 5: users are students, of whom is known for how many semesters they have studied (2, 4, 6 or 8 and more);
/// items are lecturers, of whom is known the department; of each rating is known how many semesters ago the lecture was, and
/// whether it was held for another department, a service.
///
/// ```
/// use paddle::data::evaluations;
///
/// let all = evaluations::ratings();
/// assert_eq!((all.users.len(), all.items.len(), all.ratings.len()), (2_972, 1_128, 73_421));
/// let rating = &all.ratings[1];
/// assert_eq!((&all.users[rating.user].name[..], &all.items[rating.item].name[..], rating.stars), ("1", "1050", 2.0));
/// assert_eq!(all.about(rating).collect::<Vec<_>>(), ["semester 2", "department 6", "1 semester ago", "service"]);
/// ```
pub fn ratings() -> Ratings {
    let bytes = gzip::unpack(Path::new("evaluations.csv.gz"), include_bytes!("evaluations.csv.gz"));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| parse(&text)).expect("the embedded file is valid")
}

/// Parses lines, below one of names: student, lecturer, semester, how many semesters ago, service, department, rating.
fn parse(text: &str) -> Option<Ratings> {
    let mut all = Ratings::default();
    let (mut users, mut items) = (HashMap::new(), HashMap::new());
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [student, lecturer, semester, ago, service, department, stars] = fields[..] else { return None };
        let user = *users.entry(student).or_insert_with(|| {
            all.users.push(Party { name: student.into(), about: vec![format!("semester {semester}")] });
            all.users.len() - 1
        });
        let item = *items.entry(lecturer).or_insert_with(|| {
            all.items.push(Party { name: lecturer.into(), about: vec![format!("department {department}")] });
            all.items.len() - 1
        });
        let mut about =
            vec![if ago == "1" { "1 semester ago".into() } else { format!("{ago} semesters ago") }];
        if service == "1" {
            about.push("service".into());
        }
        all.ratings.push(Rating { user, item, about, stars: stars.parse().ok()? });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums were computed from the package's file by another program.
    #[test]
    fn the_file_is_what_it_was() {
        let all = ratings();
        let number =
            |text: &str| text.split(' ').find_map(|word| word.parse::<u64>().ok()).unwrap_or_default();
        let sum = |of: &dyn Fn(&Rating) -> u64| all.ratings.iter().map(of).sum::<u64>();
        assert_eq!(sum(&|rating| rating.stars as u64), 235_369);
        assert_eq!(sum(&|rating| number(&all.users[rating.user].name)), 108_853_382);
        assert_eq!(sum(&|rating| number(&all.items[rating.item].name)), 76_413_371);
        assert_eq!(sum(&|rating| number(&all.users[rating.user].about[0])), 383_166);
        assert_eq!(sum(&|rating| number(&all.items[rating.item].about[0])), 591_805);
        assert_eq!(sum(&|rating| number(&rating.about[0])), 218_182);
        assert_eq!(sum(&|rating| rating.about.len() as u64 - 1), 31_783);
    }
}
