//! 6,032 English words with their plurals or past tenses, embedded. Half of the forms are listed by WordNet 3.0; the
//! other half follows the rule of English spelling.
//!
//! `src/data/README.md` has the origin, the licence and how they were chosen.

use std::collections::HashSet;
use std::path::Path;

use super::gzip;
use super::split::is_held_out;

/// A word and one of its forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inflection {
    /// The dictionary form of the word, in letters from a to z.
    pub lemma: String,
    /// The kind of form.
    pub kind: Kind,
    /// The inflected form, in letters from a to z.
    pub form: String,
    /// Whether the form is in one of WordNet's lists of exceptions. These also have forms that follow the rule
    /// (`stopped`). All other forms follow the rule.
    pub listed: bool,
}

/// A kind of inflected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The plural of a noun.
    NounPlural,
    /// The past tense of a verb.
    VerbPast,
}

/// One word in this many is held out.
const ONE_IN: u64 = 10;

/// The words for training, nouns first, in alphabetical order.
///
/// ```
/// use paddle::data::inflections::{Kind, training};
///
/// assert_eq!(training().next().map(|word| word.kind), Some(Kind::NounPlural));
/// ```
pub fn training() -> impl Iterator<Item = Inflection> {
    part(false)
}

/// The words for testing: about a tenth.
///
/// Words are split by the shortest listed lemma that they end in or, without one, by themselves. So no held-out word
/// ends in a listed lemma of a training word: `take` does not give away `overtake`.
///
/// ```
/// use paddle::data::inflections::{self, Kind};
///
/// let known: Vec<_> = inflections::training().collect();
/// let new: Vec<_> = inflections::held_out().collect();
/// assert_eq!((known.len(), new.len()), (5461, 571));
/// let child = known.iter().find(|word| word.lemma == "child").expect("it is a common word");
/// assert_eq!((child.kind, &child.form[..], child.listed), (Kind::NounPlural, "children", true));
/// ```
pub fn held_out() -> impl Iterator<Item = Inflection> {
    part(true)
}

fn part(held_out: bool) -> impl Iterator<Item = Inflection> {
    let all = all();
    let listed: HashSet<String> =
        all.iter().filter(|word| word.listed).map(|word| word.lemma.clone()).collect();
    all.into_iter().filter(move |word| {
        let ends = (0..word.lemma.len()).rev().map(|at| &word.lemma[at..]);
        let key = ends.into_iter().find(|end| listed.contains(*end)).unwrap_or(&word.lemma);
        is_held_out(key, ONE_IN) == held_out
    })
}

fn all() -> Vec<Inflection> {
    let bytes = gzip::unpack(Path::new("inflections.tsv.gz"), include_bytes!("inflections.tsv.gz"));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.lines().map(parse).collect()).expect("the embedded file is valid")
}

/// Parses a line: part of speech, lemma, and the form if it is listed.
fn parse(line: &str) -> Option<Inflection> {
    let mut fields = line.split('\t');
    let kind = match fields.next()? {
        "noun" => Kind::NounPlural,
        "verb" => Kind::VerbPast,
        _ => return None,
    };
    let (lemma, listed) = (fields.next()?, fields.next());
    let form = listed.map_or_else(|| regular(lemma, kind), str::to_string);
    let in_letters = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_whole = in_letters(lemma) && in_letters(&form) && fields.next().is_none();
    is_whole.then(|| Inflection { lemma: lemma.to_string(), kind, form, listed: listed.is_some() })
}

/// The form of a lower-case word by the rule of English spelling.
///
/// | kind | words that end in | form |
/// | --- | --- | --- |
/// | plural | s, x, z, ch or sh | `boxes` |
/// | | a consonant and y | `cities` |
/// | | something else | `days` |
/// | past | e | `moved` |
/// | | a consonant and y | `tried` |
/// | | their only vowel and one consonant, but w, x or y | `stopped` |
/// | | something else | `looked` |
///
/// `qu` counts as a consonant: `soliloquies`, `quizzed`.
///
/// ```
/// use paddle::data::inflections::{Kind, regular};
///
/// assert_eq!(regular("city", Kind::NounPlural), "cities");
/// assert_eq!(regular("stop", Kind::VerbPast), "stopped");
/// assert_eq!(regular("go", Kind::VerbPast), "goed"); // it knows no better
/// ```
pub fn regular(lemma: &str, kind: Kind) -> String {
    // The spelling as the rule sees it: one letter for `qu`, and a consonant for the y of `yen`.
    let seen = lemma.replace("qu", "q");
    let seen = seen.strip_prefix('y').unwrap_or(&seen);
    let is_vowel = |letter: char| "aeiou".contains(letter);
    let before_y = seen.strip_suffix('y').and_then(|rest| rest.chars().next_back());
    if let (Some(stem), Some(false)) = (lemma.strip_suffix('y'), before_y.map(is_vowel)) {
        return stem.to_string() + if kind == Kind::NounPlural { "ies" } else { "ied" };
    }
    match kind {
        Kind::NounPlural if ["s", "x", "z", "ch", "sh"].iter().any(|end| lemma.ends_with(end)) => {
            format!("{lemma}es")
        }
        Kind::NounPlural => format!("{lemma}s"),
        Kind::VerbPast if lemma.ends_with('e') => format!("{lemma}d"),
        Kind::VerbPast => {
            let mut back = seen.chars().rev();
            let sounds = |letter: char| is_vowel(letter) || letter == 'y';
            let last = back.next().filter(|&letter| !sounds(letter) && !matches!(letter, 'w' | 'x'));
            let is_doubled = back.next().is_some_and(sounds) && !back.any(sounds);
            let double = last.filter(|_| is_doubled).map(String::from).unwrap_or_default();
            format!("{lemma}{double}ed")
        }
    }
}

/// The shares of [held-out](held_out) words whose given forms are right: among words with listed forms, among words
/// that follow the rule, and among all. `forms` has the order of the words.
///
/// ```
/// use paddle::data::inflections::{exact_match, held_out, regular, rule_baseline};
///
/// let by_rule = held_out().into_iter().map(|word| regular(&word.lemma, word.kind));
/// let [_, of_regular, of_all] = exact_match(by_rule);
/// assert_eq!((of_regular, of_all), (1.0, rule_baseline()));
/// ```
pub fn exact_match(forms: impl IntoIterator<Item = impl AsRef<str>>) -> [f64; 3] {
    let mut forms = forms.into_iter();
    let mut is_right = |word: &Inflection| forms.next().is_some_and(|form| form.as_ref() == word.form);
    let is_right: Vec<_> = held_out().map(|word| (word.listed, is_right(&word))).collect();
    let share = |of: &[bool]| {
        let of: Vec<_> = is_right.iter().filter(|(listed, _)| of.contains(listed)).collect();
        of.iter().filter(|(_, is_right)| *is_right).count() as f64 / of.len() as f64
    };
    [share(&[true]), share(&[false]), share(&[true, false])]
}

/// The share of [held-out](held_out) words for which the [rule](regular) gives the right form.
///
/// [`exact_match`] has an example.
pub fn rule_baseline() -> f64 {
    exact_match(held_out().map(|word| regular(&word.lemma, word.kind)))[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the conversion of the file counted.
    #[test]
    fn the_embedded_file_is_complete() {
        let all = all();
        let count =
            |kind, listed| all.iter().filter(|word| (word.kind, word.listed) == (kind, listed)).count();
        for (kind, expected) in [(Kind::NounPlural, 1785), (Kind::VerbPast, 1231)] {
            assert_eq!([count(kind, true), count(kind, false)], [expected; 2], "{kind:?}");
        }
        assert_eq!(all.iter().map(|word| word.lemma.len()).sum::<usize>(), 40_079);
        let letters = |listed| {
            all.iter().filter(|word| word.listed == listed).map(|word| word.form.len()).sum::<usize>()
        };
        assert_eq!([letters(true), letters(false)], [23_887, 47_306 - 23_887]);
        assert!(
            all.windows(2).all(|pair| { (pair[0].kind, &pair[0].lemma) < (pair[1].kind, &pair[1].lemma) })
        );
    }

    #[test]
    fn forms_that_everyone_knows() {
        let all = all();
        for (lemma, kind, form, listed) in [
            ("child", Kind::NounPlural, "children", true),
            ("mouse", Kind::NounPlural, "mice", true),
            ("city", Kind::NounPlural, "cities", false),
            ("go", Kind::VerbPast, "went", true),
            ("run", Kind::VerbPast, "ran", true),
            ("sing", Kind::VerbPast, "sang", true),
            ("stop", Kind::VerbPast, "stopped", true),
            ("look", Kind::VerbPast, "looked", false),
        ] {
            let found = all.iter().find(|word| word.lemma == lemma && word.kind == kind).unwrap();
            assert_eq!((&found.form[..], found.listed), (form, listed), "{lemma}");
        }
    }

    #[test]
    fn held_out_words_are_new() {
        let (known, new): (Vec<_>, Vec<_>) = (training().collect(), held_out().collect());
        let count = |words: &[Inflection], kind, listed| {
            words.iter().filter(|word| (word.kind, word.listed) == (kind, listed)).count()
        };
        let counts = |words: &[Inflection]| {
            [Kind::NounPlural, Kind::VerbPast]
                .map(|kind| [true, false].map(|listed| count(words, kind, listed)))
        };
        assert_eq!(counts(&new), [[138, 175], [119, 139]]);
        assert_eq!(counts(&known), [[1785 - 138, 1785 - 175], [1231 - 119, 1231 - 139]]);
        for word in &new {
            assert!(!known.iter().any(|known| known.lemma == word.lemma), "{word:?}");
            let given_away = known.iter().find(|known| known.listed && word.lemma.ends_with(&known.lemma));
            assert_eq!(given_away, None, "{word:?}");
        }
    }

    #[test]
    fn what_the_rule_makes() {
        let plural = |lemma: &str| regular(lemma, Kind::NounPlural);
        for (lemma, form) in [
            ("box", "boxes"),
            ("bus", "buses"),
            ("buzz", "buzzes"),
            ("church", "churches"),
            ("wish", "wishes"),
            ("city", "cities"),
            ("day", "days"),
            ("soliloquy", "soliloquies"),
            ("house", "houses"),
            ("y", "ys"),
            ("", "s"),
        ] {
            assert_eq!(plural(lemma), form);
        }
        let past = |lemma: &str| regular(lemma, Kind::VerbPast);
        for (lemma, form) in [
            ("move", "moved"),
            ("agree", "agreed"),
            ("try", "tried"),
            ("stay", "stayed"),
            ("stop", "stopped"),
            ("up", "upped"),
            ("yen", "yenned"),
            ("quiz", "quizzed"),
            ("rain", "rained"),
            ("ask", "asked"),
            ("visit", "visited"),
            ("row", "rowed"),
            ("fix", "fixed"),
            ("do", "doed"),
            ("", "ed"),
            ("naïv", "naïved"),
        ] {
            assert_eq!(past(lemma), form);
        }
    }

    /// The rule is right for 376 of 571 words, 62 of them listed.
    #[test]
    fn how_far_the_rule_leads() {
        let by_rule = held_out().map(|word| regular(&word.lemma, word.kind));
        assert_eq!(exact_match(by_rule), [62.0 / 257.0, 1.0, 376.0 / 571.0]);
        assert_eq!(rule_baseline(), 376.0 / 571.0);
        assert_eq!(exact_match(held_out().map(|word| word.form)), [1.0; 3]);
        assert_eq!(exact_match(held_out().map(|word| word.lemma))[1], 0.0);
        assert_eq!(exact_match([""; 0]), [0.0; 3]);
    }

    #[test]
    fn other_lines_are_none() {
        for line in
            ["", "noun", "noun\t", "noun\tox\t", "noun\tox\toxen\t", "adj\tgood", "verb\tAdd", "verb\tco-opt"]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
