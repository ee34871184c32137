//! The table of updaters. Each is an operator of core's table of updates, with a learning rate.

use paddle_core::ops;
use paddle_core::passes::optimize::Update;
use paddle_core::program::BuildError;

use super::Updater;
use super::schedule::{Rate, Schedule};
use crate::setting::{Range, SettingError};

macro_rules! updaters {
    ($($(#[doc = $doc:literal])* $name:ident {
        $($(#[doc = $of:literal])* $setter:ident($($number:ident: $range:ident),+);)*
    })*) => {$(
        $(#[doc = $doc])*
        ///
        /// ```
        /// use paddle::{Parameters, Trainer, network};
        #[doc = concat!("use paddle::updater::", stringify!($name), ";")]
        ///
        /// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
        /// let mut parameters = Parameters::create(&net)?;
        #[doc = concat!("let mut trainer = Trainer::new(", stringify!($name), "::new(0.01));")]
        /// let first = trainer.step(&net, &mut parameters, [1.0])?.cost();
        /// assert!(trainer.step(&net, &mut parameters, [1.0])?.cost() < first);
        /// # Ok::<(), paddle::Error>(())
        /// ```
        #[derive(Clone, Debug)]
        pub struct $name {
            rate: Rate,
            rule: ops::$name,
        }

        impl $name {
            /// An updater with this learning rate: a number, or a [`Schedule`].
            pub fn new(rate: impl Schedule + 'static) -> Self {
                $name { rate: Rate::new(rate), rule: ops::$name::default() }
            }

            $(
                $(#[doc = $of])*
                pub fn $setter(mut self, $($number: f64),+) -> Self {
                    $(self.rule.$number = $number;)+
                    self
                }
            )*

            /// Checks that all numbers are in range.
            fn check_numbers(&self) -> Result<(), SettingError> {
                $($({
                    let setting = concat!("`", stringify!($number), "` of `", stringify!($name), "::", stringify!($setter), "`");
                    Range::$range.check(setting, self.rule.$number)?;
                })+)*
                Ok(())
            }
        }
    )*};
}

/// Implements [`Updater`] for the updaters that do no more than their operator.
macro_rules! plain {
    ($($name:ident),*) => {$(
        impl Updater for $name {
            fn learning_rate(&self, step: u64) -> f64 {
                self.rate.at(step)
            }

            fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
                update.apply(self.rule)
            }

            fn check(&self) -> Result<(), SettingError> {
                self.check_numbers()
            }
        }
    )*};
}

updaters! {
    /// AdaDelta: `a = ρ a + (1 - ρ) g²`, `d = -√((u + ε) / (a + ε)) g`, `u = ρ u + (1 - ρ) d²`, `p += α d`.
    ///
    /// Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1, with a learning rate.
    AdaDelta {
        /// The decay rate `ρ`; 0.95 otherwise.
        rho(rho: DecayRate);
        /// `ε`; 1e-6 otherwise.
        epsilon(epsilon: Positive);
    }
    /// AdaGrad: `m += g²`, `p -= α g / (√m + ε)`.
    ///
    /// Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.
    Adagrad {
        /// `ε`; 1e-6 otherwise.
        epsilon(epsilon: Positive);
    }
    /// Adam: `m = β₁ m + (1 - β₁) g`, `v = β₂ v + (1 - β₂) g²`,
    /// `p -= α √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + ε √(1 - β₂ᵗ))`.
    ///
    /// Kingma, Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.
    Adam {
        /// The decay rates `β₁` and `β₂`; 0.9 and 0.999 otherwise.
        betas(beta1: DecayRate, beta2: DecayRate);
        /// `ε`; 1e-8 otherwise.
        epsilon(epsilon: Positive);
    }
    /// AdamW: `p = (1 - α · coeff) p`, then Adam. A parameter's own decay, or [`Trainer::decay`](crate::Trainer::decay),
    /// by L2 is this `coeff`.
    ///
    /// Loshchilov, Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.
    AdamW {
        /// The decay rates `β₁` and `β₂`; 0.9 and 0.999 otherwise.
        betas(beta1: DecayRate, beta2: DecayRate);
        /// `ε`; 1e-8 otherwise.
        epsilon(epsilon: Positive);
        /// The factor of the decay; 0.01 otherwise.
        weight_decay(coeff: NotNegative);
    }
    /// Adamax: `m = β₁ m + (1 - β₁) g`, `n = max(|g|, β₂ n + ε)`, `p -= α / (1 - β₁ᵗ) · m / n`.
    ///
    /// Kingma, Ba, 2015, algorithm 2.
    Adamax {
        /// The decay rates `β₁` and `β₂`; 0.9 and 0.999 otherwise.
        betas(beta1: DecayRate, beta2: DecayRate);
        /// `ε`; 1e-8 otherwise.
        epsilon(epsilon: Positive);
    }
    /// AdaGrad that forgets: `m = ρ m + (1 - ρ) g²`, `p -= α g / (√m + ε)`.
    DecayedAdagrad {
        /// The decay rate `ρ`; 0.95 otherwise.
        rho(decay: DecayRate);
        /// `ε`; 1e-6 otherwise.
        epsilon(epsilon: Positive);
    }
    /// FTRL-Proximal, with `q = -lr_power`: `n' = n + g²`, `z += g - (n'^q - n^q) / α · p`, `n = n'`,
    /// `p = (sign(z) l1 - z) / (n^q / α + 2 l2)` where `|z| > l1`, else 0.
    ///
    /// McMahan and others, "Ad click prediction: a view from the trenches", 2013, algorithm 1.
    Ftrl {
        /// The strength of the L1 penalty; 0 otherwise.
        l1(l1: NotNegative);
        /// The strength of the L2 penalty; 0 otherwise.
        l2(l2: NotNegative);
        /// `-q`; -0.5 otherwise.
        lr_power(lr_power: NotPositive);
    }
    /// LAMB: `m` and `v` as in Adam, `d = m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + ε) + weight_decay · p`,
    /// `p -= α ‖p‖ / ‖d‖ · d`. The ratio of the norms is left out where one of them is 0, and without decay.
    ///
    /// You and others, "Large batch optimization for deep learning: training BERT in 76 minutes", 2020, algorithm 2.
    Lamb {
        /// The decay rates `β₁` and `β₂`; 0.9 and 0.999 otherwise.
        betas(beta1: DecayRate, beta2: DecayRate);
        /// `ε`; 1e-6 otherwise.
        epsilon(epsilon: Positive);
        /// The factor of the decay; 0.01 otherwise.
        weight_decay(weight_decay: NotNegative);
    }
    /// Momentum: `v = mu · v + g`, `p -= α v`; Nesterov's: `p -= α (g + mu · v)`.
    ///
    /// Sutskever and others, "On the importance of initialization and momentum in deep learning", 2013, equations 1–4.
    Momentum {
        /// The momentum `mu`; 0.9 otherwise.
        momentum(mu: Share);
    }
    /// RMSProp: `s = ρ s + (1 - ρ) g²`, `m = momentum · m + α g / √(s + ε)`, `p -= m`; centered: `a = ρ a + (1 - ρ) g`,
    /// and the root is that of `s - a² + ε`.
    ///
    /// Tieleman, Hinton, "Neural networks for machine learning", lecture 6.5, 2012; centered as in Graves, "Generating
    /// sequences with recurrent neural networks", 2013, equations 38–45.
    RmsProp {
        /// The decay rate `ρ`; 0.9 otherwise.
        rho(decay: DecayRate);
        /// The momentum; 0 otherwise.
        momentum(momentum: Share);
        /// `ε`; 1e-10 otherwise.
        epsilon(epsilon: Positive);
    }
    /// Stochastic gradient descent: `p -= α g`.
    Sgd {}
}

plain!(AdaDelta, Adagrad, Adam, Adamax, DecayedAdagrad, Ftrl, Lamb, Momentum, RmsProp, Sgd);

impl Momentum {
    /// Uses Nesterov's momentum.
    pub fn nesterov(mut self) -> Self {
        self.rule.use_nesterov = true;
        self
    }
}

impl RmsProp {
    /// Uses the variance of the gradient instead of its mean square.
    pub fn centered(mut self) -> Self {
        self.rule.centered = true;
        self
    }
}

impl Lamb {
    /// Uses the ratio of the norms also without decay.
    pub fn always_adapt(mut self) -> Self {
        self.rule.always_adapt = true;
        self
    }
}

impl Adam {
    /// Leaves the rows of tables that a step did not look up as they are, averages included. This is faster with large
    /// vocabularies, but gives other results. It requires gradients that are neither clipped nor decayed.
    pub fn lazy(mut self) -> Self {
        self.rule.lazy_mode = true;
        self
    }
}

impl Updater for AdamW {
    fn learning_rate(&self, step: u64) -> f64 {
        self.rate.at(step)
    }

    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
        let coeff = update.decay.unwrap_or(self.rule.coeff);
        update.apply(ops::AdamW { coeff, ..self.rule })
    }

    fn decouples_decay(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), SettingError> {
        self.check_numbers()
    }
}
