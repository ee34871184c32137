//! Diagnostics and differences in colours, where a terminal shows them.

use std::io::{self, IsTerminal};

use clap::builder::styling::{AnsiColor, Style};

/// Whether standard output shows colours. The variable `NO_COLOR` says no.
pub(crate) fn is_shown() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn in_style(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A diagnostic in the colours of rustc: its severity, and what is drawn around the source.
pub(crate) fn diagnostic(text: &str) -> String {
    let frame = AnsiColor::BrightBlue.on_default().bold();
    let severities = [
        ("error", AnsiColor::BrightRed.on_default().bold()),
        ("warning", AnsiColor::BrightYellow.on_default().bold()),
    ];
    let mut lines = Vec::new();
    for line in text.lines() {
        let severity = severities
            .iter()
            .find(|(word, _)| line.strip_prefix(word).is_some_and(|behind| behind.starts_with(": ")));
        let gutter = line.find(|c: char| !c.is_ascii_digit() && c != ' ').unwrap_or(line.len());
        let drawn = ["-->", "|"].into_iter().find(|mark| line[gutter..].starts_with(mark));
        lines.push(match (severity, drawn) {
            (Some((word, style)), _) => {
                let bold = Style::new().bold();
                in_style(*style, word) + &in_style(bold, &line[word.len()..])
            }
            (None, Some("-->")) => in_style(frame, &line[..gutter + 3]) + &line[gutter + 3..],
            (None, Some(mark)) => {
                let behind = &line[gutter + mark.len()..];
                let is_drawn = behind.chars().all(|c| " |_^".contains(c));
                let style = if is_drawn { severities[0].1 } else { Style::new() };
                in_style(frame, &line[..gutter + mark.len()]) + &in_style(style, behind)
            }
            (None, None) => line.to_string(),
        });
    }
    lines.join("\n") + "\n"
}

/// A line of a difference: red if only the first has it, green if only the second has it.
pub(crate) fn difference(line: &str) -> String {
    match line.as_bytes().first() {
        Some(b'-') => in_style(AnsiColor::Red.on_default(), line),
        Some(b'+') => in_style(AnsiColor::Green.on_default(), line),
        _ => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_added_and_nothing_else() {
        let text = "error: no `y`\n --> net.rs:1:20\n  |\n1 | |x| f(y) // --> |\n  |       ^\nerror\n";
        let painted = diagnostic(text);
        assert!(painted.starts_with("\u{1b}[1m\u{1b}[91merror\u{1b}[0m"), "{painted:?}");
        let mut plain = String::new();
        let mut rest = painted.as_str();
        while let Some((before, behind)) = rest.split_once('\u{1b}') {
            plain += before;
            rest = behind.split_once('m').unwrap().1;
        }
        assert_eq!(plain + rest, text);
        assert_eq!(difference("- a"), "\u{1b}[31m- a\u{1b}[0m");
        assert_eq!(difference("  a"), "  a");
    }
}
