//! `paddle run`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use image::{Rgb, RgbImage};
use ndarray::{Array1, ArrayD, Axis, array};
use ndarray_npy::{NpzReader, NpzWriter, read_npy, write_npy};
use paddle::network;

use crate::support::{Folder, done, failed, fixtures, line, line_as_text};

/// The arrays of a `.npz` that are of `f32`.
fn npz(path: impl AsRef<Path>) -> BTreeMap<String, ArrayD<f32>> {
    let mut npz = NpzReader::new(File::open(path).unwrap()).unwrap();
    let names = npz.names().unwrap();
    names.into_iter().filter_map(|name| Some((name.clone(), npz.by_name(&name).ok()?))).collect()
}

#[test]
fn arrays_in_and_out() {
    let folder = Folder::new();
    let model = line(&folder);
    let (x, y) = (folder.path("x.npy"), folder.path("y.npy"));
    write_npy(&x, &array![[1.0f32, 1.0], [0.0, 3.0]]).unwrap();
    let expected = array![[3.5f32], [6.5]].into_dyn();
    assert_eq!(done(format!("run {model} --input x={x}")), "price: f32[2, 1]\n  [3.5, 6.5]\n");
    assert_eq!(done(format!("run {model} --input x={x} -o {y}")), "");
    assert_eq!(read_npy::<_, ArrayD<f32>>(&y).unwrap(), expected);
    // In archives: under the name of the input, under another one, and as a whole.
    let (stored, compressed) = (folder.path("stored.npz"), folder.path("compressed.npz"));
    for (path, name) in [(&stored, "x"), (&compressed, "rows")] {
        let file = File::create(path).unwrap();
        let mut npz = if name == "x" { NpzWriter::new(file) } else { NpzWriter::new_compressed(file) };
        npz.add_array(name, &array![[1.0f32, 1.0], [0.0, 3.0]]).unwrap();
        npz.finish().unwrap();
    }
    let out = folder.path("out.npz");
    for input in [stored.clone(), format!("x={stored}"), format!("x={compressed}:rows")] {
        done(format!("run {model} -i {input} -o {out}"));
        assert_eq!(npz(&out), [("price".to_string(), expected.clone())].into());
    }
    // Several files are the rows of one batch.
    assert_eq!(done(format!("run {model} -i x={x} -i x={x}")), "price: f32[4, 1]\n  [3.5, 6.5, 3.5, 6.5]\n");
}

/// 1.003 is 1 in bf16, and the sum of two such numbers is near enough.
#[test]
fn precisions() {
    let folder = Folder::new();
    let (model, x) = (line(&folder), folder.path("x.npy"));
    write_npy(&x, &array![[1.003f32, 0.0]]).unwrap();
    let prices = ["f32", "bf16", "bf16x3"].map(|precision| {
        let y = folder.path("y.npy");
        done(format!("run {model} -i x={x} --precision {precision} -o {y}"));
        read_npy::<_, ArrayD<f32>>(&y).unwrap()[[0, 0]]
    });
    assert!((prices[0] - prices[1]).abs() > 1e-3, "{prices:?}");
    assert!((prices[0] - prices[2]).abs() < 1e-4, "{prices:?}");
    let error = failed(format!("run {model} -i x={x} --precision half"));
    assert!(error.contains("`half` is no precision; name one of f32, bf16, bf16x3"), "{error}");
}

/// Parameters in safetensors, beside a text and named.
#[test]
fn other_files_of_parameters() {
    let folder = Folder::new();
    let x = folder.path("x.npy");
    write_npy(&x, &array![[0.0f32, 0.0]]).unwrap();
    let (text, model) = (line_as_text(&folder), line(&folder));
    // The `.pdiparams` of the model has its name, too, and comes first.
    assert_eq!(done(format!("run {text} -i x={x}")), "price: f32[1, 1]\n  [0.5]\n");
    let values = folder.path("line.safetensors");
    assert_eq!(done(format!("run {model} --parameters {values} -i x={x}")), "price: f32[1, 1]\n  [0.0]\n");
    fs::remove_file(folder.path("line.pdiparams")).unwrap();
    for path in [text, model] {
        assert_eq!(done(format!("run {path} -i x={x}")), "price: f32[1, 1]\n  [0.0]\n");
    }
}

#[test]
fn sequences_have_lengths() {
    let folder = Folder::new();
    let net = network!(|words: Seq<i64>| {
        let next = words + 1;
        (next, sequence_length(words))
    });
    let model = folder.write("next.txt", net.program().unwrap().to_string());
    let (words, lengths) = (folder.path("words.npy"), folder.path("lengths.npy"));
    write_npy(&words, &array![5i64, 7, 7, 2]).unwrap();
    write_npy(&lengths, &array![3i32, 0, 1]).unwrap();
    let shown = done(format!("run {model} -i words={words} --lengths words={lengths}"));
    assert!(shown.starts_with("next: i64[4]\n  [6, 8, 8, 3]\n  of lengths [3, 0, 1]\n"), "{shown}");
    // What comes out may go in.
    let out = folder.path("out.npz");
    done(format!("run {model} -i words={words} --lengths words={lengths} -o {out}"));
    let mut arrays = NpzReader::new(File::open(&out).unwrap()).unwrap();
    let offered: Array1<i64> = arrays.by_name("next.lengths").unwrap();
    assert_eq!(offered, array![3, 0, 1]);
    let again = done(format!("run {model} -i words={out}:next --lengths words={out}:next.lengths"));
    assert!(again.starts_with("next: i64[4]\n  [7, 9, 9, 4]\n  of lengths [3, 0, 1]\n"), "{again}");
    let error = failed(format!("run {model} -i words={words}"));
    assert!(error.contains("input `words` takes Seq<i64>: "), "{error}");
    write_npy(&lengths, &array![3i64, 9]).unwrap();
    assert!(failed(format!("run {model} -i words={words} --lengths words={lengths}")).contains("`words`"));
    write_npy(&lengths, &array![-1i64]).unwrap();
    let error = failed(format!("run {model} -i words={words} --lengths words={lengths}"));
    assert!(error.ends_with("found i64[1], expected lengths: i64[_] or i32[_], none negative\n"), "{error}");
    let error = failed(format!("run {model} --lengths words={lengths}"));
    assert!(error.contains("none negative"), "{error}");
}

#[test]
fn sequences_of_sequences() {
    let folder = Folder::new();
    let net = network!(|text: Seq<Seq<i64>>| {
        let next = text + 1;
        next
    });
    let model = folder.write("next.txt", net.program().unwrap().to_string());
    let path = folder.path("in.npz");
    let mut npz = NpzWriter::new(File::create(&path).unwrap());
    npz.add_array("text", &array![5i64, 7, 7, 2]).unwrap();
    npz.add_array("text.lengths.0", &array![2i64, 0]).unwrap();
    npz.add_array("text.lengths.1", &array![3i64, 1]).unwrap();
    npz.finish().unwrap();
    let shown = done(format!("run {model} -i {path}"));
    assert_eq!(shown, "next: i64[4]\n  [6, 8, 8, 3]\n  of lengths [2, 0]\n  of lengths [3, 1]\n");
    let twice = format!("--lengths text={path}:text.lengths.0 --lengths text={path}:text.lengths.1");
    assert_eq!(done(format!("run {model} -i text={path} {twice}")), shown);
}

#[test]
fn pictures() {
    let folder = Folder::new();
    let net = network!(|image: Tensor<f32, _, 3, 2, 2>| {
        let sum = sum(image, axis = [2, 3]);
        sum
    });
    let model = folder.write("sum.txt", net.program().unwrap().to_string());
    let (red, blue) = (folder.path("red.png"), folder.path("blue.bmp"));
    RgbImage::from_pixel(5, 7, Rgb([255, 0, 0])).save(&red).unwrap();
    RgbImage::from_pixel(2, 2, Rgb([0, 0, 51])).save(&blue).unwrap();
    let both = format!("run {model} -i image={red} -i image={blue}");
    let shown = done(&both);
    assert_eq!(shown, "sum: f32[2, 3]\n  [4.0, 0.0, 0.0, 0.0, 0.0, 0.8]\n");
    let shown = done(format!("{both} --scale 1 --mean 55,0,0 --std 2,1,1"));
    assert_eq!(shown, "sum: f32[2, 3]\n  [400.0, 0.0, 0.0, -110.0, 0.0, 204.0]\n");
    let error = failed(format!("{both} --mean 1,2"));
    assert_eq!(error, "error: `--mean` has 2 numbers, but input `image` has 3 channels\n");
    assert!(failed(format!("{both} --std 0")).contains("nothing can be divided by 0"));
    let text = folder.write("text.png", "no picture");
    assert!(failed(format!("run {model} -i image={text}")).starts_with(&format!("error: {text}: ")));
    let x = line(&folder);
    let error = failed(format!("run {x} -i x={red}"));
    assert!(
        error.contains("input `x` is f32[_, 2], but pictures are f32[_, channels, height, width]"),
        "{error}"
    );
}

#[test]
fn inputs_that_do_not_fit() {
    let folder = Folder::new();
    let model = line(&folder);
    let says = |arguments: &str, expected: &str| {
        let error = failed(format!("run {model} {arguments}"));
        assert!(error.contains(expected), "{arguments}: {error}");
    };
    let x = folder.path("x.npy");
    write_npy(&x, &array![[1.0f32, 1.0]]).unwrap();
    says("", "the batch has no value for input `x`, which is f32[_, 2]");
    says(&format!("-i y={x}"), "the network has no input `y`; its inputs are `x`");
    says(&format!("-i {x}"), "only a .npz can be taken; write NAME=FILE");
    says("-i x=nowhere.npy", "nowhere.npy: No such file");
    says(&format!("-i x={x} -o out.txt"), "out.txt: outputs are written to a .npz or a .npy");
    says(&format!("-i x={x} --lengths {x}"), "expected NAME=FILE");
    let wide = folder.path("wide.npy");
    write_npy(&wide, &array![[1.0f32, 1.0, 1.0]]).unwrap();
    says(&format!("-i x={wide}"), "input `x`: found [1, 3], expected f32[_, 2]");
    says(
        &format!("-i x={x} -i x={wide}"),
        "the files of input `x` are no rows of one batch: f32[1, 2], f32[1, 3]",
    );
    let double = folder.path("double.npy");
    write_npy(&double, &array![[1.0, 1.0]]).unwrap();
    says(&format!("-i x={double}"), "input `x`: found elements of type f64, expected f32");
    let bytes = folder.path("bytes.npy");
    write_npy(&bytes, &array![[1u8, 1]]).unwrap();
    says(&format!("-i x={bytes}"), "expected bool, int32, int64, float32 or float64");
    let content = fs::read(&x).unwrap();
    let cut = folder.write("cut.npy", &content[..content.len() - 1]);
    says(&format!("-i x={cut}"), "cut.npy: ");
    let no_archive = folder.write("no.npz", "no archive");
    says(&format!("-i {no_archive}"), "no.npz: ");
    let npz = folder.path("other.npz");
    let mut writer = NpzWriter::new(File::create(&npz).unwrap());
    writer.add_array("y", &array![1.0f32]).unwrap();
    writer.finish().unwrap();
    says(&format!("-i {npz}"), "array `y` is no input; the inputs are `x`");
    says(&format!("-i x={npz}"), "there is no array `x`; its arrays are `y`");
    // Values of another model.
    let net = network!(|x: Tensor<f32, _, 2>| fc(x, 3, param = "line"));
    let values = folder.path("wide.safetensors");
    paddle::Parameters::create(&net).unwrap().save(&values).unwrap();
    says(
        &format!("-i x={x} --parameters {values}"),
        "`line.w` is F32[2, 3] there, but F32[2, 1] is expected",
    );
    let params = fs::read(folder.path("line.pdiparams")).unwrap();
    folder.write("line.pdiparams", &params[..params.len() - 1]);
    says(&format!("-i x={x}"), "line.pdiparams: ");
}

/// The inputs that PaddlePaddle was given give the outputs that it gave.
#[test]
fn models_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    let folder = Folder::new();
    let names = "cond lenet lstm_classifier mlp mobilenet_v1_x025 resnet18_w8 seqpool_lod textcnn transformer_block while_loop";
    for name in names.split(' ') {
        let model = fixtures.join(name);
        let (out, inputs) = (folder.path("out.npz"), model.join("inputs.npz").display().to_string());
        let arguments = match name {
            "seqpool_lod" => {
                // Lengths are the differences of LoD's offsets.
                let mut npz = NpzReader::new(File::open(&inputs).unwrap()).unwrap();
                let offsets: Array1<i64> = npz.by_name("ids.lod0").unwrap();
                let lengths =
                    &offsets.slice_axis(Axis(0), (1..).into()) - &offsets.slice_axis(Axis(0), (..-1).into());
                write_npy(folder.path("lengths.npy"), &lengths).unwrap();
                format!("-i ids={inputs} --lengths ids={}", folder.path("lengths.npy"))
            }
            _ => format!("-i {inputs}"),
        };
        done(format!("run {} {arguments} -o {out}", model.display()));
        let (found, expected) = (npz(&out), npz(model.join("outputs.npz")));
        assert!(!expected.is_empty());
        for (k, (output, expected)) in expected.iter().enumerate() {
            assert_eq!(*output, format!("out{k}"), "{name}");
            let found = &found[&format!("save_infer_model/scale_{k}.tmp_0")];
            assert_eq!(found.shape(), expected.shape(), "{name}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() <= 1e-5 + 1e-4 * expected.abs(),
                    "{name}: {found} is not {expected}"
                );
            }
        }
    }
}
