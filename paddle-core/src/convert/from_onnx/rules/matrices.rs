//! Products of matrices.

use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{Binary, BinaryKind, Matmul, Scale};

impl Node<'_, '_> {
    pub(super) fn matmul(&mut self) -> Given {
        let factors = [self.input(0)?, self.input(1)?];
        if !self.ty(factors[0]).dtype.is_float() {
            return self.lacks("it multiplies matrices of integers");
        }
        self.give(Matmul::PLAIN, &factors)
    }

    /// `alpha · A · B + beta · C`, where the first factor, the second, or both are transposed.
    pub(super) fn gemm(&mut self) -> Given {
        let factors = [self.input(0)?, self.input(1)?];
        let op = Matmul { trans_x: self.int("transA", 0) != 0, trans_y: self.int("transB", 0) != 0 };
        let mut product = self.emit(op, &factors)?;
        let (alpha, beta) = (self.float("alpha", 1.0), self.float("beta", 1.0));
        if alpha != 1.0 {
            product = self.emit(Scale { scale: alpha, bias: 0.0 }, &[product])?;
        }
        let Some(mut added) = self.optional(2)?.filter(|_| beta != 0.0) else { return Ok(vec![product]) };
        if beta != 1.0 {
            added = self.emit(Scale { scale: beta, bias: 0.0 }, &[added])?;
        }
        self.give(Binary { kind: BinaryKind::Add }, &[product, added])
    }

    pub(super) fn einsum(&mut self) -> Given {
        let (operands, equation) = (self.inputs()?, self.text("equation").unwrap_or(""));
        match self.at().einsum(equation, &operands)? {
            Ok(out) => Ok(vec![out]),
            Err(lack) => self.lacks(lack),
        }
    }
}
