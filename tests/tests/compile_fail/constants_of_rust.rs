//! Constants of the code around a network, where only what is written in it can stand.

const NAME: &str = "gate";
const RATE: f32 = 0.5;
const GATE: [f32; 3] = [0.0; 3];
const COUNT: usize = 3;

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        const NAME: &str = crate::NAME;
        //~                ^^^^^^^^^^^ constant
        const GATES: [f32; crate::COUNT] = crate::GATE;
        //~                                ^^^^^^^^^^^ constant
        const GATE: [f32; 3] = crate::GATE;
        const RATE: f32 = crate::RATE;
        let scaled = scale(x, RATE);
        //~                   ^^^^ argument-kind
        fc(scaled, 8, param = NAME) + GATES + x * GATE
        //~                                       ^^^^ shape
    });
}
