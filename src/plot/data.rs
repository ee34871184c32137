//! The values of curves as data in their picture. SVG may carry data that is not drawn.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::curve::{POINTS, Series};

const BEGIN: &str = "<metadata>";
const END: &str = "</metadata>";

/// The version of the data's format.
const VERSION: u64 = 1;

/// The longest picture that is read, in bytes.
const LONGEST: u64 = 1 << 26;

/// Adds the values of curves to their picture.
pub(super) fn add(picture: String, series: &[Series]) -> String {
    let of = |Series { name, first, points, stride, rest: (sum, count) }: &Series| {
        // Numbers as text keep their value, and NaN can be written.
        let points: Vec<_> = points.iter().map(f64::to_string).collect();
        json!({
            "name": name, "first": first, "stride": stride, "points": points.join(" "),
            "sum": sum.to_string(), "count": count,
        })
    };
    let data = json!({ "version": VERSION, "curves": series.iter().map(of).collect::<Vec<_>>() }).to_string();
    // JSON and XML both accept these escapes.
    let data = data.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    match picture.rfind("</svg>") {
        Some(end) => format!("{}{BEGIN}{data}{END}\n{}", &picture[..end], &picture[end..]),
        None => picture,
    }
}

/// Reads the curves from a picture; `None` if there is no such picture.
pub(super) fn read(path: &Path) -> Option<Vec<Series>> {
    fs::metadata(path).ok().filter(|file| file.is_file() && file.len() < LONGEST)?;
    parse(&fs::read_to_string(path).ok()?)
}

fn parse(picture: &str) -> Option<Vec<Series>> {
    let (_, data) = picture.rsplit_once(BEGIN)?;
    let data: Value = serde_json::from_str(data.split_once(END)?.0).ok()?;
    let curves = data["curves"].as_array().filter(|_| data["version"] == VERSION)?;
    curves.iter().map(series).collect()
}

fn series(curve: &Value) -> Option<Series> {
    let number = |name: &str| curve[name].as_u64().filter(|&number| number < 1 << 60);
    let points = curve["points"].as_str()?.split_ascii_whitespace().map(|point| point.parse().ok());
    let (points, stride): (Vec<f64>, _) = (points.collect::<Option<_>>()?, number("stride")?);
    let (sum, count) = (curve["sum"].as_str()?.parse().ok()?, number("count")?);
    let fits = points.len() <= POINTS && (1..1 << 40).contains(&stride) && count < stride;
    fits.then_some(Series {
        name: curve["name"].as_str()?.to_string(),
        first: number("first")?,
        points,
        stride: stride as usize,
        rest: (sum, count as usize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_read() {
        let of = |name: &str, points: Vec<f64>| Series {
            name: name.to_string(),
            first: 3,
            points,
            stride: 4,
            rest: (0.1, 2),
        };
        let series =
            [of("a < b & \"c\" </metadata>", vec![0.1, -1e-300, f64::INFINITY]), of("d", Vec::new())];
        let picture = add("<svg>\n</svg>\n".to_string(), &series);
        assert!(picture.starts_with("<svg>\n<metadata>{") && picture.ends_with("}</metadata>\n</svg>\n"));
        assert_eq!(picture.matches('<').count(), 4);
        assert_eq!(parse(&picture).unwrap(), series);
    }

    #[test]
    fn other_files_have_no_curves() {
        let with = |data: &str| format!("<svg>{BEGIN}{data}{END}</svg>");
        let curve = |data: &str| with(&format!(r#"{{"version":1,"curves":[{{"name":"a",{data}}}]}}"#));
        let right = r#""first":0,"stride":2,"points":"1 2","sum":"0","count":1"#;
        assert!(parse(&curve(right)).is_some());
        for (what, other) in [
            (r#""stride":2"#, r#""stride":0"#),
            (r#""count":1"#, r#""count":2"#),
            (r#""1 2""#, r#""1 two""#),
            (r#""first":0"#, r#""first":-1"#),
            (r#""sum":"0""#, r#""sum":0"#),
        ] {
            assert!(right.contains(what));
            assert_eq!(parse(&curve(&right.replace(what, other))), None, "{other}");
        }
        for other in [
            "",
            "<svg></svg>",
            "<svg><metadata>",
            &with("["),
            &with("{}"),
            &with(r#"{"version":2,"curves":[]}"#),
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
