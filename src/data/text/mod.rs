//! Texts as words and word ids.

mod bag_of_words;
mod tf_idf;
mod vocabulary;

pub use bag_of_words::{BagOfWords, BagOfWordsError};
pub use tf_idf::TfIdf;
pub use vocabulary::Vocabulary;

/// The words of a text in lower case: its runs of letters and digits.
///
/// ```
/// use paddle::data::text::words;
///
/// assert!(words("The pilot's check-out, 1903").eq(["the", "pilot", "s", "check", "out", "1903"]));
/// ```
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
