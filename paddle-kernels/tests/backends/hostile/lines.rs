//! Random changes to the text of a program: parts of the text are exchanged with other parts.

use std::collections::BTreeMap;

use paddle_core::program::VerifyError;

use super::changes::Random;

/// The parts of a line: words, numbers, and the characters between them.
fn parts(line: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '-' | '=');
    let mut parts: Vec<String> = Vec::new();
    let mut before = None;
    for character in line.chars() {
        match parts.last_mut() {
            Some(last) if is_word(character) && before == Some(true) => last.push(character),
            _ => parts.push(character.to_string()),
        }
        before = Some(is_word(character));
    }
    parts
}

fn is_word(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The type behind each name.
fn types(lines: &[Vec<String>]) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    for line in lines {
        for (at, name) in line.iter().enumerate().filter(|(_, part)| is_word(part)) {
            if line.get(at + 1).is_some_and(|part| part == ":") {
                let of_type = line[at + 2..].iter().scan(0, |depth, part| {
                    *depth += i32::from(part == "[") - i32::from(part == "]");
                    Some((*depth, part))
                });
                let of_type: String = of_type
                    .take_while(|(depth, part)| *depth > 0 || is_word(part) || *part == " ")
                    .map(|(_, part)| part.as_str())
                    .collect();
                types.insert(name.clone(), of_type);
            }
        }
    }
    types
}

/// The lines from an opening brace to the closing one.
fn group(lines: &[Vec<String>], from: usize) -> std::ops::Range<usize> {
    let mut depth = 0;
    for (at, line) in lines.iter().enumerate().skip(from) {
        for part in line {
            depth += i32::from(part == "{") - i32::from(part == "}");
        }
        if depth <= 0 {
            return from..at + 1;
        }
    }
    from..lines.len()
}

/// The text with the types that operators infer, if other types are written behind the names of their results. `None`
/// if there are no such types, or nothing changes.
pub(super) fn retype(text: &str, error: &VerifyError) -> Option<String> {
    let mut retyped = text.to_string();
    for violation in &error.violations {
        let parts: Vec<&str> = violation.message.split('`').collect();
        if let [_, name, found, _, gives] = parts[..] {
            let found = found.strip_prefix(" is ").and_then(|found| found.strip_suffix(" here, but "));
            let (Some(found), Some(gives)) = (found, gives.strip_prefix(" gives ")) else { continue };
            retyped = retyped.replace(&format!(" {name}: {found}"), &format!(" {name}: {gives}"));
        }
    }
    (retyped != text).then_some(retyped)
}

/// A text with one to three changes.
pub(super) fn change(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<Vec<String>> = text.lines().map(parts).collect();
    let types = types(&lines);
    for _ in 0..=random.below(2) {
        change_line(&mut lines, &types, random);
    }
    lines.iter().map(|line| line.concat() + "\n").collect()
}

fn change_line(lines: &mut Vec<Vec<String>>, types: &BTreeMap<String, String>, random: &mut Random) {
    let at = random.below(lines.len());
    match random.below(11) {
        0 => random.shuffle(lines),
        1 => {
            let group = group(lines, at);
            let moved: Vec<_> = lines.drain(group).collect();
            if random.below(4) > 0 {
                let to = random.below(lines.len() + 1);
                lines.splice(to..to, moved);
            }
        }
        2 => {
            let moved = lines.remove(at);
            // A line moves only a little, as names are written before they are read.
            let to = (at + random.below(7)).saturating_sub(3).min(lines.len());
            lines.insert(to, moved);
        }
        3 => random.shuffle(&mut lines[at]),
        4 => {
            // Exchanges a row space for another, on many lines.
            let declared = |line: &&Vec<String>| {
                let mut words = line.iter().filter(|part| is_word(part));
                words
                    .next()
                    .is_some_and(|word| ["rows", "tokens", "steps", "rounds"].contains(&word.as_str()))
            };
            let words =
                lines.iter().filter(declared).flat_map(|line| line.iter().filter(|part| is_word(part)));
            let mut spaces: Vec<String> = words.filter(|word| word.starts_with('_')).cloned().collect();
            let old = random.pick(&mut spaces).cloned().unwrap_or_default();
            let new = random.pick(&mut spaces).cloned().unwrap_or_default();
            let to = lines.len().min(at + random.below(40));
            let parts = lines[at..to].iter_mut().flatten();
            parts.filter(|part| **part == old).for_each(|part| part.clone_from(&new));
        }
        _ => {
            let other = lines[random.below(lines.len())].clone();
            let line = &mut lines[at];
            let mut words: Vec<usize> = (0..line.len()).filter(|&at| is_word(&line[at])).collect();
            let Some(&mut word) = random.pick(&mut words) else { return };
            let number = random.number().to_string();
            let part = &mut line[word];
            if let Some((name, _)) = part.split_once('=') {
                *part = format!("{name}={number}");
            } else if part.parse::<f64>().is_ok() {
                *part = number;
            } else if let (Some(ty), 1..) = (types.get(part), random.below(4)) {
                let mut alike: Vec<&String> =
                    types.iter().filter(|(_, other)| *other == ty).map(|(name, _)| name).collect();
                if let Some(name) = random.pick(&mut alike) {
                    *part = (*name).clone();
                }
            } else {
                let mut others: Vec<String> = other.into_iter().filter(|part| is_word(part)).collect();
                if let Some(other) = random.pick(&mut others) {
                    part.clone_from(other);
                }
            }
        }
    }
    if lines.is_empty() {
        lines.push(Vec::new());
    }
}
