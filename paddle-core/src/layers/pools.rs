//! Layers that pool images: `pool2d`, `adaptive_pool2d`, `max_pool2d_with_index`.

use super::Call;
use super::images::{padding, pair};
use crate::ops::{MaxPool2dWithIndex, MismatchKind, Padding, Pool2d, PoolKind};
use crate::program::{BuildError, VarId};

/// Passes the layers that pool images to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_pooling_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The maximum or the average of windows that are spread over images evenly, whatever their size: `x` is
            /// `[_, channels, height, width]`, the result `[_, channels, windows down, windows across]`. Window `i` of `n`
            /// is from `⌊i · height / n⌋` to `⌈(i + 1) · height / n⌉`, and likewise across.
            adaptive_pool2d(x: Value "The images.", windows: Sizes "How many, down and across: `7`, `[7, 5]`.";
                            kind: Choice(max, avg) = "max" "What to take of a window.")
                => adaptive_pool2d;

            /// The maximum of windows that slide over images, and where it is: `let (y, places) = max_pool2d_with_index(x, 2)`.
            /// `x` is `[_, channels, height, width]`; `places` are numbers of elements in their channels, `row · width +
            /// column`, i32; of equal ones, the first.
            max_pool2d_with_index(x: Value "The images.", size: Sizes "The height and width of a window: `2`, `[2, 3]`.";
                   stride: Sizes "How far a window is from the next; `size` if it is left out, so that windows lie side by side.",
                   padding: Ints = 0 "What is put around the images, which is no maximum: `1`, `[height, width]`.",
                   adaptive: Flag = false "Whether `size` is the number of windows, which are spread over the images evenly.")
                   several
                => max_pool2d_with_index;

            /// The maximum or the average of windows that slide over images: `x` is `[_, channels, height, width]`, the
            /// result `[_, channels, (height + 2 padding - size) / stride + 1, …]`.
            pool2d(x: Value "The images.", size: Sizes "The height and width of a window: `2`, `[2, 3]`.";
                   kind: Choice(max, avg) = "max" "What to take of a window.",
                   stride: Sizes "How far a window is from the next; `size` if it is left out, so that windows lie side by side.",
                   padding: IntsOr(same) = 0 "What is put around the images, which is no maximum: `1`, `[height, width]`, `[above, below, left, right]`, or `same`, for `⌈height / stride⌉` windows.",
                   ceil: Flag = false "Whether a last window may reach over the end.",
                   exclusive: Flag = true "Whether an average leaves out the padding.")
                => pool2d;
        }
    };
}

with_pooling_layers!(layers);

/// How the elements of a window are combined.
pub(super) fn kind(call: &Call<'_>) -> Result<PoolKind, BuildError> {
    PoolKind::from_name(call.choice("kind")?).ok_or(BuildError::NoSuch { what: "kind of pooling" })
}

/// The distance from one window of this size to the next.
fn strides(call: &Call<'_>, size: [i64; 2]) -> Result<[i64; 2], BuildError> {
    if call.sizes("stride").is_some() { pair(call, "stride") } else { Ok(size) }
}

fn adaptive_pool2d(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let windows = pair(call, "windows")?;
    let pool = Pool2d { adaptive: true, strides: [1, 1], ..Pool2d::of_size(kind(call)?, windows) };
    Ok(call.emit(pool, &[x])?[0])
}

fn max_pool2d_with_index(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let size = pair(call, "size")?;
    let paddings = match padding(call)? {
        Padding::Explicit([above, below, left, right]) if above == below && left == right => [above, left],
        _ => {
            let but =
                "there is as much above as below, and as much on the left as on the right: [height, width]";
            return Err(call.wrong("padding", MismatchKind::Attribute, but));
        }
    };
    let strides = strides(call, size)?;
    let adaptive = call.flag("adaptive")?;
    call.emit(MaxPool2dWithIndex { strides, paddings, adaptive, ..MaxPool2dWithIndex::of_size(size) }, &[x])
}

fn pool2d(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let size = pair(call, "size")?;
    let pool = Pool2d {
        strides: strides(call, size)?,
        paddings: padding(call)?,
        ceil_mode: call.flag("ceil")?,
        exclusive: call.flag("exclusive")?,
        ..Pool2d::of_size(kind(call)?, size)
    };
    Ok(call.emit(pool, &[x])?[0])
}
