//! Layers that draw, from distributions that there are not.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, id: Tensor<i64, _, 1>| {
        let noise = gaussian_random(x, 16, std = -1.0);
        //~                                      ^^^^ constant
        let between = uniform_random(x, 16, min = 2.0, max = 1.0);
        //~                                                  ^^^ constant
        let whole = randint(x, 4, 0);
        //~                       ^ constant
        let hit = bernoulli(id);
        //~                 ^^ element-type
        (noise, between, whole, hit, x)
    });
}
