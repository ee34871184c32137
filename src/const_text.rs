//! Text built while the crate compiles. A panic in `const` evaluation can show a `&str`, but cannot format anything.

/// A text under construction, at most 512 bytes long. A longer text is cut off.
///
/// ```
/// use paddle::const_text::Text;
///
/// const TEXT: Text = Text::new().str("`w` is ").shape(&[128, 64]).str(", where `N` is ").int(-3);
/// assert_eq!(TEXT.as_str(), "`w` is [128, 64], where `N` is -3");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; Text::CAPACITY],
    len: usize,
    /// Whether the text was cut off. Then nothing is appended any more.
    cut: bool,
}

impl Text {
    const CAPACITY: usize = 512;
    const ELLIPSIS: &'static [u8] = "…".as_bytes();

    /// An empty text.
    #[expect(clippy::new_without_default, reason = "a `Default` cannot be called in a `const`")]
    pub const fn new() -> Self {
        Text { bytes: [0; Text::CAPACITY], len: 0, cut: false }
    }

    /// Appends a text.
    #[must_use]
    pub const fn str(mut self, text: &str) -> Self {
        if self.cut {
            return self;
        }
        let bytes = text.as_bytes();
        let room = Text::CAPACITY - Text::ELLIPSIS.len() - self.len;
        let mut end = if bytes.len() < room { bytes.len() } else { room };
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.cut = end < bytes.len();
        self.push(bytes, end);
        if self.cut {
            self.push(Text::ELLIPSIS, Text::ELLIPSIS.len());
        }
        self
    }

    /// Appends a number.
    #[must_use]
    pub const fn int(mut self, value: i64) -> Self {
        if value < 0 {
            self = self.str("-");
        }
        // The largest number has 19 digits.
        let (mut digits, mut at, mut rest) = ([0; 20], 20, value.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        match core::str::from_utf8(digits.split_at(at).1) {
            Ok(digits) => self.str(digits),
            Err(_) => self,
        }
    }

    /// Appends dimensions: `[128, 64]`.
    #[must_use]
    pub const fn shape(mut self, dims: &[i64]) -> Self {
        self = self.str("[");
        let mut at = 0;
        while at < dims.len() {
            if at > 0 {
                self = self.str(", ");
            }
            self = self.int(dims[at]);
            at += 1;
        }
        self.str("]")
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    const fn push(&mut self, bytes: &[u8], end: usize) {
        let mut at = 0;
        while at < end {
            self.bytes[self.len] = bytes[at];
            self.len += 1;
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn numbers_of_any_size() {
        const ENDS: Text = Text::new().int(i64::MIN).str(" ").int(0).str(" ").int(i64::MAX);
        assert_eq!(ENDS.as_str(), "-9223372036854775808 0 9223372036854775807");
        assert_eq!(Text::new().shape(&[]).shape(&[7]).as_str(), "[][7]");
    }

    #[test]
    fn what_does_not_fit_is_cut_between_characters() {
        for length in 505..515 {
            let text = "a".repeat(length) + "äöü";
            let cut = Text::new().str(&text).int(1);
            assert!(cut.as_str().len() <= Text::CAPACITY);
            match cut.as_str().strip_suffix('…') {
                Some(start) => assert!(text.starts_with(start) && start.len() > 500),
                None => panic!("{length}: {} characters fit", cut.as_str().chars().count()),
            }
        }
        let whole = "a".repeat(509);
        assert_eq!(Text::new().str(&whole).as_str(), whole);
    }
}
