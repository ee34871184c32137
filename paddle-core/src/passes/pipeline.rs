//! Pipelines: lists of passes that read like recipes. In debug builds the verifier runs after each pass and names the
//! pass that broke the program.

use std::cell::RefCell;
use std::fmt;

use super::accumulate::{Joins, accumulate, from_sums, send_rows_home};
use super::backward::backward;
use super::combine::{Supports, combine};
use super::compose::compose;
use super::freeze::{freeze, leave_out};
use super::hoist::hoist;
use super::map::map;
use super::optimize::{Settings, UpdateRule, optimize};
use super::shard::{Sharding, shard};
use super::sink::sink;
use super::split::split;
use super::stages::place;
use super::switches::{Switch, Switches, UnknownSwitch};
use super::test_mode::test_mode;
use super::turn::turn;
use crate::ops::{GradientError, Program};
use crate::program::{BuildError, RowsId, VerifyError};

/// Why a pipeline stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassError {
    /// The program has no gradient.
    Gradient(GradientError),
    /// An operator could not be added.
    Build(BuildError),
    /// A pass left a program that is not well-formed.
    Verify(VerifyError),
    /// The environment switches off a pass that does not exist.
    Switch(UnknownSwitch),
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassError::Gradient(error) => error.fmt(f),
            PassError::Build(error) => error.fmt(f),
            PassError::Verify(error) => error.fmt(f),
            PassError::Switch(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PassError {}

impl From<GradientError> for PassError {
    fn from(error: GradientError) -> Self {
        PassError::Gradient(error)
    }
}

impl From<BuildError> for PassError {
    fn from(error: BuildError) -> Self {
        PassError::Build(error)
    }
}

impl From<UnknownSwitch> for PassError {
    fn from(error: UnknownSwitch) -> Self {
        PassError::Switch(error)
    }
}

/// The function of a pass.
type Apply<'a> = dyn Fn(&mut Program) -> Result<(), PassError> + 'a;

/// A pass and its name.
pub struct Pass<'a> {
    name: &'static str,
    /// What switches it off, if anything does.
    switch: Option<Switch>,
    apply: Box<Apply<'a>>,
}

impl<'a> Pass<'a> {
    /// A pass with this name and this function.
    pub fn new(name: &'static str, apply: impl Fn(&mut Program) -> Result<(), PassError> + 'a) -> Self {
        Pass { name, switch: None, apply: Box::new(apply) }
    }

    /// A pass that can be switched off.
    fn optional(switch: Switch, apply: impl Fn(&mut Program) -> Result<(), PassError> + 'a) -> Self {
        Pass { switch: Some(switch), ..Pass::new(switch.name(), apply) }
    }
}

/// Passes that run one after the other.
pub struct Pipeline<'a>(Vec<Pass<'a>>);

impl<'a> Pipeline<'a> {
    /// A pipeline of these passes.
    pub fn new(passes: impl IntoIterator<Item = Pass<'a>>) -> Self {
        Pipeline(passes.into_iter().collect())
    }

    /// From a network to one of the operators that a device has kernels for and that compute more at a time. It comes before
    /// the other pipelines; for inference, [`test_mode`] may come before it, so that what is left of a dropout is between no operators. What is saved or exported is the network as it was.
    pub fn for_device(supports: &'a Supports<'a>) -> Self {
        Pipeline::new([Pass::optional(Switch::Combine, move |program| Ok(combine(program, supports)?))])
    }

    /// From a network to its training step: the gradients of all parameters except those of frozen names, then their
    /// updates by `rule`.
    pub fn training(
        settings: &'a Settings,
        is_frozen: &'a dyn Fn(&str) -> bool,
        rule: &'a UpdateRule<'a>,
    ) -> Self {
        let update = Pass::new("optimize", move |program| Ok(optimize(program, settings, rule).map(drop)?));
        let passes = trained(is_frozen).into_iter().chain(simplified()).chain(differentiated());
        Pipeline::new(passes.chain([update]))
    }

    /// From a network to the program of inference: nothing is random, and normalisation uses the statistics of the
    /// training.
    pub fn inference() -> Self {
        let test_mode = Pass::new("test_mode", |program| {
            test_mode(program);
            Ok(())
        });
        let compose = Pass::optional(Switch::Compose, |program| Ok(compose(program)?));
        let turn = Pass::optional(Switch::Turn, |program| Ok(turn(program)?));
        Pipeline::new([test_mode, compose, turn].into_iter().chain(simplified()))
    }

    /// Applies the passes, except those that the environment switches off. Debug builds verify the program after each.
    pub fn run(&self, program: &mut Program) -> Result<(), PassError> {
        let switches = Switches::from_environment()?;
        for pass in self.0.iter().filter(|pass| pass.switch.is_none_or(|switch| switches.has(switch))) {
            (pass.apply)(program)?;
            if cfg!(debug_assertions) {
                program
                    .verify()
                    .map_err(|error| PassError::Verify(VerifyError { pass: Some(pass.name), ..error }))?;
            }
        }
        Ok(())
    }
}

/// The passes that decide what is trained.
fn trained<'a>(is_frozen: &'a dyn Fn(&str) -> bool) -> [Pass<'a>; 2] {
    [
        Pass::new("freeze", move |program| Ok(freeze(program, is_frozen)?)),
        Pass::new("leave_out", |program| Ok(leave_out(program)?)),
    ]
}

/// The passes that save work and keep the results.
fn simplified<'a>() -> [Pass<'a>; 4] {
    [
        Pass::optional(Switch::Split, |program| Ok(split(program)?)),
        Pass::optional(Switch::Map, |program| Ok(map(program)?)),
        Pass::optional(Switch::Hoist, |program| Ok(hoist(program)?)),
        Pass::optional(Switch::Sink, |program| Ok(sink(program)?)),
    ]
}

/// The passes that append gradients, and simplify them. Also where all is on one machine, each step from one device to another is an
/// operator: so bits do not depend on where devices are.
fn differentiated<'a>() -> [Pass<'a>; 3] {
    [
        Pass::new("place", |program| Ok(place(program)?)),
        Pass::new("backward", |program| Ok(backward(program)?)),
        Pass::optional(Switch::Sink, |program| Ok(sink(program)?)),
    ]
}

/// From a network to the program that computes the gradients of a shard.
pub(super) fn gradients_of_shards(
    network: &Program,
    batch: Option<RowsId>,
    is_frozen: &dyn Fn(&str) -> bool,
) -> Result<(Program, Sharding), PassError> {
    let sharding = RefCell::new(Sharding::default());
    let mut program = network.clone();
    let sharded = Pass::new("shard", |program| {
        *sharding.borrow_mut() = shard(program, batch)?;
        Ok(())
    });
    let passes = trained(is_frozen).into_iter().chain([sharded]);
    // Statistics move by sums over all shards, as parameters do.
    let statistics = Pass::new("statistics", |program| {
        for pair in &sharding.borrow().statistics {
            program.record_gradient(pair.parameter, pair.gradient);
        }
        Ok(())
    });
    let passes = passes.chain(simplified()).chain(differentiated()).chain([statistics]);
    Pipeline::new(passes).run(&mut program)?;
    Ok((program, sharding.into_inner()))
}

/// A training step in shards, as two programs.
pub struct ShardedTraining {
    /// Computes a shard and adds its gradients to the sums. Its inputs are those of the network, those of
    /// [`sharding`](Self::sharding), and truth values that say how the shard joins the sums. It sends the rows of sparse
    /// gradients.
    pub compute: Program,
    /// Updates the parameters from the sums. Its inputs are the sums of the rows of sparse gradients, as
    /// [`fed_by_rows`](super::accumulate::fed_by_rows) says, and then the learning rates.
    pub update: Program,
    /// The further inputs of a shard, and what its outputs add up to.
    pub sharding: Sharding,
}

impl ShardedTraining {
    /// From a network to its training step in shards: like [`Pipeline::training`], but as two programs. `batch` is the
    /// row space that is cut; the program says into how many shards ([`Program::shards`]).
    pub fn new(
        network: &Program,
        batch: Option<RowsId>,
        settings: &Settings,
        is_frozen: &dyn Fn(&str) -> bool,
        rule: &UpdateRule<'_>,
    ) -> Result<Self, PassError> {
        let (mut compute, sharding) = gradients_of_shards(network, batch, is_frozen)?;
        let mut update = from_sums(&compute)?;
        Pipeline::new([Pass::new("optimize", |program| Ok(optimize(program, settings, rule).map(drop)?))])
            .run(&mut update)?;
        // The sums are states, which last anyway, so the plan need not keep them as gradients.
        for pair in update.gradients().to_vec() {
            update.forget_gradient(pair.parameter);
        }
        Pipeline::new([
            Pass::new("send_rows", |program| Ok(send_rows_home(program)?)),
            Pass::new("accumulate", |program| {
                let (joins, gradients) = (Joins::create(program)?, program.gradients().to_vec());
                Ok(accumulate(program, &joins, &gradients).map(drop)?)
            }),
        ])
        .run(&mut compute)?;
        Ok(ShardedTraining { compute, update, sharding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{DType, Type};

    #[test]
    fn the_guilty_pass_is_named() {
        let mut program = Program::new();
        let fine =
            Pass::new("fine", |program| Ok(program.create_input("x", Type::scalar(DType::F32)).map(drop)?));
        // Breaks the program: adds a block that no operator owns.
        let guilty =
            Pass::new("guilty", |program| Ok(program.create_block(Program::GLOBAL, None).map(drop)?));
        let error = Pipeline::new([fine, guilty]).run(&mut program).unwrap_err();
        assert!(
            error.to_string().starts_with("pass `guilty` left a program that is not well-formed"),
            "{error}"
        );
    }
}
