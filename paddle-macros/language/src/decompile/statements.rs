//! A program as a tree: what each operator is in the language, block by block.

use std::collections::BTreeSet;

use paddle_core::ops::{Fill, Number, Op, Operator, Program};
use paddle_core::program::{BlockId, DType, Dim, RowOrigin, RowsId, Type, VarId};

use super::constants::{constant, filled, range};
use super::error::Lack;
use super::graph::Graph;
use super::sizes::{fed_with, size};
use super::tree::{Body, Call, Expr, Statement};
use super::{inline, library, patterns, rows, spread, table};

/// A value of an operator's, and of those that are parts of the same layer.
pub(super) struct Made {
    pub(super) value: Expr,
    /// The values that the statement binds.
    pub(super) outputs: Vec<VarId>,
    /// The operators of the block that are parts of it.
    pub(super) parts: Vec<usize>,
}

impl Made {
    /// What has one value, the first output of an operator.
    pub(super) fn of(operator: &Operator, value: impl Into<Expr>, parts: Vec<usize>) -> Self {
        Made { value: value.into(), outputs: operator.outputs.iter().take(1).copied().collect(), parts }
    }
}

/// Writes the blocks of a program.
pub(super) struct Blocks<'p> {
    pub(super) graph: Graph<'p>,
    /// Numbers that are filled in for each row, and have to be written as such.
    spread: BTreeSet<VarId>,
}

impl<'p> Blocks<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let graph = Graph::new(program);
        let spread = spread::found(&graph);
        Blocks { graph, spread }
    }

    pub(super) fn program(&self) -> &'p Program {
        self.graph.program
    }

    /// The statements of a block, without those that nothing needs.
    pub(super) fn body(&self, id: BlockId) -> Body {
        let block = self.program().block(id);
        let mut statements = Vec::new();
        let mut parts = vec![false; block.ops.len()];
        for (at, operator) in block.ops.iter().enumerate().rev() {
            if parts[at]
                || !self.graph.is_live(id, at)
                || self.constant(operator).is_some_and(|value| is_short(&value))
            {
                continue;
            }
            let of_library = library::find(self, id, operator);
            let control = if of_library.is_none() { self.control(id, operator) } else { None };
            if let Some((statement, of)) = control {
                of.iter().for_each(|part| parts[*part] = true);
                statements.push(statement);
                continue;
            }
            let made = of_library.unwrap_or_else(|| self.made(id, at, operator));
            made.parts.iter().for_each(|part| parts[*part] = true);
            let is_read = |output: &VarId| Some(*output).filter(|output| self.graph.reads(*output) > 0);
            let outputs = made.outputs.iter().map(is_read).collect();
            statements.push(Statement::Let { outputs, value: made.value });
        }
        statements.reverse();
        let mut body = Body { statements, results: self.values(&block.results) };
        inline::drop_unread(&mut body, &|var| self.graph.is_counted(var));
        body
    }

    /// What an operator without blocks is in the language.
    pub(super) fn made(&self, block: BlockId, at: usize, operator: &'p Operator) -> Made {
        if let Some(value) = self.constant(operator) {
            return Made::of(operator, one_value(value), Vec::new());
        }
        if let Some(made) = patterns::find(self, block, operator) {
            return made;
        }
        if let Op::Range(op) = &operator.op
            && let Some(value) = range(op)
        {
            return Made::of(operator, one_value(value), Vec::new());
        }
        match self.called(operator) {
            Ok((call, output)) => {
                let is_several = paddle_core::layers::Layer::find(&call.layer)
                    .is_some_and(|layer| matches!(layer.build, paddle_core::layers::Build::Several(_)));
                let outputs = match is_several {
                    true => operator.outputs.clone(),
                    false => vec![operator.outputs[output]],
                };
                Made { value: call.into(), outputs, parts: Vec::new() }
            }
            Err(why) => {
                let lack = Lack::of_operator(self.program(), block, at, operator, why);
                let value = Expr::Lack(Box::new(lack));
                Made { value, outputs: operator.outputs.clone(), parts: Vec::new() }
            }
        }
    }

    /// A call of the layer that becomes an operator, and the output that it gives; or why there is none.
    pub(super) fn called(&self, operator: &Operator) -> Result<(Call, usize), String> {
        table::call(self.program(), operator, &|var| self.value(var), &|var| self.graph.is_parameter(var))
    }

    pub(super) fn values(&self, vars: &[VarId]) -> Vec<Expr> {
        vars.iter().map(|var| self.value(*var)).collect()
    }

    /// A value where it is read: by its name, or written out if it is a number or a parameter.
    pub(super) fn value(&self, var: VarId) -> Expr {
        let var = self.graph.resolve(var);
        if let Some(value) =
            self.graph.writer(var).and_then(|(.., operator)| self.constant(operator)).filter(is_short)
        {
            return value;
        }
        if self.graph.is_parameter(var) {
            let of = self.program().var(var);
            if of.ty.dtype != DType::F32 {
                let why = format!("a `parameter` by itself is f32, and not {}", of.ty.dtype);
                return Expr::Lack(Box::new(Lack::of_value(&of.name, why)));
            }
            let dims = self.program().ty(var).dims.iter();
            let dims: Vec<Expr> = dims.filter_map(|dim| size(self.program(), dim).map(Expr::Word)).collect();
            let shape = match <[Expr; 1]>::try_from(dims) {
                Ok([only]) => only,
                Err(dims) => Expr::List(dims),
            };
            let parameters = vec![("w".to_string(), var)];
            return Call { parameters, ..Call::of("parameter", vec![shape]) }.into();
        }
        Expr::Value(var)
    }

    /// What an operator gives that has the same value always, or that of a size.
    fn constant(&self, operator: &Operator) -> Option<Expr> {
        match &operator.op {
            Op::Size(op) => self.count(operator, &op.axes),
            Op::Cast(cast) => match self.graph.writer(operator.inputs[0])? {
                (.., size @ Operator { op: Op::Size(op), .. }) => {
                    let count = self.count(size, &op.axes)?;
                    Some(match cast.dtype {
                        DType::F32 => count,
                        dtype => Call::of("cast", vec![count, Expr::word(dtype)]).into(),
                    })
                }
                _ => None,
            },
            Op::Fill(fill) if self.spread.contains(&operator.outputs[0]) => self.spread(operator, fill),
            op => constant(self.program(), op),
        }
    }

    /// A number for each row, as a value that has the rows.
    fn spread(&self, operator: &Operator, fill: &Fill) -> Option<Expr> {
        let program = self.program();
        let rows = fill.ty.rows?;
        let whole = || filled(program, fill.value, &spread::along_rows(program, fill)?);
        if let Some(like) = fed_with(program, rows) {
            return Some(Call::of("each_row", vec![whole()?, Expr::Value(like)]).into());
        }
        if let RowOrigin::Fixed(_) = program.row_space(rows).origin {
            return Some(rows::own(whole()?));
        }
        // Nobody knows how many rows there are; zeros of other values have them.
        let zeros = self.zeros(operator, rows)?;
        let infix = |symbol, x, y| Expr::Infix(symbol, Box::new([x, y]));
        let number = match fill.ty.dtype {
            DType::Bool => Fill {
                value: Number::Int(i64::from(fill.value.as_f64() != 0.0)),
                ty: fill.ty.with_dtype(DType::I64),
            },
            _ => fill.clone(),
        };
        let zeros = match number.ty.dtype {
            DType::I64 => zeros,
            dtype => Call::of("cast", vec![zeros, Expr::word(dtype)]).into(),
        };
        let zeros = match number.ty.dims.len() {
            0 => zeros,
            dims => Call::of("reshape", vec![zeros, Expr::List(vec![Expr::word(1); dims])]).into(),
        };
        let one = filled(program, number.value, &Type { rows: None, ..number.ty.clone() })?;
        let sum = infix("+", zeros, one);
        Some(if fill.ty.dtype == DType::Bool { infix("==", sum, Expr::word(1)) } else { sum })
    }

    /// A zero, i64, for each of these rows, in front of an operator.
    fn zeros(&self, operator: &Operator, rows: RowsId) -> Option<Expr> {
        let (block, ..) = self.graph.writer(*operator.outputs.first()?)?;
        let numbers = Call::of("row_numbers", vec![rows::like(self, block, operator, rows)?]).into();
        Some(Expr::Infix("*", Box::new([numbers, Expr::word(0)])))
    }

    /// The number of elements along axes of what an operator reads, or of all elements if there are no axes.
    fn count(&self, operator: &Operator, axes: &[i64]) -> Option<Expr> {
        let ty = self.program().ty(operator.inputs[0]);
        let rows = usize::from(ty.rows.is_some());
        let along = |axis: usize| axes.is_empty() || axes.contains(&(axis as i64));
        let dims = ty.dims.iter().enumerate().filter(|(at, _)| along(at + rows));
        let count = dims.map(|(_, dim)| dim).try_fold(Dim::from(1), |count, dim| &count * dim).ok()?;
        let text = size(self.program(), &count)?;
        let count = if text.contains(' ') { Expr::Tuple(vec![Expr::Word(text)]) } else { Expr::Word(text) };
        if rows == 0 || !along(0) {
            return Some(count);
        }
        // Where nobody fed them, ones are counted.
        let space = ty.rows.filter(|rows| fed_with(self.program(), *rows).is_some());
        let space = space.map(|rows| self.program().row_space(rows).size);
        if let Some(rows) = space.and_then(|space| size(self.program(), &Dim::symbol(space))) {
            let is_one = matches!(&count, Expr::Word(text) if text == "1");
            let all = Expr::Infix("*", Box::new([Expr::Word(rows.clone()), count]));
            return Some(if is_one { Expr::Word(rows) } else { all });
        }
        // A one for each row.
        let infix = |symbol, x, y| Expr::Infix(symbol, Box::new([x, y]));
        let ones = infix("+", self.zeros(operator, ty.rows?)?, Expr::word(1));
        let ones = Call::of("cast", vec![ones, Expr::word(DType::F32)]).into();
        let rows = Call::of("sum", vec![ones]).into();
        let is_one = matches!(&count, Expr::Word(text) if text == "1");
        Some(if is_one { rows } else { infix("*", rows, count) })
    }
}

/// An array of numbers as one value, and not as many.
pub(super) fn one_value(value: Expr) -> Expr {
    match value {
        array @ Expr::List(_) => Call::of("assign", vec![array]).into(),
        value => value,
    }
}

/// Whether a constant is written out wherever it is read.
fn is_short(value: &Expr) -> bool {
    match value {
        Expr::Word(_) | Expr::Call(_) | Expr::Tuple(_) => true,
        Expr::List(parts) => parts.len() <= 4 && parts.iter().all(|part| matches!(part, Expr::Word(_))),
        _ => false,
    }
}
