//! `nearest_interp_v2`, `bilinear_interp_v2`: change the height and width of images.

use super::window::Image;
use super::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, Attributes, Effects, Gradient, GradientError,
    Infer, Linear, Mismatch, MismatchKind, Operation, Sample, Schema, Slot,
};
use crate::program::{Dim, DimOverflow, Type, VarId};

/// How an element of the result follows from elements of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterpolateKind {
    /// It is the nearest element.
    Nearest,
    /// It is a mean of the four elements around its place, weighted by how near they are.
    Bilinear,
}

impl InterpolateKind {
    /// All of them.
    pub const ALL: [InterpolateKind; 2] = [InterpolateKind::Nearest, InterpolateKind::Bilinear];

    /// PaddlePaddle's name.
    pub fn name(self) -> &'static str {
        match self {
            InterpolateKind::Nearest => "nearest",
            InterpolateKind::Bilinear => "bilinear",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<InterpolateKind> {
        InterpolateKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Changes images `[_, channels, height, width]` to another height and width, each channel by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolate {
    /// How an element of the result follows from elements of the image.
    pub kind: InterpolateKind,
    /// The height and width of the result.
    pub size: Vec<Dim>,
    /// The number of elements of the result for one element of the image, down and across, in single precision. 0 if
    /// `size` does not follow from such a scale.
    pub scale: [f64; 2],
    /// Whether the centres of the corner elements of image and result coincide. Otherwise their outer edges do.
    pub align_corners: bool,
    /// The place of an element for bilinear interpolation without aligned corners: 0 for the middle of the area that it
    /// covers, 1 for the beginning.
    pub align_mode: i64,
}

/// The attributes that all kinds have.
struct Settings {
    size: Vec<Dim>,
    scale: [f64; 2],
    align_corners: bool,
    align_mode: i64,
}

attributes!(Settings { size: Vec::new(), scale = [0.0; 2], align_corners = false, align_mode = 0 });

impl Attributes for Interpolate {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        let Interpolate { size, scale, align_corners, align_mode, .. } = self.clone();
        Settings { size, scale, align_corners, align_mode }.to_attributes()
    }

    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        let settings = Interpolate::of(self.kind, Vec::new());
        let Interpolate { size, scale, align_corners, align_mode, .. } = settings;
        let read = Settings { size, scale, align_corners, align_mode }.with_attributes(reader)?;
        // The wire has single precision, and omits a scale whose two numbers are 0, whatever their sign.
        let scale = read.scale.map(|scale| f64::from(scale as f32));
        let scale = if scale == [0.0; 2] { [0.0; 2] } else { scale };
        let Settings { size, align_corners, align_mode, .. } = read;
        Ok(Interpolate { kind: self.kind, size, scale, align_corners, align_mode })
    }

    fn prototypes() -> Vec<Self> {
        InterpolateKind::ALL.map(|kind| Interpolate::of(kind, Vec::new())).into()
    }
}

/// The elements of one axis of the image between which an element of the result lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The element before the place, or on it.
    pub first: usize,
    /// The element behind the place.
    pub second: usize,
    /// The weight of the second element. The first one has the rest.
    pub weight: f32,
}

/// How the places of the result's elements lie on one axis of an image.
#[derive(Clone, Copy, Debug)]
pub struct Along {
    kind: InterpolateKind,
    align_corners: bool,
    half: bool,
    ratio: f32,
    last: usize,
}

impl Along {
    /// The elements between which element `at` of the result lies. The arithmetic has the precision and order of
    /// PaddlePaddle's, as the choice of elements depends on how a place is rounded.
    #[inline(always)]
    pub fn between(&self, at: usize) -> Between {
        let place = self.ratio * at as f32;
        if self.kind == InterpolateKind::Nearest {
            let nearest = if self.align_corners { (f64::from(place) + 0.5) as usize } else { place as usize };
            let first = nearest.min(self.last);
            return Between { first, second: first, weight: 0.0 };
        }
        let place = match self.half {
            true => {
                let place = f64::from(self.ratio) * (at as f64 + 0.5) - 0.5;
                if place > 0.0 { place as f32 } else { 0.0 }
            }
            false => place,
        };
        let first = (place as usize).min(self.last);
        Between { first, second: (first + 1).min(self.last), weight: place - first as f32 }
    }
}

impl Interpolate {
    /// An operator to this height and width, with aligned edges.
    pub fn of(kind: InterpolateKind, size: Vec<Dim>) -> Interpolate {
        Interpolate { kind, size, scale: [0.0; 2], align_corners: false, align_mode: 0 }
    }

    /// The size that is `scale` times as large, as PaddlePaddle rounds it; `None` if it cannot be known before the
    /// network is fed.
    pub fn scaled(size: &Dim, scale: f64) -> Result<Option<Dim>, DimOverflow> {
        let scale = scale as f32;
        if let Some(known) = size.constant() {
            return Ok(Some(Dim::from((known as f32 * scale) as i64)));
        }
        let whole = |number: f32| (number.fract() == 0.0 && number >= 1.0).then(|| Dim::from(number as i64));
        if let Some(times) = whole(scale) {
            return (size * &times).map(Some);
        }
        // A half or a quarter has an exact inverse.
        let inverse = 1.0 / scale;
        let parts = whole(inverse).filter(|_| (inverse as i64).count_ones() == 1);
        Ok(parts.and_then(|parts| size.floor_div(&parts)))
    }

    /// How places lie along height and width, for images and results of these sizes.
    pub fn along(&self, input: [usize; 2], output: [usize; 2]) -> [Along; 2] {
        [0, 1].map(|axis| {
            let (from, to, scale) = (input[axis], output[axis], self.scale[axis] as f32);
            // An image of the same size stays as it is.
            let ratio = if input == output {
                1.0
            } else if to <= 1 {
                0.0
            } else if self.align_corners {
                from.saturating_sub(1) as f32 / (to - 1) as f32
            } else if scale > 0.0 {
                1.0 / scale
            } else {
                from as f32 / to as f32
            };
            let half = self.align_mode == 0 && !self.align_corners;
            let last = from.saturating_sub(1);
            Along { kind: self.kind, align_corners: self.align_corners, half, ratio, last }
        })
    }

    fn output(&self, cx: &Infer<'_>) -> Result<Type, Mismatch> {
        let image = Image::of(cx, 0)?;
        let wrong = |message: String| cx.fail(MismatchKind::Attribute, message);
        let [height, width] = &self.size[..] else {
            let message =
                format!("`{}` needs a height and a width, not {} sizes", cx.operator, self.size.len());
            return Err(wrong(message));
        };
        let is_scale = |scale: &f64| scale.is_finite() && *scale > 0.0;
        if self.scale != [0.0; 2] && !self.scale.iter().all(is_scale) {
            return Err(wrong(format!("`{}` cannot scale images by {:?}", cx.operator, self.scale)));
        }
        if !(0..=1).contains(&self.align_mode) {
            let message = format!("`{}` has an align_mode of 0 or 1, not {}", cx.operator, self.align_mode);
            return Err(wrong(message));
        }
        for size in [height, width] {
            cx.need_positive(size, || {
                let size = cx.program.show_dim(size);
                wrong(format!("`{}` cannot give images {size} elements", cx.operator))
            })?;
        }
        for size in [image.height, image.width] {
            cx.need_positive(size, || {
                let message = format!("{}, but `{}` needs images that are not empty", cx.is(0), cx.operator);
                cx.wrong(0, MismatchKind::Shape, message)
            })?;
        }
        if self.scale != [0.0; 2] {
            for (from, (to, scale)) in
                [image.height, image.width].into_iter().zip(self.size.iter().zip(self.scale))
            {
                let unlike = || {
                    let [to, from] = [to, from].map(|size| cx.program.show_dim(size));
                    wrong(format!(
                        "`{}` cannot give images {to} elements of {from}: {scale} times as many",
                        cx.operator
                    ))
                };
                cx.need_equal(&Interpolate::scaled(from, scale)?.ok_or_else(unlike)?, to, unlike)?;
            }
        }
        let dims = image.outer.iter().chain([image.channels, height, width]).cloned().collect();
        Ok(Type { dims, ..*cx.ty(0) })
    }
}

impl Operation for Interpolate {
    fn schema(&self) -> &'static Schema {
        const NEAREST: Schema = Schema {
            name: "nearest_interp_v2",
            doc: "Images of another height and width, from the nearest elements.",
            inputs: &[Slot::of("X")],
            outputs: &[Slot::of("Out")],
            accuracy: AccuracyClass::MOVED,
            effects: Effects { linear: Linear::In(&[0]), ..Effects::ROW_WISE },
        };
        const BILINEAR: Schema = Schema {
            name: "bilinear_interp_v2",
            doc: "Images of another height and width, from the four elements around each place.",
            accuracy: AccuracyClass::Accumulating("a sum of four weighted elements"),
            ..NEAREST
        };
        match self.kind {
            InterpolateKind::Nearest => &NEAREST,
            InterpolateKind::Bilinear => &BILINEAR,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![self.output(cx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.grad(0)?];
        Ok(vec![Some(g.emit(InterpolateGrad(self.clone()), &inputs)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(Sample::of, |sample, _| sample)
    }
}

/// Gradient of [`Interpolate`].
#[derive(Clone, Debug, PartialEq)]
pub struct InterpolateGrad(
    /// The operator that is differentiated.
    pub Interpolate,
);

attributes!(InterpolateGrad(Interpolate));

impl Operation for InterpolateGrad {
    fn schema(&self) -> &'static Schema {
        const NEAREST: Schema = Schema {
            name: "nearest_interp_v2_grad",
            doc: "Gradient of `nearest_interp_v2`.",
            inputs: &[Slot::of("X").shape_only(), Slot::of("Out@GRAD")],
            outputs: &[Slot::of("X@GRAD")],
            accuracy: AccuracyClass::Accumulating("a sum over the elements that are made of one"),
            effects: Effects::ROW_WISE,
        };
        const BILINEAR: Schema =
            Schema { name: "bilinear_interp_v2_grad", doc: "Gradient of `bilinear_interp_v2`.", ..NEAREST };
        match self.0.kind {
            InterpolateKind::Nearest => &NEAREST,
            InterpolateKind::Bilinear => &BILINEAR,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(1, &self.0.output(cx)?)?;
        Ok(vec![cx.ty(0).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(|op| Sample::of(InterpolateGrad(op)), |sample, output| sample.like(output))
    }
}

/// Samples of the operator. `with` adds an input in the shape of the result.
fn cases(op: impl Fn(Interpolate) -> Sample, with: impl Fn(Sample, &[i64]) -> Sample) -> Vec<Sample> {
    let mut samples = Vec::new();
    for kind in InterpolateKind::ALL {
        let to = |size: [i64; 2]| Interpolate::of(kind, size.map(Dim::from).into());
        let corners = |size| Interpolate { align_corners: true, ..to(size) };
        let begin = |size| Interpolate { align_mode: 1, ..to(size) };
        let scaled = |size, scale| Interpolate { scale, ..to(size) };
        for (op_of, from, size) in [
            // Larger, smaller, and both.
            (to([6, 4]), [3, 2], [6, 4]),
            (to([2, 3]), [5, 7], [2, 3]),
            (to([7, 2]), [3, 5], [7, 2]),
            (corners([5, 7]), [3, 4], [5, 7]),
            (corners([2, 3]), [4, 5], [2, 3]),
            (begin([5, 3]), [3, 5], [5, 3]),
            // One element, one image, the same size.
            (to([1, 4]), [3, 1], [1, 4]),
            (corners([3, 1]), [1, 2], [3, 1]),
            (to([2, 3]), [2, 3], [2, 3]),
            (scaled([4, 7], [1.5, 2.5]), [3, 3], [4, 7]),
        ] {
            let [height, width] = from;
            samples.push(with(op(op_of).rows(2, &[2, height, width]), &[2, size[0], size[1]]));
        }
        samples.push(with(op(to([3, 3])).dense(&[2, 1, 2, 2]), &[2, 1, 3, 3]));
        samples.push(with(op(to([3, 3])).rows(0, &[1, 2, 2]), &[1, 3, 3]));
    }
    samples
}
