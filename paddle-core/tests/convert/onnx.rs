//! Models in ONNX: what is refused, all of it at once, and models that are damaged.

use paddle_core::convert::{Fault, OnnxModel, Unsupported, VariableFault, load_onnx, load_onnx_to_train};
use paddle_core::wire::WireError;
use paddle_core::wire::onnx::{
    AttributeProto, DimensionProto, ElementType, GraphProto, ModelProto, NodeProto, OperatorSetId,
    ShapeProto, TensorProto, TensorTypeProto, TypeProto, ValueInfoProto,
};

use crate::changes::Random;
use crate::fuzz::survives;

/// A value of this element type. A size below 0 is the batch.
fn value(name: &str, element: ElementType, dims: &[i64]) -> ValueInfoProto {
    let dim = |&size: &i64| match size {
        0.. => DimensionProto { dim_value: Some(size), ..Default::default() },
        _ => DimensionProto { dim_param: Some("batch".into()), ..Default::default() },
    };
    let shape = Some(ShapeProto { dim: dims.iter().map(dim).collect(), ..Default::default() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(element as i32), shape, ..Default::default() });
    let ty = TypeProto { tensor_type, ..Default::default() };
    ValueInfoProto { name: name.into(), r#type: Some(ty), ..Default::default() }
}

fn floats(name: &str, dims: &[i64]) -> ValueInfoProto {
    value(name, ElementType::Float, dims)
}

fn weight(name: &str, dims: &[i64]) -> TensorProto {
    let count = dims.iter().product::<i64>();
    TensorProto {
        name: Some(name.into()),
        data_type: Some(ElementType::Float as i32),
        dims: dims.to_vec(),
        float_data: (0..count).map(|k| k as f32 * 0.25 - 1.0).collect(),
        ..Default::default()
    }
}

fn longs(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(ElementType::Int64 as i32),
        dims: vec![values.len() as i64],
        raw_data: Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        ..Default::default()
    }
}

fn model(graph: GraphProto) -> ModelProto {
    ModelProto { graph, opset_import: vec![OperatorSetId::new(17)], ..Default::default() }
}

fn graph(
    node: Vec<NodeProto>,
    initializer: Vec<TensorProto>,
    input: &[ValueInfoProto],
    output: &[&str],
) -> GraphProto {
    let output =
        output.iter().map(|name| ValueInfoProto { name: name.to_string(), ..Default::default() }).collect();
    GraphProto { node, initializer, input: input.to_vec(), output, ..Default::default() }
}

fn of_graph(name: &str, graph: &GraphProto) -> AttributeProto {
    AttributeProto { name: name.into(), g: Some(graph.encode_to_vec()), ..Default::default() }
}

fn images() -> ModelProto {
    let nodes = vec![
        NodeProto::new("Conv", ["x", "filters"], ["maps"]).with(AttributeProto::ints("pads", [1, 1, 1, 1])),
        NodeProto::new("BatchNormalization", ["maps", "scale", "scale", "mean", "scale"], ["norm"]),
        NodeProto::new("MaxPool", ["norm"], ["pooled"])
            .with(AttributeProto::ints("kernel_shape", [2, 2]))
            .with(AttributeProto::ints("strides", [2, 2])),
        NodeProto::new("Shape", ["pooled"], ["shape"]),
        NodeProto::new("Slice", ["shape", "zero", "one"], ["rows"]),
        NodeProto::new("Concat", ["rows", "rest"], ["flat"]).with(AttributeProto::int("axis", 0)),
        NodeProto::new("Reshape", ["pooled", "flat"], ["features"]),
        NodeProto::new("Gemm", ["features", "w", "b"], ["y"]).with(AttributeProto::int("transB", 1)),
    ];
    let initial = vec![
        weight("filters", &[3, 2, 3, 3]),
        weight("scale", &[3]),
        weight("mean", &[3]),
        weight("w", &[2, 12]),
        weight("b", &[2]),
        longs("zero", &[0]),
        longs("one", &[1]),
        longs("rest", &[-1]),
    ];
    model(graph(nodes, initial, &[floats("x", &[-1, 2, 4, 4])], &["y"]))
}

fn recurrent() -> ModelProto {
    let nodes = vec![
        NodeProto::new("Transpose", ["x"], ["steps"]).with(AttributeProto::ints("perm", [1, 0, 2])),
        NodeProto::new("GRU", ["steps", "w", "r", "b"], ["all", "last"])
            .with(AttributeProto::int("hidden_size", 2)),
        NodeProto::new("Squeeze", ["last", "zero"], ["y"]),
    ];
    let initial =
        vec![weight("w", &[1, 6, 3]), weight("r", &[1, 6, 2]), weight("b", &[1, 12]), longs("zero", &[0])];
    model(graph(nodes, initial, &[floats("x", &[-1, 5, 3])], &["y"]))
}

fn control_flow() -> ModelProto {
    let branch = |op: &str| graph(vec![NodeProto::new(op, ["x"], ["out"])], Vec::new(), &[], &["out"]);
    let body = graph(
        vec![
            NodeProto::new("Identity", ["on"], ["next"]),
            NodeProto::new("Add", ["sum", "chosen"], ["more"]),
        ],
        Vec::new(),
        &[value("k", ElementType::Int64, &[]), value("on", ElementType::Bool, &[]), floats("sum", &[2, 3])],
        &["next", "more", "more"],
    );
    let nodes = vec![
        NodeProto::new("If", ["which"], ["chosen"])
            .with(of_graph("then_branch", &branch("Tanh")))
            .with(of_graph("else_branch", &branch("Neg"))),
        NodeProto::new("Loop", ["times", "", "x"], ["y", "all"]).with(of_graph("body", &body)),
    ];
    let inputs = [value("which", ElementType::Bool, &[]), floats("x", &[2, 3])];
    model(graph(nodes, vec![longs("times", &[3])], &inputs, &["y", "all"]))
}

fn all() -> [(&'static str, ModelProto); 3] {
    [("images", images()), ("recurrent", recurrent()), ("control_flow", control_flow())]
}

fn refuse(model: &ModelProto) -> Unsupported {
    match load_onnx(model) {
        Ok(OnnxModel { program, .. }) => panic!("it is read:\n{program}"),
        Err(unsupported) => unsupported,
    }
}

#[test]
fn models_are_read() {
    for (name, model) in all() {
        let bytes = model.encode_to_vec();
        assert_eq!(ModelProto::decode(&bytes).unwrap(), model);
        let read = load_onnx(&model).unwrap_or_else(|error| panic!("{name}: {error}"));
        survives(&read.program);
        survives(&load_onnx_to_train(&model).unwrap().program);
        let parameters = read.program.parameters().map(|var| read.program.var(var).name.as_str());
        assert!(parameters.eq(read.parameters.keys().map(String::as_str)) || parameters_of(&read), "{name}");
    }
}

/// Whether the values are those of the parameters.
fn parameters_of(read: &OnnxModel) -> bool {
    let named =
        |name: &String| read.program.find(name).is_some_and(|var| read.program.initializer(var).is_some());
    read.parameters.len() == read.program.parameters().count() && read.parameters.keys().all(named)
}

/// Names are any text: those of values, and of sizes.
#[test]
fn odd_names() {
    let names = ["_", "N + 1", "a b", "", "8", "_.x", "\"", "é"];
    let dims = names.map(|name| DimensionProto { dim_param: Some(name.into()), ..Default::default() });
    let shape = Some(ShapeProto { dim: dims.to_vec(), ..Default::default() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape, ..Default::default() });
    let ty = Some(TypeProto { tensor_type, ..Default::default() });
    let of = |name: &str| ValueInfoProto { name: name.into(), r#type: ty.clone(), ..Default::default() };
    let (a, b, c) = ("/a/b:0 \"c\"", "8", "\n");
    let nodes = vec![NodeProto::new("Relu", [a], [c]), NodeProto::new("Add", [c, b], ["return"])];
    let read = load_onnx(&model(graph(nodes, Vec::new(), &[of(a), of(b)], &["return"]))).unwrap();
    survives(&read.program);
}

/// The running statistics of the images share an initialiser with the scale, which is trained; they are not.
#[test]
fn statistics_are_parameters_of_their_own() {
    let program = load_onnx_to_train(&images()).unwrap().program;
    let trained = |name: &str| program.parameter_options(program.find(name).unwrap()).trainable;
    assert_eq!(["filters", "scale", "mean", "scale_1"].map(trained), [true, true, false, false]);
}

/// Everything that is not supported is listed at once: an operator, one of another domain, one within a branch, a form, a type.
#[test]
fn all_that_is_not_supported() {
    let branch = |op: &str| graph(vec![NodeProto::new(op, ["x"], ["out"])], Vec::new(), &[], &["out"]);
    let mut foreign = NodeProto::new("Relu", ["x"], ["d"]);
    (foreign.domain, foreign.name) = (Some("com.example".into()), Some("theirs".into()));
    let nodes = vec![
        NodeProto::new("MaxRoiPool", ["x"], ["a"]),
        NodeProto::new("Relu", ["a"], ["b"]),
        NodeProto::new("If", ["which"], ["c"])
            .with(of_graph("then_branch", &branch("Unique")))
            .with(of_graph("else_branch", &branch("Neg"))),
        foreign,
        NodeProto::new("Gelu", ["x"], ["e"]).with(AttributeProto::text("approximate", "nearly")),
        NodeProto::new("Det", ["b"], ["f"]),
    ];
    let inputs =
        [value("which", ElementType::Bool, &[]), floats("x", &[2, 3]), value("s", ElementType::String, &[2])];
    let unsupported = refuse(&model(graph(nodes, Vec::new(), &inputs, &["f"])));
    assert_eq!(
        unsupported.to_string(),
        "the program cannot be run, for 6 reasons:\n\
         - variable `s`: its elements are STRING; supported are BOOL, INT8, INT16, INT32, INT64, UINT8, FLOAT16, BFLOAT16, FLOAT and DOUBLE\n\
         - block 0, operator 0 `MaxRoiPool`: there is no such operator here\n\
         - block 1, operator 0 `Unique`: there is no such operator here\n\
         - block 0, operator 3 `Relu` named `theirs`: there is no such operator here\n\
         - block 0, operator 4 `Gelu`: its `approximate` is neither `none` nor `tanh`\n\
         - block 0, operator 5 `Det`: there is no such operator here"
    );
}

#[test]
fn files_that_are_broken() {
    let of = |change: fn(&mut ModelProto)| {
        let mut model = images();
        change(&mut model);
        refuse(&model).faults.remove(0).fault
    };
    // Operators are in an order in which they can run.
    let cyclic = of(|model| model.graph.node[0].input[0] = "y".into());
    assert_eq!(cyclic, Fault::Undefined { name: "y".into() });
    let twice = of(|model| model.graph.node[1].output[0] = "maps".into());
    assert_eq!(twice, Fault::DeclaredTwice { block: 0, name: "maps".into() });
    let short = of(|model| model.graph.initializer[1].float_data.truncate(2));
    let cause = Box::new(WireError::DataLength { expected: 12, found: 8 });
    assert_eq!(short, Fault::Wire(WireError::Parameter { name: "scale".into(), cause }));
    let huge = of(|model| model.graph.initializer[1].dims = vec![i64::MAX, i64::MAX]);
    assert!(matches!(huge, Fault::Wire(WireError::Parameter { .. })), "{huge:?}");
    let negative = of(|model| model.graph.initializer[1].dims = vec![-3]);
    assert!(matches!(negative, Fault::Wire(WireError::Parameter { .. })), "{negative:?}");
    let elsewhere = of(|model| model.graph.initializer[1].data_location = Some(1));
    assert_eq!(elsewhere, Fault::Variable { name: "scale".into(), reason: VariableFault::External });
    let old = of(|model| model.opset_import[0].version = 3);
    assert!(matches!(old, Fault::Form { .. }));
}

/// Graphs within graphs within graphs, as deep as a file says.
#[test]
fn branches_in_branches() {
    for depth in [10, 60, 200] {
        let mut inner = graph(vec![NodeProto::new("Relu", ["x"], ["out"])], Vec::new(), &[], &["out"]);
        for _ in 0..depth {
            let branch = NodeProto::new("If", ["which"], ["out"])
                .with(of_graph("then_branch", &inner))
                .with(of_graph("else_branch", &graph(Vec::new(), Vec::new(), &[], &["x"])));
            inner = graph(vec![branch], Vec::new(), &[], &["out"]);
        }
        inner.input = vec![value("which", ElementType::Bool, &[]), floats("x", &[2])];
        assert_eq!(load_onnx(&model(inner)).is_ok(), depth <= 60, "{depth}");
    }
}

/// Every beginning of a file is no model, or one that is refused.
#[test]
fn files_that_are_cut_off() {
    let bytes = images().encode_to_vec();
    for end in 0..bytes.len() {
        if let Ok(model) = ModelProto::decode(&bytes[..end]) {
            let _ = load_onnx(&model);
        }
    }
}

/// Random changes to the bytes and to the messages: nothing panics, and what is read is well-formed.
#[test]
fn random_changes() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15, &[i64::MAX, i64::MIN, 1 << 31, 1 << 40]);
    for (name, model) in all() {
        let bytes = model.encode_to_vec();
        let (mut read, rounds) = (0, 1_500);
        for round in 0..rounds {
            let changed = match round % 2 {
                0 => {
                    let mut bytes = bytes.clone();
                    for _ in 0..=random.below(3) {
                        let at = random.below(bytes.len());
                        bytes[at] ^= 1 << random.below(8);
                    }
                    match ModelProto::decode(&bytes) {
                        Ok(changed) => changed,
                        Err(_) => continue,
                    }
                }
                _ => {
                    let mut changed = model.clone();
                    (0..=random.below(3)).for_each(|_| change(&mut random, &mut changed));
                    changed
                }
            };
            match load_onnx(&changed) {
                Ok(model) => {
                    read += 1;
                    survives(&model.program);
                }
                Err(unsupported) => assert!(!unsupported.faults.is_empty()),
            }
        }
        assert!(0 < read && read < rounds, "{name}: {read} of {rounds} are read");
    }
}

/// The types that an operator may be changed to.
const TYPES: [&str; 24] = [
    "Add",
    "MatMul",
    "Gemm",
    "Reshape",
    "Transpose",
    "Slice",
    "Gather",
    "Concat",
    "Split",
    "Expand",
    "Tile",
    "Pad",
    "Resize",
    "Conv",
    "MaxPool",
    "AveragePool",
    "LSTM",
    "RNN",
    "Squeeze",
    "Flatten",
    "ReduceMean",
    "TopK",
    "OneHot",
    "Scan",
];

fn change(random: &mut Random, model: &mut ModelProto) {
    let names: Vec<String> =
        model.graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output)).cloned().collect();
    let any = |random: &mut Random| names.get(random.below(names.len())).cloned().unwrap_or_default();
    match random.below(9) {
        0 => random.shuffle(&mut model.graph.node),
        1 => random.shuffle(&mut model.graph.initializer),
        2 => {
            let (name, number) = (any(random), random.number());
            if let Some(tensor) = random.pick(&mut model.graph.initializer) {
                *tensor = longs(&name, &[number]);
            }
        }
        3 => {
            let number = random.number();
            let dims = model.graph.initializer.iter_mut().flat_map(|tensor| &mut tensor.dims);
            let mut dims: Vec<&mut i64> = dims.collect();
            if let Some(dim) = random.pick(&mut dims) {
                **dim = number;
            }
        }
        4 => {
            let number = random.number();
            let attributes = model.graph.node.iter_mut().flat_map(|node| &mut node.attribute);
            let numbers = attributes.flat_map(|attr| attr.ints.iter_mut().chain(&mut attr.i));
            let mut numbers: Vec<&mut i64> = numbers.collect();
            if let Some(found) = random.pick(&mut numbers) {
                **found = number;
            }
        }
        5 => {
            let number = random.number();
            let shapes = model
                .graph
                .input
                .iter_mut()
                .filter_map(|input| input.r#type.as_mut()?.tensor_type.as_mut()?.shape.as_mut());
            let mut dims: Vec<&mut DimensionProto> = shapes.flat_map(|shape| &mut shape.dim).collect();
            if let Some(dim) = random.pick(&mut dims) {
                dim.dim_value = Some(number).filter(|_| number % 2 == 0);
            }
        }
        kind => {
            let (name, ty) = (any(random), TYPES[random.below(TYPES.len())]);
            let Some(node) = random.pick(&mut model.graph.node) else { return };
            match kind {
                6 => node.op_type = ty.into(),
                7 => {
                    if let Some(input) = random.pick(&mut node.input) {
                        *input = name;
                    }
                }
                _ => random.shuffle(&mut node.input),
            }
        }
    }
}
