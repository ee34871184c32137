//! Attention as a picture: texts whose words are the darker, the more they count among those of their text.

use std::fmt::Write;

/// The height of a line, in pixels.
const LINE: usize = 26;
/// The width of a letter. The letters of a font of equal widths are 0.6 times as wide as high.
const LETTER: f32 = 7.8;
/// Where words begin.
const EDGE: usize = 330;

/// A text.
pub(crate) struct Line {
    /// What it is taken for.
    pub told: String,
    /// What it is.
    pub right: String,
    /// Its words, with how much each counts.
    pub words: Vec<(String, f32)>,
}

/// Draws texts below each other as SVG: in front what they are taken for, and what they are where that is something else.
pub(crate) fn draw(lines: &[Line]) -> String {
    let letters = |line: &Line| line.words.iter().map(|(word, _)| word.chars().count() + 2).sum::<usize>();
    let longest = lines.iter().map(letters).max().unwrap_or(0);
    let (width, height) = (EDGE + (LETTER * longest as f32).ceil() as usize, LINE * lines.len() + LINE / 2);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (k, line) in lines.iter().enumerate() {
        let top = LINE / 4 + k * LINE;
        let (is_right, base) = (line.told == line.right, top + LINE * 2 / 3);
        let colour = if is_right { "#062" } else { "#b00" };
        let what = if is_right { line.told.clone() } else { format!("{}, not {}", line.right, line.told) };
        writeln!(svg, "<text x=\"8\" y=\"{base}\" fill=\"{colour}\">{what}</text>")
            .expect("a string takes all");
        let most = line.words.iter().fold(0.0, |most: f32, (_, count)| most.max(*count));
        let mut left = EDGE as f32;
        for (word, count) in &line.words {
            let light = 255 - (200.0 * (count / most).clamp(0.0, 1.0)).round() as u8;
            let (room, ink) =
                (LETTER * (word.chars().count() + 1) as f32, if light < 120 { "white" } else { "black" });
            writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{room:.1}\" height=\"{}\" fill=\"rgb({light},{light},255)\"/>\
                 <text x=\"{:.1}\" y=\"{base}\" fill=\"{ink}\">{word}</text>",
                LINE - 4,
                left + LETTER / 2.0,
            )
            .expect("a string takes all");
            left += room + LETTER / 2.0;
        }
    }
    svg + "</svg>\n"
}
