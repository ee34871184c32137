//! What a letter sounds like between others: each letter gets the sounds that it mostly has in the widest window of neighbours that
//! was seen often enough. Letters and sounds are aligned by expectation maximisation.

use std::collections::HashMap;

use paddle::data::is_held_out;
use paddle::data::pronunciations::{Pronunciation, SOUNDS};

/// What a letter sounds like: nothing, one sound, or two of them. A number.
type Chunk = u16;

const SOUND: usize = SOUNDS.len();
const CHUNKS: usize = 1 + SOUND + SOUND * SOUND;
/// How many letters a window has before its letter and behind it, from the narrowest.
const WINDOWS: [(usize, usize); 9] = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (4, 4)];
/// How often all words are aligned before the most probable alignment is taken.
const ROUNDS: usize = 6;
/// How often a window may have to be seen.
const OFTEN: [u32; 5] = [1, 2, 3, 5, 8];

/// For each kind of window, what its letter mostly sounds like, and how often the window was seen.
pub(crate) struct LetterTable {
    windows: Vec<HashMap<u64, (Chunk, u32)>>,
    often: u32,
}

impl LetterTable {
    /// Fits the table to words. How often a window has to be seen is what makes fewest mistakes with a tenth of the words, learned
    /// from the others.
    pub(crate) fn fit(words: &[Pronunciation]) -> Self {
        let aligned = align(words);
        let (validation, rest): (Vec<_>, Vec<_>) =
            words.iter().zip(&aligned).partition(|(word, _)| is_held_out(&reversed(&word.spelling), 10));
        let mut table = Self { windows: count(&rest), often: 1 };
        let wrong = |table: &Self| {
            validation.iter().filter(|(word, _)| table.sounds(&word.spelling) != word.sounds).count()
        };
        let often = OFTEN.iter().min_by_key(|&&often| {
            table.often = often;
            wrong(&table)
        });
        let often = *often.expect("there are some");
        Self { windows: count(&words.iter().zip(&aligned).collect::<Vec<_>>()), often }
    }

    /// The sounds of a word in letters from a to z.
    pub(crate) fn sounds(&self, word: &str) -> Vec<i64> {
        let chunk = |at| {
            let seen = self.windows.iter().zip(WINDOWS).rev().find_map(|(table, window)| {
                table.get(&key(word, at, window)).filter(|(_, times)| *times >= self.often)
            });
            seen.map_or(0, |(chunk, _)| *chunk)
        };
        (0..word.len()).flat_map(|at| sounds(chunk(at))).collect()
    }
}

fn reversed(word: &str) -> String {
    word.chars().rev().collect()
}

fn chunk(sounds: &[i64]) -> usize {
    match *sounds {
        [] => 0,
        [sound] => 1 + sound as usize,
        [first, second, ..] => 1 + SOUND + first as usize * SOUND + second as usize,
    }
}

fn sounds(chunk: Chunk) -> Vec<i64> {
    let number = usize::from(chunk);
    match number {
        0 => vec![],
        _ if number <= SOUND => vec![number as i64 - 1],
        _ => vec![((number - 1 - SOUND) / SOUND) as i64, ((number - 1 - SOUND) % SOUND) as i64],
    }
}

/// The number of a letter, from 1; 0 where the word has none.
fn letter(word: &str, at: Option<usize>) -> u64 {
    at.and_then(|at| word.as_bytes().get(at)).map_or(0, |letter| u64::from(letter - b'`'))
}

/// A window around a letter, as a number.
fn key(word: &str, at: usize, (before, behind): (usize, usize)) -> u64 {
    let letters = (0..=before + behind).map(|k| letter(word, (at + k).checked_sub(before)));
    letters.fold(0, |key, letter| key << 5 | letter)
}

/// What the letters of windows mostly sound like.
fn count(words: &[(&Pronunciation, &Vec<Chunk>)]) -> Vec<HashMap<u64, (Chunk, u32)>> {
    let table = |window: &(usize, usize)| {
        let mut seen: Vec<(u64, Chunk)> = Vec::new();
        for (word, chunks) in words {
            let of_word = chunks.iter().enumerate();
            seen.extend(of_word.map(|(at, chunk)| (key(&word.spelling, at, *window), *chunk)));
        }
        seen.sort_unstable();
        let most = |same: &[(u64, Chunk)]| {
            let longest = same.chunk_by(|a, b| a.1 == b.1).max_by_key(|run| run.len()).expect("not empty");
            (same[0].0, (longest[0].1, same.len() as u32))
        };
        seen.chunk_by(|a, b| a.0 == b.0).map(most).collect()
    };
    WINDOWS.iter().map(table).collect()
}

/// The most probable chunk of each letter; none for a word that has more than two sounds for each of its letters.
fn align(words: &[Pronunciation]) -> Vec<Vec<Chunk>> {
    let mut probable = vec![1.0 / CHUNKS as f64; 27 * CHUNKS];
    for _ in 0..ROUNDS {
        let mut counts = vec![1e-9; 27 * CHUNKS];
        words.iter().for_each(|word| expect(word, &probable, &mut counts));
        for (probable, counts) in probable.chunks_mut(CHUNKS).zip(counts.chunks(CHUNKS)) {
            let all: f64 = counts.iter().sum();
            probable.iter_mut().zip(counts).for_each(|(probable, count)| *probable = count / all);
        }
    }
    words.iter().map(|word| best(word, &probable)).collect()
}

/// The place in a table of letters and chunks.
fn place(word: &Pronunciation, at: usize, sounds: &[i64]) -> usize {
    letter(&word.spelling, Some(at)) as usize * CHUNKS + chunk(sounds)
}

/// Adds how often each letter is expected to have each chunk, by the probabilities of before and behind.
fn expect(word: &Pronunciation, probable: &[f64], counts: &mut [f64]) {
    let (letters, right) = (word.spelling.len(), &word.sounds);
    let width = right.len() + 1;
    let mut before = vec![0.0; (letters + 1) * width];
    let mut behind = before.clone();
    before[0] = 1.0;
    behind[letters * width + right.len()] = 1.0;
    for (at, from) in (0..letters).flat_map(|at| (0..width).map(move |from| (at, from))) {
        for to in from..width.min(from + 3) {
            before[(at + 1) * width + to] +=
                before[at * width + from] * probable[place(word, at, &right[from..to])];
        }
    }
    for (at, from) in (0..letters).rev().flat_map(|at| (0..width).map(move |from| (at, from))) {
        for to in from..width.min(from + 3) {
            behind[at * width + from] +=
                behind[(at + 1) * width + to] * probable[place(word, at, &right[from..to])];
        }
    }
    if behind[0] == 0.0 {
        return;
    }
    for (at, from) in (0..letters).flat_map(|at| (0..width).map(move |from| (at, from))) {
        for to in from..width.min(from + 3) {
            let place = place(word, at, &right[from..to]);
            counts[place] +=
                before[at * width + from] * probable[place] * behind[(at + 1) * width + to] / behind[0];
        }
    }
}

/// The most probable chunks of a word.
fn best(word: &Pronunciation, probable: &[f64]) -> Vec<Chunk> {
    let (letters, right) = (word.spelling.len(), &word.sounds);
    let width = right.len() + 1;
    let mut reached = vec![(f64::NEG_INFINITY, 0); (letters + 1) * width];
    reached[0].0 = 0.0;
    for (at, from) in (0..letters).flat_map(|at| (0..width).map(move |from| (at, from))) {
        for to in from..width.min(from + 3) {
            let score = reached[at * width + from].0 + probable[place(word, at, &right[from..to])].ln();
            if score > reached[(at + 1) * width + to].0 {
                reached[(at + 1) * width + to] = (score, from);
            }
        }
    }
    if reached[letters * width + right.len()].0 == f64::NEG_INFINITY {
        return vec![];
    }
    let mut to = right.len();
    let mut chunks: Vec<_> = (0..letters)
        .rev()
        .map(|at| {
            let from = reached[(at + 1) * width + to].1;
            let chunk = chunk(&right[from..to]) as Chunk;
            to = from;
            chunk
        })
        .collect();
    chunks.reverse();
    chunks
}
