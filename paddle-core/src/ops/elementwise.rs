//! Element-wise operators. Each is one row of a table: name, formula, derivative; the loops of every backend, the
//! gradient and the documentation come from the row.

use super::{Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema};
use crate::program::{DType, Type, VarId};

/// Numbers that formulas are written for: `f32`, `f64`, and the vectorised `f32` of a backend.
pub trait Real:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
{
    /// The nearest value to a constant.
    fn of(value: f64) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The largest whole number not above.
    fn floor(self) -> Self;
    /// `self` where `condition` holds, else `other`.
    fn select(condition: bool, this: Self, other: Self) -> Self {
        if condition { this } else { other }
    }
}

macro_rules! real {
    ($($float:ident),*) => {$(
        impl Real for $float {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $float
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                $float::tanh(self)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                $float::floor(self)
            }
        }
    )*};
}
real!(f32, f64);

/// Which value of the forward pass a derivative is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The input.
    X,
    /// The output.
    Out,
}

macro_rules! unary {
    ($d:tt $($(#[doc = $doc:literal])* $kind:ident $name:literal |$x:ident| $formula:expr,
       $saved:ident |$s:ident| $derivative:expr;)*) => {
        /// Element-wise functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum UnaryKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl UnaryKind {
            /// All of them.
            pub const ALL: &'static [UnaryKind] = &[$(UnaryKind::$kind),*];

            /// The function's value.
            #[inline(always)]
            pub fn apply<T: Real>(self, value: T) -> T {
                match self {
                    $(UnaryKind::$kind => { let $x = value; $formula })*
                }
            }

            /// The derivative at the saved value (see [`UnaryKind::saved`]).
            #[inline(always)]
            pub fn derivative<T: Real>(self, saved: T) -> T {
                match self {
                    $(UnaryKind::$kind => { let $s = saved; $derivative })*
                }
            }

            /// What the derivative is written in.
            pub fn saved(self) -> Saved {
                match self {
                    $(UnaryKind::$kind => Saved::$saved,)*
                }
            }

            /// Schemas of the function and of its gradient.
            fn schemas(self) -> (&'static Schema, &'static Schema) {
                match self {
                    $(UnaryKind::$kind => (
                        &Schema {
                            name: $name,
                            doc: concat!($($doc),*),
                            inputs: &["X"],
                            outputs: &["Out"],
                            effects: Effects::ELEMENT_WISE,
                        },
                        &Schema {
                            name: concat!($name, "_grad"),
                            doc: concat!("Gradient of `", $name, "`."),
                            inputs: &[stringify!($saved), "Out@GRAD"],
                            outputs: &["X@GRAD"],
                            effects: Effects::ELEMENT_WISE,
                        },
                    ),)*
                }
            }
        }

        /// Runs an expression with `$K` bound to a *constant* kind, so that a loop around `K.apply(x)` is compiled
        /// once per function: `with_unary!(kind, K => xs.map(|x| K.apply(x)))`.
        #[macro_export]
        macro_rules! with_unary {
            ($d kind:expr, $d K:ident => $d body:expr) => {
                match $d kind {
                    $($crate::ops::UnaryKind::$kind => {
                        const $d K: $crate::ops::UnaryKind = $crate::ops::UnaryKind::$kind;
                        $d body
                    })*
                }
            };
        }
    };
}

unary! { $
    /// max(x, 0); its derivative at 0 is 0.
    Relu "relu" |x| T::select(x > T::of(0.0), x, T::of(0.0)), Out |y| T::select(y > T::of(0.0), T::of(1.0), T::of(0.0));
    /// Hyperbolic tangent.
    Tanh "tanh" |x| x.tanh(), Out |y| T::of(1.0) - y * y;
    /// x².
    Square "square" |x| x * x, X |x| T::of(2.0) * x;
}

macro_rules! binary {
    ($d:tt $($(#[doc = $doc:literal])* $kind:ident $name:literal |$x:ident, $y:ident| $formula:expr;)*) => {
        /// Element-wise arithmetic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BinaryKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl BinaryKind {
            /// All of them.
            pub const ALL: &'static [BinaryKind] = &[$(BinaryKind::$kind),*];

            /// The value on floating-point numbers.
            #[inline(always)]
            pub fn apply<T: Real>(self, left: T, right: T) -> T {
                match self {
                    $(BinaryKind::$kind => { let ($x, $y) = (left, right); $formula })*
                }
            }

            fn schema(self) -> &'static Schema {
                match self {
                    $(BinaryKind::$kind => &Schema {
                        name: $name,
                        doc: concat!($($doc),*),
                        inputs: &["X", "Y"],
                        outputs: &["Out"],
                        effects: Effects::ELEMENT_WISE,
                    },)*
                }
            }
        }

        /// Runs an expression with `$K` bound to a *constant* kind; see [`with_unary!`].
        #[macro_export]
        macro_rules! with_binary {
            ($d kind:expr, $d K:ident => $d body:expr) => {
                match $d kind {
                    $($crate::ops::BinaryKind::$kind => {
                        const $d K: $crate::ops::BinaryKind = $crate::ops::BinaryKind::$kind;
                        $d body
                    })*
                }
            };
        }
    };
}

binary! { $
    /// x + y.
    Add "elementwise_add" |x, y| x + y;
    /// x - y.
    Sub "elementwise_sub" |x, y| x - y;
    /// x · y.
    Mul "elementwise_mul" |x, y| x * y;
    /// x / y; of integers, rounded towards zero.
    Div "elementwise_div" |x, y| x / y;
    /// The remainder of x / y, with the sign of y.
    Mod "elementwise_mod" |x, y| x - y * (x / y).floor();
    /// ⌊x / y⌋.
    FloorDiv "elementwise_floordiv" |x, y| (x / y).floor();
}

impl BinaryKind {
    /// The value on integers; they wrap around, and a division by zero gives 0.
    #[inline(always)]
    pub fn apply_int(self, x: i64, y: i64) -> i64 {
        match self {
            BinaryKind::Add => x.wrapping_add(y),
            BinaryKind::Sub => x.wrapping_sub(y),
            BinaryKind::Mul => x.wrapping_mul(y),
            BinaryKind::Div if y == 0 => 0,
            BinaryKind::Div => x.wrapping_div(y),
            BinaryKind::Mod if y == 0 => 0,
            BinaryKind::Mod => {
                let remainder = x.wrapping_rem(y);
                if remainder != 0 && (remainder < 0) != (y < 0) { remainder + y } else { remainder }
            }
            BinaryKind::FloorDiv if y == 0 => 0,
            BinaryKind::FloorDiv => {
                let (quotient, remainder) = (x.wrapping_div(y), x.wrapping_rem(y));
                if remainder != 0 && (remainder < 0) != (y < 0) { quotient - 1 } else { quotient }
            }
        }
    }
}

macro_rules! relation {
    ($enum:ident, $doc_enum:literal, [$($generic:tt)*] $on:ty;
     $($(#[doc = $doc:literal])* $kind:ident $name:literal |$x:ident, $y:ident| $formula:expr;)*) => {
        #[doc = $doc_enum]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($(#[doc = $doc])* $kind,)*
        }

        impl $enum {
            /// All of them.
            pub const ALL: &'static [$enum] = &[$($enum::$kind),*];

            /// Whether it holds.
            #[inline(always)]
            pub fn holds $($generic)* (self, left: $on, right: $on) -> bool {
                match self {
                    $($enum::$kind => { let ($x, $y) = (left, right); $formula })*
                }
            }

            fn schema(self) -> &'static Schema {
                match self {
                    $($enum::$kind => &Schema {
                        name: $name,
                        doc: concat!($($doc),*),
                        inputs: &["X", "Y"],
                        outputs: &["Out"],
                        effects: Effects::ELEMENT_WISE,
                    },)*
                }
            }
        }
    };
}

relation! { CompareKind, "Comparisons.", [<T: PartialOrd>] T;
    /// x < y.
    LessThan "less_than" |x, y| x < y;
    /// x ≤ y.
    LessEqual "less_equal" |x, y| x <= y;
    /// x > y.
    GreaterThan "greater_than" |x, y| x > y;
    /// x ≥ y.
    GreaterEqual "greater_equal" |x, y| x >= y;
    /// x = y.
    Equal "equal" |x, y| x == y;
    /// x ≠ y.
    NotEqual "not_equal" |x, y| x != y;
}

relation! { LogicalKind, "Truth functions.", [] bool;
    /// x and y; both are computed.
    And "logical_and" |x, y| x & y;
    /// x or y; both are computed.
    Or "logical_or" |x, y| x | y;
}

/// An element-wise function. `X`: floating point, any shape; `Out`: the same type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary {
    /// Which function.
    pub kind: UnaryKind,
}

/// The gradient of an element-wise function: `Out@GRAD` times the derivative at the saved value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnaryGrad {
    /// Whose gradient.
    pub kind: UnaryKind,
}

/// Element-wise arithmetic. `X`, `Y`: numbers of one element type whose shapes broadcast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binary {
    /// Which operation.
    pub kind: BinaryKind,
}

/// Element-wise comparison. `X`, `Y`: of one element type, shapes that broadcast; `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compare {
    /// Which comparison.
    pub kind: CompareKind,
}

/// Element-wise truth functions. `X`, `Y`: bool, shapes that broadcast; `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logical {
    /// Which function.
    pub kind: LogicalKind,
}

/// Negation. `X`, `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Not;

attributes!(Unary: kind);
attributes!(UnaryGrad: kind);
attributes!(Binary: kind);
attributes!(Compare: kind);
attributes!(Logical: kind);
attributes!(Not {});

impl Operation for Unary {
    fn schema(&self) -> &'static Schema {
        self.kind.schemas().0
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let saved = match self.kind.saved() {
            Saved::X => g.input(0),
            Saved::Out => g.output(0),
        };
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(UnaryGrad { kind: self.kind }, &[saved, grad])?)])
    }

    fn prototypes() -> Vec<Self> {
        UnaryKind::ALL.iter().map(|&kind| Unary { kind }).collect()
    }

    fn samples() -> Vec<Sample> {
        let shapes = |op: Unary| {
            [Sample::of(op).rows(3, &[4]), Sample::of(op).dense(&[]), Sample::of(op).rows(0, &[2])]
        };
        Unary::prototypes().into_iter().flat_map(shapes).collect()
    }
}

impl Operation for UnaryGrad {
    fn schema(&self) -> &'static Schema {
        self.kind.schemas().1
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn prototypes() -> Vec<Self> {
        UnaryKind::ALL.iter().map(|&kind| UnaryGrad { kind }).collect()
    }
}

impl Operation for Binary {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_number(0)?;
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, y, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let emit = |g: &mut Gradient<'_>, kind, a, b| g.emit(Binary { kind }, &[a, b]);
        let (mut dx, mut dy) = (None, None);
        match self.kind {
            BinaryKind::Add => (dx, dy) = (Some(grad), Some(grad)),
            BinaryKind::Sub => {
                dx = Some(grad);
                if g.wants(1) {
                    dy = Some(g.negate(grad)?);
                }
            }
            BinaryKind::Mul => {
                if g.wants(0) {
                    dx = Some(emit(g, BinaryKind::Mul, grad, y)?);
                }
                if g.wants(1) {
                    dy = Some(emit(g, BinaryKind::Mul, grad, x)?);
                }
            }
            BinaryKind::Div => {
                let quotient = emit(g, BinaryKind::Div, grad, y)?;
                dx = Some(quotient);
                if g.wants(1) {
                    let product = emit(g, BinaryKind::Mul, quotient, g.output(0))?;
                    dy = Some(g.negate(product)?);
                }
            }
            // x mod y = x - y⌊x/y⌋, and ⌊x/y⌋ is constant almost everywhere.
            BinaryKind::Mod => {
                dx = Some(grad);
                if g.wants(1) {
                    let floor = emit(g, BinaryKind::FloorDiv, x, y)?;
                    let product = emit(g, BinaryKind::Mul, grad, floor)?;
                    dy = Some(g.negate(product)?);
                }
            }
            BinaryKind::FloorDiv => {}
        }
        Ok(vec![g.sum_to_input(dx, 0)?, g.sum_to_input(dy, 1)?])
    }

    fn is_differentiable(&self) -> bool {
        self.kind != BinaryKind::FloorDiv
    }

    fn prototypes() -> Vec<Self> {
        BinaryKind::ALL.iter().map(|&kind| Binary { kind }).collect()
    }

    fn samples() -> Vec<Sample> {
        let shapes = |op: Binary| {
            // Away from the poles of division and the jumps of the remainder.
            let far = |sample: Sample| match op.kind {
                BinaryKind::Div | BinaryKind::Mod | BinaryKind::FloorDiv => sample.within(2.1, 2.9),
                BinaryKind::Add | BinaryKind::Sub | BinaryKind::Mul => sample,
            };
            let x = |rows| match op.kind {
                BinaryKind::Mod | BinaryKind::FloorDiv => Sample::of(op).rows(rows, &[4]).within(0.1, 1.9),
                _ => Sample::of(op).rows(rows, &[4]),
            };
            [
                far(x(3).rows(3, &[4])),
                far(x(3).dense(&[4])),
                far(x(3).dense(&[])),
                far(x(3).rows(3, &[1])),
                far(x(0).dense(&[1, 4])),
            ]
        };
        Binary::prototypes().into_iter().flat_map(shapes).collect()
    }
}

impl Operation for Compare {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?.with_dtype(DType::Bool)])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![None, None])
    }

    fn prototypes() -> Vec<Self> {
        CompareKind::ALL.iter().map(|&kind| Compare { kind }).collect()
    }

    fn samples() -> Vec<Sample> {
        Compare::prototypes().into_iter().map(|op| Sample::of(op).rows(3, &[4]).dense(&[4])).collect()
    }
}

impl Operation for Logical {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::Bool)?;
        cx.need_dtype(1, DType::Bool)?;
        Ok(vec![cx.broadcast(0, 1)?])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![None, None])
    }

    fn prototypes() -> Vec<Self> {
        LogicalKind::ALL.iter().map(|&kind| Logical { kind }).collect()
    }

    fn samples() -> Vec<Sample> {
        let case =
            |op: Logical| Sample::of(op).rows(5, &[2]).dtype(DType::Bool).rows(5, &[2]).dtype(DType::Bool);
        Logical::prototypes().into_iter().map(case).collect()
    }
}

impl Operation for Not {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "logical_not",
            doc: "not x.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::ELEMENT_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::Bool)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![None])
    }

    fn prototypes() -> Vec<Self> {
        vec![Not]
    }

    fn samples() -> Vec<Sample> {
        vec![Sample::of(Not).rows(4, &[1]).dtype(DType::Bool)]
    }
}
