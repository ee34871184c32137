//! W1: a multilayer perceptron with two hidden layers.

use ndarray::Array2;
use paddle::core::plan::Backend;
use paddle::core::text;
use paddle::{Batch, Dynamic, Error, Network, Parameters, Sgd, Trainer};

use crate::random::{field, integers, symmetric, weights};
use crate::workload::{POOL, Training, Workload};

const BATCH: usize = 64;
const LAYERS: [(&str, usize, usize); 3] = [("hidden", 784, 256), ("deep", 256, 128), ("logits", 128, 10)];

pub(crate) fn workload<B: Backend + Clone + 'static>(backend: B) -> Result<Box<dyn Workload>, Error> {
    let net: Network<Dynamic> = Network::from_program(text::parse(PROGRAM).expect("the text is a program"))?;
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    for (k, (name, fan_in, fan_out)) in LAYERS.into_iter().enumerate() {
        let w = Array2::from_shape_vec((fan_in, fan_out), weights(1, k as u64, fan_in, fan_out));
        parameters.set(&format!("{name}.w"), &w.expect("as many numbers as weights"))?;
    }
    let batch = |p: usize| {
        let x = symmetric(field(1, p as u64, 0), BATCH * 784);
        let x = Array2::from_shape_vec((BATCH, 784), x).expect("as many numbers as pixels");
        let y = ndarray::Array1::from(integers(field(1, p as u64, 1), BATCH, 10));
        Ok(Batch::new(&net)?.with("x", &x)?.with("y", &y)?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training { net, parameters, trainer: Trainer::new(Sgd::new(0.1)), pool }))
}

const PROGRAM: &str = "program {
  rows _
  parameter hidden.w: f32[784, 256] = fill_constant(value=0.0)
  parameter hidden.b: f32[256] = fill_constant(value=0.0)
  parameter deep.w: f32[256, 128] = fill_constant(value=0.0)
  parameter deep.b: f32[128] = fill_constant(value=0.0)
  parameter logits.w: f32[128, 10] = fill_constant(value=0.0)
  parameter logits.b: f32[10] = fill_constant(value=0.0)
  block 0 (x: f32[_, 784], y: i64[_, 1]) {
    m1: f32[_, 256] = matmul_v2(x, hidden.w)
    a1: f32[_, 256] = elementwise_add(m1, hidden.b)
    hidden: f32[_, 256] = relu(a1)
    m2: f32[_, 128] = matmul_v2(hidden, deep.w)
    a2: f32[_, 128] = elementwise_add(m2, deep.b)
    deep: f32[_, 128] = relu(a2)
    m3: f32[_, 10] = matmul_v2(deep, logits.w)
    logits: f32[_, 10] = elementwise_add(m3, logits.b)
    soft: f32[_, 10], loss: f32[_, 1] = softmax_with_cross_entropy(logits, y)
    cost: f32[] = reduce_mean(loss)
    return cost
  }
}";
