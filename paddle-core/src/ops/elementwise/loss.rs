//! Losses of a prediction and a label.

use super::coefficients::{self, Coefficients, Named};
use super::{Real, class};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Attributes, Effects, Gradient, GradientError, Infer,
    Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};
use crate::with_losses;

macro_rules! loss {
    ($d:tt $(
        $(#[doc = $doc:literal])*
        $name:ident $kind:ident $prediction:ident $label_slot:ident $out:ident (
            $($arg:ident: $arg_kind:ident = $arg_default:literal $arg_doc:literal),*;
            $($named:ident: $named_kind:ident = $default:literal $named_doc:literal),*
        )
        [$class:ident, $slope_class:ident] in $of_x:expr, $of_label:expr;
        |$x:ident, $label:ident| $formula:expr,
        slope |$sx:ident, $slabel:ident| $slope:expr
        $(, $opposite:ident)?;
    )*) => {
        /// Losses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LossKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl LossKind {
            /// All of them.
            pub const ALL: &'static [LossKind] = &[$(LossKind::$kind),*];

            /// The loss.
            #[inline(always)]
            pub fn apply<T: Real>(self, prediction: T, label: T, coefficients: Coefficients) -> T {
                match self {
                    $(LossKind::$kind => {
                        bind!(T::of, coefficients, $($arg: $arg_kind)* $($named: $named_kind)*);
                        let ($x, $label) = (prediction, label);
                        $formula
                    })*
                }
            }

            /// The derivative of the loss with respect to the prediction.
            #[inline(always)]
            pub fn derivative<T: Real>(self, prediction: T, label: T, coefficients: Coefficients) -> T {
                match self {
                    $(LossKind::$kind => {
                        bind!(T::of, coefficients, $($arg: $arg_kind)* $($named: $named_kind)*);
                        let ($sx, $slabel) = (prediction, label);
                        $slope
                    })*
                }
            }

            /// The names and defaults of the loss's attributes.
            pub const fn attributes(self) -> &'static Named {
                match self {
                    $(LossKind::$kind => &[
                        $((stringify!($arg), number!($arg_kind $arg_default)),)*
                        $((stringify!($named), number!($named_kind $default)),)*
                    ],)*
                }
            }

            /// The ranges from which samples of the prediction and of the label are drawn.
            fn tested(self) -> [(f64, f64); 2] {
                match self {
                    $(LossKind::$kind => [$of_x, $of_label],)*
                }
            }

            fn schema(self) -> &'static Schema {
                match self {
                    $(LossKind::$kind => const {
                        &Schema {
                            name: stringify!($name),
                            doc: concat!($($doc),*),
                            inputs: &[
                                Slot::of(stringify!($prediction)),
                                loss!(@label $($opposite)? Slot::of(stringify!($label_slot))),
                            ],
                            outputs: &[Slot::of(stringify!($out))],
                            accuracy: class::$class,
                            effects: Effects::ELEMENT_WISE,
                        }
                    },)*
                }
            }

            /// The schema of the gradient.
            fn gradient_schema(self) -> &'static Schema {
                match self {
                    $(LossKind::$kind => const {
                        &Schema {
                            name: concat!(stringify!($name), "_grad"),
                            doc: concat!("Gradient of `", stringify!($name), "` by the prediction."),
                            inputs: &[
                                Slot::of(stringify!($prediction)),
                                Slot::of(stringify!($label_slot)),
                                Slot::of(concat!(stringify!($out), "@GRAD")),
                            ],
                            outputs: &[Slot::of(concat!(stringify!($prediction), "@GRAD"))],
                            accuracy: class::$slope_class,
                            effects: Effects::ELEMENT_WISE,
                        }
                    },)*
                }
            }
        }

        /// Runs an expression with `$K` bound to a *constant* kind; see [`with_unary!`](crate::with_unary).
        #[macro_export]
        macro_rules! with_loss {
            ($d kind:expr, $d K:ident => $d body:expr) => {
                match $d kind {
                    $($crate::ops::LossKind::$kind => {
                        const $d K: $crate::ops::LossKind = $crate::ops::LossKind::$kind;
                        $d body
                    })*
                }
            };
        }
    };
    // A loss of a difference gives the label the opposite of the prediction's gradient.
    (@label opposite $slot:expr) => { $slot };
    (@label $slot:expr) => { $slot.without_gradient() };
}

with_losses!(loss($));

/// The loss of a prediction and a label. Both have one floating-point element type, and their shapes broadcast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The kind of loss.
    pub kind: LossKind,
    /// Its attributes.
    pub coefficients: Coefficients,
}

/// The gradient of a loss with respect to the prediction: the result's gradient times the derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossGrad {
    /// The kind of loss.
    pub kind: LossKind,
    /// The attributes of the loss.
    pub coefficients: Coefficients,
}

macro_rules! attributes_of {
    ($($loss:ident)*) => {$(
        impl $loss {
            /// The loss with default attributes.
            pub const fn of(kind: LossKind) -> Self {
                $loss { kind, coefficients: coefficients::defaults(kind.attributes()) }
            }
        }

        impl Attributes for $loss {
            fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
                coefficients::to_attributes(self.kind.attributes(), self.coefficients)
            }

            fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
                Ok($loss { coefficients: coefficients::read(self.kind.attributes(), reader)?, ..*self })
            }

            fn prototypes() -> Vec<Self> {
                LossKind::ALL.iter().map(|&kind| $loss::of(kind)).collect()
            }
        }
    )*};
}
attributes_of!(Loss LossGrad);

impl Operation for Loss {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let op = LossGrad { kind: self.kind, coefficients: self.coefficients };
        let inputs = [g.input(0), g.input(1), g.grad(0)?];
        let dx = g.emit(op, &inputs)?;
        let dy = match self.input(1).passes_gradient && g.wants(1) {
            true => Some(g.negate(dx)?),
            false => None,
        };
        Ok(vec![g.sum_to_input(Some(dx), 0)?, g.sum_to_input(dy, 1)?])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        Loss::prototypes().into_iter().flat_map(Loss::cases).collect()
    }
}

impl Loss {
    fn cases(self) -> Vec<Sample> {
        let [(low, high), (least, most)] = self.kind.tested();
        let x = |op: Loss, rows| Sample::of(op).rows(rows, &[4]).within(low, high);
        let other = Loss { coefficients: coefficients::others(self.kind.attributes()), ..self };
        vec![
            x(self, 3).rows(3, &[4]).within(least, most),
            x(self, 1).rows(1, &[1]).within(least, most),
            x(self, 3).dense(&[]).within(least, most),
            x(self, 0).rows(0, &[4]),
            x(other, 5).rows(5, &[4]).within(least, most),
        ]
    }
}

impl Operation for LossGrad {
    fn schema(&self) -> &'static Schema {
        self.kind.gradient_schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.same_dtype(0, 1)?;
        let out = cx.broadcast(0, 1)?;
        cx.need_type(2, &out)?;
        Ok(vec![out])
    }
}
