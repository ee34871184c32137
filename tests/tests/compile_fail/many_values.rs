//! Arrays of arrays that no memory holds.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let many = [[0; 10000]; 10000];
        //~         ^^^^^^^^^^ limit
        x + many[0][0]
    });
}
