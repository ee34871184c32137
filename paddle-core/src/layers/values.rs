//! Layers that pass a value on, `assign`, `cast`, `identity`, `tap`, and layers that have a value of their own:
//! numbers, or a parameter.

use super::Call;
use crate::ops::{
    Assign, AxisToRows, Cast, Fill, Gather, Mismatch, MismatchKind, Number, Program, RowNumbers, RowsToAxis,
    StopGradient, ToDevice, initializers,
};
use crate::program::{BuildError, DType, Type, VarId};

/// Passes the layers of this file to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_value_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The values of all rows as one value without rows: `[_, D]` becomes `[N, D]`, where `N` is the number of rows. So
            /// each row meets all others: `matmul(x, all_rows(y), transpose_y = true)` is `[_, N]`.
            all_rows(x: Value "The rows.";)
                => |call| {
                    let x = call.value("x")?;
                    call.emit_one(RowsToAxis, &[x])
                };

            /// A part of `x`, which has no rows, for each row of `like`, of which there have to be as many: `[N, D]` becomes `[_, D]`.
            each_row(x: Value "What has a part for each row, along its first dimension.", like: Value "A value that has the rows.";)
                => |call| {
                    let inputs = [call.value("x")?, call.value("like")?];
                    call.emit_one(AxisToRows, &inputs)
                };

            /// The parts of `x`, which has no rows, as rows of their own: `[2, D]` becomes two rows `[D]`, whatever the batch
            /// is. Branches and loops run on them row by row, and they have sequences: those of `own_rows(reshape(x, [1, N]))`
            /// are of all values together, as `sequence_filter` gives them. `all_rows` is the inverse.
            own_rows(x: Value "What has a part for each row, along its first dimension, whose size is a number.";)
                => own_rows;

            /// The number of each row of `x`, from 0 on, i64: `[_]`. In a branch or a loop it is the number among the rows there.
            row_numbers(x: Value "What has the rows.";)
                => row_numbers;

            /// A copy.
            assign(x: Value "What to copy.";)
                => assign;

            /// The same numbers as another element type.
            cast(x: Value "The numbers.", to: Choice(bool, f32, f64, i32, i64) "Which element type.";)
                => cast;

            /// One number many times, f32. As the state of a loop it is there for each of its rows.
            full(shape: Sizes "The sizes: `16`, `[4, 4]`.", value: Number "The number.";)
                => full;

            /// `x` itself: no activation.
            identity(x: Value "What to leave as it is.";) activation
                => |call| call.value("x");

            /// Ones, f32. As the state of a loop they are there for each of its rows.
            ones(shape: Sizes "The sizes: `16`, `[4, 4]`.";)
                => |call| filled(call, 1.0);

            /// A parameter by itself: the same learned numbers for all rows, f32.
            ///
            /// Parameter: `w`, of this shape, uniform by Xavier's rule at first.
            parameter(shape: Sizes "The sizes: `16`, `[4, 4]`.";) parameters
                => parameter;

            /// `x` as a constant: no gradient passes.
            stop_gradient(x: Value "What is not to be trained from here on.";)
                => stop_gradient;

            /// The value itself, which can be fetched by the name, though the network does not return it:
            /// `infer_with(&net, &parameters, rows, &["hidden"])`.
            tap(x: Value "The value.", name: Name "The name by which it is fetched.";)
                => tap;

            /// `x`, on another device: what is computed from it is computed there. Where ranks train as
            /// [stages](https://docs.rs/paddle-rs/latest/paddle/cluster/struct.Cluster.html#method.stages), each computes the
            /// part of the network that is on the device of its number, and has the parameters that are used there. Elsewhere
            /// it changes nothing.
            ///
            /// What depends on no value that was brought to a device is on device 0.
            to_device(x: Value "What to bring there.", device: Int "The number of the device.";)
                => to_device;

            /// Zeros, f32. As the state of a loop they are there for each of its rows.
            zeros(shape: Sizes "The sizes: `16`, `[4, 4]`.";)
                => |call| filled(call, 0.0);
        }
    };
}

with_value_layers!(layers);

fn row_numbers(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    match call.ty(x).rows {
        Some(rows) => call.emit_one(RowNumbers::of(rows), &[]),
        None => Err(call.wrong("x", MismatchKind::Rows, "it has no rows to be numbered")),
    }
}

fn own_rows(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let ty = call.ty(x);
    if ty.rows.is_some() {
        return Err(call.wrong(
            "x",
            MismatchKind::Rows,
            "`own_rows` needs a value without rows; `all_rows` makes rows a dimension",
        ));
    }
    let count = ty.dims.first().and_then(|dim| u32::try_from(dim.constant()?).ok());
    let Some(count) = count else {
        let but = "the number of its rows has to be a number, and is that of its first dimension";
        return Err(call.wrong("x", MismatchKind::Shape, but));
    };
    let rows = call.program.fixed_rows(count);
    let own = call.program.rows_of_block(call.block);
    if own.is_none_or(|own| !call.program.descends(own, rows)) {
        let numbers = call.emit_one(RowNumbers::of(rows), &[])?;
        return call.emit_one(AxisToRows, &[x, numbers]);
    }
    // A block that runs on some of these rows takes the parts of them.
    let numbers = call.program.prepend_op(Program::GLOBAL, RowNumbers::of(rows), &[], call.site)?[0];
    let numbers = call.program.localize(call.block, numbers, call.site)?;
    call.emit_one(Gather { axis: 0 }, &[x, numbers])
}

fn assign(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    Ok(call.emit(Assign, &[x])?[0])
}

fn full(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let value = call.number("value")?;
    filled(call, value)
}

fn filled(call: &mut Call<'_>, value: f64) -> Result<VarId, BuildError> {
    let dims = call.sizes("shape").unwrap_or_default();
    let ty = Type { dtype: DType::F32, rows: None, dims };
    call.emit_one(Fill { value: Number::Float(value), ty }, &[])
}

fn parameter(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let dims = call.sizes("shape").unwrap_or_default();
    if dims.iter().any(|size| call.program.depends_on_feed(size)) {
        let but = "the sizes of a parameter have to be known before the network is fed";
        return Err(call.wrong("shape", MismatchKind::Shape, but));
    }
    let ty = Type { dtype: DType::F32, rows: None, dims };
    let initial = initializers::xavier(ty).map_err(|error| BuildError::Mismatch(error.into()))?;
    call.parameter("w", initial)
}

fn stop_gradient(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    Ok(call.emit(StopGradient, &[x])?[0])
}

fn to_device(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let device = call.int("device")?;
    if call.block != Program::GLOBAL {
        let but = "a branch or a loop is on one device; bring the value there in front of it, or behind it";
        return Err(call.wrong("device", MismatchKind::Attribute, but));
    }
    Ok(call.emit(ToDevice { device, from: 0 }, &[x])?[0])
}

fn cast(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let dtype = call.element_type("to").ok_or(BuildError::NoSuch { what: "element type" })?;
    Ok(call.emit(Cast { dtype }, &[x])?[0])
}

fn tap(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, name) = (call.value("x")?, call.name("name")?);
    let wrong = |input, message| {
        BuildError::Mismatch(Mismatch { input: Some(input), kind: MismatchKind::Attribute, message })
    };
    if call.block != Program::GLOBAL {
        let message = "a value inside of a branch or loop is there for some rows, or once per iteration, and cannot be \
                       tapped; give it out as the value of the block, and tap that";
        return Err(wrong(0, message.to_string()));
    }
    match call.program.tap(&name, x) {
        Ok(()) => Ok(x),
        Err(BuildError::NameTaken { name }) => {
            Err(wrong(1, format!("there is a tap `{name}` already; give this one another name")))
        }
        Err(error) => Err(error),
    }
}
