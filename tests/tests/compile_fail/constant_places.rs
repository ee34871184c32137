//! Numbers that say which elements, and do not fit those that there are; whole numbers divided by 0.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 10>, id: Tensor<i64, _, 1>, y: Tensor<f32, _, T, 5>| {
        const STEPS: i64 = 0;
        let sensors = gather(x, [0, 4, 12]);
        //~                     ^^^^^^^^^^ constant
        let last = gather(x, [9]);
        let more = slice(x, 1, 8, 12);
        //~                       ^^ constant
        let fewer = slice(x, [1], [-11], [10]);
        //~                       ^^^^^ constant
        let reversed = slice(x, 1, -1, -11, strides = -1);
        let known = slice(y, [1, 2], [0, 0], [1000, 5]);
        let half = id / 0;
        //~             ^ constant
        let rest = id % STEPS;
        //~             ^^^^^ constant
        let none = 3 / STEPS;
        //~        ^^^^^^^^^ constant
        let infinite = x / 0.0;
        let sums = mean(sensors) + mean(last) + mean(more) + mean(fewer) + mean(reversed) + mean(known);
        sums + mean(infinite) + mean(cast(half + rest + none, f32))
    });
}
