//! Text in columns.

use std::fmt;

/// Writes lines in columns, each as wide as its widest entry. The first `numbers` columns end, the others begin, at one
/// place.
pub(crate) fn write_columns(
    f: &mut fmt::Formatter<'_>,
    lines: &[Vec<String>],
    numbers: usize,
) -> fmt::Result {
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
