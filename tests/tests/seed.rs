//! The program that the project began with: two branches, each on its rows.

use paddle::core::ops::{Binary, BinaryKind, Program, Reduce, ReduceKind};
use paddle::core::passes::backward::gradients;
use paddle::core::plan::{Backend, Buffers, Executor, Feed, HostSlice, HostSliceMut, Part, Storage};
use paddle::core::program::{Site, VarId};
use paddle::testing::assert_program;
use paddle::{Network, Parameters, Spec, infer, network};
use paddle_kernels::reference::Reference;

// The program has a softmax over one class.
#[allow(deprecated)]
fn seed() -> Network<impl Spec<Row = (f32, f32, f32)>> {
    network!(|x: Tensor<f32, _, 1>, z: Tensor<f32, _, 1>, y: Tensor<f32>| {
        let (o1, o2) = if x > 15.0 {
            let d = x + y;
            (d, softmax(d))
        } else {
            let d = fc(z, 1);
            (d, d + 1.0)
        };
        (o1, o2)
    })
}

/// Some rows true, all true, all false.
const BATCHES: [&[f32]; 3] = [&[10.0, 20.0, 30.0], &[20.0, 30.0], &[1.0, 2.0]];

#[test]
fn its_text_has_three_blocks_and_one_gather_for_each_value_with_rows() {
    assert_program(&seed(), "tests/golden/seed.txt");
    let text = seed().program().unwrap().to_string();
    assert_eq!(text.matches("block ").count(), 3);
    assert_eq!(text.matches("gather_rows(x)").count(), 1);
    assert_eq!(text.matches("gather_rows(z)").count(), 1);
    assert_eq!(text.matches("gather_rows(").count(), 2);
}

#[test]
fn each_branch_computes_its_rows() {
    let net = seed();
    let parameters = Parameters::create(&net).unwrap();
    let w = parameters.get::<f32>("d.w").unwrap().sum();
    for xs in BATCHES {
        let rows: Vec<(f32, f32, f32)> = xs.iter().map(|&x| (x, x, 1.0)).collect();
        let outputs = infer(&net, &parameters, &rows).unwrap();
        let expected = |x: f32| if x > 15.0 { (x + 1.0, 1.0) } else { (w * x, w * x + 1.0) };
        let [o1, o2] = ["o1", "o2"].map(|name| outputs.get::<f32>(name).unwrap().into_owned());
        for (i, (&a, &b)) in o1.iter().zip(&o2).enumerate() {
            let (first, second) = expected(xs[i]);
            assert!((a - first).abs() < 1e-5 && (b - second).abs() < 1e-5, "{xs:?}: {o1} {o2}");
        }
        assert_eq!(o1.shape(), [xs.len(), 1]);
    }
}

/// `sum(o1 · o2)` and its gradients with respect to every input and parameter.
fn with_gradients() -> (Program, Vec<VarId>) {
    let mut program = seed().program().unwrap().clone();
    let outputs = program.outputs().to_vec();
    let product =
        program.append_op(Program::GLOBAL, Binary { kind: BinaryKind::Mul }, &outputs, Site::default());
    let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
    let cost = program.append_op(Program::GLOBAL, sum, &product.unwrap(), Site::default()).unwrap();
    program.set_outputs(&cost).unwrap();
    let wanted: Vec<VarId> = ["x", "z", "y", "d.w", "d.b"].map(|name| program.find(name).unwrap()).into();
    let grads = gradients(&mut program, &wanted).unwrap();
    let grads = grads.into_iter().map(|grad| grad.expect("the cost depends on all of them"));
    let outputs: Vec<VarId> = cost.into_iter().chain(grads).collect();
    program.set_outputs(&outputs).unwrap();
    program.verify().unwrap();
    (program, wanted)
}

/// The outputs in double precision; `values` are those of x, z, y, `d.w` and `d.b`.
fn run(program: &Program, values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let backend = Reference::double();
    let mut storage = Storage::new();
    for name in ["d.w", "d.b"] {
        let ty = program.ty(program.find(name).unwrap());
        storage.insert(backend.element_bytes(ty.dtype), name, ty).unwrap();
    }
    let mut parameters = Buffers::default();
    storage.allocate(&backend, &mut parameters, "the parameters").unwrap();
    for (stored, value) in storage.iter().zip(&values[3..]) {
        parameters.upload(&backend, stored, HostSlice::F64(value));
    }
    let mut executor = Executor::new(backend, program, &storage).unwrap();
    let feeds: Vec<Vec<f32>> = values[..3].iter().map(|v| v.iter().map(|&v| v as f32).collect()).collect();
    let shape = [values[0].len(), 1];
    let feed = |i: usize| Feed {
        values: HostSlice::F32(&feeds[i]),
        shape: if i == 2 { &[] } else { &shape },
        offsets: &[],
    };
    executor.begin(&feed).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
    let fetch = |k: usize| {
        let mut output = vec![0.0; executor.output_shape(k).iter().product()];
        executor.fetch(k, HostSliceMut::F64(&mut output));
        output
    };
    (0..executor.output_count()).map(fetch).collect()
}

#[test]
fn its_gradients_are_differences() {
    let (program, wanted) = with_gradients();
    for xs in BATCHES {
        let x: Vec<f64> = xs.iter().map(|&x| f64::from(x)).collect();
        let z: Vec<f64> = (0..x.len()).map(|i| 0.5 - i as f64).collect();
        let values = [x, z, vec![0.25], vec![0.75], vec![-0.5]];
        let outputs = run(&program, &values);
        for (k, &var) in wanted.iter().enumerate() {
            for i in 0..values[k].len() {
                // A power of two, so that what is fed as single precision is exact.
                let step = 1.0 / 1024.0;
                let moved = |by: f64| {
                    let mut values = values.clone();
                    values[k][i] += by;
                    run(&program, &values)[0][0]
                };
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                let gradient = outputs[k + 1][i];
                let name = &program.var(var).name;
                // The cost is of second degree in each value, so that central differences are exact.
                assert!(
                    (gradient - difference).abs() <= 1e-6 * gradient.abs().max(1.0),
                    "{xs:?}, {name}[{i}]: {gradient} by the rules, {difference} by differences"
                );
            }
        }
    }
}
