//! Layers that normalise: `batch_norm`, `group_norm`, `instance_norm`, `layer_norm`, `lrn`.

use super::Call;
use super::images::channels;
use crate::ops::{BatchNorm, GroupNorm, ImageLayout, LayerNorm, Lrn, MismatchKind, initializers};
use crate::program::{BuildError, Dim, DimOverflow, Type, VarId};

/// Passes the layers that normalise to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_normalising_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Each channel normalised by its mean and variance: of the batch in training, and what was seen in training
            /// otherwise. `x` is `[_, channels]` or `[_, channels, height, width]`.
            ///
            /// Parameters: `scale`, `[channels]`, one at first; `shift`, `[channels]`, zero at first; and the moving
            /// statistics `mean` and `variance`, which are not trained.
            batch_norm(x: Value "What to normalise.";
                       momentum: Number = 0.9 "How much of the moving statistics stays in each step.",
                       epsilon: Number = 0.00001 "What is added to variances.",
                       act: Activation "What to apply to the result.") scale_shift_and_statistics
                => batch_norm;

            /// Groups of the channels of each row normalised by their mean and variance. `x` is as for `batch_norm`.
            ///
            /// Parameters: `scale`, `[channels]`, one at first; `shift`, `[channels]`, zero at first.
            group_norm(x: Value "What to normalise.", groups: Size "How many groups of equal size.";
                       epsilon: Number = 0.00001 "What is added to variances.",
                       act: Activation "What to apply to the result.") scale_and_shift
                => group_norm;

            /// Each channel of each row normalised by its own mean and variance. `x` is as for `batch_norm`.
            ///
            /// Parameters: `scale`, `[channels]`, one at first; `shift`, `[channels]`, zero at first.
            instance_norm(x: Value "What to normalise.";
                          epsilon: Number = 0.00001 "What is added to variances.",
                          act: Activation "What to apply to the result.") scale_and_shift
                => instance_norm;

            /// The elements from an axis on normalised, together, by their mean and variance.
            ///
            /// Parameters: `scale`, one number for each element that is normalised with others, one at first; `shift`,
            /// likewise, zero at first.
            layer_norm(x: Value "What to normalise.";
                       axis: Int = -1 "From which axis on, that of the rows counted as 0.",
                       epsilon: Number = 0.00001 "What is added to variances.",
                       act: Activation "What to apply to the result.") scale_and_shift
                => layer_norm;

            /// Local response normalisation, as in AlexNet: each element of images `[_, channels, height, width]` times
            /// `(k + alpha · Σ x²)^-beta`, with the sum over the `n` channels around its own, as far as there are so many.
            lrn(x: Value "The images.";
                n: Int = 5 "Over how many channels: an odd number.",
                k: Number = 2.0 "What is added to the sum.",
                alpha: Number = 0.0001 "What the sum is multiplied by.",
                beta: Number = 0.75 "To which power.")
                => lrn;
        }
    };
}

with_normalising_layers!(layers);

/// The parameters scale and shift, with one number each for what `size` counts.
fn scale_and_shift(call: &mut Call<'_>, ty: &Type) -> Result<[VarId; 2], BuildError> {
    let all = |value| initializers::constant(value, ty.clone());
    Ok([call.parameter("scale", all(1.0))?, call.parameter("shift", all(0.0))?])
}

fn batch_norm(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (dtype, channels) = channels(call, "x")?;
    let ty = Type::new(dtype, [channels]);
    let [scale, shift] = scale_and_shift(call, &ty)?;
    let all = |value| initializers::constant(value, ty.clone());
    let is_given = ["mean", "variance"].map(|role| call.given_value(role).is_some());
    let [is_test, has_variance] = is_given;
    if is_test != has_variance {
        let (given, lacking) = if is_test { ("mean", "variance") } else { ("variance", "mean") };
        let but = format!("`batch_norm` needs `{lacking} = ..` beside `{given}`");
        return Err(call.wrong(given, MismatchKind::Attribute, &but));
    }
    let inputs = [x, scale, shift, call.statistic("mean", all(0.0))?, call.statistic("variance", all(1.0))?];
    let op = BatchNorm { epsilon: call.number("epsilon")?, momentum: call.number("momentum")?, is_test };
    let of = if (0.0..=1.0).contains(&op.momentum) { "epsilon" } else { "momentum" };
    let y = call.emit_with(of, op, &inputs)?[0];
    call.activate("act", y)
}

fn group_norm(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let groups = call.size("groups")?.constant();
    let Some(groups) = groups else {
        let but = "the number of groups has to be known when the network is compiled";
        return Err(call.wrong("groups", MismatchKind::Attribute, but));
    };
    of_groups(call, Some(groups))
}

fn instance_norm(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    of_groups(call, None)
}

/// Normalises groups of channels. Without a number of groups, each channel is a group.
fn of_groups(call: &mut Call<'_>, groups: Option<i64>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (dtype, channels) = channels(call, "x")?;
    let op = GroupNorm { epsilon: call.number("epsilon")?, groups: groups.unwrap_or(channels) };
    let [scale, shift] = scale_and_shift(call, &Type::new(dtype, [channels]))?;
    let y = call.emit_with("groups", op, &[x, scale, shift])?[0];
    call.activate("act", y)
}

fn layer_norm(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let ty = call.ty(x).clone();
    if !ty.dtype.is_float() {
        let but = "`layer_norm` needs floating-point numbers";
        return Err(call.wrong("x", MismatchKind::ElementType, but));
    }
    let rows = i64::from(ty.rows.is_some());
    if ty.dims.is_empty() {
        let but = "`layer_norm` needs elements that are normalised together, beside the rows";
        return Err(call.wrong("x", MismatchKind::Shape, but));
    }
    let rank = ty.rank() as i64;
    let given = call.int("axis")?;
    let axis = if given < 0 { given.saturating_add(rank) } else { given };
    if !(rows..rank).contains(&axis) {
        let shown = call.program.show(&ty);
        let but = format!("{shown} has elements along the axes from {rows} to {}", rank - 1);
        return Err(call.wrong("axis", MismatchKind::Attribute, &but));
    }
    let behind = &ty.dims[(axis - rows) as usize..];
    if behind.iter().any(|size| call.program.depends_on_feed(size)) {
        let but = "`layer_norm` has a scale for each element: their number has to be known before the network is fed";
        return Err(call.wrong("x", MismatchKind::Shape, but));
    }
    let count = behind.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    let count = count.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))?;
    let [scale, shift] = scale_and_shift(call, &Type { dtype: ty.dtype, rows: None, dims: vec![count] })?;
    let op = LayerNorm { epsilon: call.number("epsilon")?, begin_norm_axis: axis };
    let y = call.emit_with("epsilon", op, &[x, scale, shift])?[0];
    call.activate("act", y)
}

fn lrn(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let op = Lrn {
        n: call.int("n")?,
        k: call.number("k")?,
        alpha: call.number("alpha")?,
        beta: call.number("beta")?,
        data_format: ImageLayout::ChannelsFirst,
    };
    Ok(call.emit_with("n", op, &[x])?[0])
}
