//! Arithmetic on two values.

use super::select::divide;
use super::{Compare, CompareKind, Real, Unary, UnaryKind, class, gelu};
use crate::ops::{
    Attributes, Before, Combination, Effects, Fill, Form, Gradient, GradientError, Infer, Linear, Mismatch,
    Number, Operation, Operator, Program, Sample, Scale, Schema, Slot,
};
use crate::program::{Type, VarId};

macro_rules! binary {
    ($d:tt $(
        $(#[doc = $doc:literal])*
        $kind:ident $name:literal [$class:ident $($effect:ident: $value:expr)?] |$x:ident, $y:ident| $formula:expr;
    )*) => {
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
                    $(BinaryKind::$kind => const {
                        &Schema {
                            name: $name,
                            doc: concat!($($doc),*),
                            inputs: binary!(@inputs $kind),
                            outputs: &[Slot::of("Out")],
                            accuracy: class::$class,
                            effects: Effects { $($effect: $value,)? ..Effects::ELEMENT_WISE },
                        }
                    },)*
                }
            }
        }

        /// Runs an expression with `$K` bound to a *constant* kind; see [`with_unary!`](crate::with_unary).
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
    // The function is constant on both sides of its jump at 0.
    (@inputs Heaviside) => { &[Slot::of("X").without_gradient(), Slot::of("Y")] };
    (@inputs $kind:ident) => { &[Slot::of("X"), Slot::of("Y")] };
}

binary! { $
    /// x + y.
    Add "elementwise_add" [EXACT linear: Linear::In(&[0, 1])] |x, y| x + y;
    /// x - y.
    Sub "elementwise_sub" [EXACT linear: Linear::In(&[0, 1])] |x, y| x - y;
    /// x · y.
    Mul "elementwise_mul" [EXACT linear: Linear::InEach(&[0, 1])] |x, y| x * y;
    /// x / y; of integers, rounded towards zero.
    Div "elementwise_div" [EXACT linear: Linear::In(&[0])] |x, y| x / y;
    /// The larger one.
    Max "elementwise_max" [EXACT] |x, y| x.max(y);
    /// The smaller one.
    Min "elementwise_min" [EXACT] |x, y| x.min(y);
    /// The larger one; the other where one is not a number.
    FMax "elementwise_fmax" [EXACT] |x, y| T::select(x.at_least(y) | y.is_not_a_number(), x, y);
    /// The smaller one; the other where one is not a number.
    FMin "elementwise_fmin" [EXACT] |x, y| T::select(x.at_most(y) | y.is_not_a_number(), x, y);
    /// 0 where x is negative, 1 where it is positive, y where it is 0.
    Heaviside "elementwise_heaviside" [EXACT]
        |x, y| T::select(x.equals(T::of(0.0)), y, T::select(x.above(T::of(0.0)), T::of(1.0), T::of(0.0)));
    /// The remainder of x / y, with the sign of y.
    Mod "elementwise_mod" [ACCUMULATING] |x, y| x - y * (x / y).floor();
    /// ⌊x / y⌋.
    FloorDiv "elementwise_floordiv" [EXACT differentiable: false] |x, y| (x / y).floor();
    /// x to the power of y; of integers, 0 where it is a fraction.
    Pow "elementwise_pow" [ROUNDING] |x, y| x.pow(y);
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
            BinaryKind::Max | BinaryKind::FMax => x.max(y),
            BinaryKind::Min | BinaryKind::FMin => x.min(y),
            BinaryKind::Heaviside if x == 0 => y,
            BinaryKind::Heaviside => i64::from(x > 0),
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
            BinaryKind::Pow if y < 0 && x != 1 && x != -1 => 0,
            // Powers of 1 and -1 repeat.
            BinaryKind::Pow if y < 0 => x.wrapping_pow((y & 1) as u32),
            BinaryKind::Pow => wrapping_power(x, y as u64),
        }
    }
}

/// xⁿ by repeated squaring.
#[inline(always)]
fn wrapping_power(mut x: i64, mut n: u64) -> i64 {
    let mut power: i64 = 1;
    while n > 0 {
        if n & 1 == 1 {
            power = power.wrapping_mul(x);
        }
        x = x.wrapping_mul(x);
        n >>= 1;
    }
    power
}

/// Element-wise arithmetic. `X`, `Y`: numbers of one element type whose shapes broadcast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binary {
    /// The operation.
    pub kind: BinaryKind,
}

attributes!(Binary: kind in BinaryKind::ALL);

/// Divides the gradient: where the comparison holds, the first input gets it, elsewhere the second.
fn divide_where(
    g: &mut Gradient<'_>,
    kind: CompareKind,
    grad: VarId,
) -> Result<[Option<VarId>; 2], GradientError> {
    let taken = g.emit(Compare { kind }, &[g.input(0), g.input(1)])?;
    divide(g, taken, grad, [0, 1])
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
            // The whole gradient goes to one input, as the output depends on that one only.
            BinaryKind::Max => [dx, dy] = divide_where(g, CompareKind::GreaterThan, grad)?,
            BinaryKind::Min => [dx, dy] = divide_where(g, CompareKind::LessThan, grad)?,
            BinaryKind::FMax => [dx, dy] = divide_where(g, CompareKind::GreaterEqual, grad)?,
            BinaryKind::FMin => [dx, dy] = divide_where(g, CompareKind::LessEqual, grad)?,
            BinaryKind::Heaviside => {
                let zero = Fill { value: Number::Float(0.0), ty: Type::new(g.ty(x).dtype, []) };
                let zero = g.emit(zero, &[])?;
                let taken = g.emit(Compare { kind: CompareKind::Equal }, &[x, zero])?;
                dy = divide(g, taken, grad, [1, 0])?[0];
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
            BinaryKind::Pow => {
                if g.wants(0) {
                    let less = g.emit(Scale { scale: 1.0, bias: -1.0 }, &[y])?;
                    let power = emit(g, BinaryKind::Pow, x, less)?;
                    let slope = emit(g, BinaryKind::Mul, y, power)?;
                    dx = Some(emit(g, BinaryKind::Mul, grad, slope)?);
                }
                if g.wants(1) {
                    let log = g.emit(Unary::of(UnaryKind::Log), &[x])?;
                    let slope = emit(g, BinaryKind::Mul, g.output(0), log)?;
                    dy = Some(emit(g, BinaryKind::Mul, grad, slope)?);
                }
            }
        }
        Ok(vec![g.sum_to_input(dx, 0)?, g.sum_to_input(dy, 1)?])
    }

    fn form(&self, _: &Program, operator: &Operator) -> Option<Form> {
        let quotient = || Form::Quotient([operator.inputs[0], operator.inputs[1]]);
        (self.kind == BinaryKind::Div).then(quotient)
    }

    fn combined(&self, operator: &Operator, before: Before<'_>) -> Option<Combination> {
        gelu::combined(operator, before)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let shapes = |op: Binary| {
            // Samples stay away from the poles of division and from the jumps of the remainder.
            let far = |sample: Sample| match op.kind {
                BinaryKind::Div | BinaryKind::Mod | BinaryKind::FloorDiv => sample.within(2.1, 2.9),
                BinaryKind::Add
                | BinaryKind::Sub
                | BinaryKind::Mul
                | BinaryKind::FMax
                | BinaryKind::FMin
                | BinaryKind::Heaviside
                | BinaryKind::Max
                | BinaryKind::Min
                | BinaryKind::Pow => sample,
            };
            let x = |rows| match op.kind {
                BinaryKind::Mod | BinaryKind::FloorDiv | BinaryKind::Pow => {
                    Sample::of(op).rows(rows, &[4]).within(0.1, 1.9)
                }
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
