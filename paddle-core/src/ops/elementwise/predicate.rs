//! Predicates: properties of single numbers.

use super::Real;
use crate::ops::{AccuracyClass, Attributes, Effects, Infer, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::{DType, Type};

macro_rules! predicate {
    ($($(#[doc = $doc:literal])* $kind:ident $name:literal |$x:ident| $formula:expr;)*) => {
        /// A property of a number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PredicateKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl PredicateKind {
            /// All of them.
            pub const ALL: &'static [PredicateKind] = &[$(PredicateKind::$kind),*];

            /// Whether the number has the property.
            #[inline(always)]
            pub fn holds<T: Real>(self, value: T) -> T::Truth {
                match self {
                    $(PredicateKind::$kind => { let $x = value; $formula })*
                }
            }

            fn schema(self) -> &'static Schema {
                match self {
                    $(PredicateKind::$kind => const {
                        &Schema {
                            name: $name,
                            doc: concat!($($doc),*),
                            inputs: &[Slot::of("X")],
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

predicate! {
    /// x is a number, and not infinite.
    Finite "isfinite_v2" |x| x.abs().below(T::of(f64::INFINITY));
    /// x is infinite.
    Infinite "isinf_v2" |x| x.abs().equals(T::of(f64::INFINITY));
    /// x is not a number.
    NotANumber "isnan_v2" |x| x.is_not_a_number();
}

/// Whether each number has a property. `X`: floating point; `Out`: bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicate {
    /// The property.
    pub kind: PredicateKind,
}

attributes!(Predicate: kind in PredicateKind::ALL);

impl Operation for Predicate {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        Ok(vec![cx.ty(0).with_dtype(DType::Bool)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let cases = |op: Predicate| [Sample::of(op).rows(3, &[4]), Sample::of(op).rows(0, &[4])];
        Predicate::prototypes().into_iter().flat_map(cases).collect()
    }
}
