//! `fc`: products with weights, their sum, and a bias.

use paddle_core::ops::{Binary, BinaryKind, Matmul, Op, Operator};
use paddle_core::program::{BlockId, VarId};

use super::{Blocks, Made};
use crate::decompile::sizes::size;
use crate::decompile::tree::{Call, Expr};

/// The most operators of one `fc`.
const MOST_PARTS: usize = 64;

/// The products that an `fc` adds.
#[derive(Default)]
struct Products {
    /// What is multiplied with which weight.
    of: Vec<(VarId, VarId)>,
    /// The operators that are parts of it.
    parts: Vec<usize>,
}

pub(super) fn fc(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    let (program, graph) = (blocks.program(), &blocks.graph);
    let mut products = Products::default();
    let mut bias = None;
    match (&operator.op, &operator.inputs[..]) {
        (Op::Binary(Binary { kind: BinaryKind::Add }), &[sum, b]) if graph.is_parameter(b) => {
            let (at, inner) = graph.part(block, sum)?;
            products.parts.push(at);
            add(blocks, block, inner, &mut products)?;
            bias = Some(graph.resolve(b));
        }
        _ => add(blocks, block, operator, &mut products)?,
    }
    let width = program.ty(products.of[0].1).dims[1].clone();
    let bias_fits = bias.is_none_or(|b| program.ty(b).dims == [width.clone()]);
    let same = products.of.iter().all(|(_, w)| program.ty(*w).dims[1] == width);
    if !bias_fits || !same {
        return None;
    }
    // Dimensions that are flattened in front of the product.
    let (mut axis, mut inputs) = (1, Vec::new());
    for (x, _) in &products.of {
        let rank = program.ty(*x).rank();
        if rank < 2 {
            return None;
        }
        match flattened(blocks, block, *x).filter(|_| products.of.len() == 1) {
            Some((at, from)) => {
                products.parts.push(at);
                inputs.push(blocks.value(from));
            }
            None => {
                axis = if rank == 2 { axis } else { -1 };
                inputs.push(blocks.value(*x));
            }
        }
    }
    let single = products.of.len() == 1;
    let x = if single { inputs.swap_remove(0) } else { Expr::List(inputs) };
    let mut call = Call::of("fc", vec![x, Expr::Word(size(program, &width)?)]);
    if axis != 1 {
        call = call.named("axis", Expr::word(axis));
    }
    if bias.is_none() {
        call = call.named("bias", Expr::word(false));
    }
    let weights = products
        .of
        .iter()
        .enumerate()
        .map(|(at, (_, w))| (if single { "w".to_string() } else { format!("w{at}") }, *w));
    call.parameters = weights.chain(bias.map(|b| ("b".to_string(), b))).collect();
    Some(Made::of(operator, call, products.parts))
}

/// Notes an operator that is a product with a weight, or a sum of such, from the left.
fn add(blocks: &Blocks<'_>, block: BlockId, operator: &Operator, products: &mut Products) -> Option<()> {
    let graph = &blocks.graph;
    if products.parts.len() > MOST_PARTS {
        return None;
    }
    match (&operator.op, &operator.inputs[..]) {
        (Op::Matmul(Matmul { trans_x: false, trans_y: false }), &[x, w]) if graph.is_parameter(w) => {
            let w = graph.resolve(w);
            let is_matrix = blocks.program().ty(w).dims.len() == 2 && !graph.is_parameter(x);
            is_matrix.then(|| products.of.push((graph.resolve(x), w)))
        }
        (Op::Binary(Binary { kind: BinaryKind::Add }), &[left, right]) => {
            let ((at, first), (beside, last)) = (graph.part(block, left)?, graph.part(block, right)?);
            let Op::Matmul(_) = last.op else { return None };
            products.parts.extend([at, beside]);
            add(blocks, block, first, products)?;
            add(blocks, block, last, products)
        }
        _ => None,
    }
}

/// The value of more dimensions that all become one of this value.
fn flattened(blocks: &Blocks<'_>, block: BlockId, x: VarId) -> Option<(usize, VarId)> {
    let (program, graph) = (blocks.program(), &blocks.graph);
    let (at, operator) = graph.part(block, x)?;
    let Op::Reshape(reshape) = &operator.op else { return None };
    let from = graph.resolve(operator.inputs[0]);
    let ty = program.ty(from);
    (reshape.dims.len() == 1 && ty.rows.is_some() && ty.dims.len() > 1).then_some((at, from))
}
