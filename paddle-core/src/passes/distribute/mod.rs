//! `distribute`: turns a training step in shards into the programs of a cluster: that of the trainers, and one for each
//! parameter server.
//!
//! A trainer receives the parameters, computes shards, adds up their gradients in the order of the tree, and sends the sums of
//! complete subtrees. A server has pieces of the parameters; it updates each from the sum over all shards. Of a table that is
//! only looked up, a trainer gets the rows that its shard needs; of a sparse gradient it sends the rows that its shards touched,
//! and the server updates it from those.
//!
//! All this changes where things are computed, and no bit of them.

mod norms;
mod placement;
mod receive;
mod send;

use std::cell::{Cell, RefCell};

pub use self::placement::{Piece, Placed, Placement, SMALLEST_PIECE};
pub use self::receive::Bundling;
pub(super) use self::receive::receive;
pub use self::send::BUNDLE;
pub(super) use self::send::send;
use super::accumulate::{SITE, is_sparse, take_rows};
use super::clip::clip;
use super::optimize::{Settings, UpdateRule, clip_by_own_bounds, optimize_clipped};
use super::pipeline::{Pass, PassError, Pipeline, gradients_of_shards};
use super::shard::Sharding;
use crate::ops::{Fill, GradientError, Listen, Op, Operator, ParameterUse, Program, Update};
use crate::program::{ParameterGradient, ParameterOptions, RowsId, Site, Type};

/// The programs of a training step on a cluster.
#[derive(Clone, Debug)]
pub struct DistributedTraining {
    /// Computes a shard. Its inputs are those of [`ShardedTraining::compute`](super::ShardedTraining::compute), and behind
    /// them `sends`: whether the shard is the last of a subtree, whose sum is then sent.
    pub trainer: Program,
    /// For each server, the program that updates its pieces. Its inputs are the rows of sparse gradients, as
    /// [`fed_by_rows`](super::accumulate::fed_by_rows) says, and then the learning rates.
    pub servers: Vec<Program>,
    /// The names of the pieces whose gradients are sent.
    pub pieces: Vec<String>,
    /// The names of the pieces of tables of which trainers get rows as they need them.
    pub by_rows: Vec<String>,
    /// Whether servers share something before they update. Then their programs have two parts: `share` belongs to the first.
    pub shares: bool,
    /// The further inputs of a shard, and what its outputs add up to.
    pub sharding: Sharding,
}

impl DistributedTraining {
    /// From a network to its training step on a cluster, see [`ShardedTraining`](super::ShardedTraining). `placement` has all
    /// parameters of the network.
    ///
    /// Errors like `ShardedTraining`, and if the update of a piece would not be the piece of the update.
    pub fn new(
        network: &Program,
        batch: Option<RowsId>,
        settings: &Settings,
        is_frozen: &dyn Fn(&str) -> bool,
        rule: &UpdateRule<'_>,
        placement: &Placement,
    ) -> Result<Self, PassError> {
        let (mut trainer, sharding) = gradients_of_shards(network, batch, is_frozen)?;
        let trained = trained(&trainer);
        let servers: Vec<Program> = (0..placement.servers().get())
            .map(|server| update_of(server, &trained, placement, settings, rule))
            .collect::<Result<_, _>>()?;
        let names = trained.iter().flat_map(|Trained { name, .. }| placement.of(name));
        let pieces = names.map(|piece| piece.name.clone()).collect();
        let rows = RefCell::new(Vec::new());
        Pipeline::new([
            Pass::new("accumulate", |program| Ok(send(program, placement)?)),
            Pass::new("receive", |program| {
                *rows.borrow_mut() = receive(program, placement)?;
                Ok(())
            }),
        ])
        .run(&mut trainer)?;
        let by_rows = rows.into_inner();
        let shares = shares(servers.iter());
        Ok(DistributedTraining { trainer, servers, pieces, by_rows, shares, sharding })
    }
}

/// A parameter that is trained.
pub(super) struct Trained {
    name: String,
    options: ParameterOptions,
    /// Whether its gradient is sent as rows.
    is_sparse: bool,
}

/// The parameters that a program has gradients of.
pub(super) fn trained(program: &Program) -> Vec<Trained> {
    let of = |pair: &ParameterGradient| Trained {
        name: program.var(pair.parameter).name.clone(),
        options: program.parameter_options(pair.parameter).clone(),
        is_sparse: is_sparse(program, pair),
    };
    program.gradients().iter().map(of).collect()
}

/// Whether the updates of servers share something about their gradients.
pub(super) fn shares<'a>(mut updates: impl Iterator<Item = &'a Program>) -> bool {
    let has_share = |program: &Program| {
        program.block(Program::GLOBAL).ops.iter().any(|operator| matches!(operator.op, Op::Share(_)))
    };
    updates.any(has_share)
}

fn refuse(message: impl Into<String>) -> PassError {
    GradientError { place: None, message: message.into() }.into()
}

/// The program of a server: it listens for the gradients of its pieces, or is fed their rows, and updates the pieces.
pub(super) fn update_of(
    server: u32,
    trained: &[Trained],
    placement: &Placement,
    settings: &Settings,
    rule: &UpdateRule<'_>,
) -> Result<Program, PassError> {
    let mut program = Program::new();
    let clipped = trained.iter().filter(|trained| trained.options.trainable);
    let clipped: Vec<&str> = clipped.map(|trained| trained.name.as_str()).collect();
    let shares = norms::are_shared(settings.clip, &clipped, placement);
    let site = if shares { norms::BEFORE } else { SITE };
    for Trained { name, options, is_sparse } in trained {
        for piece in placement.of(name).filter(|piece| piece.server == server) {
            let ty = Type::new(piece.dtype, piece.dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>());
            // The values come from a checkpoint, or from the process that started the job.
            let initializer = Fill::zeros(ty.clone()).into();
            let wanted = ParameterUse { initializer, options: options.clone(), site: Site::default() };
            let own = program.create_parameter(&piece.name, wanted)?;
            let gradient = match is_sparse {
                true => take_rows(&mut program, own, site)?,
                false => {
                    let listen = Listen { piece: piece.name.clone(), ty };
                    program.append_op(Program::GLOBAL, listen, &[], site)?[0]
                }
            };
            program.record_gradient(own, gradient);
        }
    }
    let updates_from = Cell::new(0);
    let clips = |program: &mut Program, pairs: &mut [ParameterGradient]| {
        clip_by_own_bounds(program, pairs, site)?;
        match settings.clip {
            Some(how) if shares => norms::clip_pieces(program, pairs, how, &clipped, placement)?,
            Some(how) => clip(program, pairs, how, site)?,
            None => {}
        }
        updates_from.set(program.block(Program::GLOBAL).ops.len());
        Ok(())
    };
    Pipeline::new([Pass::new("optimize", |program| {
        Ok(optimize_clipped(program, settings, rule, &clips).map(drop)?)
    })])
    .run(&mut program)?;
    for pair in program.gradients().to_vec() {
        program.forget_gradient(pair.parameter);
    }
    let cut =
        placement.pieces().iter().filter(|piece| piece.server == server && piece.name != piece.parameter);
    if let (Some(operator), Some(piece)) = (mixes_elements(&program, updates_from.get()), cut.clone().next())
    {
        return Err(refuse(format!(
            "`{}` updates an element by others of its parameter, and `{}` is in pieces on several servers; place \
             parameters whole",
            program.called(operator),
            piece.parameter
        )));
    }
    Ok(program)
}

/// An operator from `from` on that updates elements by others.
fn mixes_elements(program: &Program, from: usize) -> Option<&Operator> {
    program.block(Program::GLOBAL).ops[from..].iter().find(|operator| match &operator.op {
        Op::Update(update) => matches!(update, Update::Lamb(_)),
        Op::UpdateRows(_) | Op::Store(_) => false,
        op => !op.effects().element_wise,
    })
}
