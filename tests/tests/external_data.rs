//! Models in ONNX whose tensors have their elements in other files.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::array;
use paddle::core::wire::onnx::{
    DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetId, ShapeProto, StringStringEntryProto,
    TensorProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use paddle::{Batch, Error, Network, infer};

/// A folder of its own, which is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("paddle-external-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("model")).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join("model").join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn value(name: &str) -> ValueInfoProto {
    let size = |dim_param: Option<&str>, dim_value| DimensionProto {
        dim_param: dim_param.map(String::from),
        dim_value,
        ..Default::default()
    };
    let shape =
        ShapeProto { dim: vec![size(Some("batch"), None), size(None, Some(2))], ..Default::default() };
    let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape: Some(shape), ..Default::default() });
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto { tensor_type, ..Default::default() }),
        ..Default::default()
    }
}

/// `x + w + v`, whose terms are in these places of files.
fn model(places: [&[(&str, &str)]; 2]) -> ModelProto {
    let tensor = |name: &str, places: &[(&str, &str)]| TensorProto {
        dims: vec![2],
        data_type: Some(1),
        name: Some(name.into()),
        external_data: places
            .iter()
            .map(|&(key, value)| StringStringEntryProto {
                key: Some(key.into()),
                value: Some(value.into()),
                ..Default::default()
            })
            .collect(),
        data_location: Some(1),
        ..Default::default()
    };
    let graph = GraphProto {
        node: vec![NodeProto::new("Add", ["x", "w"], ["sum"]), NodeProto::new("Add", ["sum", "v"], ["y"])],
        initializer: vec![tensor("w", places[0]), tensor("v", places[1])],
        input: vec![value("x")],
        output: vec![value("y")],
        ..Default::default()
    };
    ModelProto { graph, opset_import: vec![OperatorSetId::new(17)], ..Default::default() }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn fault(path: &Path, places: [&[(&str, &str)]; 2]) -> String {
    fs::write(path, model(places).encode_to_vec()).unwrap();
    match Network::load(path) {
        Err(Error::File(error)) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is loaded"),
    }
}

#[test]
fn elements_in_files_beside_a_model() {
    let folder = Folder::new("beside");
    fs::write(folder.file("weights"), bytes(&[9.0, 1.0, 2.0])).unwrap();
    fs::create_dir(folder.file("more")).unwrap();
    fs::write(folder.file("more/v"), bytes(&[10.0, 20.0])).unwrap();
    let places: [&[(&str, &str)]; 2] =
        [&[("location", "weights"), ("offset", "4"), ("length", "8")], &[("location", "./more/v")]];
    let path = folder.file("model.onnx");
    fs::write(&path, model(places).encode_to_vec()).unwrap();
    let (net, parameters) = Network::load(&path).unwrap();
    let batch = Batch::new(&net).unwrap().with("x", &array![[0.5f32, 0.5]].into_dyn()).unwrap();
    let outputs = infer(&net, &parameters, &batch).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![[11.5f32, 22.5]].into_dyn());
}

#[test]
fn places_that_are_not_read() {
    let folder = Folder::new("places");
    let path = folder.file("model.onnx");
    fs::write(folder.file("w"), bytes(&[1.0, 2.0])).unwrap();
    fs::write(folder.0.join("secret"), bytes(&[1.0, 2.0])).unwrap();
    let absolute = folder.0.join("secret");
    for outside in ["../secret", absolute.to_str().unwrap(), "..", "w/../../secret", ""] {
        let error = fault(&path, [&[("location", outside)], &[("location", "w")]]);
        assert!(error.contains("tensor `w`") && error.contains("is not within the folder"), "{error}");
    }
    let lacks = |places: &[(&str, &str)], expected: &str| {
        let error = fault(&path, [places, &[("location", "w")]]);
        assert!(error.contains(expected), "{error}");
    };
    lacks(&[], "no file is named");
    lacks(&[("location", "w"), ("offset", "-4")], "its `offset` is `-4`, which is no number of bytes");
    lacks(&[("location", "w"), ("offset", "4"), ("length", "8")], "the file ends within tensor `w`");
    lacks(&[("location", "w"), ("length", "18446744073709551615"), ("offset", "9")], "the file ends within");
    lacks(&[("location", "absent")], "cannot be read");
    lacks(&[("location", ".")], "is not within the folder");
    lacks(&[("location", "w")], "tensors before it have the same bytes");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.0.join("secret"), folder.file("link")).unwrap();
        lacks(&[("location", "link")], "which leads out of the folder");
    }
}

/// A tensor of another size than the file says.
#[test]
fn another_number_of_elements() {
    let folder = Folder::new("number");
    let path = folder.file("model.onnx");
    fs::write(folder.file("w"), bytes(&[1.0, 2.0, 3.0])).unwrap();
    fs::write(folder.file("v"), bytes(&[1.0, 2.0])).unwrap();
    fs::write(&path, model([&[("location", "w")], &[("location", "v")]]).encode_to_vec()).unwrap();
    let Err(Error::Unsupported(error)) = Network::load(&path) else { panic!("it has too many elements") };
    assert!(error.to_string().contains("`w`"), "{error}");
}
