//! Text in columns, and numbers of bytes in it. It is public for the command `paddle`.

use std::fmt;

/// Writes lines in columns, each as wide as its widest entry. The first `numbers` columns end, the others begin, at one
/// place.
pub fn write_columns(f: &mut fmt::Formatter<'_>, lines: &[Vec<String>], numbers: usize) -> fmt::Result {
    let mut widths = Vec::new();
    for line in lines {
        widths.resize(widths.len().max(line.len()), 0);
        for (width, entry) in widths.iter_mut().zip(line) {
            *width = entry.chars().count().max(*width);
        }
    }
    for line in lines {
        let padded = line.iter().zip(&widths).enumerate().map(|(at, (entry, &width))| match at < numbers {
            true => format!("  {entry:>width$}"),
            false => format!("  {entry:width$}"),
        });
        writeln!(f, "{}", padded.collect::<String>().trim_end())?;
    }
    Ok(())
}

/// A number of bytes in a unit that suits it: `1.25 MB`.
pub fn bytes(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.2} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.2} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}
