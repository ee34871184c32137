//! Functions of one value.

use super::{Real, class};
use crate::ops::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, AttributeValue, Attributes, Effects, Gradient,
    GradientError, Infer, Mismatch, Operation, Sample, Schema,
};
use crate::program::{Type, VarId};

/// The attributes of a function, in the order of its row; zeros behind them.
pub type Coefficients = [f64; 3];

/// Which value of the forward pass a derivative is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saved {
    /// The input.
    X,
    /// The output.
    Out,
}

/// Where functions are tested, if their row does not say `in` where.
const TESTED: (f64, f64) = (-8.0, 8.0);

macro_rules! unary {
    ($d:tt $($(#[doc = $doc:literal])* $kind:ident $name:literal
       $(($($attribute:ident = $default:literal),*))? [$class:ident, $grad_class:ident] $(in $tested:expr;)?
       |$x:ident| $formula:expr, $saved:ident |$s:ident| $derivative:expr;)*) => {
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
            pub fn apply<T: Real>(self, value: T, coefficients: Coefficients) -> T {
                match self {
                    $(UnaryKind::$kind => {
                        #[allow(unused_variables, reason = "a formula need not mention every attribute")]
                        let [$($($attribute,)*)? ..] = coefficients.map(T::of);
                        let $x = value;
                        $formula
                    })*
                }
            }

            /// The derivative at the saved value: the input or the output, as the schema of the gradient says.
            #[inline(always)]
            pub fn derivative<T: Real>(self, saved: T, coefficients: Coefficients) -> T {
                match self {
                    $(UnaryKind::$kind => {
                        #[allow(unused_variables, reason = "a formula need not mention every attribute")]
                        let [$($($attribute,)*)? ..] = coefficients.map(T::of);
                        let $s = saved;
                        $derivative
                    })*
                }
            }

            /// The names of its attributes, and their defaults.
            pub const fn attributes(self) -> &'static [(&'static str, f64)] {
                match self {
                    $(UnaryKind::$kind => &[$($((stringify!($attribute), $default)),*)?],)*
                }
            }

            fn saved(self) -> Saved {
                match self {
                    $(UnaryKind::$kind => Saved::$saved,)*
                }
            }

            /// How accurate the function is, and its gradient.
            fn accuracy(self) -> (AccuracyClass, AccuracyClass) {
                match self {
                    $(UnaryKind::$kind => (class::$class, class::$grad_class),)*
                }
            }

            /// Where the samples are.
            fn tested(self) -> (f64, f64) {
                match self {
                    $(UnaryKind::$kind => [$($tested,)? TESTED][0],)*
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

        /// Runs an expression with `$K` bound to a *constant* kind, so that a loop around `K.apply(x, ..)` is compiled
        /// once per function: `with_unary!(kind, K => xs.map(|x| K.apply(x, coefficients)))`.
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
    /// |x|; its derivative at 0 is 0.
    Abs "abs" [EXACT, EXACT] |x| x.abs(),
        X |x| T::select(x > T::of(0.0), T::of(1.0), T::select(x < T::of(0.0), T::of(-1.0), T::of(0.0)));
    /// x, but not below min and not above max.
    Clip "clip" (min = -1.0, max = 1.0) [EXACT, EXACT] |x| x.max(min).min(max),
        X |x| T::select((x > min) & (x < max), T::of(1.0), T::of(0.0));
    /// x, and alpha (eˣ - 1) where x is negative.
    Elu "elu" (alpha = 1.0) [ROUNDING, ROUNDING] |x| T::select(x > T::of(0.0), x, alpha * x.exp_m1()),
        X |x| T::select(x > T::of(0.0), T::of(1.0), alpha * x.exp());
    /// eˣ.
    Exp "exp" [ROUNDING, EXACT] |x| x.exp(), Out |y| y;
    /// slope · x + offset, but not below 0 and not above 1.
    HardSigmoid "hard_sigmoid" (slope = 0.2, offset = 0.5) [ACCUMULATING, ROUNDING]
        |x| (slope * x + offset).max(T::of(0.0)).min(T::of(1.0)),
        Out |y| T::select((y > T::of(0.0)) & (y < T::of(1.0)), slope, T::of(0.0));
    /// x · min(max(x + offset, 0), threshold) / scale.
    HardSwish "hard_swish" (threshold = 6.0, scale = 6.0, offset = 3.0) [ACCUMULATING, ACCUMULATING]
        |x| x * (x + offset).max(T::of(0.0)).min(threshold) / scale,
        X |x| T::select(
            x + offset < threshold,
            T::select(x + offset > T::of(0.0), (x + x + offset) / scale, T::of(0.0)),
            threshold / scale
        );
    /// x, and alpha · x where x is negative.
    LeakyRelu "leaky_relu" (alpha = 0.02) [ROUNDING, ROUNDING] |x| T::select(x > T::of(0.0), x, alpha * x),
        X |x| T::select(x > T::of(0.0), T::of(1.0), alpha);
    /// The natural logarithm.
    Log "log" [ROUNDING, ROUNDING] in (0.1, 8.0); |x| x.ln(), X |x| T::of(1.0) / x;
    /// The logarithm of `sigmoid`.
    LogSigmoid "logsigmoid" [ROUNDING, ROUNDING] |x| -(-x).softplus(), X |x| (-x).sigmoid();
    /// x to the power of factor.
    Pow "pow" (factor = 1.0) [ROUNDING, ROUNDING] in (0.1, 3.0); |x| x.pow(factor), X |x| factor * x.pow(factor - T::of(1.0));
    /// 1 / x.
    Reciprocal "reciprocal" [EXACT, ROUNDING] in (0.1, 3.0); |x| T::of(1.0) / x, Out |y| -y * y;
    /// max(x, 0); its derivative at 0 is 0.
    Relu "relu" [EXACT, EXACT] |x| T::select(x > T::of(0.0), x, T::of(0.0)), Out |y| T::select(y > T::of(0.0), T::of(1.0), T::of(0.0));
    /// x, but not below 0 and not above threshold.
    Relu6 "relu6" (threshold = 6.0) [EXACT, EXACT] |x| x.max(T::of(0.0)).min(threshold),
        Out |y| T::select((y > T::of(0.0)) & (y < threshold), T::of(1.0), T::of(0.0));
    /// 1 / √x.
    Rsqrt "rsqrt" [ROUNDING, ROUNDING] in (0.1, 3.0); |x| T::of(1.0) / x.sqrt(), Out |y| T::of(-0.5) * y * y * y;
    /// 1 / (1 + e⁻ˣ).
    Sigmoid "sigmoid" [ROUNDING, ACCUMULATING] |x| x.sigmoid(), Out |y| y * (T::of(1.0) - y);
    /// x · sigmoid(x).
    Silu "silu" [ROUNDING, ACCUMULATING] |x| x * x.sigmoid(), X |x| x.sigmoid() * (T::of(1.0) + x * (-x).sigmoid());
    /// ln(1 + exp(beta · x)) / beta; x itself where beta · x is above threshold.
    Softplus "softplus" (beta = 1.0, threshold = 20.0) [ACCUMULATING, ROUNDING]
        |x| T::select(beta * x > threshold, x, (beta * x).softplus() / beta),
        X |x| T::select(beta * x > threshold, T::of(1.0), (beta * x).sigmoid());
    /// x / (1 + |x|).
    Softsign "softsign" [ROUNDING, ROUNDING] |x| x / (T::of(1.0) + x.abs()),
        X |x| T::of(1.0) / ((T::of(1.0) + x.abs()) * (T::of(1.0) + x.abs()));
    /// √x.
    Sqrt "sqrt" [EXACT, ROUNDING] in (0.1, 8.0); |x| x.sqrt(), Out |y| T::of(0.5) / y;
    /// x².
    Square "square" [EXACT, EXACT] |x| x * x, X |x| T::of(2.0) * x;
    /// x · sigmoid(beta · x).
    Swish "swish" (beta = 1.0) [ACCUMULATING, ACCUMULATING] |x| x * (beta * x).sigmoid(),
        X |x| (beta * x).sigmoid() * (T::of(1.0) + beta * x * (-beta * x).sigmoid());
    /// Hyperbolic tangent.
    Tanh "tanh" [ROUNDING, ACCUMULATING] |x| x.tanh(), Out |y| T::of(1.0) - y * y;
}

impl UnaryKind {
    const fn defaults(self) -> Coefficients {
        let (attributes, mut coefficients, mut i) = (self.attributes(), [0.0; 3], 0);
        while i < attributes.len() {
            coefficients[i] = attributes[i].1;
            i += 1;
        }
        coefficients
    }

    fn to_attributes(self, coefficients: Coefficients) -> Vec<(&'static str, Attribute)> {
        let values = coefficients.iter().map(f64::to_attribute);
        self.attributes().iter().map(|(name, _)| *name).zip(values).collect()
    }

    fn read(self, mut reader: AttributeReader<'_>) -> Result<Coefficients, AttributeError> {
        let mut coefficients = self.defaults();
        for (coefficient, (name, default)) in coefficients.iter_mut().zip(self.attributes()) {
            *coefficient = reader.take(name, Some(*default))?;
        }
        reader.finish()?;
        Ok(coefficients)
    }
}

/// An element-wise function. `X`: floating point, any shape; `Out`: the same type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary {
    /// Which function.
    pub kind: UnaryKind,
    /// Its attributes.
    pub coefficients: Coefficients,
}

/// The gradient of an element-wise function: `Out@GRAD` times the derivative at the saved value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnaryGrad {
    /// Whose gradient.
    pub kind: UnaryKind,
    /// The attributes of the function.
    pub coefficients: Coefficients,
}

impl Unary {
    /// With the attributes that it has by default.
    pub const fn of(kind: UnaryKind) -> Self {
        Unary { kind, coefficients: kind.defaults() }
    }
}

impl UnaryGrad {
    /// Of a function with the attributes that it has by default.
    pub const fn of(kind: UnaryKind) -> Self {
        UnaryGrad { kind, coefficients: kind.defaults() }
    }
}

impl Attributes for Unary {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.kind.to_attributes(self.coefficients)
    }

    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        Ok(Unary { kind: self.kind, coefficients: self.kind.read(reader)? })
    }
}

impl Attributes for UnaryGrad {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.kind.to_attributes(self.coefficients)
    }

    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        Ok(UnaryGrad { kind: self.kind, coefficients: self.kind.read(reader)? })
    }
}

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
        let op = UnaryGrad { kind: self.kind, coefficients: self.coefficients };
        Ok(vec![Some(g.emit(op, &[saved, grad])?)])
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        self.kind.accuracy().0
    }

    fn prototypes() -> Vec<Self> {
        UnaryKind::ALL.iter().map(|&kind| Unary::of(kind)).collect()
    }

    fn samples() -> Vec<Sample> {
        let cases = |op: Unary| {
            let (low, high) = op.kind.tested();
            let case = || Sample::of(op);
            // Other attributes than those left out.
            let mut other = op;
            other.coefficients[..op.kind.attributes().len()].iter_mut().for_each(|c| *c *= 1.25);
            [
                case().rows(3, &[4]).within(low, high),
                case().dense(&[]).within(low, high),
                case().rows(0, &[2]),
                Sample::of(other).rows(5, &[3]).within(low, high),
            ]
        };
        Unary::prototypes().into_iter().flat_map(cases).collect()
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

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        self.kind.accuracy().1
    }

    fn prototypes() -> Vec<Self> {
        UnaryKind::ALL.iter().map(|&kind| UnaryGrad::of(kind)).collect()
    }
}
