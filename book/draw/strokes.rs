//! Strokes as the images of the data set that the network was trained on: a bitmap of 32 × 32 pixels, and of each block of 4 × 4
//! how many are set (Alpaydin, Kaynak 1998).

/// The side of the bitmap.
const BITMAP: usize = 32;

/// Half of the width of a stroke, in pixels of the bitmap.
const RADIUS: f32 = 2.2;

/// Pixels from 0 to 1. Whatever the size and place of what is drawn, it fills the height of the image, or its width if it is wide.
/// `points` are pairs of x and y; a pair that is not a number ends a stroke.
#[must_use]
pub fn image_of(points: &[f32]) -> [[f32; 8]; 8] {
    let strokes: Vec<Vec<[f32; 2]>> = strokes(points);
    let mut image = [[0.0; 8]; 8];
    let all = || strokes.iter().flatten();
    let Some(scale) = Scale::of(all()) else { return image };
    let strokes: Vec<Vec<[f32; 2]>> =
        strokes.iter().map(|stroke| stroke.iter().map(|&point| scale.apply(point)).collect()).collect();
    for row in 0..BITMAP {
        for column in 0..BITMAP {
            let pixel = [column as f32 + 0.5, row as f32 + 0.5];
            if strokes.iter().any(|stroke| distance(pixel, stroke) <= RADIUS) {
                image[row / 4][column / 4] += 1.0 / 16.0;
            }
        }
    }
    image
}

fn strokes(points: &[f32]) -> Vec<Vec<[f32; 2]>> {
    let (points, _) = points.as_chunks::<2>();
    let is_point = |point: &[f32; 2]| point.iter().all(|it| it.is_finite());
    points.split(|point| !is_point(point)).filter(|stroke| !stroke.is_empty()).map(<[_]>::to_vec).collect()
}

/// From the drawing to the bitmap.
struct Scale {
    factor: f32,
    /// The middle of what is drawn.
    middle: [f32; 2],
}

impl Scale {
    fn of<'a>(points: impl Iterator<Item = &'a [f32; 2]> + Clone) -> Option<Scale> {
        let side = |axis: usize| {
            let along = points.clone().map(move |point| point[axis]);
            (along.clone().fold(f32::INFINITY, f32::min), along.fold(f32::NEG_INFINITY, f32::max))
        };
        let ([left, right], [top, bottom]) = (side(0).into(), side(1).into());
        points.clone().next()?;
        let room = BITMAP as f32 - 2.0 * RADIUS;
        let size = (right - left).max(bottom - top);
        // A dot has no size.
        let factor = if size > 0.0 { room / size } else { 1.0 };
        Some(Scale { factor, middle: [(left + right) / 2.0, (top + bottom) / 2.0] })
    }

    fn apply(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let half = BITMAP as f32 / 2.0;
        [half + self.factor * (x - self.middle[0]), half + self.factor * (y - self.middle[1])]
    }
}

/// How far a point is from a stroke.
fn distance(point: [f32; 2], stroke: &[[f32; 2]]) -> f32 {
    let ends = stroke.windows(2).map(|ends| (ends[0], ends[1]));
    let ends = ends.chain(stroke.first().map(|&dot| (dot, dot)));
    ends.map(|(a, b)| from_line(point, a, b)).fold(f32::INFINITY, f32::min)
}

/// How far a point is from the line between two others.
fn from_line([x, y]: [f32; 2], [ax, ay]: [f32; 2], [bx, by]: [f32; 2]) -> f32 {
    let (dx, dy) = (bx - ax, by - ay);
    let length = dx * dx + dy * dy;
    let at = if length > 0.0 { (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (x - ax - at * dx).hypot(y - ay - at * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_down_fills_the_height() {
        let small = image_of(&[3.0, 1.0, 3.0, 2.0]);
        assert_eq!(small, image_of(&[100.0, 50.0, 100.0, 250.0]));
        assert!(
            (0..8).all(|row| small[row][3] > 0.3 && small[row][4] > 0.3 && small[row][0] == 0.0),
            "{small:?}"
        );
    }

    #[test]
    fn nothing_and_a_dot() {
        assert_eq!(image_of(&[]), [[0.0; 8]; 8]);
        assert_eq!(image_of(&[f32::NAN, 1.0]), [[0.0; 8]; 8]);
        let dot = image_of(&[5.0, 5.0]);
        assert!(dot[3][3] > 0.1 && dot[0] == [0.0; 8], "{dot:?}");
    }

    #[test]
    fn strokes_are_not_joined() {
        let nan = f32::NAN;
        let two = image_of(&[0.0, 0.0, 0.0, 1.0, nan, nan, 1.0, 0.0, 1.0, 1.0]);
        assert_eq!((two[4][3], two[4][4]), (0.0, 0.0));
    }
}
