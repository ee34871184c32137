//! The meaning of values that layers compute: probabilities, their logarithms, logits. If a loss that takes one kind is
//! given another, its result is a number, but hardly what the user meant, so the front end warns.
//!
//! The meaning is known only for results of layers, and for values of another shape made from them. The user writes
//! `identity(x)` to confirm that the value is meant.

use std::collections::BTreeMap;

use paddle_core::layers::{Given, Layer, Passed};
use paddle_core::program::VarId;

use super::Lowering;
use crate::ast::{Call, text};
use crate::messages::Message;
use crate::report::Extent;

/// The meaning of a layer's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// Probabilities of classes, which add up to 1.
    Distribution,
    Probability,
    Logarithm,
    Any,
}

use Meaning::{Any, Distribution, Logarithm, Probability};

/// The meaning of a value, and the layer that computed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    meaning: Meaning,
    by: &'static str,
}

/// The known meanings, by value.
pub(super) type Meanings = BTreeMap<VarId, Made>;

const MAKERS: &[(&str, Meaning)] = &[
    ("softmax", Distribution),
    ("sequence_softmax", Distribution),
    ("sigmoid", Probability),
    ("log_softmax", Logarithm),
    ("logsigmoid", Logarithm),
    ("fc", Any),
    ("conv2d", Any),
    ("conv2d_transpose", Any),
    ("conv3d", Any),
    ("matmul", Any),
    ("mul", Any),
    ("relu", Any),
    ("tanh", Any),
    ("gelu", Any),
    ("leaky_relu", Any),
    ("elu", Any),
];

/// Layers whose result has the elements of their first argument, and so its meaning.
const VIEWS: &[&str] = &["reshape", "flatten", "squeeze", "unsqueeze", "transpose", "slice", "tap", "cast"];

/// A layer with an expectation: its argument, the meanings that are wrong for it, what it takes, and what to do
/// instead.
struct Taker {
    layer: &'static str,
    argument: &'static str,
    not: &'static [Meaning],
    takes: &'static str,
    instead: &'static str,
}

const TAKERS: &[Taker] = &[
    Taker {
        layer: "softmax_with_cross_entropy",
        argument: "logits",
        not: &[Distribution, Probability],
        takes: "logits, and applies softmax itself",
        instead: "give it what goes into `{by}`, or take `cross_entropy`",
    },
    Taker {
        layer: "sigmoid_cross_entropy_with_logits",
        argument: "x",
        not: &[Distribution, Probability],
        takes: "logits, and applies sigmoid itself",
        instead: "give it what goes into `{by}`, or take `bce_loss`",
    },
    Taker {
        layer: "cross_entropy",
        argument: "x",
        not: &[Any, Logarithm],
        takes: "probabilities",
        instead: "take `softmax_with_cross_entropy` of the logits",
    },
    Taker {
        layer: "bce_loss",
        argument: "x",
        not: &[Any, Logarithm],
        takes: "probabilities",
        instead: "take `sigmoid_cross_entropy_with_logits` of the logits",
    },
    Taker {
        layer: "log_loss",
        argument: "x",
        not: &[Any, Logarithm],
        takes: "probabilities",
        instead: "take `sigmoid_cross_entropy_with_logits` of the logits",
    },
    Taker {
        layer: "kldiv_loss",
        argument: "x",
        not: &[Any, Distribution, Probability],
        takes: "logarithms of probabilities",
        instead: "write `log_softmax(..)` of the logits",
    },
    Taker {
        layer: "softmax",
        argument: "x",
        not: &[Distribution],
        takes: "logits",
        instead: "leave out one of the two",
    },
];

/// Functions along an axis of classes. With a single class their result is constant.
const OF_CLASSES: &[(&str, &str)] = &[
    ("softmax", "a softmax over one class is always 1; for the probability of one class take `sigmoid`"),
    (
        "softmax_with_cross_entropy",
        "a softmax over one class is always 1; for the probability of one class take `sigmoid_cross_entropy_with_logits`",
    ),
];

impl<'a> Lowering<'a, '_> {
    /// Warns of arguments whose meaning is wrong for the layer. Calls inside of the library are not checked.
    pub(super) fn check_meaning(&mut self, layer: &Layer, call: &'a Call, arguments: &[Passed]) {
        if self.library_call.is_some() {
            return;
        }
        for taker in TAKERS.iter().filter(|taker| taker.layer == layer.name) {
            let Some((at, words, var)) = self.passed(layer, call, arguments, taker.argument) else {
                continue;
            };
            let Some(Made { meaning, by }) = self.meanings.get(&var).copied() else { continue };
            if !taker.not.contains(&meaning) {
                continue;
            }
            let gives = match meaning {
                Distribution | Probability => "probabilities",
                Logarithm => "logarithms",
                Any => "any numbers",
            };
            let made = format!("`{by}` gives, {gives}");
            let takes = format!("`{}` takes {}", layer.name, taker.takes);
            let instead = taker.instead.replace("{by}", by);
            self.doubt(at, Message::Meaning { words, made, takes, instead });
        }
        self.check_classes(layer, call, arguments);
    }

    fn check_classes(&mut self, layer: &Layer, call: &'a Call, arguments: &[Passed]) {
        let Some((_, why)) = OF_CLASSES.iter().find(|(name, _)| *name == layer.name) else { return };
        let Some(first) = layer.positional.first() else { return };
        let Some((at, words, var)) = self.passed(layer, call, arguments, first.name) else { return };
        let axis = arguments.iter().find_map(|passed| match passed.given {
            Given::Int(axis) if passed.name == "axis" => Some(axis),
            _ => None,
        });
        self.check_axis(at, words, var, axis.unwrap_or(-1), why);
    }

    /// Warns of an activation over a single class. `value` is the result of the layer with the activation.
    pub(super) fn check_activation(&mut self, call: &'a Call, value: VarId) {
        let act = call.named.iter().find(|named| text(&named.ident) == "act").map(|named| &named.value);
        let Some(act) = act.filter(|_| self.library_call.is_none()) else { return };
        let of_classes = OF_CLASSES.iter().find(|(name, _)| act.words() == format!("`{name}`"));
        if let Some((_, why)) = of_classes {
            let words = format!("this `{}`", text(&call.ident));
            self.check_axis(act.at, words, value, -1, why);
        }
    }

    fn check_axis(&mut self, at: Extent, words: String, var: VarId, axis: i64, why: &str) {
        let ty = self.program.ty(var);
        let (rank, rows) = (ty.rank() as i64, i64::from(ty.rows.is_some()));
        let axis = if axis < 0 { axis + rank } else { axis } - rows;
        let size = usize::try_from(axis).ok().and_then(|at| ty.dims.get(at)?.constant());
        if size == Some(1) {
            let (found, why) = (self.show(ty), why.to_string());
            self.doubt(at, Message::OneClass { words, found, why });
        }
    }

    /// The value of an argument, its name in messages, and its place.
    fn passed(
        &self,
        layer: &Layer,
        call: &'a Call,
        arguments: &[Passed],
        name: &str,
    ) -> Option<(Extent, String, VarId)> {
        let passed = arguments.iter().find(|passed| passed.name == name)?;
        let Given::Value(var) = passed.given else { return None };
        let position = layer.positional.iter().position(|argument| argument.name == name)?;
        Some((call.positional.get(position)?.at, passed.words.clone(), var))
    }

    /// Records the meaning of a layer's result.
    pub(super) fn note_meaning(&mut self, layer: &str, call: &Call, given: Option<VarId>, value: VarId) {
        let act = call.named.iter().find(|named| text(&named.ident) == "act");
        let act = act.map(|named| named.value.words()).filter(|act| act != "`identity`");
        let act = act.as_deref().map_or(layer, |act| act.trim_matches('`'));
        let made = match MAKERS.iter().find(|(name, _)| *name == act) {
            Some(&(by, meaning)) => Some(Made { meaning, by }),
            None if VIEWS.contains(&act) => given.and_then(|given| self.meanings.get(&given).copied()),
            None if act == "log" => given.and_then(|given| self.meanings.get(&given)).and_then(|made| {
                let is_chance = matches!(made.meaning, Distribution | Probability);
                is_chance.then_some(Made { meaning: Logarithm, by: "log" })
            }),
            None => None,
        };
        match made {
            Some(made) => self.meanings.insert(value, made),
            None => self.meanings.remove(&value),
        };
    }

    /// A value that is moved to other rows keeps its meaning.
    pub(super) fn keep_meaning(&mut self, of: VarId, value: VarId) {
        if let Some(made) = self.meanings.get(&of).copied() {
            self.meanings.insert(value, made);
        }
    }
}

#[cfg(test)]
mod tests {
    use paddle_core::layers::LIBRARY;

    use super::*;

    #[test]
    fn the_tables_name_layers_and_their_arguments() {
        let is_layer = |name: &str| Layer::find(name).is_some() || LIBRARY.iter().any(|it| it.name == name);
        let names =
            MAKERS.iter().map(|(name, _)| name).chain(VIEWS).chain(OF_CLASSES.iter().map(|(name, _)| name));
        names.for_each(|name| assert!(is_layer(name), "there is no `{name}`"));
        for Taker { layer, argument, .. } in TAKERS {
            let known = Layer::find(layer).unwrap();
            assert!(known.positional.iter().any(|it| it.name == *argument), "`{layer}` has no `{argument}`");
        }
    }
}
