//! Tokens of the text form, with their places.

use std::fmt;

use super::ParseError;

/// A place in the text. Line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A plain name or a keyword.
    Name(&'a str),
    /// A quoted name or text, without its quotes.
    Quoted(String),
    /// A number without sign: `3`, `0.5`, `1e-5`.
    Number(&'a str),
    /// The digits behind `0x`.
    Hex(&'a str),
    /// Punctuation.
    Mark(&'static str),
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(text) | Token::Number(text) => write!(f, "`{text}`"),
            Token::Quoted(text) => write!(f, "`{}`", quoted(text)),
            Token::Hex(_) => f.write_str("hexadecimal data"),
            Token::Mark(mark) => write!(f, "`{mark}`"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

const MARKS: [&str; 15] = ["->", "(", ")", "[", "]", "{", "}", ",", ":", "=", ">", "+", "-", "*", "/"];

/// The word that begins the last line of a nested block. A value of this name is quoted.
pub(super) const YIELD: &str = "yield";
/// The word, in brackets behind a parameter, that says that the user chose the initialiser.
pub(super) const CHOSEN: &str = "chosen";
/// The word, in brackets behind a parameter, that says that it has no gradient.
pub(super) const UNTRAINED: &str = "untrained";
/// The key of the name that the parameter has in older files.
pub(super) const FORMER: &str = "former";

/// The word that begins the last line of the global block. A value of this name is quoted.
pub(super) const RETURN: &str = "return";

/// The length, in bytes, of the plain name at the start of the text: letters, digits and `_ . @`, with `/` and `-`
/// between them.
fn name_length(text: &str) -> usize {
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@');
    let mut chars = text.char_indices().peekable();
    let mut end = 0;
    while let Some((at, c)) = chars.next() {
        let belongs = match c {
            '/' | '-' => at > 0 && chars.peek().is_some_and(|&(_, next)| inner(next)),
            '.' => at > 0,
            _ if at == 0 => c.is_alphabetic() || matches!(c, '_' | '@'),
            _ => inner(c),
        };
        if !belongs {
            break;
        }
        end = at + c.len_utf8();
    }
    end
}

/// A name as the text form writes it: plain, or quoted if it is not plain.
pub(super) fn name(name: &str) -> String {
    let plain = !name.is_empty() && name_length(name) == name.len() && name != YIELD && name != RETURN;
    if plain { name.to_string() } else { quoted(name) }
}

/// A text in quotes, with escapes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\'' => quoted.push(c),
            _ => quoted.extend(c.escape_debug()),
        }
    }
    quoted.push('"');
    quoted
}

/// Cuts a text into tokens.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    at: At,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { rest: text, at: At { line: 1, column: 1 } }
    }

    /// The next token and its place.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, At), ParseError> {
        self.skip_blank();
        let at = self.at;
        let Some(first) = self.rest.chars().next() else {
            return Ok((Token::End, at));
        };
        let length = name_length(self.rest);
        let token = if length > 0 {
            Token::Name(self.take(length))
        } else if first == '"' {
            Token::Quoted(self.quoted_text()?)
        } else if let Some(digits) = self.rest.strip_prefix("0x") {
            let length = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
            self.take(2);
            Token::Hex(self.take(length))
        } else if first.is_ascii_digit() {
            Token::Number(self.take(number_length(self.rest)))
        } else if let Some(mark) = MARKS.into_iter().find(|mark| self.rest.starts_with(mark)) {
            self.take(mark.len());
            Token::Mark(mark)
        } else {
            return Err(ParseError::new(at, format!("unexpected character `{}`", first.escape_debug())));
        };
        Ok((token, at))
    }

    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            let comment = match self.rest[blank..].strip_prefix("//") {
                Some(_) => self.rest[blank..].find('\n').unwrap_or(self.rest.len() - blank),
                None => 0,
            };
            if blank + comment == 0 {
                return;
            }
            self.take(blank + comment);
        }
    }

    /// Takes this many bytes of the text.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for c in taken.chars() {
            match c {
                '\n' => self.at = At { line: self.at.line.saturating_add(1), column: 1 },
                _ => self.at.column = self.at.column.saturating_add(1),
            }
        }
        taken
    }

    fn quoted_text(&mut self) -> Result<String, ParseError> {
        let start = self.at;
        self.take(1);
        let mut text = String::new();
        loop {
            let at = self.at;
            let Some(c) = self.rest.chars().next() else {
                return Err(ParseError::new(start, "the quote that begins here does not end"));
            };
            self.take(c.len_utf8());
            match c {
                '"' => return Ok(text),
                '\\' => {
                    text.push(self.escaped().ok_or_else(|| {
                        ParseError::new(at, "there is no such escape; write `\\\\` for `\\`")
                    })?)
                }
                _ => text.push(c),
            }
        }
    }

    /// The character of an escape whose backslash has been read.
    fn escaped(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.take(c.len_utf8());
        Some(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            '"' | '\\' => c,
            'u' => {
                let (digits, _) = self.rest.strip_prefix('{')?.split_once('}')?;
                let value = u32::from_str_radix(digits, 16).ok()?;
                self.take(digits.len() + 2);
                char::from_u32(value)?
            }
            _ => return None,
        })
    }
}

/// The length, in bytes, of the number at the start of the text. The text begins with a digit.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.len() > end + 1 + sign && digits(end + 1 + sign) > 0 {
            end += 1 + sign + digits(end + 1 + sign);
        }
    }
    end
}
