//! Layers of windows and filters for images: `conv2d`, `conv2d_transpose`, `unfold`.

use super::{Call, interpolate};
use crate::ops::{
    Binary, BinaryKind, Conv2d, Conv2dTranspose, MismatchKind, Padding, Reshape, Unfold, initializers,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// Passes the layers of images to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_image_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Filters that slide over images: `x` is `[_, channels, height, width]`, the result
            /// `[_, filters, (height + 2 padding - filter_size) / stride + 1, …]`.
            ///
            /// Parameters: `w`, `[filters, channels / groups, height, width]`, normal with deviation `√(2 / inputs)` at
            /// first; `b`, `[filters]`, zero at first.
            conv2d(x: Value "The images.", filters: Size "How many filters.",
                   filter_size: Sizes "Their height and width: `3`, `[3, 5]`.";
                   stride: Sizes = 1 "How far a window is from the next.",
                   padding: IntsOr(same) = 0 "Zeros around the images: `1`, `[height, width]`, `[above, below, left, right]`, or `same`, for `⌈height / stride⌉` windows.",
                   dilation: Sizes = 1 "How far the elements of a window are from each other.",
                   groups: Size = 1 "Filters see the channels of their group only.",
                   bias: Flag = true "Whether to add `b`.",
                   act: Activation "What to apply to the result.") weights_and_bias
                => conv2d;

            /// Filters that each element of an image puts into a larger one: `x` is `[_, channels, height, width]`, the
            /// result `[_, filters, (height - 1) stride - 2 padding + filter_size + output_padding, …]`. It undoes the
            /// sizes of a `conv2d` with the same arguments.
            ///
            /// Parameters: `w`, `[channels, filters / groups, height, width]`, as `xavier()` has it at first; `b`,
            /// `[filters]`, zero at first.
            conv2d_transpose(x: Value "The images.", filters: Size "How many filters.",
                   filter_size: Sizes "Their height and width: `3`, `[3, 5]`.";
                   stride: Sizes = 1 "How far a window is from the next.",
                   padding: IntsOr(same) = 0 "What is cut off the result: `1`, `[height, width]`, `[above, below, left, right]`, or `same`, for a result `stride` times as large.",
                   output_padding: Ints = 0 "By how much the result is larger than windows reach, less than `stride`: `1`, `[height, width]`.",
                   dilation: Sizes = 1 "How far the elements of a window are from each other.",
                   groups: Size = 1 "The filters of a group see its channels only.",
                   bias: Flag = true "Whether to add `b`.",
                   act: Activation "What to apply to the result.") weights_and_bias
                => conv2d_transpose;

            /// Images of another height and width: `x` is `[_, channels, height, width]`, and `size` is what they are then,
            /// or `scale` how many times as large. An element is the nearest of the image, or, with `mode = bilinear`, made of
            /// the four around its place.
            interpolate(x: Value "The images.", size: SizesIfAny "Their new height and width: `28`, `[28, 20]`; left out where there is a `scale`.";
                   scale: Number "How many times as large they become, down and across: `2`, `0.5`.",
                   mode: Choice(nearest, bilinear) = "nearest" "What an element is made of.",
                   align_corners: Flag = false "Whether the first and last elements lie on those of the image, where it is bilinear; otherwise the edges do.")
                => interpolate::build;

            /// What windows that slide over images cover, a column for each window: `x` is `[_, channels, height, width]`, the
            /// result `[_, channels · elements of a window, windows]`.
            unfold(x: Value "The images.", size: Sizes "The height and width of a window: `2`, `[2, 3]`.";
                   stride: Sizes = 1 "How far a window is from the next.",
                   padding: Ints = 0 "Zeros around the images: `1`, `[height, width]`, `[above, below, left, right]`.",
                   dilation: Sizes = 1 "How far the elements of a window are from each other.")
                => unfold;
        }
    };
}

with_image_layers!(layers);

fn conv2d(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (dtype, channels) = channels(call, "x")?;
    let filters = known(call, "filters", &call.size("filters")?)?;
    let [height, width] = pair(call, "filter_size")?;
    let groups = groups(call, channels, filters)?;
    let mut conv = Conv2d {
        strides: pair(call, "stride")?,
        paddings: padding(call)?,
        dilations: pair(call, "dilation")?,
        groups,
    };
    // The operator ignores the dilation with this padding, which depends on the sizes of the images unless there is a
    // window at every element.
    if conv.paddings == Padding::Same && conv.dilations != [1, 1] {
        if conv.strides != [1, 1] {
            let but = "with a stride and a dilation it has to be numbers";
            return Err(call.wrong("padding", MismatchKind::Attribute, but));
        }
        let [[above, below], [left, right]] = beyond_strides(&conv, [height, width]).map(halves);
        conv.paddings = Padding::Explicit([above, below, left, right]);
    }
    let filters_type = Type::new(dtype, [filters, channels / groups, height, width]);
    let init = initializers::msra(filters_type).map_err(|error| BuildError::Mismatch(error.into()))?;
    let w = call.parameter("w", init)?;
    let result = call.emit(conv, &[x, w])?[0];
    biased(call, result, filters, 2)
}

fn conv2d_transpose(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (dtype, channels) = channels(call, "x")?;
    let filters = known(call, "filters", &call.size("filters")?)?;
    let [height, width] = pair(call, "filter_size")?;
    let groups = groups(call, channels, filters)?;
    let mut op = Conv2dTranspose {
        strides: pair(call, "stride")?,
        paddings: [0; 4],
        dilations: pair(call, "dilation")?,
        groups,
        output_padding: match call.ints("output_padding").as_deref() {
            Some(&[both]) => [both, both],
            Some(&[height, width]) => [height, width],
            _ => {
                let but = "images have two sizes: [height, width]";
                return Err(call.wrong("output_padding", MismatchKind::Attribute, but));
            }
        },
    };
    match padding(call)? {
        Padding::Explicit(sides) => op.paddings = sides,
        Padding::Same if call.given_ints("output_padding").is_some() => {
            let but = "`padding = same` says how large the result is";
            return Err(call.wrong("output_padding", MismatchKind::Attribute, but));
        }
        Padding::Same => {
            let beyond = beyond_strides(&op.conv(), [height, width]);
            let [[above, below], [left, right]] = beyond.map(|beyond| halves(beyond.max(0)));
            op.paddings = [above, below, left, right];
            op.output_padding = beyond.map(|beyond| (-beyond).max(0));
        }
    }
    let init = initializers::xavier(Type::new(dtype, [channels, filters / groups, height, width]))
        .map_err(|error| BuildError::Mismatch(error.into()))?;
    let w = call.parameter("w", init)?;
    let result = call.emit_with("output_padding", op, &[x, w])?[0];
    biased(call, result, filters, 2)
}

fn unfold(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let [above, below, left, right] = sides(call)?;
    let op = Unfold {
        kernel_sizes: pair(call, "size")?,
        strides: pair(call, "stride")?,
        paddings: [above, left, below, right],
        dilations: pair(call, "dilation")?,
    };
    Ok(call.emit(op, &[x])?[0])
}

/// The number of groups into which channels and filters are cut.
pub(super) fn groups(call: &Call<'_>, channels: i64, filters: i64) -> Result<i64, BuildError> {
    let groups = known(call, "groups", &call.size("groups")?)?;
    if channels % groups != 0 || filters % groups != 0 {
        let but = format!(
            "`{}` cuts {channels} channels and {filters} filters into groups, which has to come out even",
            call.layer.name
        );
        return Err(call.wrong("groups", MismatchKind::Attribute, &but));
    }
    Ok(groups)
}

/// Adds a number to each channel of `result`, which has `axes` axes behind it, unless `bias = false`, and activates it.
pub(super) fn biased(
    call: &mut Call<'_>,
    mut result: VarId,
    channels: i64,
    axes: usize,
) -> Result<VarId, BuildError> {
    if call.flag("bias")? {
        let dtype = call.ty(result).dtype;
        let b = call.parameter("b", initializers::constant(0.0, Type::new(dtype, [channels])))?;
        let dims = [Dim::from(channels)].into_iter().chain(vec![Dim::from(1); axes]).collect();
        let b = call.emit(Reshape { dims }, &[b])?[0];
        result = call.emit(Binary { kind: BinaryKind::Add }, &[result, b])?[0];
    }
    call.activate("act", result)
}

/// The element type and the number of channels of a value. Channels are the first dimension behind the rows.
pub(super) fn channels(call: &Call<'_>, name: &str) -> Result<(DType, i64), BuildError> {
    let ty = call.ty(call.value(name)?);
    let layer = call.layer.name;
    if !ty.dtype.is_float() {
        let but = format!("`{layer}` needs floating-point numbers");
        return Err(call.wrong(name, MismatchKind::ElementType, &but));
    }
    if ty.rank() < 2 {
        let but = format!("`{layer}` needs rows with channels");
        return Err(call.wrong(name, MismatchKind::Shape, &but));
    }
    match ty.dims[usize::from(ty.rows.is_none())].constant() {
        Some(channels) => Ok((ty.dtype, channels)),
        None => {
            let but =
                format!("the number of channels of `{layer}` has to be known when the network is compiled");
            Err(call.wrong(name, MismatchKind::Shape, &but))
        }
    }
}

/// A size that has to be a number already.
pub(super) fn known(call: &Call<'_>, name: &str, size: &Dim) -> Result<i64, BuildError> {
    let small = size.constant().filter(|&size| size <= i64::from(i32::MAX));
    let but = "it has to be known when the network is compiled, and below 2³¹";
    small.ok_or_else(|| call.wrong(name, MismatchKind::Attribute, but))
}

/// Height and width: two sizes, or one for both.
pub(super) fn pair(call: &Call<'_>, name: &str) -> Result<[i64; 2], BuildError> {
    match &call.sizes(name).unwrap_or_default()[..] {
        [both] => Ok([known(call, name, both)?; 2]),
        [height, width] => Ok([known(call, name, height)?, known(call, name, width)?]),
        _ => Err(call.wrong(name, MismatchKind::Attribute, "images have two sizes: [height, width]")),
    }
}

/// The number of elements that filters of this size cover beyond the stride.
fn beyond_strides(conv: &Conv2d, size: [i64; 2]) -> [i64; 2] {
    let window = Conv2d { paddings: Padding::Explicit([0; 4]), ..*conv }.window(size);
    [0, 1].map(|axis| window.covered(axis, 1) - conv.strides[axis])
}

/// The numbers of elements in front of an axis and behind it. If their sum is odd, one more comes behind.
fn halves(elements: i64) -> [i64; 2] {
    [elements / 2, elements - elements / 2]
}

/// The argument `padding`.
pub(super) fn padding(call: &Call<'_>) -> Result<Padding, BuildError> {
    match call.given_choice("padding") {
        Some(_) => Ok(Padding::Same),
        None => sides(call).map(Padding::Explicit),
    }
}

/// The argument `padding` as numbers: above, below, on the left, on the right.
fn sides(call: &Call<'_>) -> Result<[i64; 4], BuildError> {
    match Padding::of(&around(call, "an image")?) {
        Some(Padding::Explicit(sides)) => Ok(sides),
        _ => {
            let but = "padding is one number, [height, width], or [above, below, left, right]";
            Err(call.wrong("padding", MismatchKind::Attribute, but))
        }
    }
}

/// The argument `padding` as numbers that can be around such a thing, however many.
pub(super) fn around(call: &Call<'_>, what: &str) -> Result<Vec<i64>, BuildError> {
    let sides = call.ints("padding").unwrap_or_default();
    let wrong = |but: &str| Err(call.wrong("padding", MismatchKind::Attribute, but));
    if sides.iter().any(|side| *side < 0) {
        return wrong(&format!("there cannot be less around {what} than nothing"));
    }
    if sides.iter().any(|side| *side > i64::from(i32::MAX)) {
        return wrong("it has to be below 2³¹");
    }
    Ok(sides)
}
