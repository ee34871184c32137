//! Curves: values over the steps of a training, as a picture.

use std::io;
use std::path::Path;

use plotters::prelude::{BLUE, ChartBuilder, IntoDrawingArea, LineSeries, SVGBackend, WHITE};

use super::data;
use crate::files::FileError;

/// The size of the picture, for each curve.
const SIZE: (u32, u32) = (800, 300);

/// The most points of a curve: about two per pixel.
pub(super) const POINTS: usize = 2048;

/// The most missing batches that are drawn as a gap. After more, a curve begins anew.
const LONGEST_GAP: u64 = 1 << 24;

/// Curves of values over the steps of a training, one below the other.
///
/// [`Options::curve`](crate::Options::curve) draws those of a call of `train`; this type is for loops of your own. It
/// keeps some thousand points of each curve, however many steps there are: in a long training a point is the mean of
/// several steps.
///
/// ```
/// use paddle::plot::Curve;
///
/// let mut curve = Curve::new(["discriminator", "generator"]);
/// for step in 0..100 {
///     curve.add([0.7 + 1.0 / (1.0 + step as f32), 0.7]);
/// }
/// # let path = std::env::temp_dir().join(format!("paddle-curve-{}.svg", std::process::id()));
/// curve.save(&path)?;
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::FileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Curve {
    series: Vec<Series>,
}

impl Curve {
    /// Curves with these names and no values.
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Curve { series: names.into_iter().map(|name| Series::new(name.into())).collect() }
    }

    /// Continues the picture in this file, for a training that continues after `steps` steps. Steps missing in the
    /// picture are left out; all are, if there is no file or if it has curves of other names.
    pub fn resume<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
        path: impl AsRef<Path>,
        steps: u64,
    ) -> Self {
        let new = Curve::new(names);
        let kept = if steps == 0 { None } else { data::read(path.as_ref()) };
        let is_same =
            |series: &Vec<Series>| series.iter().map(|s| &s.name).eq(new.series.iter().map(|s| &s.name));
        let mut series = kept.filter(is_same).unwrap_or(new.series);
        series.iter_mut().for_each(|series| series.cut(steps));
        Curve { series }
    }

    /// Adds the values of a step, in the order of the names. NaN and infinities are gaps.
    pub fn add(&mut self, values: impl IntoIterator<Item = f32>) {
        self.series.iter_mut().zip(values).for_each(|(series, value)| series.add(value));
    }

    /// The picture, as SVG.
    ///
    /// # Errors
    /// What the library says that draws.
    pub fn svg(&self) -> io::Result<String> {
        draw(&self.series)
    }

    /// Draws the curves as SVG. The file also has their values, for [`resume`](Self::resume). It is written as a whole
    /// or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let picture = draw(&self.series).map(|picture| data::add(picture, &self.series));
        super::write(path.as_ref(), picture.map(String::into_bytes))
    }
}

/// One curve. In a long training a point is the mean over several batches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    /// The number of batches before the first point, whose values are unknown.
    pub(super) first: u64,
    pub(super) points: Vec<f64>,
    /// The number of batches of a point.
    pub(super) stride: usize,
    /// The sum and the number of the values that do not make up a point yet.
    pub(super) rest: (f64, usize),
}

impl Series {
    fn new(name: String) -> Self {
        Series { name, first: 0, points: Vec::new(), stride: 1, rest: (0.0, 0) }
    }

    /// Cuts the curve off after this number of batches, or extends it with a gap.
    fn cut(&mut self, batches: u64) {
        let Series { first, stride, rest, .. } = *self;
        let drawn = first + (self.points.len() * stride) as u64;
        let known = drawn + rest.1 as u64;
        if batches < first || batches.saturating_sub(known) > LONGEST_GAP {
            *self = Series { first: batches, ..Series::new(std::mem::take(&mut self.name)) };
        } else if batches >= drawn {
            // The values in the sum are not known one by one, so a part of them is taken to have their mean.
            let wanted = (batches.min(known) - drawn) as usize;
            self.rest =
                if wanted == rest.1 { rest } else { (rest.0 / rest.1 as f64 * wanted as f64, wanted) };
            (known..batches).for_each(|_| self.add(f32::NAN));
        } else {
            let (whole, wanted) = ((batches - first) as usize / stride, (batches - first) as usize % stride);
            // The sum of no values is 0, even if the point is NaN.
            self.rest = if wanted == 0 { (0.0, 0) } else { (self.points[whole] * wanted as f64, wanted) };
            self.points.truncate(whole);
        }
    }

    fn add(&mut self, value: f32) {
        self.rest = (self.rest.0 + f64::from(value), self.rest.1 + 1);
        if self.rest.1 < self.stride {
            return;
        }
        if self.points.len() == POINTS {
            self.points = self.points.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
            self.stride *= 2;
            if self.rest.1 < self.stride {
                return;
            }
        }
        self.points.push(self.rest.0 / self.stride as f64);
        self.rest = (0.0, 0);
    }

    /// The points with finite values: the number of the last batch, and the value.
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        let at = |(i, &value): (usize, &f64)| (self.batches(i + 1) as f64, value);
        self.points.iter().enumerate().map(at).filter(|(_, value)| value.is_finite())
    }

    /// The number of the last batch of the first `points` points.
    fn batches(&self, points: usize) -> u64 {
        self.first + (points * self.stride) as u64
    }

    /// The range from the least to the largest value; it is not empty.
    fn range(&self) -> (f64, f64) {
        let (least, most) =
            self.drawn().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), (_, value)| {
                (least.min(value), most.max(value))
            });
        if least > most {
            return (0.0, 1.0);
        }
        let margin = if most > least { 0.05 * (most - least) } else { (0.05 * most.abs()).max(1e-6) };
        (least - margin, most + margin)
    }
}

/// A label on an axis of this range, with enough digits to tell ten labels apart.
fn label(value: f64, (least, most): (f64, f64)) -> String {
    let (step, largest) = ((most - least) / 10.0, least.abs().max(most.abs()));
    // A value this much smaller than the labels' distance is a rounded 0.
    let value = if value.abs() < step / 1e3 { 0.0 } else { value };
    let digits = |of: f64| (of / step).log10().ceil().clamp(0.0, 15.0) as usize;
    if (1e-3..1e5).contains(&largest) || value == 0.0 {
        format!("{value:.*}", if largest < 1e-3 { 0 } else { digits(1.0) })
    } else {
        format!("{value:.*e}", digits(10_f64.powf(value.abs().log10().floor())))
    }
}

fn draw(series: &[Series]) -> io::Result<String> {
    let mut picture = String::new();
    {
        let height = SIZE.1.saturating_mul(series.len() as u32);
        let area = SVGBackend::with_string(&mut picture, (SIZE.0, height)).into_drawing_area();
        area.fill(&WHITE).map_err(io::Error::other)?;
        for (area, series) in area.split_evenly((series.len(), 1)).iter().zip(series) {
            let (least, most) = series.range();
            let batches = series.batches(series.points.len()).max(series.first + 1) as f64;
            let mut chart = ChartBuilder::on(area)
                .margin(12)
                .caption(&series.name, ("sans-serif", 18))
                .x_label_area_size(36)
                .y_label_area_size(72)
                .build_cartesian_2d(series.first as f64..batches, least..most)
                .map_err(io::Error::other)?;
            let count = |value: &f64| format!("{value:.0}");
            let value = |value: &f64| label(*value, (least, most));
            chart
                .configure_mesh()
                .x_desc("batches")
                .x_label_formatter(&count)
                .y_label_formatter(&value)
                .max_light_lines(0)
                .draw()
                .map_err(io::Error::other)?;
            // A line through a single point would be invisible.
            let points = if series.drawn().nth(1).is_some() { 0 } else { 3 };
            let line = LineSeries::new(series.drawn(), &BLUE).point_size(points);
            chart.draw_series(line).map_err(io::Error::other)?;
        }
        area.present().map_err(io::Error::other)?;
    }
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_are_means() {
        let mut series = Series::new("cost".to_string());
        (0..POINTS).for_each(|i| series.add(i as f32));
        assert_eq!((series.stride, series.points.len(), series.points[2]), (1, POINTS, 2.0));
        (POINTS..3 * POINTS).for_each(|i| series.add(i as f32));
        assert_eq!((series.stride, series.points.len()), (4, 3 * POINTS / 4));
        for (i, &point) in series.points.iter().enumerate() {
            assert_eq!(point, 4.0 * i as f64 + 1.5);
        }
        assert_eq!(series.drawn().last().unwrap().0, 3.0 * POINTS as f64);
    }

    /// The curve of these steps.
    fn of(steps: std::ops::Range<u64>) -> Series {
        let mut series = Series { first: steps.start, ..Series::new("cost".to_string()) };
        steps.for_each(|i| series.add(i as f32));
        series
    }

    #[test]
    fn a_curve_goes_back_to_a_step() {
        // Short trainings, and long ones in which a point is several steps.
        for steps in [0, 1, 100, 2047, 2048, 2049, 5000, 8191] {
            for back in [0, 1, 99, 100, 2048, 4999] {
                let mut series = of(0..steps);
                series.cut(back);
                let batches = series.batches(series.points.len()) + series.rest.1 as u64;
                assert_eq!(batches, back, "{steps}");
                let shown: Vec<_> = of(0..steps.min(back)).points;
                if series.stride == 1 {
                    assert_eq!(series.points[..shown.len()], shown, "{steps} {back}");
                }
                assert!(series.points[shown.len().min(series.points.len())..].iter().all(|x| x.is_nan()));
            }
            // Cutting at the present step changes nothing, not even an incomplete point.
            let mut series = of(0..steps);
            series.cut(steps);
            assert_eq!(series, of(0..steps));
        }
    }

    #[test]
    fn a_curve_without_its_beginning_says_so() {
        for mut series in [Series::new("cost".to_string()), of(9..12)] {
            let begun = if series.first == 0 { u64::MAX / 4 } else { 5 };
            series.cut(begun);
            assert_eq!((series.first, series.points.len()), (begun, 0));
        }
    }

    #[test]
    fn labels_have_the_digits_that_tell_them_apart() {
        let labels = |range: (f64, f64), values: &[f64]| {
            let labels: Vec<_> = values.iter().map(|&value| label(value, range)).collect();
            labels.join(" ")
        };
        assert_eq!(labels((0.1, 2.4), &[0.5, 2.0]), "0.5 2.0");
        assert_eq!(labels((-110.0, 5.0), &[-100.0, 0.0]), "-100 0");
        assert_eq!(labels((0.095, 0.105), &[0.1, 0.104]), "0.100 0.104");
        assert_eq!(labels((1e-7, 1.05e-5), &[2e-6, 1e-5]), "2e-6 1.0e-5");
        assert_eq!(labels((2e6, 3e7), &[5e6, 3e7]), "5e6 3.0e7");
        assert_eq!(labels((-1e-6, 9e-6), &[1e-21, 2e-6]), "0 2e-6");
    }

    #[test]
    fn what_is_drawn_is_finite() {
        for values in [&[][..], &[f32::NAN], &[3.0], &[0.0, 0.0], &[1.0, f32::INFINITY, -1.0]] {
            let mut series = Series::new("a < b".to_string());
            values.iter().for_each(|&value| series.add(value));
            let (least, most) = series.range();
            assert!(least.is_finite() && least < most);
            let picture = draw(&[series]).unwrap();
            assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
            assert!(picture.contains("a &lt; b") && !picture.contains("NaN"), "{picture}");
        }
    }
}
