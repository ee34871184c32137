//! Sizes of images that are not said, said twice, or not known, and corners of what is nearest.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3, 8, 6>, y: Tensor<f32, _, 3, H, 6>, v: Tensor<f32, _, 6>| {
        let unsaid = interpolate(x);
        //~                      ^ shape
        let twice = interpolate(x, [4, 4], scale = 2);
        //~                                        ^ constant
        let corners = interpolate(x, 4, align_corners = true);
        //~                                             ^^^^ constant
        let three = interpolate(x, [4, 4, 4]);
        //~                        ^^^^^^^^^ constant
        let below = interpolate(x, scale = -2.0);
        //~                                ^^^^ constant
        let unknown = interpolate(y, scale = 1.5);
        //~                                  ^^^ constant
        let flat = interpolate(v, 4);
        //~                    ^ shape
        let empty = interpolate(x, scale = 0.1);
        //~                                ^^^ constant
        let many = interpolate(x, 4, 4);
        //~                          ^ argument-count
        (unsaid, twice, corners, three, below, unknown, flat, empty, many)
    });
}
