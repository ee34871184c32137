//! Windows that slide over images: the geometry that convolution and pooling share.
//!
//! An image is `[_, channels, height, width]`. Along height and along width, window `i` starts `i · stride` elements
//! behind the first element of the padded image, and covers `size` elements that are `dilation` apart.

use crate::ops::{Attribute, AttributeValue, Infer, Mismatch, MismatchKind};
use crate::program::{Dim, DimOverflow, Type};

/// The elements that are added around an image before windows slide over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// The number of elements above, below, left and right.
    Explicit([i64; 4]),
    /// As many elements as make `⌈size / stride⌉` windows. If their number is odd, one more goes below and to the
    /// right.
    Same,
}

/// An attribute has the four sides, or none of them for [`Padding::Same`].
impl AttributeValue for Padding {
    fn to_attribute(&self) -> Attribute {
        match self {
            Padding::Explicit(sides) => Attribute::Ints(sides.to_vec()),
            Padding::Same => Attribute::Ints(Vec::new()),
        }
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Ints(sides) if sides.is_empty() => Some(Padding::Same),
            Attribute::Ints(sides) => Padding::of(sides),
            _ => None,
        }
    }
}

impl Padding {
    /// The padding from `[all]`, `[height, width]` or `[above, below, left, right]`.
    pub fn of(sides: &[i64]) -> Option<Padding> {
        match *sides {
            [all] => Some(Padding::Explicit([all; 4])),
            [height, width] => Some(Padding::Explicit([height, height, width, width])),
            [above, below, left, right] => Some(Padding::Explicit([above, below, left, right])),
            _ => None,
        }
    }

    /// The padding in front of and behind an axis: 0 is height, 1 is width.
    fn along(self, axis: usize) -> Option<[i64; 2]> {
        match self {
            Padding::Explicit(sides) => Some([sides[2 * axis], sides[2 * axis + 1]]),
            Padding::Same => None,
        }
    }
}

/// How windows slide along height (0) and width (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Elements that a window covers.
    pub size: [i64; 2],
    /// The distance from one window to the next, in elements.
    pub stride: [i64; 2],
    /// The distance between the elements of a window.
    pub dilation: [i64; 2],
    /// The padding of the image.
    pub padding: Padding,
}

/// The wire has 32 bits for each of these numbers.
const MOST: i64 = i32::MAX as i64;

impl Window {
    /// Checks that the numbers are in range.
    pub(in crate::ops) fn check(&self, cx: &Infer<'_>) -> Result<(), Mismatch> {
        let numbers = |name: &str, values: &[i64], least: i64| {
            if values.iter().all(|value| (least..=MOST).contains(value)) {
                return Ok(());
            }
            let message = format!("`{}` has {name} of {values:?}, but needs at least {least}", cx.operator);
            Err(cx.fail(MismatchKind::Attribute, message))
        };
        numbers("a window", &self.size, 1)?;
        numbers("a stride", &self.stride, 1)?;
        numbers("a dilation", &self.dilation, 1)?;
        match self.padding {
            Padding::Explicit(sides) => numbers("padding", &sides, 0),
            Padding::Same => Ok(()),
        }
    }

    /// The distance from the first to behind the last element of a window.
    fn reach(&self, axis: usize) -> i64 {
        self.dilation[axis].saturating_mul(self.size[axis] - 1).saturating_add(1)
    }

    /// The number of windows along an axis of `size` elements. With `ceil`, the last one may reach over the end.
    fn positions(&self, axis: usize, size: &Dim, ceil: bool) -> Result<Option<Dim>, DimOverflow> {
        let stride = Dim::from(self.stride[axis]);
        let Some([before, after]) = self.padding.along(axis) else {
            return Ok((size + &Dim::from(self.stride[axis] - 1))?.floor_div(&stride));
        };
        let rounding = if ceil { self.stride[axis] - 1 } else { 0 };
        let room = (size + &Dim::from(before + after - self.reach(axis) + rounding))?;
        let Some(steps) = room.floor_div(&stride) else { return Ok(None) };
        Ok(Some((&steps + &Dim::from(1))?))
    }

    /// The least size of an axis that has `positions` windows, without the padding that is written. The result
    /// saturates.
    pub fn covered(&self, axis: usize, positions: i64) -> i64 {
        let [before, after] = self.padding.along(axis).unwrap_or_default();
        let steps = positions.saturating_sub(1).saturating_mul(self.stride[axis]);
        steps.saturating_add(self.reach(axis)).saturating_sub(before).saturating_sub(after)
    }

    /// The type of images with these channels and one element for each window over input 0.
    pub(in crate::ops) fn slide(&self, cx: &Infer<'_>, channels: Dim, ceil: bool) -> Result<Type, Mismatch> {
        let ty = cx.ty(0);
        let image = Image::of(cx, 0)?;
        let mut dims = image.outer.to_vec();
        dims.push(channels);
        for (axis, size) in [image.height, image.width].into_iter().enumerate() {
            let mismatch = || {
                let message = format!(
                    "{}, but a window of `{}` reaches over {} × {} elements, which does not fit",
                    cx.is(0),
                    cx.operator,
                    self.reach(0),
                    self.reach(1)
                );
                cx.wrong(0, MismatchKind::Shape, message)
            };
            let count = self.positions(axis, size, ceil)?.ok_or_else(mismatch)?;
            cx.need_positive(&count, mismatch)?;
            dims.push(count);
        }
        Ok(Type { dims, ..*ty })
    }

    /// The number of elements that are added in front of and behind an axis of `size` elements.
    #[inline]
    pub fn around(&self, axis: usize, size: usize) -> [usize; 2] {
        let sides = self.padding.along(axis).unwrap_or_else(|| {
            let (size, stride) = (size as i64, self.stride[axis]);
            let last = ((size + stride - 1) / stride - 1) * stride;
            let missing = (last + self.reach(axis) - size).max(0);
            [missing / 2, missing - missing / 2]
        });
        sides.map(|side| side as usize)
    }
}

/// The dimensions of an image.
pub(in crate::ops) struct Image<'a> {
    /// The dimensions in front of the channels, if the images have no rows.
    pub(in crate::ops) outer: &'a [Dim],
    pub(in crate::ops) channels: &'a Dim,
    pub(in crate::ops) height: &'a Dim,
    pub(in crate::ops) width: &'a Dim,
}

impl<'a> Image<'a> {
    /// The dimensions of an input, which has to be images of floating-point numbers.
    pub(in crate::ops) fn of(cx: &Infer<'a>, input: usize) -> Result<Image<'a>, Mismatch> {
        cx.need_float(input)?;
        let ty = &cx.types[input];
        match (&ty.dims[..], ty.rank()) {
            ([outer @ .., channels, height, width], 4) => Ok(Image { outer, channels, height, width }),
            _ => {
                let message = format!(
                    "{}, but `{}` needs images: [_, channels, height, width]",
                    cx.is(input),
                    cx.operator
                );
                Err(cx.wrong(input, MismatchKind::Shape, message))
            }
        }
    }
}
