//! Layers that are products of matrices and vectors.

use super::fc::{self, flatten};
use super::{Call, einsum};
use crate::ops::Matmul;
use crate::program::{BuildError, VarId};

/// Passes the layers that are products to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_product_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Fully connected: `x · w + b`. Dimensions of `x` from an axis on, the first behind the rows, are flattened into one.
            ///
            /// Parameters: `w`, `[inputs, size]`, uniform by Xavier's rule at first; `b`, `[size]`, zero at first.
            ///
            /// With several inputs, `fc([x, y], size)`, it adds their products: `x · w0 + y · w1 + b`.
            fc(x: Values "What to connect.", size: Size "How many outputs.";
               axis: Int = 1 "From which axis on dimensions are flattened, that of the rows counted as 0: with `axis = -1`, `[_, BEAM, inputs]` gives `[_, BEAM, size]`.",
               bias: Flag = true "Whether to add `b`.",
               act: Activation "What to apply to the result.") weights_and_bias
                => fc::build;

            /// Sums of products, as a text says: `einsum("bij,bjk->bik", x, y)` is the product of matrices. Each letter is a dimension,
            /// that of the rows too; a letter that the result does not have is summed over. Rows stay apart: their letter comes
            /// first, in each value that has them and in the result. Without `->` the result has the letters that occur once, in
            /// the order of the alphabet, and `...` stands for all dimensions that have no letter. Of more than two values, the
            /// first two are multiplied first.
            einsum(equation: Text "The letters of each value, and those of the result: `\"bij,j->bi\"`.",
                   x: Operands "What to multiply, at least one value: `x`, or `x, y`.";)
                => einsum::build;

            /// Products of matrices, which are the last two axes: `Σₖ x[.., m, k] · y[.., k, n]`. The axes before them count
            /// matrices: as many of both, or one that all of the other are multiplied with. A vector, which has one axis,
            /// is a row as `x` and a column as `y`.
            matmul(x: Value "The left matrices.", y: Value "The right matrices.";
                   transpose_x: Flag = false "Whether the left ones are read as their transposes.",
                   transpose_y: Flag = false "Whether the right ones are read as their transposes.")
                => matmul;

            /// The product of two matrices, of which the first is made by flattening the dimensions of `x` behind the
            /// first. Element by element it is `x * y`.
            mul(x: Value "The left matrix.", y: Value "The right matrix.";)
                => mul;
        }
    };
}

with_product_layers!(layers);

fn matmul(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    let op = Matmul { trans_x: call.flag("transpose_x")?, trans_y: call.flag("transpose_y")? };
    Ok(call.emit(op, &[x, y])?[0])
}

fn mul(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let x = flatten(call, x, 1)?;
    let y = call.value("y")?;
    Ok(call.emit(Matmul::PLAIN, &[x, y])?[0])
}
