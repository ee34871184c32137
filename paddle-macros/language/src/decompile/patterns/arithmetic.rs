//! Operators of Rust: `+`, `<`, `&&`, `-x`.

use paddle_core::ops::{BinaryKind, CompareKind, LogicalKind, Number, Op, Operator};
use paddle_core::program::{BlockId, DType};

use super::{Blocks, Made};
use crate::decompile::constants::literal;
use crate::decompile::tree::Expr;

pub(super) fn arithmetic(blocks: &Blocks<'_>, _: BlockId, operator: &Operator) -> Option<Made> {
    let infix = |symbol| {
        let [x, y] = operator.inputs[..] else { return None };
        let sides = [blocks.value(x), blocks.value(y)];
        // The compiler would compute with two numbers, and give one.
        let is_number = |side: &Expr| matches!(side, Expr::Word(_));
        (!sides.iter().all(is_number)).then(|| Expr::Infix(symbol, Box::new(sides)))
    };
    let value = match &operator.op {
        Op::Binary(op) => infix(match op.kind {
            BinaryKind::Add => "+",
            BinaryKind::Sub => "-",
            BinaryKind::Mul => "*",
            BinaryKind::Div => "/",
            BinaryKind::Mod => "%",
            BinaryKind::FMax
            | BinaryKind::FMin
            | BinaryKind::FloorDiv
            | BinaryKind::Heaviside
            | BinaryKind::Max
            | BinaryKind::Min
            | BinaryKind::Pow => return None,
        }),
        Op::Compare(op) => infix(match op.kind {
            CompareKind::LessThan => "<",
            CompareKind::LessEqual => "<=",
            CompareKind::GreaterThan => ">",
            CompareKind::GreaterEqual => ">=",
            CompareKind::Equal => "==",
            CompareKind::NotEqual => "!=",
        }),
        Op::Logical(op) => infix(match op.kind {
            LogicalKind::And => "&&",
            LogicalKind::Or => "||",
            LogicalKind::Xor => return None,
        }),
        Op::Not(_) => Some(Expr::Prefix("!", Box::new(blocks.value(operator.inputs[0])))),
        Op::Scale(op) => {
            let dtype = blocks.program().ty(operator.inputs[0]).dtype;
            scaled(blocks.value(operator.inputs[0]), dtype, op.scale, op.bias)
        }
        _ => return None,
    };
    Some(Made::of(operator, value?, Vec::new()))
}

/// `scale · x + bias`; `None` if that takes the layer.
fn scaled(x: Expr, dtype: DType, scale: f64, bias: f64) -> Option<Expr> {
    let whole = |number: f64| Some(number as i64).filter(|whole| *whole as f64 == number);
    let number = |number: f64| {
        let is_float = dtype.is_float();
        let number = if is_float { Number::Float(number) } else { Number::Int(whole(number)?) };
        // A number adapts to the value beside it.
        let text = literal(number, if is_float { DType::F32 } else { DType::I64 });
        number.as_f64().is_finite().then_some(Expr::Word(text))
    };
    let infix = |left, symbol, right| Some(Expr::Infix(symbol, Box::new([left, right])));
    match (scale, bias) {
        (-1.0, 0.0) => Some(Expr::Prefix("-", Box::new(x))),
        (1.0, bias) if bias < 0.0 => infix(x, "-", number(-bias)?),
        (1.0, bias) => infix(x, "+", number(bias)?),
        (scale, 0.0) => infix(x, "*", number(scale)?),
        (-1.0, bias) => infix(number(bias)?, "-", x),
        _ => None,
    }
}
