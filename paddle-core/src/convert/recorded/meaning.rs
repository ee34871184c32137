//! What the values between gradients and updates mean, operator by operator.

use std::collections::{BTreeMap, BTreeSet};

use super::form;
use super::forward::{GRADIENT, Part, part};
use crate::convert::blocks::one;
use crate::convert::derived::float;
use crate::convert::error::{ConvertError, Fault};
use crate::convert::ours::updates::update_of;
use crate::convert::sites::place;
use crate::ops::Update;
use crate::passes::clip::Clip;
use crate::passes::optimize::Decay;
use crate::wire::{BlockDesc, OpDesc, ProgramDesc};

/// A gradient, and what was done to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gradient<'a> {
    /// The parameter.
    of: &'a str,
    pub(super) clip: Option<Clip>,
    pub(super) decay: Option<Decay>,
}

/// The update of a parameter.
#[derive(Clone, Debug)]
pub(super) struct Updated<'a> {
    pub(super) update: Update,
    pub(super) gradient: Gradient<'a>,
    /// The factor on the learning rate.
    pub(super) factor: f64,
    /// The gradients over which the norm was taken by which this one was clipped.
    pub(super) clipped_with: BTreeSet<&'a str>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
enum Meaning<'a> {
    Parameter(&'a str),
    /// What outlives a step and is no parameter: a learning rate, or the state of an updater.
    Lasting(&'a str),
    Gradient(Gradient<'a>),
    /// The signs of a parameter.
    Signs(&'a str),
    /// What decay adds to the gradient of a parameter.
    Pull(&'a str, Decay),
    /// The sum of the squares of gradients.
    Squares(BTreeSet<&'a str>),
    /// Its root.
    Norm(BTreeSet<&'a str>),
    Number(f64),
    /// The larger of a bound and the norm.
    Larger(f64, BTreeSet<&'a str>),
    /// The bound, divided by that.
    Shrinking(f64, BTreeSet<&'a str>),
    /// A learning rate, with a factor on it.
    Rate(&'a str, f64),
}

/// The meanings of values, and the updates so far.
pub(super) struct Meanings<'a> {
    /// The variables that were written.
    known: BTreeMap<&'a str, Meaning<'a>>,
    /// The variables that outlive a step, and whether each is a parameter.
    lasting: BTreeMap<&'a str, bool>,
    /// The gradients over which a norm was taken, by the parameter that it clips.
    norms: BTreeMap<&'a str, BTreeSet<&'a str>>,
    pub(super) updates: BTreeMap<&'a str, Updated<'a>>,
    /// The variables with powers of decay rates that updates have read.
    powers: BTreeSet<&'a str>,
    /// The variable with the learning rate.
    pub(super) rate: Option<&'a str>,
    pub(super) faults: Vec<ConvertError>,
}

impl<'a> Meanings<'a> {
    pub(super) fn new(main: &'a ProgramDesc) -> Self {
        let vars = main.blocks.first().map(|block| block.vars.as_slice()).unwrap_or_default();
        let lasting = vars.iter().filter(|var| var.persistable == Some(true));
        let lasting = lasting.map(|var| (var.name.as_str(), var.is_parameter == Some(true)));
        Meanings {
            known: BTreeMap::new(),
            lasting: lasting.collect(),
            norms: BTreeMap::new(),
            updates: BTreeMap::new(),
            powers: BTreeSet::new(),
            rate: None,
            faults: Vec::new(),
        }
    }

    /// Follows the operators that come behind the gradients. The faults of all of them are kept.
    pub(super) fn follow(&mut self, block: &'a BlockDesc, startup: Option<&ProgramDesc>) {
        for (at, op) in block.ops.iter().enumerate() {
            match part(op) {
                Part::Schedule => {
                    let written = op.outputs.iter().flat_map(|slot| &slot.arguments);
                    let rates = written.map(|name| (name.as_str(), Meaning::Rate(name, 1.0)));
                    self.known.extend(rates);
                }
                Part::Update => {
                    if let Err(fault) = self.operator(op, startup) {
                        self.faults.push(place(fault, 0, at, op));
                    }
                }
                Part::Forward | Part::Seed | Part::Backward => {}
            }
        }
        if self.updates.is_empty() && self.faults.is_empty() {
            self.faults
                .push(form("no updates are recorded: no operator changes a parameter by its gradient"));
        }
    }

    fn operator(&mut self, op: &'a OpDesc, startup: Option<&ProgramDesc>) -> Result<(), Fault> {
        if let Some(update) = update_of(op)? {
            return self.update(op, update, startup);
        }
        let not_known = || {
            Fault::Form {
            message: "it stands between gradients and updates, but is none of the operators there that are known: those of \
                      clipping, decay and updates"
                .to_string(),
        }
        };
        let inputs = op.inputs.iter().flat_map(|slot| &slot.arguments);
        let inputs = inputs.map(|name| self.meaning(name).ok_or_else(not_known));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let output = one(op.output("Out"), "Out")?;
        let meaning = self.value(op, &inputs, output)?.ok_or_else(not_known)?;
        self.known.insert(output, meaning);
        Ok(())
    }

    /// What a variable means, if that is known.
    fn meaning(&self, name: &'a str) -> Option<Meaning<'a>> {
        if let Some(meaning) = self.known.get(name) {
            return Some(meaning.clone());
        }
        if let Some(of) = name.strip_suffix(GRADIENT)
            && self.lasting.get(of) == Some(&true)
        {
            return Some(Meaning::Gradient(Gradient { of, clip: None, decay: None }));
        }
        self.lasting.get(name).map(|&is_parameter| match is_parameter {
            true => Meaning::Parameter(name),
            false => Meaning::Lasting(name),
        })
    }

    /// What an operator computes of such inputs; `None` if that is no part of an update.
    fn value(
        &mut self,
        op: &'a OpDesc,
        inputs: &[Meaning<'a>],
        output: &'a str,
    ) -> Result<Option<Meaning<'a>>, Fault> {
        use Meaning::*;
        let number = |name: &str, default| -> Result<f64, Fault> { Ok(float(op, name)?.unwrap_or(default)) };
        Ok(match (op.r#type.as_str(), inputs) {
            ("fill_constant", []) => Some(Number(constant(op)?)),
            ("merge_selected_rows" | "get_tensor_from_selected_rows" | "assign", [same]) => {
                Some(same.clone())
            }
            ("sign", [Parameter(of)]) => Some(Signs(of)),
            ("scale", [of]) if number("bias", 0.0)? == 0.0 => {
                let factor = number("scale", 1.0)?;
                match of {
                    Parameter(of) => Some(Pull(of, Decay::L2(factor))),
                    Signs(of) => Some(Pull(of, Decay::L1(factor))),
                    // Some updates do not advance the powers of decay rates that they read.
                    Lasting(name) if *name == output => self.powers.contains(name).then_some(Lasting(name)),
                    Lasting(rate) => Some(Rate(rate, factor)),
                    Rate(rate, before) => Some(Rate(rate, before * factor)),
                    _ => None,
                }
            }
            ("sum" | "elementwise_add", [Gradient(gradient), Pull(of, decay)])
                if gradient.of == *of && gradient.decay.is_none() =>
            {
                Some(Gradient(super::meaning::Gradient { decay: Some(*decay), ..gradient.clone() }))
            }
            ("squared_l2_norm", [Gradient(gradient)])
                if gradient.clip.is_none() && gradient.decay.is_none() =>
            {
                Some(Squares(BTreeSet::from([gradient.of])))
            }
            ("sum" | "elementwise_add", all) => {
                let parts = all.iter().map(|part| if let Squares(of) = part { Some(of) } else { None });
                let parts: Option<Vec<_>> = parts.collect();
                parts
                    .filter(|parts| !parts.is_empty())
                    .map(|parts| Squares(parts.into_iter().flatten().copied().collect()))
            }
            ("sqrt", [Squares(of)]) => Some(Norm(of.clone())),
            ("elementwise_max", [Number(bound), Norm(of)] | [Norm(of), Number(bound)]) => {
                Some(Larger(*bound, of.clone()))
            }
            ("elementwise_div", [Number(bound), Larger(by, of)]) if bound == by => {
                Some(Shrinking(*bound, of.clone()))
            }
            ("elementwise_mul", [Gradient(gradient), Shrinking(bound, of)]) => {
                self.norms.insert(gradient.of, of.clone());
                clipped(gradient, Clip::GlobalNorm(*bound))
            }
            ("clip", [Gradient(gradient)]) => {
                let (min, max) = (number("min", 0.0)?, number("max", 0.0)?);
                if min != -max {
                    let message =
                        format!("gradients are clipped to {min} and {max}; only -x and x are supported");
                    return Err(Fault::Form { message });
                }
                clipped(gradient, Clip::Value(max))
            }
            ("clip_by_norm", [Gradient(gradient)]) => clipped(gradient, Clip::Norm(number("max_norm", 0.0)?)),
            _ => None,
        })
    }

    fn update(&mut self, op: &'a OpDesc, update: Update, startup: Option<&ProgramDesc>) -> Result<(), Fault> {
        let wrong = |message: String| Fault::Form { message };
        self.powers.extend(["Beta1Pow", "Beta2Pow"].iter().filter_map(|slot| one(op.input(slot), slot).ok()));
        let [of, gradient, rate] = ["Param", "Grad", "LearningRate"].map(|slot| one(op.input(slot), slot));
        let (of, gradient_name, rate) = (of?, gradient?, rate?);
        let Some(Meaning::Gradient(gradient)) =
            self.meaning(gradient_name).filter(|_| self.lasting.contains_key(of))
        else {
            // What made it was reported.
            if self.faults.is_empty() {
                return Err(wrong(format!("`{gradient_name}` is no gradient of a parameter")));
            }
            return Ok(());
        };
        if gradient.of != of {
            return Err(wrong(format!("the gradient is that of `{}`, but `{of}` is updated", gradient.of)));
        }
        let (rate, factor) = match self.meaning(rate) {
            Some(Meaning::Lasting(rate)) => (rate, 1.0),
            Some(Meaning::Rate(rate, factor)) => (rate, factor),
            _ => return Err(wrong(format!("`{rate}` is no learning rate"))),
        };
        match self.rate {
            Some(other) if other != rate => {
                return Err(wrong(format!(
                    "the learning rate is `{rate}`, but that of another update is `{other}`"
                )));
            }
            _ => self.rate = Some(rate),
        }
        for &slot in update.states() {
            let state = one(op.input(slot), slot)?;
            let first = startup.and_then(|startup| first_value(startup, state)).unwrap_or(0.0);
            if first != 0.0 {
                return Err(wrong(format!("`{slot}` is {first} at first; only 0 is supported")));
            }
        }
        let clipped_with = self.norms.get(of).cloned().unwrap_or_default();
        let updated = Updated { update, gradient, factor, clipped_with };
        if self.updates.insert(of, updated).is_some() {
            return Err(wrong(format!("`{of}` is updated twice")));
        }
        Ok(())
    }
}

/// A gradient that is clipped, which is done once, before decay.
fn clipped<'a>(gradient: &Gradient<'a>, clip: Clip) -> Option<Meaning<'a>> {
    let may = gradient.clip.is_none() && gradient.decay.is_none();
    may.then(|| Meaning::Gradient(Gradient { clip: Some(clip), ..gradient.clone() }))
}

/// The number of a `fill_constant`. Its text is exact, where there is one.
fn constant(op: &OpDesc) -> Result<f64, Fault> {
    let exact = op.attr_string("str_value")?.and_then(|text| text.parse().ok());
    Ok(exact.unwrap_or(float(op, "value")?.unwrap_or(0.0)))
}

/// The number with which a startup program fills a variable.
pub(super) fn first_value(startup: &ProgramDesc, name: &str) -> Option<f64> {
    let ops = &startup.blocks.first()?.ops;
    let fills = |op: &&OpDesc| op.r#type == "fill_constant" && op.output("Out") == [name];
    constant(ops.iter().rfind(fills)?).ok()
}
