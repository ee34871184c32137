//! Texts of `einsum` that do not say a sum of products.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 2, 3>, y: Tensor<f32, _, 3, 4>, w: Tensor<f32, 3, 3>| {
        let of_three = einsum("bij,bjk,bk->bi", x, y);
        //~                   ^^^^^^^^^^^^^^^^ constant
        let of_one = einsum("bij->bi", x, y);
        //~                 ^^^^^^^^^ constant
        let numbers = einsum("b12,b2k->b1k", x, y);
        //~                  ^^^^^^^^^^^^^^ constant
        let unknown = einsum("bij,bjk->bim", x, y);
        //~                  ^^^^^^^^^^^^^^ constant
        let twice = einsum("bij,bjk->bii", x, y);
        //~                ^^^^^^^^^^^^^^ constant
        let diagonal = einsum("ii->i", w);
        //~                   ^^^^^^^ constant
        let nowhere = einsum("b...->...", x);
        //~                  ^^^^^^^^^^^ row-spaces
        let lost = einsum("...jk->jk", x);
        //~               ^^^^^^^^^^^ constant
        let words = einsum(x, y);
        //~                ^ argument-kind
        let number = einsum(2.0, y);
        //~                 ^^^ argument-kind
        let alone = einsum("bij->bij");
        //~               ^^^^^^^^^^^^ argument-count
        (of_three, of_one, numbers, unknown, twice, diagonal, nowhere, lost, words, number, alone)
    });
}
