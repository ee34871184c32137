//! Operators of detectors, as PaddlePaddle writes them: what the real PaddlePaddle 2.6.2 gave for the same numbers, run by its
//! executor from programs of one operator with these attributes.

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use ndarray::{Array, IxDyn};
use paddle::core::wire::{
    BlockDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarKind, VarType,
};
use paddle::{Batch, Dynamic, Element, Network, Outputs, Parameters, infer, load_inference_model};

/// A program of one operator, whose inputs are fed and whose outputs are fetched.
fn loaded(op: OpDesc, fed: &[(&str, VarKind, &[i64])]) -> (Network<Dynamic>, Parameters) {
    let var = |name: &str, kind: VarKind, dims: &[i64]| {
        let tensor = TensorDesc { data_type: kind.into(), dims: dims.to_vec(), ..Default::default() };
        let lod_tensor = Some(LodTensorDesc { tensor, ..Default::default() });
        let ty = VarType { r#type: VarKind::LodTensor.into(), lod_tensor, ..Default::default() };
        VarDesc { name: name.to_string(), r#type: ty, ..Default::default() }
    };
    let given: Vec<String> = op.outputs.iter().flat_map(|slot| slot.arguments.clone()).collect();
    let mut vars: Vec<VarDesc> = fed.iter().map(|(name, kind, dims)| var(name, *kind, dims)).collect();
    vars.extend(given.iter().map(|name| var(name, VarKind::Fp32, &[-1])));
    let at = |op: OpDesc, column: usize| op.with_attr(OpAttr::int("col", column as i32));
    let feed = |(column, (name, ..)): (usize, &(&str, VarKind, &[i64]))| {
        at(OpDesc::new("feed").with_input("X", ["feed"]).with_output("Out", [*name]), column)
    };
    let fetch = |(column, name): (usize, &String)| {
        at(OpDesc::new("fetch").with_input("X", [name.clone()]).with_output("Out", ["fetch"]), column)
    };
    let feeds = fed.iter().enumerate().map(feed);
    let ops = feeds.chain([op]).chain(given.iter().enumerate().map(fetch)).collect();
    let block = BlockDesc { parent_idx: -1, vars, ops, ..Default::default() };
    let program = ProgramDesc { blocks: vec![block], ..Default::default() };
    load_inference_model(&program.encode_to_vec(), b"").unwrap()
}

fn array<T: Element>(shape: &[usize], elements: &[T]) -> Array<T, IxDyn> {
    Array::from_shape_vec(IxDyn(shape), elements.to_vec()).unwrap()
}

/// Whether an output has this shape and about these elements.
fn check(outputs: &Outputs, k: usize, shape: &[usize], expected: &[f32]) {
    let found = outputs.at::<f32>(k).unwrap();
    assert_eq!(found.shape(), shape);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-6 + 1e-5 * expected.abs(), "{found} is not {expected}");
    }
}

fn check_whole<T: Element + PartialEq + std::fmt::Debug>(outputs: &Outputs, k: usize, expected: &[T]) {
    let found: Vec<T> = outputs.at::<T>(k).unwrap().iter().copied().collect();
    assert!(found == expected, "{found:?} are not {expected:?}");
}

#[rustfmt::skip]
const BOXES: [f32; 40] = [
    0., 0., 4., 4.,  0., 0., 4., 5.,  5., 5., 9., 9.,  5., 6., 9., 10.,  1., 1., 2., 2.,
    0., 0., 2., 2.,  0., 0., 2., 2.,  3., 0., 5., 2.,  3., 0., 5., 3.,   8., 8., 9., 9.,
];

#[rustfmt::skip]
const SCORES: [f32; 20] = [
    0.9, 0.8, 0.7, 0.75, 0.3,  0.1, 0.6, 0.2, 0.65, 0.65,
    0.5, 0.5, 0.4, 0.45, 0.1,  0.2, 0.3, 0.9, 0.85, 0.35,
];

/// The settings of a suppression.
struct Settings {
    background: i32,
    score_threshold: f32,
    most_of_class: i32,
    threshold: f32,
    eta: f32,
    most: i32,
    normalized: bool,
}

const SETTINGS: Settings = Settings {
    background: -1,
    score_threshold: 0.25,
    most_of_class: 4,
    threshold: 0.5,
    eta: 1.0,
    most: 4,
    normalized: true,
};

/// The outputs of a suppression of the first images.
fn suppressed(kind: &str, outputs: &[&'static str], settings: &Settings, images: usize) -> Outputs {
    let mut op = OpDesc::new(kind)
        .with_input("BBoxes", ["boxes"])
        .with_input("Scores", ["scores"])
        .with_attr(OpAttr::int("background_label", settings.background))
        .with_attr(OpAttr::float("score_threshold", settings.score_threshold))
        .with_attr(OpAttr::int("nms_top_k", settings.most_of_class))
        .with_attr(OpAttr::float("nms_threshold", settings.threshold))
        .with_attr(OpAttr::float("nms_eta", settings.eta))
        .with_attr(OpAttr::int("keep_top_k", settings.most))
        .with_attr(OpAttr::bool("normalized", settings.normalized));
    if kind == "matrix_nms" {
        op = op
            .with_attr(OpAttr::float("post_threshold", 0.2))
            .with_attr(OpAttr::bool("use_gaussian", false))
            .with_attr(OpAttr::float("gaussian_sigma", 2.0));
    }
    for &output in outputs {
        op = op.with_output(output, [output.to_lowercase()]);
    }
    let fed: [(&str, VarKind, &[i64]); 2] =
        [("boxes", VarKind::Fp32, &[-1, 5, 4]), ("scores", VarKind::Fp32, &[-1, 2, 5])];
    let (net, parameters) = loaded(op, &fed);
    let mut scores = SCORES;
    if kind == "matrix_nms" {
        // PaddlePaddle does not keep the order of equal scores there.
        scores[9] = 0.66;
    }
    let mut batch = Batch::new(&net).unwrap();
    batch.set("boxes", &array(&[images, 5, 4], &BOXES[..images * 20])).unwrap();
    batch.set("scores", &array(&[images, 2, 5], &scores[..images * 10])).unwrap();
    infer(&net, &parameters, &batch).unwrap()
}

const ALL: [&str; 3] = ["Out", "Index", "NmsRoisNum"];

#[rustfmt::skip]
const KEPT: [f32; 48] = [
    0., 0.9, 0., 0., 4., 4.,   0., 0.75, 5., 6., 9., 10.,  1., 0.65, 5., 6., 9., 10.,  1., 0.65, 1., 1., 2., 2.,
    0., 0.5, 0., 0., 2., 2.,   0., 0.45, 3., 0., 5., 3.,   1., 0.9, 3., 0., 5., 2.,    1., 0.35, 8., 8., 9., 9.,
];

/// Class by class, by scores, of equal scores the first; the best of each image, at any size of a batch.
#[test]
fn boxes_of_classes() {
    let outputs = suppressed("multiclass_nms3", &ALL, &SETTINGS, 2);
    check(&outputs, 0, &[8, 6], &KEPT);
    check_whole(&outputs, 1, &[0i32, 3, 3, 4, 5, 8, 7, 9]);
    check_whole(&outputs, 2, &[4i32, 4]);
    assert_eq!(outputs.offsets(0), Some(&[0, 4, 8][..]));
    let outputs = suppressed("multiclass_nms3", &ALL, &SETTINGS, 1);
    check(&outputs, 0, &[4, 6], &KEPT[..24]);
    check_whole(&outputs, 1, &[0i32, 3, 3, 4]);
    check_whole(&outputs, 2, &[4i32]);
}

/// No limits, a background, a threshold that falls, and sides of whole pixels.
#[test]
fn other_settings() {
    let settings = Settings {
        background: 0,
        eta: 0.7,
        threshold: 0.9,
        most: -1,
        most_of_class: -1,
        normalized: false,
        ..SETTINGS
    };
    let outputs = suppressed("multiclass_nms3", &ALL, &settings, 2);
    #[rustfmt::skip]
    let kept = [
        1., 0.65, 5., 6., 9., 10.,  1., 0.65, 1., 1., 2., 2.,    1., 0.6, 0., 0., 4., 5.,
        1., 0.9, 3., 0., 5., 2.,    1., 0.35, 8., 8., 9., 9.,    1., 0.3, 0., 0., 2., 2.,
    ];
    check(&outputs, 0, &[6, 6], &kept);
    check_whole(&outputs, 1, &[3i32, 4, 1, 7, 9, 6]);
    check_whole(&outputs, 2, &[3i32, 3]);
}

/// Nothing is kept. The first version of the operator then gives a row of its own: PaddlePaddle's is the number -1 alone, ours
/// is as wide as others.
#[test]
fn nothing_is_kept() {
    let settings = Settings { score_threshold: 0.95, ..SETTINGS };
    let outputs = suppressed("multiclass_nms3", &ALL, &settings, 2);
    check(&outputs, 0, &[0, 6], &[]);
    check_whole(&outputs, 2, &[0i32, 0]);
    let outputs = suppressed("multiclass_nms2", &["Out", "Index"], &settings, 2);
    check(&outputs, 0, &[0, 6], &[]);
    let outputs = suppressed("multiclass_nms", &["Out"], &settings, 2);
    check(&outputs, 0, &[1, 6], &[-1.0; 6]);
    assert_eq!(outputs.offsets(0), Some(&[0, 1, 1][..]));
    let outputs = suppressed("multiclass_nms", &["Out"], &SETTINGS, 2);
    check(&outputs, 0, &[8, 6], &KEPT);
}

#[test]
fn decayed_scores() {
    let settings = Settings { most: 5, ..SETTINGS };
    let outputs = suppressed("matrix_nms", &["Out", "Index", "RoisNum"], &settings, 2);
    #[rustfmt::skip]
    let kept = [
        0., 0.9, 0., 0., 4., 4.,    0., 0.75, 5., 6., 9., 10.,  1., 0.66, 1., 1., 2., 2.,
        1., 0.65, 5., 6., 9., 10.,  1., 0.57, 0., 0., 4., 5.,
        1., 0.9, 3., 0., 5., 2.,    0., 0.5, 0., 0., 2., 2.,    0., 0.45, 3., 0., 5., 3.,
        1., 0.35, 8., 8., 9., 9.,   1., 0.3, 0., 0., 2., 2.,
    ];
    check(&outputs, 0, &[10, 6], &kept);
    check_whole(&outputs, 1, &[0i32, 3, 4, 3, 1, 7, 5, 8, 9, 6]);
    check_whole(&outputs, 2, &[5i32, 5]);
}

/// The rows are boxes, of which some are kept: a batch that mixes.
#[test]
fn boxes_of_a_list() {
    let op = OpDesc::new("nms").with_input("Boxes", ["boxes"]).with_output("KeepBoxesIdxs", ["kept"]);
    let op = op.with_attr(OpAttr::float("iou_threshold", 0.5));
    let (net, parameters) = loaded(op, &[("boxes", VarKind::Fp32, &[-1, 4])]);
    let mut batch = Batch::new(&net).unwrap();
    batch.set("boxes", &array(&[5, 4], &BOXES[..20])).unwrap();
    let outputs = infer(&net, &parameters, &batch).unwrap();
    check_whole(&outputs, 0, &[0i64, 2, 4]);
    // No boxes.
    batch.set("boxes", &array::<f32>(&[0, 4], &[])).unwrap();
    check_whole::<i64>(&infer(&net, &parameters, &batch).unwrap(), 0, &[]);
}

#[test]
fn codes_of_boxes() {
    let op = OpDesc::new("box_coder")
        .with_input("TargetBox", ["target"])
        .with_input("PriorBox", ["prior"])
        .with_output("OutputBox", ["code"])
        .with_attr(OpAttr::string("code_type", "encode_center_size"))
        .with_attr(OpAttr::bool("box_normalized", false))
        .with_attr(OpAttr::floats("variance", [0.1, 0.1, 0.2, 0.2]));
    let (net, parameters) =
        loaded(op, &[("target", VarKind::Fp32, &[-1, 4]), ("prior", VarKind::Fp32, &[2, 4])]);
    let target = array(&[3, 4], &[0f32, 1., 2., 3., 2., 2., 5., 8., 0., 0., 1., 1.]);
    let prior = array(&[2, 4], &[0f32, 0., 4., 2., 1., 1., 3., 5.]);
    let batch = Batch::new(&net).unwrap().with("target", &target).unwrap().with("prior", &prior).unwrap();
    let outputs = infer(&net, &parameters, &batch).unwrap();
    #[rustfmt::skip]
    let codes = [
        -3.0, 1.666_666_7, -2.554_128, 0.0,          -5.0, -3.0, 0.0, -2.554_128,
        2.0, 11.666_666, -1.115_717_6, 4.236_489_3,  3.333_333_3, 3.0, 1.438_410_5, 1.682_361,
        -4.0, -3.333_333_3, -4.581_453, -2.027_325_4, -6.666_666_7, -6.0, -2.027_325_4, -4.581_453,
    ];
    check(&outputs, 0, &[3, 2, 4], &codes);
}

/// What maps say of boxes: the unsure ones are zeros, the others end at the borders of the image.
#[test]
fn boxes_of_maps() {
    let op = OpDesc::new("yolo_box")
        .with_input("X", ["x"])
        .with_input("ImgSize", ["size"])
        .with_output("Boxes", ["boxes"])
        .with_output("Scores", ["scores"])
        .with_attr(OpAttr::ints("anchors", [4, 6, 9, 12]))
        .with_attr(OpAttr::int("class_num", 2))
        .with_attr(OpAttr::float("conf_thresh", 0.3))
        .with_attr(OpAttr::int("downsample_ratio", 8))
        .with_attr(OpAttr::bool("clip_bbox", true))
        .with_attr(OpAttr::float("scale_x_y", 1.0));
    let (net, parameters) =
        loaded(op, &[("x", VarKind::Fp32, &[-1, 14, 1, 2]), ("size", VarKind::Int32, &[-1, 2])]);
    let x: Vec<f32> = (0..56).map(|k| (k % 5 - 2) as f32 / 2.0).collect();
    let mut batch = Batch::new(&net).unwrap();
    batch.set("x", &array(&[2, 14, 1, 2], &x)).unwrap();
    batch.set("size", &array(&[2, 2], &[10i32, 20, 30, 16])).unwrap();
    let outputs = infer(&net, &parameters, &batch).unwrap();
    #[rustfmt::skip]
    let boxes = [
        0.0, 2.725_510_1, 9.485_119, 7.274_49,          12.855_708, 2.474_593_6, 14.695_106, 9.0,
        0.0, 1.016_310_7, 16.584_644, 6.534_503,        0.0, 0.451_020_24, 19.0, 9.0,
        2.979_674_8, 0.0, 6.979_675, 29.0,              10.551_026, 7.187_576, 15.0, 15.464_865,
        0.0, 0.0, 0.0, 0.0,                             8.479_675, 0.0, 15.0, 29.0,
    ];
    let scores = [
        0.167_405_11,
        0.311_229_68,
        0.276_004_34,
        0.455_054_25,
        0.365_529_3,
        0.188_770_34,
        0.167_405_11,
        0.311_229_68,
        0.235_003_72,
        0.101_536_33,
        0.365_529_3,
        0.188_770_34,
        0.0,
        0.0,
        0.235_003_72,
        0.101_536_33,
    ];
    check(&outputs, 0, &[2, 4, 4], &boxes);
    check(&outputs, 1, &[2, 4, 2], &scores);
}
