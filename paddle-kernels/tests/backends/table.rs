//! A table of measurements of the operators:
//! `cargo test -p paddle-kernels --test backends table -- --ignored --nocapture`.

use std::collections::BTreeMap;
use std::path::Path;

use paddle_core::ops::Op;
use paddle_kernels::Cpu;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::gradients::gradient_error;
use crate::run::Case;
use crate::samples::with_variants;
use crate::tolerance;

#[derive(Default)]
struct Measured {
    samples: usize,
    /// The largest error of a result in single precision, divided by the one that its class allows.
    share: f64,
    /// The largest relative error of a gradient, if there is one.
    gradient: Option<f64>,
}

#[test]
#[ignore = "prints what other tests check"]
fn table() {
    let (cpu, mut draw) = (Cpu::with_threads(2).unwrap(), Draw::new(1));
    let mut all: BTreeMap<&str, (Op, Measured)> = BTreeMap::new();
    for sample in Op::samples().iter().flat_map(with_variants) {
        let case = Case::of(&sample, &mut draw);
        let (found, exact) = (case.run(&cpu).unwrap(), case.run(&Reference::double()).unwrap());
        let (_, row) =
            all.entry(sample.op.name()).or_insert_with(|| (sample.op.clone(), Measured::default()));
        row.samples += 1;
        row.share = row.share.max(tolerance::share(&case, &found, &exact));
    }
    for sample in Op::samples() {
        for sample in sample.variants().iter().chain([&sample]) {
            let (_, row) = all.get_mut(sample.op.name()).expect("it was measured above");
            row.gradient = match (row.gradient, gradient_error(sample, &mut draw)) {
                (Some(worst), Some(error)) => Some(worst.max(error)),
                (worst, error) => worst.or(error),
            };
        }
    }
    println!("| operator | samples | class | worst result, of what is allowed | worst gradient error |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, (op, row)) in &all {
        let gradient = row.gradient.map_or("–".into(), |error| format!("{error:.0e}"));
        let class = op.operation().accuracy().name();
        println!("| `{name}` | {} | {class} | {:.2} | {gradient} |", row.samples, row.share);
    }
    println!(
        "\n| file | operators | lines | of the CPU | of the reference |\n| --- | --- | --- | --- | --- |"
    );
    lines_of_files();
}

/// The lengths of the files of operators, with the tables that many operators share.
fn lines_of_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace");
    let lines = |path: &str| std::fs::read_to_string(root.join(path)).map_or(0, |text| text.lines().count());
    let mut files: Vec<String> = ["paddle-core/src/ops", "paddle-core/src/ops/elementwise"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder of the tree"))
        .map(|entry| entry.expect("a file of the tree").path())
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("impl Operation for ")))
        .map(|path| path.strip_prefix(root.join("paddle-core/src/ops")).unwrap().display().to_string())
        .collect();
    files.sort();
    for file in files {
        let own = format!("paddle-core/src/ops/{file}");
        let operators =
            std::fs::read_to_string(root.join(&own)).unwrap().matches("impl Operation for ").count();
        let [cpu, reference] =
            ["cpu", "reference"].map(|backend| lines(&format!("paddle-kernels/src/{backend}/{file}")));
        println!("| {file} | {operators} | {} | {cpu} | {reference} |", lines(&own));
    }
}
