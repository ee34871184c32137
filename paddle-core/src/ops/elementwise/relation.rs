//! Comparisons and truth functions.

use crate::ops::{AccuracyClass, Attributes, Effects, Infer, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::{DType, Type};

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
                    $($enum::$kind => const {
                        &Schema {
                            name: $name,
                            doc: concat!($($doc),*),
                            inputs: &[Slot::of("X"), Slot::of("Y")],
                            outputs: &[Slot::of("Out")],
                            accuracy: AccuracyClass::Exact("truth values"),
                            effects: Effects { differentiable: false, ..Effects::ELEMENT_WISE },
                        }
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
    /// One of x and y, but not both.
    Xor "logical_xor" |x, y| x ^ y;
}

/// Element-wise comparison. `X`, `Y`: of one element type, with shapes that broadcast; `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compare {
    /// The comparison.
    pub kind: CompareKind,
}

/// An element-wise truth function. `X`, `Y`: bool, with shapes that broadcast; `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logical {
    /// The function.
    pub kind: LogicalKind,
}

/// Negation. `X`, `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Not;

attributes!(Compare: kind in CompareKind::ALL);
attributes!(Logical: kind in LogicalKind::ALL);
attributes!(Not {});

impl Operation for Compare {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?.with_dtype(DType::Bool)])
    }

    #[inline]
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

    #[inline]
    fn samples() -> Vec<Sample> {
        let case = |op: Logical, dims: &[i64]| {
            Sample::of(op).rows(5, &[2]).dtype(DType::Bool).rows(5, dims).dtype(DType::Bool)
        };
        Logical::prototypes().into_iter().flat_map(|op| [case(op, &[2]), case(op, &[1])]).collect()
    }
}

impl Operation for Not {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "logical_not",
                doc: "not x.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("truth values"),
                effects: Effects { differentiable: false, ..Effects::ELEMENT_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::Bool)?;
        Ok(vec![cx.ty(0).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        vec![Sample::of(Not).rows(4, &[1]).dtype(DType::Bool)]
    }
}
