//! `interpolate`: changes the height and width of images.

use super::Call;
use crate::ops::{Interpolate, InterpolateKind, MismatchKind};
use crate::program::{BuildError, Dim, VarId};

pub(super) fn build(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let kind = InterpolateKind::from_name(call.choice("mode")?);
    let kind = kind.ok_or(BuildError::NoSuch { what: "kind of interpolation" })?;
    let (size, scale) = match call.sizes("size") {
        Some(_) if call.given_number("scale").is_some() => {
            let but = "the size is given too; leave out one of them";
            return Err(call.wrong("scale", MismatchKind::Attribute, but));
        }
        Some(sizes) => (given(call, sizes)?, 0.0),
        None => scaled(call, x)?,
    };
    if kind == InterpolateKind::Nearest && call.given_flag("align_corners").is_some() {
        let but = "what is nearest does not depend on it; it is for `mode = bilinear`";
        return Err(call.wrong("align_corners", MismatchKind::Attribute, but));
    }
    let align_corners = call.flag("align_corners")?;
    let op = Interpolate { scale: [scale; 2], align_corners, ..Interpolate::of(kind, size) };
    Ok(call.emit(op, &[x])?[0])
}

/// Height and width: two sizes, or one for both.
fn given(call: &Call<'_>, sizes: Vec<Dim>) -> Result<Vec<Dim>, BuildError> {
    match &sizes[..] {
        [both] => Ok(vec![both.clone(), both.clone()]),
        [_, _] => Ok(sizes),
        _ => Err(call.wrong("size", MismatchKind::Attribute, "images have two sizes: [height, width]")),
    }
}

/// The sizes of the images times a number, and that number.
fn scaled(call: &Call<'_>, x: VarId) -> Result<(Vec<Dim>, f64), BuildError> {
    let Some(scale) = call.given_number("scale") else {
        let but = "how large the result is says neither a size, `interpolate(x, [28, 28])`, nor `scale = 2`";
        return Err(call.wrong("x", MismatchKind::Count, but));
    };
    let scale = f64::from(scale as f32);
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(call.wrong("scale", MismatchKind::Attribute, "it has to be above 0"));
    }
    let dims = &call.ty(x).dims;
    let mut sizes = Vec::with_capacity(2);
    for size in &dims[dims.len().saturating_sub(2)..] {
        let times = Interpolate::scaled(size, scale).map_err(|error| BuildError::Mismatch(error.into()))?;
        let shown = call.program.show_dim(size);
        let but = match times {
            Some(times) if times.constant().is_none_or(|times| times > 0) => {
                sizes.push(times);
                continue;
            }
            Some(_) => format!("of {shown} elements it leaves none"),
            None => format!(
                "of `{shown}`, which is known when the network is fed, it has to be a whole number, or a half or a quarter"
            ),
        };
        return Err(call.wrong("scale", MismatchKind::Attribute, &but));
    }
    Ok((sizes, scale))
}
