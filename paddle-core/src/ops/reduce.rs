//! `reduce_sum`, `reduce_mean`, `reduce_max`, `reduce_min`, `reduce_prod`, `reduce_any`, `reduce_all`: one value for all
//! elements along axes.

use super::{
    AccuracyClass, AttributeError, AttributeReader, Attributes, Binary, BinaryKind, Cast, Compare,
    CompareKind, Effects, Expand, Fill, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind,
    Number, OfShards, Operation, Operator, Program, Sample, Schema, Size, Slot,
};
use crate::program::{DType, Dim, Type, VarId};

/// The kind of reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    /// Σ x.
    Sum,
    /// Σ x / n; 0 over no elements.
    Mean,
    /// The largest element; over no elements, the least value of the type. Every largest element gets the gradient.
    Max,
    /// The smallest element; over no elements, the greatest value of the type. Every smallest element gets the
    /// gradient.
    Min,
    /// Π x; 1 over no elements. Products of integers wrap around, as sums do.
    Prod,
    /// Whether at least one element is true.
    Any,
    /// Whether all elements are true.
    All,
}

impl ReduceKind {
    /// All of them.
    pub const ALL: [ReduceKind; 7] = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Prod,
        ReduceKind::Any,
        ReduceKind::All,
    ];

    /// Whether it reduces truth values.
    pub fn is_logical(self) -> bool {
        matches!(self, ReduceKind::Any | ReduceKind::All)
    }
}

/// Reduces `X` over axes. `X` has numbers, floating-point ones for a mean, and truth values for `reduce_any` and
/// `reduce_all`.
///
/// If `X` has rows, their axis is 0, and a reduction over it gives a value without rows. Without axes, everything is
/// reduced to a scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The kind of reduction.
    pub kind: ReduceKind,
    /// The axes, ascending; empty for all of them.
    pub axes: Vec<i64>,
    /// Whether reduced axes stay, with size 1.
    pub keep_dim: bool,
}

impl Attributes for Reduce {
    fn to_attributes(&self) -> Vec<(&'static str, super::Attribute)> {
        Over { axes: self.axes.clone(), keep_dim: self.keep_dim }.to_attributes()
    }

    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        let over = Over { axes: Vec::new(), keep_dim: false }.with_attributes(reader)?;
        Ok(Reduce { kind: self.kind, axes: over.axes, keep_dim: over.keep_dim })
    }

    fn prototypes() -> Vec<Self> {
        ReduceKind::ALL.into_iter().map(|kind| Reduce { kind, axes: Vec::new(), keep_dim: false }).collect()
    }
}

/// The attributes that reductions and their adjoints share.
struct Over {
    axes: Vec<i64>,
    keep_dim: bool,
}

attributes!(Over { axes = Vec::new(), keep_dim = false });

/// The type that remains of `ty` after a reduction over `axes`.
pub(super) fn reduced(ty: &Type, axes: &[i64], keep_dim: bool) -> Option<Type> {
    let rank = ty.rank();
    let ascending = axes.windows(2).all(|pair| pair[0] < pair[1]);
    let in_range = axes.iter().all(|&axis| axis >= 0 && (axis as usize) < rank);
    if !ascending || !in_range {
        return None;
    }
    let gone = |axis: usize| axes.is_empty() || axes.contains(&(axis as i64));
    let rows_axes = usize::from(ty.rows.is_some());
    let rows = ty.rows.filter(|_| !gone(0));
    let mut dims = Vec::new();
    if keep_dim && ty.rows.is_some() && rows.is_none() {
        dims.push(Dim::from(1));
    }
    for (i, dim) in ty.dims.iter().enumerate() {
        match (gone(i + rows_axes), keep_dim) {
            (false, _) => dims.push(dim.clone()),
            (true, true) => dims.push(Dim::from(1)),
            (true, false) => {}
        }
    }
    Some(Type { dtype: ty.dtype, rows, dims })
}

impl Reduce {
    /// The gradient of a product: for each factor, the product of the others. This is 0 if another factor is 0.
    /// Otherwise it is the product of all factors that are not 0, divided by the factor itself if that is not 0.
    fn of_factors(&self, g: &mut Gradient<'_>, x: VarId, grad: VarId) -> Result<VarId, GradientError> {
        let dtype = g.ty(x).dtype;
        let (axes, keep_dim) = (self.axes.clone(), self.keep_dim);
        let reduce = |kind| Reduce { kind, axes: axes.clone(), keep_dim };
        let expand = Expand { axes: axes.clone(), keep_dim };
        let binary = |kind| Binary { kind };
        let zero = g.emit(Fill { value: Number::Float(0.0), ty: Type::scalar(dtype) }, &[])?;
        let is_zero = g.emit(Compare { kind: CompareKind::Equal }, &[x, zero])?;
        let is_zero = g.emit(Cast { dtype }, &[is_zero])?;
        let factors = g.emit(binary(BinaryKind::Add), &[x, is_zero])?;
        let product = g.emit(reduce(ReduceKind::Prod), &[factors])?;
        let product = g.emit(binary(BinaryKind::Mul), &[grad, product])?;
        let product = g.emit(expand.clone(), &[product, x])?;
        let others = g.emit(binary(BinaryKind::Div), &[product, factors])?;
        let zeros = g.emit(reduce(ReduceKind::Sum), &[is_zero])?;
        let zeros = g.emit(expand, &[zeros, x])?;
        let alone = g.emit(Compare { kind: CompareKind::Equal }, &[zeros, is_zero])?;
        let alone = g.emit(Cast { dtype }, &[alone])?;
        g.emit(binary(BinaryKind::Mul), &[others, alone])
    }
}

impl Operation for Reduce {
    fn schema(&self) -> &'static Schema {
        macro_rules! schema {
            ($name:literal, $doc:literal, $accuracy:ident($why:literal) $(, $effect:ident: $value:expr)?) => {
                const {
                    &Schema {
                        name: $name,
                        doc: $doc,
                        inputs: &[Slot::of("X")],
                        outputs: &[Slot::of("Out")],
                        accuracy: AccuracyClass::$accuracy($why),
                        effects: Effects { $($effect: $value,)? ..Effects::PURE },
                    }
                }
            };
        }
        match self.kind {
            ReduceKind::Sum => {
                schema!("reduce_sum", "Σ x over axes.", Accumulating("a sum"), linear: Linear::In(&[0]))
            }
            ReduceKind::Mean => {
                schema!("reduce_mean", "Mean of x over axes; 0 over no elements.", Accumulating("a sum"), linear: Linear::In(&[0]))
            }
            ReduceKind::Max => {
                schema!("reduce_max", "The largest x over axes.", Exact("one element is moved"))
            }
            ReduceKind::Min => {
                schema!("reduce_min", "The smallest x over axes.", Exact("one element is moved"))
            }
            ReduceKind::Prod => {
                schema!("reduce_prod", "Π x over axes.", Accumulating("each factor rounds the product"))
            }
            ReduceKind::Any => {
                schema!("reduce_any", "Whether some x over axes is true.", Exact("one element is moved"), differentiable: false)
            }
            ReduceKind::All => {
                schema!("reduce_all", "Whether every x over axes is true.", Exact("one element is moved"), differentiable: false)
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        match self.kind {
            ReduceKind::Mean => cx.need_float(0)?,
            ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min | ReduceKind::Prod => cx.need_number(0)?,
            ReduceKind::Any | ReduceKind::All => cx.need_dtype(0, DType::Bool)?,
        }
        let ty = reduced(cx.ty(0), &self.axes, self.keep_dim).ok_or_else(|| {
            let message = format!("{}: it has no axes {:?} in ascending order", cx.is(0), self.axes);
            cx.wrong(0, MismatchKind::Attribute, message)
        })?;
        Ok(vec![ty])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        if self.kind.is_logical() {
            return Ok(vec![None]);
        }
        let (x, mut grad) = (g.input(0), g.grad(0)?);
        if self.kind == ReduceKind::Prod {
            return Ok(vec![Some(self.of_factors(g, x, grad)?)]);
        }
        if self.kind == ReduceKind::Mean {
            let size = g.emit(Size { axes: self.axes.clone() }, &[x])?;
            grad = g.emit(Binary { kind: BinaryKind::Div }, &[grad, size])?;
        }
        let expand = Expand { axes: self.axes.clone(), keep_dim: self.keep_dim };
        let grad = g.emit(expand.clone(), &[grad, x])?;
        if matches!(self.kind, ReduceKind::Sum | ReduceKind::Mean) {
            return Ok(vec![Some(grad)]);
        }
        let (out, dtype) = (g.output(0), g.ty(x).dtype);
        let out = g.emit(expand, &[out, x])?;
        let chosen = g.emit(Compare { kind: CompareKind::Equal }, &[x, out])?;
        let chosen = g.emit(Cast { dtype }, &[chosen])?;
        Ok(vec![Some(g.emit(Binary { kind: BinaryKind::Mul }, &[grad, chosen])?)])
    }

    fn of_shards(&self, program: &Program, operator: &Operator, output: usize) -> OfShards {
        match (program.ty(operator.outputs[output]).rows, self.kind) {
            (Some(_), _) => OfShards::Rows,
            (None, ReduceKind::Sum) => OfShards::Sum,
            (None, ReduceKind::Mean) => OfShards::Mean,
            (None, ReduceKind::Max | ReduceKind::Min | ReduceKind::Prod) => OfShards::Other,
            (None, ReduceKind::Any | ReduceKind::All) => OfShards::Other,
        }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let cases = |kind| {
            let op = move |axes: &[i64], keep_dim| Sample::of(Reduce { kind, axes: axes.to_vec(), keep_dim });
            let samples = [
                op(&[], false).rows(3, &[4]),
                op(&[0], false).rows(3, &[4]),
                op(&[1], false).rows(3, &[4]),
                op(&[0], true).rows(3, &[4]),
                op(&[1], true).dense(&[2, 3, 4]),
                op(&[0, 2], false).dense(&[2, 3, 4]),
                op(&[], false).rows(0, &[4]),
                op(&[0], false).rows(0, &[4]),
                op(&[], false).dense(&[]),
            ];
            let dtype = if kind.is_logical() { DType::Bool } else { DType::F32 };
            samples.map(|sample| sample.dtype(dtype))
        };
        ReduceKind::ALL.into_iter().flat_map(cases).collect()
    }
}
