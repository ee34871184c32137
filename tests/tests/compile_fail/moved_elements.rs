//! Layers that move elements: sizes, counts and axes that do not fit the value.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3, 4>, y: Tensor<f32, _, 4>, z: Tensor<f32, _>| {
        let around = pad(x, [1, 1]);
        //~                 ^^^^^^ shape
        let mirrored = pad(y, [4, 0], mode = reflect);
        //~                   ^^^^^^ constant
        let (left, right) = split(y, 3);
        //~                       ^ shape
        let again = tile(x, [2]);
        //~                 ^^^ constant
        let back = flip(x, 0);
        //~                ^ constant
        let corner = tril(y);
        //~               ^ shape
        let chosen = select(y > 0.0, x, y);
        //~                             ^ shape
        let moved = roll(z, 1);
        //~              ^ shape
        (around, mirrored, left, right, again, back, corner, chosen, moved)
    });
}
