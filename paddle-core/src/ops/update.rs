//! Operators that update a parameter from its gradient. Each is a row of a table: its attributes, the states that it
//! keeps from step to step, and a [`Rule`], which is its formula for one element. The loops of every backend, the
//! conversion to the wire and the checks come from the row.

mod rules;

pub use rules::{MOST_STATES, Once, Rule, WithRule};

use super::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, Attributes, Effects, Infer, Mismatch,
    MismatchKind, Op, Operation, Sample, Schema, Slot,
};
use crate::program::Type;

/// A power of a decay rate, by which a rule corrects averages that began at zero. It has one element, `[1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The slot of the power.
    pub slot: &'static str,
    /// The decay rate: the first value of the power, and its factor in each step.
    pub rate: f64,
    /// Whether the operator itself multiplies the power. Otherwise a later operator does, as in PaddlePaddle.
    pub advances: bool,
}

macro_rules! updates {
    ($($(#[doc = $doc:literal])* $row:ident $name:literal ($($attribute:ident: $ty:ty = $default:expr),*)
       states [$($state:literal),*] $(optional $optional:literal)? powers [$($power:literal: $rate:ident $(by $other:literal)?),*];)*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct $row {
                $(
                    #[doc = concat!("As in the formula; ", stringify!($default), " if it is left out.")]
                    pub $attribute: $ty,
                )*
            }

            attributes!($row { $($attribute = $default),* });

            impl Default for $row {
                fn default() -> Self {
                    $row { $($attribute: $default),* }
                }
            }

            impl From<$row> for Update {
                fn from(row: $row) -> Update {
                    Update::$row(row)
                }
            }

            impl From<$row> for Op {
                fn from(row: $row) -> Op {
                    Op::Update(row.into())
                }
            }
        )*

        /// An operator that updates a parameter and its states in place.
        ///
        /// Its operands are the parameter `p`, its gradient `g` of the same type, the learning rate `α` (one element),
        /// states of the type of the parameter, and powers of decay rates (one element each). `ε` is its attribute
        /// `epsilon`, `β₁` and `β₂` are `beta1` and `beta2`, and `β₁ᵗ` and `β₂ᵗ` the powers.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Update {
            $($(#[doc = $doc])* $row($row),)*
        }

        impl Update {
            /// The slots of the states that have one element for each element of the parameter. They are 0 at first.
            pub fn states(&self) -> &'static [&'static str] {
                match self {
                    $(Update::$row(row) => {
                        const ALL: &[&str] = &[$($state,)* $($optional)?];
                        &ALL[..row.states()]
                    })*
                }
            }

            /// The powers of decay rates. Their slots are behind those of the states.
            pub fn powers(&self) -> Vec<Power> {
                match self {
                    $(Update::$row(_row) => vec![$(Power {
                        slot: $power,
                        rate: _row.$rate,
                        advances: <[&str]>::is_empty(&[$($other)?]),
                    }),*],)*
                }
            }

            /// Calls `action` with the rule.
            pub fn with_rule<W: WithRule>(&self, action: W) -> W::Output {
                match self {
                    $(Update::$row(row) => row.with_rule(action),)*
                }
            }
        }

        impl Attributes for Update {
            fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
                match self {
                    $(Update::$row(row) => row.to_attributes(),)*
                }
            }

            fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
                match self {
                    $(Update::$row(row) => row.with_attributes(reader).map(Update::$row),)*
                }
            }

    fn prototypes() -> Vec<Self> {
        rows()
    }
}

        fn schema(update: &Update) -> &'static Schema {
            match update {
                $(Update::$row(_) => const {
                    &Schema {
                        name: $name,
                        doc: concat!($($doc, "\n"),*),
                        inputs: &[
                            Slot::of("Param").changed(),
                            Slot::of("Grad"),
                            Slot::of("LearningRate"),
                            $(Slot::of($state).changed(),)*
                            $(Slot::of($optional).variadic().changed(),)?
                            $(updates!(@power $($other)? Slot::of($power)),)*
                        ],
                        outputs: &[],
                        accuracy: AccuracyClass::Accumulating(
                            "averages, and a difference of the parameter and its step",
                        ),
                        effects: Effects { differentiable: false, ..Effects::STATE },
                    }
                },)*
            }
        }

        /// One operator of each row.
        fn rows() -> Vec<Update> {
            vec![$(Update::$row($row::default())),*]
        }
    };
    // Another operator behind this one may advance the power.
    (@power $other:literal $slot:expr) => { $slot };
    (@power $slot:expr) => { $slot.changed() };
}

updates! {
    /// AdaDelta: `a = ρ a + (1 - ρ) g²`, `d = -√((u + ε) / (a + ε)) g`, `u = ρ u + (1 - ρ) d²`, `p += α d`.
    ///
    /// Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1, with a learning rate.
    AdaDelta "adadelta" (rho: f64 = 0.95, epsilon: f64 = 1e-6)
        states ["AvgSquaredGrad", "AvgSquaredUpdate"] powers [];
    /// AdaGrad: `m += g²`, `p -= α g / (√m + ε)`.
    ///
    /// Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.
    Adagrad "adagrad" (epsilon: f64 = 1e-6) states ["Moment"] powers [];
    /// Adam: `m = β₁ m + (1 - β₁) g`, `v = β₂ v + (1 - β₂) g²`,
    /// `p -= α √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + ε √(1 - β₂ᵗ))`.
    ///
    /// Kingma, Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.
    ///
    /// With `lazy_mode`, rows of a table that were not looked up stay as they are, states and all, as if the step had
    /// not been theirs; it says nothing of other parameters.
    Adam "adam" (beta1: f64 = 0.9, beta2: f64 = 0.999, epsilon: f64 = 1e-8, lazy_mode: bool = false)
        states ["Moment1", "Moment2"] powers ["Beta1Pow": beta1, "Beta2Pow": beta2];
    /// AdamW: `p = (1 - α · lr_ratio · coeff) p`, then Adam with the learning rate `α · lr_ratio`.
    ///
    /// Loshchilov, Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.
    AdamW "adamw"
        (beta1: f64 = 0.9, beta2: f64 = 0.999, epsilon: f64 = 1e-8, lr_ratio: f64 = 1.0, coeff: f64 = 0.01)
        states ["Moment1", "Moment2"] powers ["Beta1Pow": beta1, "Beta2Pow": beta2];
    /// Adamax: `m = β₁ m + (1 - β₁) g`, `n = max(|g|, β₂ n + ε)`, `p -= α / (1 - β₁ᵗ) · m / n`.
    ///
    /// Kingma, Ba, 2015, algorithm 2.
    Adamax "adamax" (beta1: f64 = 0.9, beta2: f64 = 0.999, epsilon: f64 = 1e-8)
        states ["Moment", "InfNorm"] powers ["Beta1Pow": beta1 by "scale"];
    /// AdaGrad that forgets: `m = decay · m + (1 - decay) g²`, `p -= α g / (√m + ε)`.
    DecayedAdagrad "decayed_adagrad" (decay: f64 = 0.95, epsilon: f64 = 1e-6) states ["Moment"] powers [];
    /// FTRL-Proximal, with `q = -lr_power`: `n' = n + g²`, `z += g - (n'^q - n^q) / α · p`, `n = n'`,
    /// `p = (sign(z) l1 - z) / (n^q / α + 2 l2)` where `|z| > l1`, else 0.
    ///
    /// McMahan and others, "Ad click prediction: a view from the trenches", 2013, algorithm 1.
    Ftrl "ftrl" (l1: f64 = 0.0, l2: f64 = 0.0, lr_power: f64 = -0.5)
        states ["SquaredAccumulator", "LinearAccumulator"] powers [];
    /// LAMB: `m` and `v` as in Adam, `d = m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + ε) + weight_decay · p`,
    /// `p -= α ‖p‖ / ‖d‖ · d`. The ratio of the norms over the whole parameter is left out where one of them is 0, and,
    /// unless `always_adapt`, without decay.
    ///
    /// You and others, "Large batch optimization for deep learning: training BERT in 76 minutes", 2020, algorithm 2.
    Lamb "lamb"
        (weight_decay: f64 = 0.01, beta1: f64 = 0.9, beta2: f64 = 0.999, epsilon: f64 = 1e-6,
         always_adapt: bool = false)
        states ["Moment1", "Moment2"] powers ["Beta1Pow": beta1, "Beta2Pow": beta2];
    /// Momentum: `h = rescale_grad · g + regularization_coeff · p`, `v = mu · v + h`, `p -= α v`; with `use_nesterov`,
    /// `p -= α (h + mu · v)`.
    ///
    /// Sutskever and others, "On the importance of initialization and momentum in deep learning", 2013, equations 1–4.
    Momentum "momentum"
        (mu: f64 = 0.9, use_nesterov: bool = false, regularization_coeff: f64 = 0.0, rescale_grad: f64 = 1.0)
        states ["Velocity"] powers [];
    /// RMSProp: `s = decay · s + (1 - decay) g²`, `m = momentum · m + α g / √(s + ε)`, `p -= m`; if it is `centered`,
    /// `a = decay · a + (1 - decay) g`, and the root is that of `s - a² + ε`.
    ///
    /// Tieleman, Hinton, "Neural networks for machine learning", lecture 6.5, 2012; centered as in Graves, "Generating
    /// sequences with recurrent neural networks", 2013, equations 38–45.
    RmsProp "rmsprop"
        (epsilon: f64 = 1e-10, decay: f64 = 0.9, momentum: f64 = 0.0, centered: bool = false)
        states ["Moment", "MeanSquare"] optional "MeanGrad" powers [];
    /// Stochastic gradient descent: `p -= α g`.
    Sgd "sgd" () states [] powers [];
}

/// The operands in front of the states.
pub(super) const FIRST_STATE: usize = 3;

impl Update {
    /// Whether an element whose gradient is 0 stays as it is, along with its states, or is meant to, in lazy mode.
    pub fn keeps_rows(&self) -> bool {
        matches!(self, Update::Sgd(_) | Update::Adagrad(_) | Update::Adam(Adam { lazy_mode: true, .. }))
    }

    /// Checks the learning rate and the states. The states begin at input `first`, and `others` more inputs follow
    /// them.
    pub(super) fn infer_states(&self, cx: &Infer<'_>, first: usize, others: usize) -> Result<(), Mismatch> {
        let powers = first + self.states().len();
        let (found, expected) = (cx.types.len(), powers + self.powers().len());
        if found != expected + others {
            let expected = expected + others;
            let message = format!("`{}` has {found} inputs, but it needs {expected}", cx.operator);
            return Err(cx.fail(MismatchKind::Count, message));
        }
        for k in first..powers {
            if cx.ty(k) != cx.ty(0) {
                let message = format!("{}, but {}: a state has its parameter's type", cx.is(k), cx.is(0));
                return Err(cx.wrong(k, MismatchKind::Shape, message));
            }
        }
        for k in std::iter::once(2).chain(powers..expected) {
            let what = if k == 2 { "a learning rate" } else { "a power" };
            if !cx.ty(k).is_scalar() {
                let message = format!("{}, but {what} is a scalar", cx.is(k));
                return Err(cx.wrong(k, MismatchKind::Shape, message));
            }
            cx.same_dtype(0, k)?;
        }
        Ok(())
    }

    /// The slots that the operator changes: the parameter, the states, the powers.
    pub fn changed_slots(&self) -> impl Iterator<Item = &'static str> {
        let powers = self.powers().into_iter().filter(|power| power.advances).map(|power| power.slot);
        std::iter::once("Param").chain(self.states().iter().copied()).chain(powers)
    }
}

impl Operation for Update {
    fn schema(&self) -> &'static Schema {
        schema(self)
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        if cx.ty(0) != cx.ty(1) {
            let message = format!("{}, but {}: a gradient has its parameter's type", cx.is(1), cx.is(0));
            return Err(cx.wrong(1, MismatchKind::Shape, message));
        }
        self.infer_states(cx, FIRST_STATE, 0)?;
        Ok(Vec::new())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let variants = [
            Update::Momentum(Momentum {
                use_nesterov: true,
                regularization_coeff: 0.1,
                ..Default::default()
            }),
            Update::RmsProp(RmsProp { centered: true, epsilon: 0.01, ..Default::default() }),
            Update::Ftrl(Ftrl { l1: 0.1, l2: 0.2, lr_power: -0.6 }),
            Update::Lamb(Lamb { weight_decay: 0.0, always_adapt: true, ..Default::default() }),
        ];
        let of = |update: &Update| {
            let of_squares = matches!(update, Update::Adagrad(_) | Update::DecayedAdagrad(_));
            [&[3, 5][..], &[0, 5], &[1], &[40_000]].map(|dims| {
                let sample = Sample::of(*update).dense(dims).dense(dims).dense(&[]).within(0.01, 0.1);
                let states = update.states().iter();
                // Averages of squares are larger than the squares of averages.
                let sample = states.fold(sample, |sample, slot| match *slot {
                    "MeanGrad" => sample.dense(dims).within(-0.5, 0.5),
                    "Moment" if of_squares => sample.dense(dims).within(1.0, 2.0),
                    "Moment" | "Moment1" | "Velocity" | "LinearAccumulator" => sample.dense(dims),
                    _ => sample.dense(dims).within(1.0, 2.0),
                });
                let powers = update.powers().into_iter();
                powers.fold(sample, |sample, _| sample.dense(&[1]).within(0.1, 0.9))
            })
        };
        rows().iter().chain(&variants).flat_map(of).collect()
    }
}
