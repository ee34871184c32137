//! Values that are not what the letters of `einsum` say.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 2, 3>,
                                 y: Tensor<f32, _, 4, 5>,
                                 w: Tensor<f32, 3, 6>,
                                 ids: Tensor<i64, _, 3>,
                                 words: Seq<Tensor<f32, 3>>| {
        let size = einsum("bij,bjk->bik", x, y);
        //~                                  ^ shape
        let rank = einsum("bij,jk->bik", x, y);
        //~                                 ^ shape
        let summed = einsum("bij,bjk->ik", x, w);
        //~                                   ^ shape
        let rows = einsum("bij->ij", x);
        //~               ^^^^^^^^^ row-spaces
        let moved = einsum("bij->jbi", x);
        //~                ^^^^^^^^^^ row-spaces
        let implied = einsum("nij,nkl", x, y);
        //~                  ^^^^^^^^^ row-spaces
        let outer = einsum("bij,ckm->bcjk", x, y);
        //~                                    ^ row-spaces
        let as_rows = einsum("bij,bj->bi", x, w);
        //~                                   ^ row-spaces
        let tokens = einsum("bij,bj->bi", x, words);
        //~                                  ^^^^^ row-spaces
        let types = einsum("bij,bj->bi", x, ids);
        //~                                 ^^^ element-type
        let truth = einsum("bij->bji", x > 0.0);
        //~                            ^^^^^^^ element-type
        (size, rank, summed, rows, moved, implied, outer, as_rows, tokens, types, truth)
    });
}
