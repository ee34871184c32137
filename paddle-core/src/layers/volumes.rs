//! Layers of volumes, such as scans and videos: `conv3d`, `pool3d`.

use super::Call;
use super::images::{around, biased, channels, groups, known};
use super::pools::kind;
use crate::ops::compositions::volumes::{self, Along, MOST_SLICES, Pooling, Volumes};
use crate::ops::{MismatchKind, initializers};
use crate::program::{BuildError, DType, Type, VarId};

/// Passes the layers of volumes to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_volume_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Filters that slide over volumes: `x` is `[_, channels, depth, height, width]`, the result `[_, filters,
            /// (depth + 2 padding - filter_size) / stride + 1, …]`. Depth and height have to be known when the network is
            /// compiled.
            ///
            /// Parameters: `w`, `[filters, channels / groups, depth, height, width]`, normal with deviation `√(2 / inputs)`
            /// at first; `b`, `[filters]`, zero at first.
            conv3d(x: Value "The volumes.", filters: Size "How many filters.",
                   filter_size: Sizes "Their depth, height and width: `3`, `[1, 3, 3]`.";
                   stride: Sizes = 1 "How far a window is from the next.",
                   padding: IntsOr(same) = 0 "Zeros around the volumes: `1`, `[depth, height, width]`, `[front, back, above, below, left, right]`, or `same`, for `⌈depth / stride⌉` windows.",
                   dilation: Sizes = 1 "How far the elements of a window are from each other.",
                   groups: Size = 1 "Filters see the channels of their group only.",
                   bias: Flag = true "Whether to add `b`.",
                   act: Activation "What to apply to the result.") weights_and_bias
                => conv3d;

            /// The maximum or the average of windows that slide over volumes: `x` is `[_, channels, depth, height, width]`, the
            /// result `[_, channels, (depth + 2 padding - size) / stride + 1, …]`. Depth and height have to be known when the
            /// network is compiled.
            pool3d(x: Value "The volumes.", size: Sizes "The depth, height and width of a window: `2`, `[1, 2, 2]`.";
                   kind: Choice(max, avg) = "max" "What to take of a window.",
                   stride: Sizes "How far a window is from the next; `size` if it is left out, so that windows lie side by side.",
                   padding: IntsOr(same) = 0 "What is put around the volumes, which is no maximum: `1`, `[depth, height, width]`, `[front, back, above, below, left, right]`, or `same`, for `⌈depth / stride⌉` windows.",
                   ceil: Flag = false "Whether a last window may reach over the end.",
                   exclusive: Flag = true "Whether an average leaves out the padding.")
                => pool3d;
        }
    };
}

with_volume_layers!(layers);

fn conv3d(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, of, dtype) = volumes(call)?;
    let filters = known(call, "filters", &call.size("filters")?)?;
    let sizes @ [depth, height, width] = triple(call, "filter_size")?;
    if depth > MOST_SLICES {
        let but = format!("filters are at most {MOST_SLICES} elements deep");
        return Err(call.wrong("filter_size", MismatchKind::Attribute, &but));
    }
    let groups = groups(call, of.channels, filters)?;
    let (strides, dilations) = (triple(call, "stride")?, triple(call, "dilation")?);
    let windows = windows(call, &of, sizes, strides, dilations)?;
    fit(call, &of, windows, false)?;
    let filters_type = Type::new(dtype, [filters, of.channels / groups, depth, height, width]);
    let init = initializers::msra(filters_type).map_err(|error| BuildError::Mismatch(error.into()))?;
    let w = call.parameter("w", init)?;
    let result = volumes::conv3d(call, (x, &of), w, windows, groups)?.map_err(|lack| lacks(call, lack))?;
    biased(call, result, filters, 3)
}

fn pool3d(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, of, _) = volumes(call)?;
    let sizes = triple(call, "size")?;
    let strides = if call.sizes("stride").is_some() { triple(call, "stride")? } else { sizes };
    let is_same = call.given_choice("padding").is_some();
    let pooling = Pooling {
        kind: kind(call)?,
        adaptive: false,
        // With `same`, there are as many windows as it says.
        ceil_mode: call.flag("ceil")? && !is_same,
        exclusive: call.flag("exclusive")?,
    };
    let windows = windows(call, &of, sizes, strides, [1; 3])?;
    fit(call, &of, windows, pooling.ceil_mode)?;
    volumes::pool3d(call, (x, &of), windows, pooling)?.map_err(|lack| lacks(call, lack))
}

/// The argument `x`, and what is known of it.
fn volumes(call: &Call<'_>) -> Result<(VarId, Volumes, DType), BuildError> {
    let x = call.value("x")?;
    let ty = call.ty(x);
    let layer = call.layer.name;
    if ty.rank() != 5 {
        let but = format!("`{layer}` needs volumes: [_, channels, depth, height, width]");
        return Err(call.wrong("x", MismatchKind::Shape, &but));
    }
    let (dtype, _) = channels(call, "x")?;
    match Volumes::of(ty) {
        Some(of) => Ok((x, of, dtype)),
        None => Err(lacks(call, "depth and height have to be known when the network is compiled")),
    }
}

/// The error for volumes of which a layer cannot be computed.
fn lacks(call: &Call<'_>, but: &str) -> BuildError {
    call.wrong("x", MismatchKind::Shape, but)
}

/// Depth, height and width: three sizes, or one for all.
fn triple(call: &Call<'_>, name: &str) -> Result<[i64; 3], BuildError> {
    match &call.sizes(name).unwrap_or_default()[..] {
        [all] => Ok([known(call, name, all)?; 3]),
        [depth, height, width] => {
            Ok([known(call, name, depth)?, known(call, name, height)?, known(call, name, width)?])
        }
        _ => {
            let but = "volumes have three sizes: [depth, height, width]";
            Err(call.wrong(name, MismatchKind::Attribute, but))
        }
    }
}

/// The windows along depth, height and width, with the argument `padding`.
fn windows(
    call: &Call<'_>,
    of: &Volumes,
    sizes: [i64; 3],
    strides: [i64; 3],
    dilations: [i64; 3],
) -> Result<[Along; 3], BuildError> {
    let windows = [0, 1, 2].map(|axis| Along {
        size: sizes[axis],
        stride: strides[axis],
        dilation: dilations[axis],
        padding: [0, 0],
    });
    let wrong = |but| Err(call.wrong("padding", MismatchKind::Attribute, but));
    let [along, down, across] = windows;
    if call.given_choice("padding").is_some() {
        let width = match of.width.constant() {
            Some(width) => width,
            // There is a window at every element, however many there are.
            None if across.stride == 1 => 1,
            None => return wrong("with a stride across a width that is not known it has to be numbers"),
        };
        return Ok([along.same(of.depth), down.same(of.height), across.same(width)]);
    }
    let sides = match around(call, "a volume")?[..] {
        [all] => [[all; 2]; 3],
        [depth, height, width] => [[depth; 2], [height; 2], [width; 2]],
        [front, back, above, below, left, right] => [[front, back], [above, below], [left, right]],
        _ => {
            return wrong(
                "padding is one number, [depth, height, width], or [front, back, above, below, left, right]",
            );
        }
    };
    Ok([0, 1, 2].map(|axis| Along { padding: sides[axis], ..windows[axis] }))
}

/// Checks that there is a window along each axis whose size is known.
fn fit(call: &Call<'_>, of: &Volumes, windows: [Along; 3], ceil: bool) -> Result<(), BuildError> {
    let elements = [Some(of.depth), Some(of.height), of.width.constant()];
    let fits = |(along, elements): (&Along, Option<i64>)| {
        let over = if ceil { along.stride - 1 } else { 0 };
        elements.is_none_or(|elements| along.windows(elements + over).is_some())
    };
    if windows.iter().zip(elements).all(fits) {
        return Ok(());
    }
    let [depth, height, width] = windows.map(Along::span);
    let but = format!(
        "a window of `{}` reaches over {depth} × {height} × {width} elements, which does not fit",
        call.layer.name
    );
    Err(lacks(call, &but))
}
