//! Images, and other values, of other sizes.
//!
//! What ours has as an operator is that. Other ways to choose elements gather along each axis, and other ways to mix them multiply
//! by a matrix of weights, so the sizes have to be known.

use crate::convert::draft::{MOST_POSITIONS, Mix};
use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{Interpolate, InterpolateKind, Number};
use crate::program::{Dim, VarId};

/// How the places of the result's elements lie on one axis.
struct Axis {
    at: usize,
    from: i64,
    to: i64,
    /// The size of the result before it was rounded down.
    length: f64,
    /// Elements of the result for one of the value.
    scale: f64,
}

impl Node<'_, '_> {
    /// The factors and the sizes of the result along each axis: one of the two is given.
    fn factors(&mut self, x: VarId) -> Result<(Vec<Option<f64>>, Vec<Dim>), Fault> {
        let shape = self.shape(x);
        let is_upsample = self.desc.op_type == "Upsample" || self.reader.version < 11;
        let at = if is_upsample { 1 } else { 2 };
        let axes = match self.ints("axes") {
            Some(axes) => {
                axes.iter().map(|&axis| self.axis(x, "axes", axis)).collect::<Result<Vec<_>, _>>()?
            }
            None => (0..shape.len()).collect(),
        };
        let floats = self.attr("scales").map(|attr| attr.floats.clone()).unwrap_or_default();
        let given: Option<Vec<f64>> = match self.has(at) {
            true => self.numbers(at).map(|numbers| numbers.into_iter().map(Number::as_f64).collect()),
            false => Some(floats.into_iter().map(f64::from).collect()),
        };
        let (mut scales, mut sizes) = (vec![None; shape.len()], shape.clone());
        match given.filter(|given| !given.is_empty()) {
            Some(given) if given.len() == axes.len() => {
                for (&axis, scale) in axes.iter().zip(given) {
                    if scale == 1.0 {
                        continue;
                    }
                    let size = Interpolate::scaled(&shape[axis], scale).ok().flatten();
                    let Some(size) = size else { return self.lacks("a size would overflow") };
                    (scales[axis], sizes[axis]) = (Some(scale), size);
                }
            }
            None if self.has(3) => {
                let Some(given) = self.dims(3).filter(|given| given.len() == axes.len()) else {
                    return self.lacks("its sizes are computed while it runs, but have to be known before");
                };
                for (&axis, size) in axes.iter().zip(given) {
                    sizes[axis] = size;
                }
                self.keep_ratio(&shape, &axes, &mut scales, &mut sizes)?;
            }
            _ => return self.lacks("its scales are computed while it runs, but have to be known before"),
        }
        Ok((scales, sizes))
    }

    /// With a policy, all axes get the least or the greatest of the factors.
    fn keep_ratio(
        &self,
        shape: &[Dim],
        axes: &[usize],
        scales: &mut [Option<f64>],
        sizes: &mut [Dim],
    ) -> Result<(), Fault> {
        let policy = self.text("keep_aspect_ratio_policy").unwrap_or("stretch");
        if policy == "stretch" {
            return Ok(());
        }
        let factor = |&axis: &usize| Some(sizes[axis].constant()? as f64 / shape[axis].constant()? as f64);
        let factors: Option<Vec<f64>> = axes.iter().map(factor).collect();
        let Some(factors) = factors else {
            return self.lacks("sizes of which it keeps the ratio are not known");
        };
        let scale = match policy {
            "not_larger" => factors.into_iter().fold(f64::INFINITY, f64::min),
            _ => factors.into_iter().fold(0.0, f64::max),
        };
        for &axis in axes {
            let size = shape[axis].constant().unwrap_or_default() as f64 * scale;
            (scales[axis], sizes[axis]) = (Some(scale), Dim::from((size + 0.5).floor() as i64));
        }
        Ok(())
    }

    pub(super) fn resize(&mut self) -> Given {
        let x = self.input(0)?;
        let (scales, sizes) = self.factors(x)?;
        let shape = self.shape(x);
        let changed: Vec<usize> =
            (0..shape.len()).filter(|&axis| sizes[axis] != shape[axis] || scales[axis].is_some()).collect();
        let is_old = self.desc.op_type == "Upsample" || self.reader.version < 11;
        let places = match is_old {
            true => "asymmetric",
            false => self.text("coordinate_transformation_mode").unwrap_or("half_pixel"),
        };
        let mode = self.text("mode").unwrap_or("nearest");
        let nearest =
            if is_old { "floor" } else { self.text("nearest_mode").unwrap_or("round_prefer_floor") };
        if self.int("antialias", 0) != 0 {
            return self.lacks("it smoothes what becomes smaller");
        }
        if changed.is_empty() {
            return Ok(vec![x]);
        }
        let kind = match (mode, places, nearest) {
            ("nearest", "asymmetric", "floor") => Some((InterpolateKind::Nearest, false, 0)),
            ("linear", "half_pixel" | "pytorch_half_pixel", _) => Some((InterpolateKind::Bilinear, false, 0)),
            ("linear", "asymmetric", _) => Some((InterpolateKind::Bilinear, false, 1)),
            ("linear", "align_corners", _) => Some((InterpolateKind::Bilinear, true, 0)),
            _ => None,
        };
        let is_ours = changed.iter().all(|&axis| {
            axis > 1 && (mode == "nearest" || is_alike(&shape[axis], &sizes[axis], scales[axis], places))
        });
        if let (Some((kind, align_corners, align_mode)), 4, true) = (kind, shape.len(), is_ours) {
            let scale = match [scales[2], scales[3]] {
                [None, None] => [0.0; 2],
                both => both.map(|scale| scale.unwrap_or(1.0)),
            };
            let op = Interpolate { kind, size: sizes[2..].to_vec(), scale, align_corners, align_mode };
            return self.give(op, &[x]);
        }
        let mut value = x;
        for axis in changed {
            let (Some(from), Some(to)) = (shape[axis].constant(), sizes[axis].constant()) else {
                return self.lacks("a size is not known, in a mode that needs it");
            };
            if from < 1 || to < 1 || from.max(to) >= MOST_POSITIONS {
                return self.lacks("a size is below 1 or too large");
            }
            let scale = scales[axis].unwrap_or(to as f64 / from as f64);
            let length = scales[axis].map_or(to as f64, |scale| scale * from as f64);
            let along = Axis { at: axis, from, to, length, scale };
            let of: Vec<f64> = (0..to)
                .map(|k| along.place(k, places))
                .collect::<Option<_>>()
                .ok_or_else(|| Fault::Form { message: format!("its places are those of `{places}`") })?;
            value = match mode {
                "nearest" => {
                    let positions =
                        of.iter().map(|&place| nearest_to(place, nearest).clamp(0, from - 1)).collect();
                    self.at().picked(value, axis as i64, positions)?
                }
                _ => self.mixed(value, &along, &of, mode)?,
            };
        }
        Ok(vec![value])
    }

    /// Sums of the two or four elements around each place.
    fn mixed(&mut self, x: VarId, along: &Axis, places: &[f64], mode: &str) -> Result<VarId, Fault> {
        let mix = match mode {
            "linear" => Mix::Linear,
            "cubic" => Mix::Cubic(self.float("cubic_coeff_a", -0.75)),
            _ => return self.lacks(format!("its mode is `{mode}`")),
        };
        let leaves_out = self.int("exclude_outside", 0) != 0;
        match self.at().mixed(x, along.at, along.from, places, mix, leaves_out)? {
            Ok(mixed) => Ok(mixed),
            Err(lack) => self.lacks(lack),
        }
    }
}

impl Axis {
    /// The place of an element of the result among the elements of the value.
    fn place(&self, k: i64, mode: &str) -> Option<f64> {
        let (k, from, to) = (k as f64, self.from as f64, self.to as f64);
        let is_one = self.length == 1.0;
        Some(match mode {
            "half_pixel" => (k + 0.5) / self.scale - 0.5,
            "pytorch_half_pixel" if self.to == 1 => -0.5,
            "pytorch_half_pixel" => (k + 0.5) / self.scale - 0.5,
            "half_pixel_symmetric" => {
                let offset = from / 2.0 * (1.0 - to / self.length);
                offset + (k + 0.5) / self.scale - 0.5
            }
            "asymmetric" => k / self.scale,
            "align_corners" if is_one => 0.0,
            "align_corners" => k * (from - 1.0) / (self.length - 1.0),
            _ => return None,
        })
    }
}

/// Whether ours puts the elements of an axis where ONNX does: it takes one element alone for the first, and with aligned corners
/// it knows whole sizes only.
fn is_alike(from: &Dim, to: &Dim, scale: Option<f64>, places: &str) -> bool {
    let is_whole = match (from.constant(), scale) {
        (_, None) => true,
        (Some(from), Some(scale)) => (scale * from as f64).fract() == 0.0,
        (None, Some(scale)) => scale.fract() == 0.0,
    };
    let is_several = match (to.constant(), scale) {
        (Some(to), _) => to > 1,
        (None, Some(scale)) => scale >= 2.0,
        (None, None) => true,
    };
    if places == "align_corners" { is_whole } else { is_several }
}

fn nearest_to(place: f64, mode: &str) -> i64 {
    let nearest = match mode {
        "floor" => place.floor(),
        "ceil" => place.ceil(),
        "round_prefer_ceil" => (place + 0.5).floor(),
        _ => (place - 0.5).ceil(),
    };
    nearest as i64
}
