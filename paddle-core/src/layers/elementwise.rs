//! Layers that combine values element by element.

use super::Call;
use super::images::channels;
use crate::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, Logical, LogicalKind, MismatchKind, Number, Predicate,
    PredicateKind, Reshape, Scale, Select, initializers,
};
use crate::program::{BuildError, Dim, Type, VarId};

/// Passes the layers that combine values element by element to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_elementwise_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The larger of two values, element by element.
            elementwise_max(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Max);

            /// The smaller of two values, element by element.
            elementwise_min(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Min);

            /// The larger of two values, element by element; the other where one is not a number.
            elementwise_fmax(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::FMax);

            /// The smaller of two values, element by element; the other where one is not a number.
            elementwise_fmin(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::FMin);

            /// `⌊x / y⌋`, element by element.
            elementwise_floordiv(x: Value "The dividend.", y: Value "The divisor.";)
                => |call| binary(call, BinaryKind::FloorDiv);

            /// 0 where `x` is negative, 1 where it is positive, `y` where it is 0.
            heaviside(x: Value "Where the step is.", y: Value "What is taken at 0.";)
                => |call| binary(call, BinaryKind::Heaviside);

            /// The larger of two values, element by element: `elementwise_max`.
            maximum(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Max);

            /// The smaller of two values, element by element: `elementwise_min`.
            minimum(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Min);

            /// `x` where a condition holds, else `y`, element by element: PaddlePaddle's `where`.
            select(condition: Value "Truth values.", x: Value "What is taken where they hold.", y: Value "What is taken elsewhere.";)
                => select;

            /// `x`, and `x` times a slope that is learned where it is not positive: He et al. (2015).
            ///
            /// Parameter: `w`, 0.25 at first: `[1]`, `[channels]`, or the shape of a row of `x`.
            prelu(x: Value "Its argument.";
                  mode: Choice(all, channel, element) = "all" "What has a slope of its own: all elements together, each channel, or each element of a row.")
                weights
                => prelu;

            /// Whether one of two conditions holds, but not both, element by element.
            logical_xor(x: Value "One condition.", y: Value "The other.";)
                => logical_xor;

            /// Whether each element is a number, and not infinite.
            isfinite(x: Value "The numbers.";)
                => |call| predicate(call, PredicateKind::Finite);

            /// Whether each element is infinite.
            isinf(x: Value "The numbers.";)
                => |call| predicate(call, PredicateKind::Infinite);

            /// Whether each element is not a number.
            isnan(x: Value "The numbers.";)
                => |call| predicate(call, PredicateKind::NotANumber);

            /// `x` to the power of `y`, element by element.
            elementwise_pow(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Pow);

            /// `factor · x + bias`.
            scale(x: Value "What to scale.", factor: Number "The factor.";
                  bias: Number = 0.0 "The summand.")
                => scale;
        }
    };
}

with_elementwise_layers!(layers);

fn binary(call: &mut Call<'_>, kind: BinaryKind) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    Ok(call.emit(Binary { kind }, &[x, y])?[0])
}

fn select(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("condition")?, call.value("x")?, call.value("y")?];
    Ok(call.emit(Select, &inputs)?[0])
}

/// The number of slopes depends on the channels, which are the dimension behind the rows.
fn prelu(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let ty = call.ty(x).clone();
    let row = &ty.dims[usize::from(ty.rows.is_none() && ty.rank() > 0)..];
    let (own, beside) = match call.choice("mode")? {
        "channel" => {
            let (_, channels) = channels(call, "x")?;
            (vec![Dim::from(channels)], row.len() - 1)
        }
        "element" => (row.to_vec(), 0),
        _ => (vec![Dim::from(1)], 0),
    };
    if !ty.dtype.is_float() || own.iter().any(|dim| call.program.depends_on_feed(dim)) {
        let but = "`prelu` needs floating-point numbers, and a slope for each needs sizes known before the network is fed";
        return Err(call.wrong("x", MismatchKind::Shape, but));
    }
    let shape = Type { dtype: ty.dtype, rows: None, dims: own };
    let mut w = call.parameter("w", initializers::constant(0.25, shape.clone()))?;
    if beside > 0 {
        let dims = shape.dims.into_iter().chain(std::iter::repeat_n(Dim::from(1), beside)).collect();
        w = call.emit(Reshape { dims }, &[w])?[0];
    }
    let zero = call.emit(Fill { value: Number::Float(0.0), ty: Type::new(ty.dtype, []) }, &[])?[0];
    let positive = call.emit(Compare { kind: CompareKind::GreaterThan }, &[x, zero])?[0];
    let scaled = call.emit(Binary { kind: BinaryKind::Mul }, &[x, w])?[0];
    Ok(call.emit(Select, &[positive, x, scaled])?[0])
}

fn logical_xor(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    Ok(call.emit(Logical { kind: LogicalKind::Xor }, &[x, y])?[0])
}

fn predicate(call: &mut Call<'_>, kind: PredicateKind) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    Ok(call.emit(Predicate { kind }, &[x])?[0])
}

fn scale(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let op = Scale { scale: call.number("factor")?, bias: call.number("bias")? };
    Ok(call.emit(op, &[x])?[0])
}
