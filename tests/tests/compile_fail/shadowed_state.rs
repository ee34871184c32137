//! Variables of loops that hide what the loop is to change.

fn main() {
    let _net = paddle::network!(|xs: Seq<Tensor<f32, 4>>, n: Tensor<i64>, x: Tensor<f32, _, 4>| {
        let h = zeros(4);
        let mut sums = zeros(4);
        for x in xs {
            let x = relu(x);
            let h = tanh(h + x);
            //~ ^ shadowed-state
            sums = sums + h;
        }
        let (mut y, mut i) = (x, 0);
        while i < n {
            if mean(y) > 0.5 {
                let (y, _) = (tanh(y), i);
                //~  ^ shadowed-state
                sums = sums + y;
            }
            i += 1;
        }
        let mut z = x;
        for k in 0..2 {
            let z = fc(z, 4, param = "layer{k}");
            //~ ^ shadowed-state
            sums += z;
        }
        for _ in 0..2 {
            let before = z;
            z = tanh(z);
            let z = z - before;
            sums += z;
        }
        sums + y
    });
}
