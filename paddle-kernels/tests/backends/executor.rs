//! The executor: the batches that it accepts or refuses, its errors, and the memory that it keeps between batches.

use paddle_core::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, Foreign, Number, Program, Reduce, ReduceKind,
    SoftmaxWithCrossEntropy, UniformRandom, While,
};
use paddle_core::passes::backward::gradients;
use paddle_core::plan::{
    Backend, Buffers, Executor, Feed, HostSlice, HostSliceMut, Part, PlanError, RunError, Storage,
    initialize, side_of,
};
use paddle_core::program::{DType, Dim, Place, Role, Site, Type, VarId};
use paddle_core::text;

use crate::on_every_device;

const GLOBAL: paddle_core::program::BlockId = Program::GLOBAL;

fn site() -> Site {
    Site::default()
}

fn storage<B: Backend>(backend: &B, program: &Program) -> Storage {
    let mut storage = Storage::new();
    for parameter in program.parameters() {
        let (name, ty) = (&program.var(parameter).name, program.ty(parameter));
        let side = side_of(backend, program, parameter);
        let stored = storage.insert_on(side, backend.element_bytes(ty.dtype), name, ty);
        stored.expect("parameters of fixed size");
    }
    storage
}

fn executor<B: Backend + Clone>(
    backend: &B,
    program: &Program,
) -> Result<(Executor<B>, Buffers<B>), PlanError> {
    let storage = storage(backend, program);
    let mut parameters = Buffers::default();
    storage.allocate(backend, &mut parameters, "the parameters")?;
    initialize(backend, program, &storage, &|_| true, &mut parameters, 0)?;
    Ok((Executor::new(backend.clone(), program, &storage)?, parameters))
}

fn f32s<B: Backend>(executor: &Executor<B>, output: usize) -> Vec<f32> {
    let mut values = vec![0.0; executor.output_shape(output).iter().product()];
    executor.fetch(output, HostSliceMut::F32(&mut values));
    values
}

fn floats<'a>(values: &'a [f32], shape: &'a [usize]) -> Feed<'a> {
    Feed { values: HostSlice::F32(values), shape, offsets: &[] }
}

/// `x: f32[_, 2]`, `t: f32[T]`, `z: f32[_, T]` → `z + t`, and `x`, and a parameter.
fn shapes() -> Program {
    let mut program = Program::new();
    let rows = program.create_rows("_");
    let size = Dim::symbol(program.create_symbol("T"));
    let x = program.create_input("x", Type::with_rows(DType::F32, rows, [2])).unwrap();
    let t =
        program.create_input("t", Type { dtype: DType::F32, rows: None, dims: vec![size.clone()] }).unwrap();
    let z =
        program.create_input("z", Type { dtype: DType::F32, rows: Some(rows), dims: vec![size] }).unwrap();
    let fill = Fill { value: Number::Float(7.0), ty: Type::new(DType::F32, [2]) };
    let w = program.create_parameter("w", fill).unwrap();
    let sum = program.append_op(GLOBAL, Binary { kind: BinaryKind::Add }, &[z, t], site()).unwrap()[0];
    program.set_outputs(&[sum, x, w]).unwrap();
    program
}

fn inputs_and_parameters_can_be_outputs<B: Backend + Clone>(backend: &B) {
    let (mut executor, mut parameters) = executor(backend, &shapes()).unwrap();
    let (x, t, z) = ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let feeds = [floats(&x, &[2, 2]), floats(&t, &[3]), floats(&z, &[2, 3])];
    executor.begin(&|i| feeds[i]).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
    assert_eq!(f32s(&executor, 0), [10.0, 21.0, 32.0, 13.0, 24.0, 35.0]);
    assert_eq!(f32s(&executor, 1), x);
    assert_eq!(f32s(&executor, 2), [7.0, 7.0]);
}

fn batches_of_any_size_follow_each_other<B: Backend + Clone>(backend: &B) {
    let (mut executor, mut parameters) = executor(backend, &shapes()).unwrap();
    for (rows, size) in [(3, 2), (0, 5), (40, 1), (1, 0), (17, 33), (40, 33), (2, 2)] {
        let x = vec![1.0; rows * 2];
        let t: Vec<f32> = (0..size).map(|i| i as f32).collect();
        let z: Vec<f32> = (0..rows * size).map(|i| i as f32 * 100.0).collect();
        let shapes = ([rows, 2], [size], [rows, size]);
        let feeds = [floats(&x, &shapes.0), floats(&t, &shapes.1), floats(&z, &shapes.2)];
        executor.begin(&|i| feeds[i]).unwrap();
        executor.run(Part::Compute, &mut parameters).unwrap();
        assert_eq!(executor.output_shape(0), [rows, size]);
        let expected: Vec<f32> = (0..rows * size).map(|i| z[i] + t[i % size]).collect();
        assert_eq!(f32s(&executor, 0), expected, "{rows} rows of {size}");
    }
}

fn a_wrong_batch_is_refused_by_name<B: Backend + Clone>(backend: &B) {
    let (mut executor, mut parameters) = executor(backend, &shapes()).unwrap();
    let (x, t, z) = ([1.0; 6], [1.0; 2], [1.0; 6]);
    let good = [floats(&x, &[3, 2]), floats(&t, &[2]), floats(&z, &[3, 2])];
    let mut with = |at: usize, feed: Feed<'_>| {
        let feeds: Vec<Feed<'_>> = (0..3).map(|i| if i == at { feed } else { good[i] }).collect();
        let error = executor.begin(&|i| feeds[i]).unwrap_err();
        assert_eq!(executor.run(Part::Compute, &mut parameters), Err(RunError::NotBegun));
        error.to_string()
    };
    let ids = [1i64; 6];
    assert_eq!(
        with(0, Feed { values: HostSlice::I64(&ids), shape: &[3, 2], offsets: &[] }),
        "input `x` takes f32, but i64 was fed"
    );
    assert_eq!(with(0, floats(&x, &[2, 3])), "input `x` takes f32[_, 2], but [2, 3] was fed");
    assert_eq!(with(0, floats(&x, &[6])), "input `x` takes f32[_, 2], but [6] was fed");
    assert_eq!(with(0, floats(&x, &[3, 3])), "input `x` has 9 elements by its shape, but 6 were fed");
    assert_eq!(
        with(2, floats(&z, &[6, 1])),
        "input `z` takes f32[_, T], but [6, 1] was fed; `_` is 3 by another input"
    );
    assert_eq!(
        with(1, floats(&t[..1], &[1])),
        "input `z` takes f32[_, T], but [3, 2] was fed; `T` is 1 by another input"
    );
    let error = with(0, floats(&x, &[usize::MAX, 2]));
    assert!(error.contains("but 6 were fed"), "{error}");
    executor.begin(&|i| good[i]).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
}

fn sizes_that_overflow_are_errors<B: Backend + Clone>(backend: &B) {
    let mut program = Program::new();
    let n = program.create_symbol("N");
    let dim = Dim::symbol(n);
    let x =
        program.create_input("x", Type { dtype: DType::F32, rows: None, dims: vec![dim.clone()] }).unwrap();
    let mut cube = dim.clone();
    for _ in 0..3 {
        cube = (&cube * &cube).unwrap();
    }
    let ty = Type { dtype: DType::F32, rows: None, dims: vec![cube] };
    let huge = program.append_op(GLOBAL, Fill { value: Number::Float(0.0), ty }, &[], site()).unwrap()[0];
    let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
    let sum = program.append_op(GLOBAL, sum, &[huge], site()).unwrap()[0];
    program.set_outputs(&[sum, x]).unwrap();
    let (mut executor, _) = executor(backend, &program).unwrap();
    let values = [0.0; 1000];
    let shape = [1000];
    let error = executor.begin(&|_| floats(&values, &shape)).unwrap_err();
    assert!(matches!(error, RunError::TooLarge { .. }), "{error}");
    // The number of bytes can be computed, but not allocated.
    let shape = [40];
    let error = executor.begin(&|_| floats(&values[..40], &shape)).unwrap_err();
    assert!(matches!(error, RunError::TooLarge { .. } | RunError::OutOfMemory(_)), "{error}");
}

fn a_size_that_nothing_tells_is_refused_when_planning<B: Backend + Clone>(backend: &B) {
    let mut program = Program::new();
    let dim = Dim::symbol(program.create_symbol("K"));
    let ty = Type { dtype: DType::F32, rows: None, dims: vec![dim] };
    let fill = program.append_op(GLOBAL, Fill { value: Number::Float(0.0), ty }, &[], site()).unwrap();
    program.set_outputs(&fill).unwrap();
    let Err(error) = executor(backend, &program) else { panic!("`K` is bound by nothing") };
    assert_eq!(error, PlanError::UnboundSize { symbol: "K".into(), outside: false });
}

/// `Σ (x + y)²`. Only a check ensures that the sizes of both are equal.
const CHECKED: &str = "program {
    rows _ size T size U
    block 0 (x: f32[_, T], y: f32[_, U]) {
        z: f32[_, T] = elementwise_add(x, y) [at \"model.rs\":3:7]
        square: f32[_, T] = square(z)
        cost: f32[] = reduce_sum(square)
        return cost
    }
}";

fn sizes_that_a_batch_decides_are_checked_before_it_runs<B: Backend + Clone>(backend: &B) {
    let program = text::parse(CHECKED).unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let shapes = [[2, 3], [2, 3]];
    executor.begin(&|i| floats(&values[..6], &shapes[i])).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
    assert_eq!(f32s(&executor, 0), [4.0 * 55.0]);
    let shapes = [[2, 3], [2, 4]];
    let error = executor.begin(&|i| floats(&values[..2 * shapes[i][1]], &shapes[i])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model.rs:3:7: `y` is f32[_, U], but `x` is f32[_, T]: `elementwise_add` needs shapes that agree, where `T` is 3 and `U` is 4"
    );
    // Under a symbol, 1 is a size like any other.
    let shapes = [[2, 3], [2, 1]];
    assert!(executor.begin(&|i| floats(&values[..2 * shapes[i][1]], &shapes[i])).is_err());
}

fn sizes_that_a_run_computes_are_checked_when_they_are_known<B: Backend + Clone>(backend: &B) {
    let source = "program {
  rows _
  tokens _.m of _
  block 0 (n: i64[_], x: f32[6]) {
    numbers: i64[_.m] = sequence_range(n)
    places: i64[(_.m)] = rows_to_axis(numbers)
    some: f32[(_.m)] = gather(x, places, axis=0)
    behind: f32[(_.m) - 1] = slice(some, axes=[0], starts=[1], ends=[9223372036854775807])
    return behind
  }
}";
    let (mut executor, mut parameters) = executor(backend, &text::parse(source).unwrap()).unwrap();
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut run = |count: i64| {
        let n = [count];
        let feeds = [Feed { values: HostSlice::I64(&n), shape: &[1], offsets: &[] }, floats(&x, &[6])];
        executor.begin(&|i| feeds[i])?;
        executor.run(Part::Compute, &mut parameters)?;
        Ok::<_, RunError>(f32s(&executor, 0))
    };
    assert_eq!(run(4), Ok(x[1..4].to_vec()));
    for too_few in [0, 1] {
        let error = run(too_few).unwrap_err();
        assert!(matches!(error, RunError::Check { .. }), "{error}");
        assert!(error.to_string().ends_with(&format!("where `_.m` is {too_few}")), "{error}");
    }
    assert_eq!(run(6), Ok(x[1..].to_vec()));
}

fn a_size_from_outside_is_bound_before_planning<B: Backend + Clone>(backend: &B) {
    let text = "program { rows _ size N outside block 0 (x: f32[_, N]) { y: f32[_, N] = relu(x) return y } }";
    let program = text::parse(text).unwrap();
    let Err(error) = executor(backend, &program) else { panic!("`N` is bound by nothing") };
    assert_eq!(error, PlanError::UnboundSize { symbol: "N".into(), outside: true });
    let bound = program.bind(&[(program.outside_symbols().next().unwrap(), 3)]).unwrap();
    assert!(executor(backend, &bound).is_ok());
}

fn parameters_have_to_be_there_and_fit<B: Backend + Clone>(backend: &B) {
    let program = shapes();
    let Err(missing) = Executor::new(backend.clone(), &program, &Storage::new()) else {
        panic!("`w` is missing")
    };
    assert!(missing.to_string().contains("the parameters have no `w`"), "{missing}");
    let mut storage = Storage::new();
    storage.insert(4, "w", &Type::new(DType::F32, [3])).unwrap();
    let Err(other) = Executor::new(backend.clone(), &program, &storage) else {
        panic!("`w` is of another shape")
    };
    assert_eq!(other.to_string(), "parameter `w` is f32[3], but the network uses it as f32[2]");
    let conflict = storage.insert(4, "w", &Type::new(DType::F32, [2])).unwrap_err();
    assert_eq!(conflict.to_string(), "parameter `w` is f32[2] here, but f32[3] where it was first used");
}

fn at(program: &mut Program, line: u32) -> Site {
    let file = program.create_file("src/model.rs");
    Site { role: Role::Forward, place: Some(Place { file, line, column: 5, layer: None }) }
}

fn a_class_that_does_not_exist_is_an_error_at_its_place<B: Backend + Clone>(backend: &B) {
    let mut program = Program::new();
    let rows = program.create_rows("_");
    let x = program.create_input("x", Type::with_rows(DType::F32, rows, [2])).unwrap();
    let label = program.create_input("label", Type::with_rows(DType::I64, rows, [1])).unwrap();
    let site = at(&mut program, 14);
    let out = program.append_op(GLOBAL, SoftmaxWithCrossEntropy::HARD, &[x, label], site).unwrap();
    program.set_outputs(&out[1..]).unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let (x, shape, label, label_shape) = ([0.5; 4], [2, 2], [1, 2], [2, 1]);
    let feeds =
        [floats(&x, &shape), Feed { values: HostSlice::I64(&label), shape: &label_shape, offsets: &[] }];
    executor.begin(&|i| feeds[i]).unwrap();
    let error = executor.run(Part::Compute, &mut parameters).unwrap_err().to_string();
    assert!(error.starts_with("src/model.rs:14:5: `softmax_with_cross_entropy`: "), "{error}");
    assert!(error.contains('2'), "the id is named: {error}");
}

/// `while i < n { (a, b) = (b, a); i += 1 }`
fn swaps(limit: i64) -> Program {
    let mut program = Program::new();
    let scalar = Type::scalar(DType::F32);
    let n = program.create_input("n", scalar.clone()).unwrap();
    let a = program.create_input("a", Type::new(DType::F32, [2])).unwrap();
    let b = program.create_input("b", Type::new(DType::F32, [2])).unwrap();
    let constant = |program: &mut Program, block, value| {
        let fill = Fill { value: Number::Float(value), ty: Type::scalar(DType::F32) };
        program.append_op(block, fill, &[], site()).unwrap()[0]
    };
    let zero = constant(&mut program, GLOBAL, 0.0);
    let init: [VarId; 3] = [zero, a, b];
    let [condition, body] = [(); 2].map(|()| {
        let block = program.create_block(GLOBAL, None).unwrap();
        for (name, var) in ["i", "a", "b"].into_iter().zip(init) {
            let ty = program.ty(var).clone();
            program.create_block_parameter(block, name, ty).unwrap();
        }
        block
    });
    let state = program.block(condition).params[0];
    let less = program.append_op(condition, Compare { kind: CompareKind::LessThan }, &[state, n], site());
    program.set_results(condition, &less.unwrap()).unwrap();
    let one = constant(&mut program, body, 1.0);
    let &[i, a, b] = &program.block(body).params[..] else { panic!("three parameters") };
    let next = program.append_op(body, Binary { kind: BinaryKind::Add }, &[i, one], site()).unwrap()[0];
    program.set_results(body, &[next, b, a]).unwrap();
    let site = at(&mut program, 3);
    let out = program.append_block_op(GLOBAL, While { limit }, &init, &[condition, body], site).unwrap();
    program.set_outputs(&out).unwrap();
    program
}

fn a_loop_can_exchange_its_state<B: Backend + Clone>(backend: &B) {
    let (mut executor, mut parameters) = executor(backend, &swaps(100)).unwrap();
    let (a, b) = ([1.0, 2.0], [3.0, 4.0]);
    for n in 0..4 {
        let n = [n as f32];
        let feeds = [floats(&n, &[]), floats(&a, &[2]), floats(&b, &[2])];
        executor.begin(&|i| feeds[i]).unwrap();
        executor.run(Part::Compute, &mut parameters).unwrap();
        let (first, second) = if n[0] as i32 % 2 == 0 { (a, b) } else { (b, a) };
        assert_eq!((f32s(&executor, 1), f32s(&executor, 2)), (first.to_vec(), second.to_vec()));
        assert_eq!(f32s(&executor, 0), n);
    }
}

fn a_loop_ends_at_its_limit_with_an_error_at_its_place<B: Backend + Clone>(backend: &B) {
    let (mut executor, mut parameters) = executor(backend, &swaps(10)).unwrap();
    let (n, a) = ([f32::INFINITY], [0.0; 2]);
    let feeds = [floats(&n, &[]), floats(&a, &[2]), floats(&a, &[2])];
    executor.begin(&|i| feeds[i]).unwrap();
    let error = executor.run(Part::Compute, &mut parameters).unwrap_err();
    // An update needs the results of a computation.
    assert_eq!(executor.run(Part::Update, &mut parameters), Err(RunError::NotBegun));
    assert_eq!(
        error.to_string(),
        "src/model.rs:3:5: `while` did not end after 10 iterations; does its condition ever turn false?"
    );
    // The limit itself is allowed.
    let n = [10.0];
    let feeds = [floats(&n, &[]), floats(&a, &[2]), floats(&a, &[2])];
    executor.begin(&|i| feeds[i]).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
}

fn foreign_operators_are_refused_when_planning_all_at_once<B: Backend + Clone>(backend: &B) {
    let mut program = Program::new();
    let mut x = program.create_input("x", Type::new(DType::F32, [2, 2])).unwrap();
    for (line, name) in (9..).zip(["conv2d", "pool2d", "conv2d", "dropout"]) {
        let foreign = Foreign { name: name.into(), desc: Vec::new(), types: vec![program.ty(x).clone()] };
        let site = at(&mut program, line);
        x = program.append_op(GLOBAL, foreign, &[x], site).unwrap()[0];
    }
    program.set_outputs(&[x]).unwrap();
    let Err(error) = executor(backend, &program) else { panic!("they have no kernels") };
    assert_eq!(
        error.to_string(),
        format!(
            "src/model.rs:9:5: operator `conv2d` does not run on `{}`: it has no kernel, nor have `dropout`, `pool2d`",
            backend.name()
        )
    );
}

/// `sum(if x > 0 { 2 x } else { 3 x })`. Only its gradient is fetched.
fn a_gradient_alone_still_splits_the_rows<B: Backend + Clone>(backend: &B) {
    let text = "program {
  rows _
  block 0 (x: f32[_, 1]) {
    zero: f32[] = fill_constant(value=0.0)
    positive: bool[_, 1] = greater_than(x, zero)
    out: f32[_, 1] = if(positive) {
      block 1 on _.1 of _ {
        x_1: f32[_.1, 1] = gather_rows(x)
        twice: f32[_.1, 1] = scale(x_1, scale=2.0)
        yield twice
      }
      block 2 on _.2 of _ {
        x_2: f32[_.2, 1] = gather_rows(x)
        thrice: f32[_.2, 1] = scale(x_2, scale=3.0)
        yield thrice
      }
    }
    cost: f32[] = reduce_sum(out)
    return cost
  }
}";
    let mut program = paddle_core::text::parse(text).unwrap();
    let x = program.find("x").unwrap();
    let grad = gradients(&mut program, &[x]).unwrap()[0].unwrap();
    program.set_outputs(&[grad]).unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let (x, shape) = ([1.0, -1.0, 2.0, -3.0, -4.0], [5, 1]);
    executor.begin(&|_| floats(&x, &shape)).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
    assert_eq!(f32s(&executor, 0), [2.0, 3.0, 2.0, 3.0, 3.0]);
}

/// The gradient of a mean needs the shape of the averaged value, not its elements.
fn a_loop_saves_no_value_for_its_shape<B: Backend + Clone>(backend: &B) {
    let text = "program {
  rows _
  block 0 (x: f32[_, 2], n: f32[]) {
    zero: f32[] = fill_constant(value=0.0)
    i_end: f32[], h_end: f32[_, 2] = while(zero, x) {
      block 1 (i: f32[], h: f32[_, 2]) {
        less_than: bool[] = less_than(i, n)
        yield less_than
      }
      block 2 (i_1: f32[], h_1: f32[_, 2]) {
        one: f32[] = scale(i_1, bias=1.0)
        squared: f32[_, 2] = square(h_1)
        centre: f32[] = reduce_mean(squared)
        next: f32[_, 2] = elementwise_sub(h_1, centre)
        yield one, next
      }
    }
    cost: f32[] = reduce_sum(h_end)
    return cost
  }
}";
    let mut program = paddle_core::text::parse(text).unwrap();
    let (x, cost) = (program.find("x").unwrap(), program.find("cost").unwrap());
    let grad = gradients(&mut program, &[x]).unwrap()[0].unwrap();
    program.set_outputs(&[cost, grad]).unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let plan = executor.plan().to_string();
    assert!(plan.contains("h_1: tape of loop 0"), "{plan}");
    assert!(!plan.contains("squared: tape"), "{plan}");
    let (x, shape, n) = ([0.5, -1.0], [1, 2], [1.0]);
    let feeds = [floats(&x, &shape), floats(&n, &[])];
    executor.begin(&|i| feeds[i]).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
    // d/dx Σⱼ (xⱼ - mean(x²)) = 1 - 2 x.
    assert_eq!(f32s(&executor, 1), [0.0, 3.0]);
}

fn random_numbers_are_those_of_the_seed<B: Backend + Clone>(backend: &B) {
    let mut program = Program::new();
    let draw =
        UniformRandom { min: 0.0, max: 1.0, fan: None, path: String::new(), ty: Type::new(DType::F32, [8]) };
    let drawn = program.append_op(GLOBAL, draw, &[], site()).unwrap();
    program.set_outputs(&drawn).unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let mut draw = |seed| {
        executor.set_seed(seed);
        executor.begin(&|_| unreachable!("there are no inputs")).unwrap();
        executor.run(Part::Compute, &mut parameters).unwrap();
        f32s(&executor, 0)
    };
    let first = draw(1);
    assert_eq!(first, draw(1));
    assert_ne!(first, draw(2));
}

/// Offsets have to fit the tokens, the rows of other inputs, and each other where inputs share tokens.
fn offsets_that_do_not_fit_are_errors<B: Backend + Clone>(backend: &B) {
    let source = "program {
  rows _
  tokens _.x of _
  block 0 (x: f32[_.x, 2], y: f32[_], z: f32[_.x]) {
    pooled: f32[_, 2] = sequence_pool(x, pooltype=\"SUM\")
    return pooled, z, y
  }
}";
    let program = paddle_core::text::parse(source).unwrap();
    let mut parameters = Buffers::default();
    let mut executor = Executor::new(backend.clone(), &program, &Storage::new()).unwrap();
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut begin = |x: &[Vec<i64>], y: &[Vec<i64>], z: &[Vec<i64>]| {
        let begun = executor.begin(&|i| match i {
            0 => Feed { values: HostSlice::F32(&values), shape: &[3, 2], offsets: x },
            1 => Feed { values: HostSlice::F32(&values[..2]), shape: &[2], offsets: y },
            _ => Feed { values: HostSlice::F32(&values[..3]), shape: &[3], offsets: z },
        });
        begun.map_err(|error| error.to_string())
    };
    let good = &[vec![0, 1, 3]][..];
    let wrong = [
        (begin(&[], &[], good), "`x` takes Seq<Tensor<f32, 2>>: sequences are fed with offsets"),
        (begin(good, good, good), "`y` takes f32[_]: it takes no sequences, but offsets were fed"),
        (begin(&[vec![0, 3]], &[], good), "`y` takes f32[_], but [2] was fed; `_` is 1 by another input"),
        (
            begin(good, &[], &[vec![0, 3]]),
            "`z` takes Seq<f32>: there are 1 sequences, but another input has 2 rows",
        ),
        (
            begin(good, &[], &[vec![0, 2, 3]]),
            "`z` takes Seq<f32>: it has the tokens of `x`, but other offsets",
        ),
        (
            begin(&[vec![0, 1], vec![0, 3]], &[], good),
            "`x` takes Seq<Tensor<f32, 2>>: it takes 1 lists of offsets, one for each level of sequences, but 2 were fed",
        ),
        (begin(&[vec![0, 4, 3]], &[], good), "offsets never fall, but number 2 is 3 behind 4"),
    ];
    for (found, expected) in wrong {
        let found = found.unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
    begin(good, &[], good).unwrap();
    executor.run(Part::Compute, &mut parameters).unwrap();
    assert_eq!(f32s(&executor, 0), [1.0, 2.0, 8.0, 10.0]);
    let counts = |output: usize| executor.output_offsets(output).collect::<Vec<_>>();
    assert_eq!((counts(0), counts(1)), (vec![], vec![3]));
    let mut offsets = [7; 3];
    executor.fetch_offsets(1, 0, &mut offsets);
    assert_eq!(offsets, [0, 1, 3]);
}

fn a_block_is_run_whole_whatever_roles_its_operators_have<B: Backend + Clone>(backend: &B) {
    let source = "program { rows _ block 0 (x: f32[_]) {
      zero: f32[] = fill_constant(value=0.0)
      more: bool[_] = greater_than(x, zero)
      y: f32[_] = if(more) {
        block 1 on _.1 of _ { x1: f32[_.1] = gather_rows(x) y1: f32[_.1] = square(x1) [optimize] yield y1 }
        block 2 on _.2 of _ { x2: f32[_.2] = gather_rows(x) yield x2 }
      }
      return y
    } }";
    let (mut run, mut none) = executor(backend, &text::parse(source).unwrap()).unwrap();
    assert!(run.plan().to_string().starts_with("plan {\n  compute {"));
    run.begin(&|_| floats(&[3.0, -2.0], &[2])).unwrap();
    run.run(Part::Compute, &mut none).unwrap();
    assert_eq!(f32s(&run, 0), [9.0, -2.0]);
}

/// Parameters that are only read may change between runs: kernels that keep something of them notice.
fn parameters_change_between_runs<B: Backend + Clone>(backend: &B) {
    let program = text::parse(
        "program {
  rows _
  parameter w: f32[2, 1] = fill_constant(value=2.0)
  block 0 (x: f32[_, 2]) {
    y: f32[_, 1] = matmul_v2(x, w)
    return y
  }
}",
    )
    .unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let storage = storage(backend, &program);
    for (w, expected) in [([2.0, 2.0], [6.0]), ([1.0, 10.0], [21.0]), ([0.0, 1.0], [2.0])] {
        parameters.upload(backend, storage.find("w").unwrap(), HostSlice::F32(&w));
        for _ in 0..3 {
            executor.begin(&|_| floats(&[1.0, 2.0], &[1, 2])).unwrap();
            executor.run_shared(&parameters).unwrap();
            assert_eq!(f32s(&executor, 0), expected);
        }
    }
}

/// What follows from parameters alone is computed when they have changed, and kept otherwise, whatever sizes batches have.
fn what_follows_from_parameters_is_prepared<B: Backend + Clone>(backend: &B) {
    let program = text::parse(
        "program {
  rows _
  parameter w: f32[2, 1] = fill_constant(value=2.0)
  block 0 (x: f32[_, 2]) {
    two: f32[2, 1] = fill_constant(value=2.0)
    doubled: f32[2, 1] = elementwise_mul(w, two)
    row: f32[1, 2] = transpose2(doubled, perm=[1, 0])
    column: f32[2, 1] = transpose2(row, perm=[1, 0])
    squared: f32[2, 1] = square(column)
    y: f32[_, 1] = matmul_v2(x, squared)
    seen: f32[1, 2] = transpose2(doubled, perm=[1, 0])
    return y, seen
  }
}",
    )
    .unwrap();
    let (mut executor, mut parameters) = executor(backend, &program).unwrap();
    let plan = executor.plan().to_string();
    assert!(plan.starts_with("plan {\n  prepare {\n") && plan.contains("squared: prepared"), "{plan}");
    assert!(plan.contains("seen: pool"), "an output is fetched from the pool: {plan}");
    let storage = storage(backend, &program);
    let values = [([2.0, 2.0], [48.0]), ([1.0, 10.0], [804.0]), ([0.0, 0.5], [2.0])];
    for (rows, (w, expected)) in [1, 400, 3].into_iter().zip(values) {
        parameters.upload(backend, storage.find("w").unwrap(), HostSlice::F32(&w));
        for shared in [true, true, false, true] {
            let (x, shape) = ([1.0, 2.0].repeat(rows), [rows, 2]);
            executor.begin(&|_| floats(&x, &shape)).unwrap();
            match shared {
                true => executor.run_shared(&parameters).unwrap(),
                false => executor.run(Part::Compute, &mut parameters).unwrap(),
            }
            assert_eq!(f32s(&executor, 0), expected.repeat(rows));
            assert_eq!(f32s(&executor, 1), w.map(|w| 2.0 * w));
        }
    }
}

on_every_device!(
    inputs_and_parameters_can_be_outputs,
    batches_of_any_size_follow_each_other,
    a_wrong_batch_is_refused_by_name,
    sizes_that_overflow_are_errors,
    a_size_that_nothing_tells_is_refused_when_planning,
    sizes_that_a_batch_decides_are_checked_before_it_runs,
    sizes_that_a_run_computes_are_checked_when_they_are_known,
    a_size_from_outside_is_bound_before_planning,
    parameters_have_to_be_there_and_fit,
    a_class_that_does_not_exist_is_an_error_at_its_place,
    a_loop_can_exchange_its_state,
    a_loop_ends_at_its_limit_with_an_error_at_its_place,
    foreign_operators_are_refused_when_planning_all_at_once,
    a_gradient_alone_still_splits_the_rows,
    a_loop_saves_no_value_for_its_shape,
    random_numbers_are_those_of_the_seed,
    offsets_that_do_not_fit_are_errors,
    parameters_change_between_runs,
    what_follows_from_parameters_is_prepared,
    a_block_is_run_whole_whatever_roles_its_operators_have,
);
