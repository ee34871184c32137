//! A network of a file, whatever its inputs are: its program, and what two backends make of a random batch.

use std::collections::BTreeMap;
use std::ops::Deref;

use ndarray::{ArrayD, IxDyn};
use paddle::core::ops::{OfShards, Program};
use paddle::core::plan::Backend;
use paddle::core::program::{DType, VarId};
use paddle::core::wire::TensorRecord;
use paddle::{
    Batch, Cpu, Dynamic, Element, Error, Network, Options, Outputs, Parameters, Sgd, Spec, Trainer,
};
use paddle_kernels::reference::Reference;

use crate::queued::Queued;
use crate::support::tensor::{Tensor, Values};

/// A network; it is its program, and can be run.
pub(crate) struct Model {
    network: Network<Dynamic>,
    /// Why it cannot be trained, as far as rustc knows.
    untrainable: Option<&'static str>,
}

impl Model {
    pub(crate) fn new<S: Spec>(network: Network<S>) -> Self {
        let program = network.program().unwrap_or_else(|error| panic!("{error}")).clone();
        Model { network: Network::from_program(program).unwrap(), untrainable: S::UNTRAINABLE }
    }

    /// The names of the parameters.
    pub(crate) fn parameter_names(&self) -> Vec<&str> {
        self.parameters().map(|id| self.var(id).name.as_str()).collect()
    }

    /// Whether there is something to train: a cost, and parameters.
    pub(crate) fn trains(&self) -> bool {
        let cost = self.ty(self.outputs()[0]);
        cost.is_scalar() && cost.dtype.is_float() && self.parameters().next().is_some()
    }

    /// Runs a batch of random rows on both backends. They have to agree on the outputs, and where there is
    /// something to train, on the cost and the parameters behind a step, which are finite and, of several
    /// rows, not what they were.
    pub(crate) fn run(&self, rows: usize, what: &str) {
        let what = format!("{what}, {rows} rows");
        let batch: Vec<_> = self.inputs().iter().map(|&input| self.random(input, rows, 0)).collect();
        let net = &self.network;
        let (found, expected) = (infer(cpu(), net, &batch), infer(Reference::single(), net, &batch));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            found.assert_close(expected, 1e-4, 1e-5, &format!("{what}: output {k}"));
        }
        // The same arithmetic, some time later.
        let queued = || Queued(cpu());
        assert!(infer(queued(), net, &batch) == found, "{what}: a device that works on its own time");
        // But for rounding, a card gives the same.
        #[cfg(any(feature = "cuda", feature = "wgpu"))]
        for card in crate::cards() {
            for (k, (found, expected)) in infer(card.clone(), net, &batch).iter().zip(&expected).enumerate() {
                found.assert_close(expected, 1e-4, 2e-5, &format!("{what}: output {k} on a card"));
            }
        }
        if !self.trains() {
            return;
        }
        assert_eq!(self.untrainable, None, "{what}");
        let (found, expected) =
            (step(cpu(), net, &batch, 1).unwrap(), step(Reference::single(), net, &batch, 1).unwrap());
        #[cfg(any(feature = "cuda", feature = "wgpu"))]
        for card in crate::cards() {
            let found = step(card.clone(), net, &batch, 1).unwrap();
            for (name, (found, expected)) in self.trained().zip(found.iter().zip(&expected)) {
                found.assert_close(expected, 1e-4, 2e-5, &format!("{what}: {name} after a step on a card"));
            }
        }
        let late = step(queued(), net, &batch, 1).unwrap();
        assert!(late == found, "{what}: a step on a device that works on its own time");
        for (name, (found, expected)) in self.trained().zip(found.iter().zip(&expected)) {
            let what = format!("{what}: {name} after a step");
            found.assert_close(expected, 1e-4, 1e-5, &what);
            assert!(found.values.numbers().iter().all(|value| value.is_finite()), "{what}: {found:?}");
        }
        let moved = values(net, &create(cpu(), net)) != found[1..];
        assert!(moved || rows < 2, "{what}: a step changes nothing");
    }

    /// A batch of random rows whose sequences have at least so many tokens, the outputs for it, and the parameters that they
    /// were computed with.
    pub(crate) fn computed(
        &self,
        rows: usize,
        fewest: usize,
    ) -> (Vec<Tensor>, Vec<Tensor>, BTreeMap<String, TensorRecord>) {
        let net = &self.network;
        let batch: Vec<_> = self.inputs().iter().map(|&input| self.random(input, rows, fewest)).collect();
        let mut parameters = create(cpu(), net);
        // Not as they are at first, when much is zero or equal.
        for (k, value) in values(net, &parameters).iter().enumerate() {
            if let Values::F32(numbers) = &value.values {
                let moved = |(i, number): (usize, &f32)| number + ((i * 37 + k * 11) % 41) as f32 / 2000.0;
                let moved = numbers.iter().enumerate().map(moved).collect();
                let array = ArrayD::<f32>::from_shape_vec(IxDyn(&value.shape), moved).unwrap();
                parameters.set(self.parameter_names()[k], &array).unwrap();
            }
        }
        let outputs = infer_with(&parameters, net, &batch);
        let values = values(net, &parameters);
        let names = self.parameter_names().into_iter().map(str::to_string);
        (batch, outputs, names.zip(values.iter().map(Tensor::to_record)).collect())
    }

    /// A step in shards of a batch of random rows has to give what one of the whole batch gives, unless it is refused:
    /// then why.
    pub(crate) fn run_in_shards(&self, rows: usize, shards: usize, what: &str) -> Option<String> {
        let batch: Vec<_> = self.inputs().iter().map(|&input| self.random(input, rows, 0)).collect();
        let whole = step(cpu(), &self.network, &batch, 1).unwrap();
        let found = match step(cpu(), &self.network, &batch, shards) {
            Ok(found) => found,
            Err(Error::Gradient(refused)) => return Some(refused.message),
            Err(error) => panic!("{what}: {error}"),
        };
        // Where rows are normalised among those of their shard, other values are right.
        if self.normalises_rows() {
            return None;
        }
        for (name, (found, expected)) in self.trained().zip(found.iter().zip(&whole)) {
            found.assert_close(
                expected,
                1e-4,
                1e-5,
                &format!("{what}, {rows} rows, {shards} shards: {name}"),
            );
        }
        None
    }

    fn normalises_rows(&self) -> bool {
        let program = self.network.program().unwrap();
        let mut operators = program.blocks().iter().flat_map(|block| &block.ops);
        operators.any(|operator| operator.op.effects().of_shards.contains(&OfShards::OwnRows))
    }

    /// What a step gives: the cost, and the parameters.
    fn trained(&self) -> impl Iterator<Item = &str> {
        ["the cost"].into_iter().chain(self.parameter_names())
    }

    /// A value for an input, of sequences with at least so many tokens. Sizes that a batch binds are 3, and so are whole
    /// numbers that are the same for all rows.
    fn random(&self, input: VarId, rows: usize, fewest: usize) -> Tensor {
        let (name, ty) = (&self.var(input).name, self.ty(input));
        let mut leading = rows;
        let mut offsets: Vec<Vec<i64>> = Vec::new();
        for _ in self.levels(ty) {
            let lengths = (0..leading).map(|row| ((row * 5 + name.len()) % 4).max(fewest));
            let ends = lengths.scan(0, |end, length| {
                *end += length as i64;
                Some(*end)
            });
            offsets.push([0].into_iter().chain(ends).collect());
            leading = offsets.last().map_or(0, |offsets| offsets[leading] as usize);
        }
        let mut shape: Vec<usize> =
            self.shape(ty).iter().map(|dim| dim.constant().unwrap_or(3) as usize).collect();
        if ty.rows.is_some_and(|space| !offsets.is_empty() || self.row_space(space).name == "_") {
            shape[0] = leading;
        }
        let count = shape.iter().product();
        let seed = name.bytes().fold(7, |seed, byte| seed * 31 + usize::from(byte)) % 1009;
        let number = |i: usize| ((i + seed) * 7919 + i * i * 13) % 401;
        let whole = |i: usize| if shape.is_empty() { 3 } else { number(i) % 2 };
        let real = |i: usize| number(i) as f64 / 200.0 - 1.0;
        let values = match ty.dtype {
            DType::Bool => Values::Bool((0..count).map(|i| number(i) % 2 == 0).collect()),
            DType::I32 => Values::I32((0..count).map(|i| whole(i) as i32).collect()),
            DType::I64 => Values::I64((0..count).map(|i| whole(i) as i64).collect()),
            DType::F32 => Values::F32((0..count).map(|i| real(i) as f32).collect()),
            DType::F64 => Values::F64((0..count).map(real).collect()),
        };
        Tensor { shape, values, offsets }
    }
}

impl Deref for Model {
    type Target = Program;

    fn deref(&self) -> &Program {
        self.network.program().unwrap()
    }
}

fn cpu() -> Cpu {
    Cpu::with_threads(1).unwrap()
}

fn create<B: Backend>(backend: B, net: &Network<Dynamic>) -> Parameters<B> {
    Parameters::create_on(backend, net, 1).unwrap()
}

fn infer<B: Backend + Clone>(backend: B, net: &Network<Dynamic>, inputs: &[Tensor]) -> Vec<Tensor> {
    infer_with(&create(backend, net), net, inputs)
}

fn infer_with<B: Backend + Clone>(
    parameters: &Parameters<B>,
    net: &Network<Dynamic>,
    inputs: &[Tensor],
) -> Vec<Tensor> {
    let outputs = paddle::infer(net, parameters, batch(net, inputs));
    let outputs = outputs.unwrap_or_else(|error| panic!("{error}"));
    let program = net.program().unwrap();
    (0..outputs.len()).map(|k| output(&outputs, k, program.ty(program.outputs()[k]).dtype)).collect()
}

/// The cost, and the parameters behind the step.
fn step<B: Backend + Clone>(
    backend: B,
    net: &Network<Dynamic>,
    inputs: &[Tensor],
    shards: usize,
) -> Result<Vec<Tensor>, Error> {
    let mut parameters = create(backend, net);
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let options = Options::default().shards(shards);
    let cost = trainer.step_with(net, &mut parameters, batch(net, inputs), &options)?.cost();
    Ok([Tensor::f32(&[], &[cost])].into_iter().chain(values(net, &parameters)).collect())
}

/// The values of the parameters.
fn values<B: Backend>(net: &Network<Dynamic>, parameters: &Parameters<B>) -> Vec<Tensor> {
    let program = net.program().unwrap();
    let value = |parameter| {
        let name = &program.var(parameter).name;
        match program.ty(parameter).dtype {
            DType::F32 => tensor(&parameters.get::<f32>(name).unwrap(), Values::F32),
            DType::I64 => tensor(&parameters.get::<i64>(name).unwrap(), Values::I64),
            _ => tensor(&parameters.get::<f64>(name).unwrap(), Values::F64),
        }
    };
    program.parameters().map(value).collect()
}

fn batch(net: &Network<Dynamic>, inputs: &[Tensor]) -> Batch<Dynamic> {
    let mut batch = Batch::new(net).unwrap();
    let program = net.program().unwrap();
    for (&input, tensor) in program.inputs().iter().zip(inputs) {
        let name = &program.var(input).name;
        match &tensor.values {
            Values::Bool(values) => set(&mut batch, name, tensor, values),
            Values::I32(values) => set(&mut batch, name, tensor, values),
            Values::I64(values) => set(&mut batch, name, tensor, values),
            Values::F32(values) => set(&mut batch, name, tensor, values),
            Values::F64(values) => set(&mut batch, name, tensor, values),
        }
    }
    batch
}

fn set<T: Element>(batch: &mut Batch<Dynamic>, name: &str, tensor: &Tensor, values: &[T]) {
    let array = ArrayD::from_shape_vec(IxDyn(&tensor.shape), values.to_vec()).unwrap();
    let levels = tensor.offsets.iter().map(|offsets| offsets.iter().map(|&at| at as usize).collect());
    let levels: Vec<Vec<usize>> = levels.collect();
    let levels: Vec<&[usize]> = levels.iter().map(Vec::as_slice).collect();
    let set = match levels[..] {
        [] => batch.set(name, &array),
        [offsets] => batch.set_sequences(name, &array, offsets),
        _ => batch.set_nested_sequences(name, &array, &levels),
    };
    set.unwrap_or_else(|error| panic!("{error}"));
}

fn output(outputs: &Outputs, k: usize, dtype: DType) -> Tensor {
    fn of<T: Element>(outputs: &Outputs, k: usize, values: fn(Vec<T>) -> Values) -> Tensor {
        tensor(&outputs.at::<T>(k).unwrap().to_owned(), values)
    }
    let tensor = match dtype {
        DType::Bool => of(outputs, k, Values::Bool),
        DType::I32 => of(outputs, k, Values::I32),
        DType::I64 => of(outputs, k, Values::I64),
        DType::F32 => of(outputs, k, Values::F32),
        DType::F64 => of(outputs, k, Values::F64),
    };
    let offsets = outputs.levels(k).iter().map(|offsets| offsets.iter().map(|&at| at as i64).collect());
    Tensor { offsets: offsets.collect(), ..tensor }
}

fn tensor<T: Element>(array: &ArrayD<T>, values: fn(Vec<T>) -> Values) -> Tensor {
    Tensor {
        shape: array.shape().to_vec(),
        values: values(array.iter().copied().collect()),
        offsets: Vec::new(),
    }
}
