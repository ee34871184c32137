//! Layers that reduce or normalise, along axes that are not there and of other values than they take.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, image: Tensor<f32, _, 6, 4, 4>, id: Tensor<i64, _, 3>| {
        let none = sum(x, axis = 2);
        //~                      ^ constant
        let wrong = mean(id, axis = 1);
        //~              ^^ element-type
        let truth = any(x);
        //~             ^ element-type
        let across = softmax(x, axis = 0);
        //~                            ^ constant
        let shares = logsumexp(x, axis = [0, -3]);
        //~                              ^^^^^^^ constant
        let groups = group_norm(image, 4);
        //~                            ^ constant
        (none, wrong, truth, across, shares, groups)
    });
}
