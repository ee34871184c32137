//! Clipping by norms of gradients of which each server has some pieces.
//!
//! Each server adds up the squares over the blocks of its pieces, and shares the sums; then each adds up all of them. The blocks
//! depend on the parameters alone, so every server gets the norm of one machine, to the bit.

use super::{Piece, Placement};
use crate::ops::{Concat, Program, Share, Shared};
use crate::passes::clip::{Append, Clip, clip, rows_of_block};
use crate::program::{BuildError, ParameterGradient, Role, Site, Type, VarId};

/// The place of what is computed before servers share, which is not a part of the update.
pub(super) const BEFORE: Site = Site { role: Role::Backward, place: None };
const UPDATE: Site = Site { role: Role::Optimize, place: None };

/// Whether clipping needs what several servers have of the gradients of these parameters.
pub(super) fn are_shared(how: Option<Clip>, trained: &[&str], placement: &Placement) -> bool {
    match how {
        Some(Clip::GlobalNorm(_)) => placement.servers().get() > 1,
        Some(Clip::Norm(_)) => trained.iter().any(|parameter| is_cut(placement, parameter)),
        Some(Clip::Value(_)) | None => false,
    }
}

fn is_cut(placement: &Placement, parameter: &str) -> bool {
    placement.of(parameter).nth(1).is_some()
}

/// Appends operators to a server's program that clip the gradients of its pieces. `trained` are the parameters whose gradients
/// are clipped, in their order on one machine.
pub(super) fn clip_pieces(
    program: &mut Program,
    pairs: &mut [ParameterGradient],
    how: Clip,
    trained: &[&str],
    placement: &Placement,
) -> Result<(), BuildError> {
    let pieces: Vec<_> = pairs.iter().map(|pair| piece_of(program, pair, placement)).collect();
    let bound = match how {
        Clip::Value(_) => return clip(program, pairs, how, UPDATE),
        Clip::Norm(bound) | Clip::GlobalNorm(bound) => bound,
    };
    let is_shared = |piece: &Piece| matches!(how, Clip::GlobalNorm(_)) || is_cut(placement, &piece.parameter);
    for (pair, piece) in pairs.iter().zip(&pieces) {
        if let Some(piece) = piece.filter(|piece| is_shared(piece)) {
            let squares = squares_of(program, pair.gradient, piece, placement)?;
            let share = Share { piece: piece.name.clone() };
            program.append_op(Program::GLOBAL, share, &[squares], BEFORE)?;
        }
    }
    let mut add = Append { program, site: UPDATE };
    if let Clip::GlobalNorm(_) = how {
        // A server without pieces has nothing to clip.
        if pairs.is_empty() {
            return Ok(());
        }
        let squares = trained.iter().map(|parameter| shared_norm(&mut add, parameter, placement));
        let squares = squares.collect::<Result<Vec<_>, _>>()?;
        return add.scale(pairs, bound, &squares);
    }
    for (pair, piece) in pairs.iter_mut().zip(&pieces) {
        let square = match piece {
            Some(piece) if is_shared(piece) => shared_norm(&mut add, &piece.parameter, placement)?,
            _ => add.squared_norm(pair.gradient)?,
        };
        add.scale(std::slice::from_mut(pair), bound, &[square])?;
    }
    Ok(())
}

fn piece_of<'a>(program: &Program, pair: &ParameterGradient, placement: &'a Placement) -> Option<&'a Piece> {
    let name = &program.var(pair.parameter).name;
    placement.pieces().iter().find(|piece| piece.name == *name)
}

/// What a server shares of a piece: the squared norm of a whole parameter, or the sums over the blocks of a part of one.
fn squares_of(
    program: &mut Program,
    gradient: VarId,
    piece: &Piece,
    placement: &Placement,
) -> Result<VarId, BuildError> {
    let mut add = Append { program, site: BEFORE };
    match rows_of_block(&placement.dims_of(&piece.parameter)) {
        Some(rows) if is_cut(placement, &piece.parameter) => add.squares_of_blocks(gradient, rows),
        _ => add.squared_norm(gradient),
    }
}

/// The squared norm of a parameter's gradient, from what the servers of its pieces share.
fn shared_norm(add: &mut Append<'_>, parameter: &str, placement: &Placement) -> Result<VarId, BuildError> {
    let is_cut = is_cut(placement, parameter);
    let rows = rows_of_block(&placement.dims_of(parameter)).filter(|_| is_cut);
    let mut parts = Vec::new();
    for piece in placement.of(parameter) {
        let blocks = rows.map(|rows| piece.rows.len().div_ceil(rows) as i64);
        let ty = Type::new(piece.dtype, blocks.into_iter().collect::<Vec<_>>());
        parts.push(add.op(Shared { piece: piece.name.clone(), ty }, &[])?);
    }
    match parts[..] {
        [whole] if !is_cut => Ok(whole),
        _ => {
            let sums = add.op(Concat { axis: 0 }, &parts)?;
            add.total(sums)
        }
    }
}
