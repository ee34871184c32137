//! `split`: rewrites products with concatenated values as sums of products with the parts.
//!
//! In a loop, some parts may not depend on the state: in `fc(concat(x, h))`, the product of `x` with the first rows of
//! the matrix can be hoisted, while the product of `h` with the other rows cannot.

use super::loop_edits::{LoopAt, bodies, drop_unread, is_inside};
use crate::ops::{Binary, BinaryKind, Factor, Form, Operator, Program, Slice};
use crate::program::{BlockId, BuildError, VarId};

/// Splits products in the bodies of all loops, if that lets a part be hoisted.
pub fn split(program: &mut Program) -> Result<(), BuildError> {
    let mut found = Vec::new();
    bodies(program, Program::GLOBAL, &mut found);
    for body in found {
        let Some(at) = LoopAt::with_body(program, body) else { continue };
        let mut next = 0;
        while next < program.block(body).ops.len() {
            next = match product(program, &at, &program.block(body).ops[next]) {
                Some(product) => product.split(program, body, next)?,
                None => next + 1,
            };
        }
        drop_unread(program, body);
    }
    Ok(())
}

/// A product with a concatenated input.
struct Product {
    /// The position of the concatenated input, and its parts.
    of: usize,
    parts: Vec<VarId>,
    /// The other factor.
    with: Factor,
}

/// Recognises a product with a concatenated input of which some, but not all, parts depend on the state of the loop.
fn product(program: &Program, at: &LoopAt, operator: &Operator) -> Option<Product> {
    let factors = operator.contraction(program)?.factors;
    let [(a, b), (c, d)] = [(0, 1), (1, 0)];
    [(a, b), (c, d)].into_iter().find_map(|(of, with)| {
        let (of, with) = (&factors[of], &factors[with]);
        let whole = operator.inputs[of.input];
        let block = program.var(whole).block;
        let maker = program.block(block).ops.iter().find(|maker| maker.outputs.first() == Some(&whole))?;
        let Some(Form::Concatenation(axis)) = maker.form(program) else { return None };
        let is_fixed = |&part: &VarId| {
            let dims = &program.ty(part).dims;
            let at = axis.checked_sub(usize::from(program.ty(part).rows.is_some()));
            at.and_then(|at| dims.get(at)?.constant()).is_some()
        };
        let fits = of.axes == [axis]
            && with.axes.len() == 1
            && is_inside(program, block, at.body)
            && program.ty(operator.inputs[with.input]).rows.is_none()
            && maker.inputs.iter().all(is_fixed);
        let (state, free): (Vec<&VarId>, Vec<&VarId>) =
            maker.inputs.iter().partition(|&&part| depends_on_state(program, at, part));
        (fits && !state.is_empty() && !free.is_empty()).then(|| Product {
            of: of.input,
            parts: maker.inputs.clone(),
            with: with.clone(),
        })
    })
}

impl Product {
    /// Replaces a product by a sum of products. Returns the position behind the sum.
    fn split(self, program: &mut Program, body: BlockId, at: usize) -> Result<usize, BuildError> {
        let operator = program.block_mut(body).ops.remove(at);
        let (mut next, mut start, mut sum) = (at, 0, None);
        let axis = self.with.axes[0];
        let rows = |program: &Program, var| usize::from(program.ty(var).rows.is_some());
        for part in self.parts {
            // The parts are concatenated along the axis that the product sums over.
            let behind = program.ty(part).dims.len() + rows(program, part);
            let size = program.ty(part).dims.get(axis_of(program, &operator, self.of, behind));
            let size = size.and_then(|size| size.constant()).unwrap_or(0);
            let slice = Slice::of(vec![axis as i64], vec![start], vec![start + size]);
            let with = program.insert_at(
                body,
                next,
                slice.into(),
                &[operator.inputs[self.with.input]],
                operator.site,
            )?;
            let mut inputs = operator.inputs.clone();
            (inputs[self.of], inputs[self.with.input]) = (part, with[0]);
            let product = program.insert_at(body, next + 1, operator.op.clone(), &inputs, operator.site)?[0];
            (next, start) = (next + 2, start + size);
            sum = Some(match sum {
                None => product,
                Some(sum) => {
                    let add = Binary { kind: BinaryKind::Add };
                    next += 1;
                    program.insert_at(body, next - 1, add.into(), &[sum, product], operator.site)?[0]
                }
            });
        }
        if let Some(sum) = sum {
            program.swap_names(sum, operator.outputs[0]);
            program.replace(operator.outputs[0], sum);
        }
        Ok(next)
    }
}

/// The dimension, behind the rows, along which an input of a product has to be concatenated for the product to be
/// split.
fn axis_of(program: &Program, operator: &Operator, of: usize, rank: usize) -> usize {
    let contraction = operator.contraction(program);
    let factors = contraction.map(|contraction| contraction.factors);
    let axis = factors
        .into_iter()
        .flatten()
        .find(|factor| factor.input == of)
        .and_then(|factor| factor.axes.first().copied());
    let rows = usize::from(program.ty(operator.inputs[of]).rows.is_some());
    axis.unwrap_or(rank - 1) - rows
}

/// Whether a value of a body depends on the state of its loop.
fn depends_on_state(program: &Program, at: &LoopAt, var: VarId) -> bool {
    let states = &program.block(at.body).params[at.parts.items..];
    let mut reached = vec![false; program.vars().len()];
    states.iter().for_each(|state| reached[state.0 as usize] = true);
    follow(program, at.body, &mut reached);
    reached[var.0 as usize]
}

/// Marks the values that depend on marked values, in a block and its nested blocks.
fn follow(program: &Program, block: BlockId, reached: &mut [bool]) {
    for operator in &program.block(block).ops {
        let reads = operator.inputs.iter().any(|input| reached[input.0 as usize]);
        operator.blocks.iter().for_each(|&inner| follow(program, inner, reached));
        let gives =
            |inner: &BlockId| program.block(*inner).results.iter().any(|result| reached[result.0 as usize]);
        if reads || operator.blocks.iter().any(gives) {
            operator.outputs.iter().for_each(|output| reached[output.0 as usize] = true);
        }
    }
}
