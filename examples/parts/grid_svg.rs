//! Attention as a picture: a table of letters and sounds, dark where a sound looks at a letter.

use std::fmt::Write;

/// The side of a field, in pixels.
const SIDE: usize = 22;
/// Where the table begins.
const EDGE: usize = 34;

/// Letters, from left to right, sounds, downwards, and for each sound how much it looks at each letter, from 0 to 1.
pub(crate) type Table = (String, Vec<&'static str>, Vec<Vec<f32>>);

/// Draws tables side by side as SVG.
pub(crate) fn draw(tables: &[Table]) -> String {
    let width = tables.iter().map(|(letters, ..)| EDGE + letters.len() * SIDE + SIDE).sum::<usize>();
    let height = EDGE + SIDE * tables.iter().map(|(_, sounds, _)| sounds.len()).max().unwrap_or(0) + SIDE / 2;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\" \
         text-anchor=\"middle\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let mut text = |x: usize, y: usize, text: &str| {
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{text}</text>").expect("a string takes all");
    };
    let mut left = 0;
    let mut fields = String::new();
    for (letters, sounds, looks) in tables {
        for (k, letter) in letters.chars().enumerate() {
            text(left + EDGE + k * SIDE + SIDE / 2, EDGE - 8, &letter.to_string());
        }
        for (row, (sound, looks)) in sounds.iter().zip(looks).enumerate() {
            text(left + EDGE / 2, EDGE + row * SIDE + SIDE * 2 / 3, sound);
            for (column, look) in looks.iter().take(letters.len()).enumerate() {
                let light = 255 - (255.0 * look.clamp(0.0, 1.0)).round() as u8;
                let (x, y) = (left + EDGE + column * SIDE, EDGE + row * SIDE);
                writeln!(
                    fields,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"rgb({light},{light},255)\" stroke=\"#ddd\"/>"
                )
                .expect("a string takes all");
            }
        }
        left += EDGE + letters.len() * SIDE + SIDE;
    }
    svg + &fields + "</svg>\n"
}
