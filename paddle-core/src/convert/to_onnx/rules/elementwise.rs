//! Arithmetic, functions, comparisons, element by element.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::formula::input;
use crate::convert::to_onnx::graph::{Writer, element_type};
use crate::ops::{BinaryKind, CompareKind, LogicalKind, Operator, PredicateKind, Scale, Unary, UnaryKind};
use crate::program::{DType, Type, VarId};
use crate::wire::onnx::AttributeProto;

impl Writer<'_> {
    /// The operands of an element-wise operator. A value without rows is repeated for each row, so one with rows has as many
    /// dimensions behind them as the result.
    pub(super) fn aligned(
        &mut self,
        operands: &[VarId],
        x: &[&str],
        out: &Type,
    ) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let mut aligned = Vec::with_capacity(x.len());
        for (&operand, x) in operands.iter().zip(x) {
            let ty = program.ty(operand);
            let lacking = out.dims.len().saturating_sub(ty.dims.len());
            aligned.push(match ty.rows.is_some() && lacking > 0 {
                true => {
                    let axes: Vec<i64> = (1..=lacking as i64).collect();
                    self.unsqueezed(x, &axes)
                }
                false => x.to_string(),
            });
        }
        Ok(aligned)
    }

    fn pair(&mut self, operator: &Operator, x: &[&str]) -> Result<[String; 2], LegaliseError> {
        let out = self.program.ty(operator.outputs[0]).clone();
        let mut pair = self.aligned(&operator.inputs, x, &out)?.into_iter();
        Ok([pair.next().unwrap_or_default(), pair.next().unwrap_or_default()])
    }

    pub(super) fn binary(
        &mut self,
        operator: &Operator,
        kind: BinaryKind,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let dtype = self.program.ty(operator.outputs[0]).dtype;
        let [x, y] = self.pair(operator, x)?;
        Ok(match kind {
            BinaryKind::Mod if !dtype.is_float() => self.node("Mod", &[&x, &y]),
            // ONNX rounds quotients of integers towards 0.
            BinaryKind::FloorDiv if !dtype.is_float() => {
                let rest = self.node("Mod", &[&x, &y]);
                let multiple = self.node("Sub", &[&x, &rest]);
                self.node("Div", &[&multiple, &y])
            }
            kind => self.formula(&[&x, &y], dtype, || kind.apply(input(0), input(1))),
        })
    }

    pub(super) fn compare(
        &mut self,
        operator: &Operator,
        kind: CompareKind,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let [mut x, mut y] = self.pair(operator, x)?;
        let of_truth = self.program.ty(operator.inputs[0]).dtype == DType::Bool;
        if of_truth && !matches!(kind, CompareKind::Equal | CompareKind::NotEqual) {
            [x, y] = [x, y].map(|x| self.cast(&x, DType::I32));
        }
        let name = match kind {
            CompareKind::LessThan => "Less",
            CompareKind::LessEqual => "LessOrEqual",
            CompareKind::GreaterThan => "Greater",
            CompareKind::GreaterEqual => "GreaterOrEqual",
            CompareKind::Equal | CompareKind::NotEqual => "Equal",
        };
        let found = self.node(name, &[&x, &y]);
        Ok(if kind == CompareKind::NotEqual { self.node("Not", &[&found]) } else { found })
    }

    pub(super) fn logical(
        &mut self,
        operator: &Operator,
        kind: LogicalKind,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let [x, y] = self.pair(operator, x)?;
        let name = match kind {
            LogicalKind::And => "And",
            LogicalKind::Or => "Or",
            LogicalKind::Xor => "Xor",
        };
        Ok(self.node(name, &[&x, &y]))
    }

    pub(super) fn select(&mut self, operator: &Operator, x: &[&str]) -> Result<String, LegaliseError> {
        let out = self.program.ty(operator.outputs[0]).clone();
        let x = self.aligned(&operator.inputs, x, &out)?;
        Ok(self.node("Where", &[&x[0], &x[1], &x[2]]))
    }

    pub(super) fn unary(&mut self, operator: &Operator, op: &Unary, x: &[&str]) -> String {
        let dtype = self.program.ty(operator.outputs[0]).dtype;
        if op.kind == UnaryKind::Trunc && !dtype.is_float() {
            return x[0].to_string();
        }
        self.formula(x, dtype, || op.kind.apply(input(0), op.coefficients))
    }

    pub(super) fn predicate(&mut self, operator: &Operator, kind: PredicateKind, x: &[&str]) -> String {
        let dtype = self.program.ty(operator.inputs[0]).dtype;
        self.truth(x, dtype, || kind.holds(input(0)))
    }

    pub(super) fn scale(&mut self, operator: &Operator, op: Scale, x: &[&str]) -> String {
        let dtype = self.program.ty(operator.outputs[0]).dtype;
        let mut out = x[0].to_string();
        if op.scale != 1.0 {
            let scale = self.number(op.scale, dtype);
            out = self.node("Mul", &[&out, &scale]);
        }
        if op.bias != 0.0 {
            let bias = self.number(op.bias, dtype);
            out = self.node("Add", &[&out, &bias]);
        }
        out
    }

    pub(in crate::convert::to_onnx) fn cast(&mut self, x: &str, dtype: DType) -> String {
        self.node_with("Cast", &[x], [AttributeProto::int("to", element_type(dtype) as i64)])
    }
}
