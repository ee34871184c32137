//! Files for TensorBoard: what is in them, and that the real one reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paddle::reader::{DataSet, Reader};
use paddle::{Options, Parameters, Sgd, Trainer, network};

/// An empty folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// A training of two passes of two batches, in this folder. Returns the costs of the batches.
fn train(folder: &Path) -> Vec<f32> {
    let net = network!(|x: Tensor<f32, _, 1>| {
        let largest = max(x);
        (mean(square(fc(x, 1))), largest)
    });
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.01)));
    let (options, mut costs) = (Options::default().tensorboard(folder), Vec::new());
    let reader = [1.0, 2.0, 3.0].passes(2).batch(2);
    let trained = trainer.train(&net, &mut parameters, reader, options, |event| {
        costs.extend(event.cost().filter(|_| matches!(event.kind(), paddle::EventKind::EndIteration { .. })));
        Ok(())
    });
    trained.unwrap();
    costs
}

/// The data of all records of the only file of a folder.
fn records(folder: &Path) -> Vec<Vec<u8>> {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert!(file.file_name().unwrap().to_str().unwrap().starts_with("events.out.tfevents."), "{file:?}");
    let (bytes, mut at, mut records) = (fs::read(file).unwrap(), 0, Vec::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        records.push(bytes[at + 12..at + 12 + length].to_vec());
        at += 12 + length + 4;
    }
    assert_eq!(at, bytes.len());
    records
}

#[test]
fn each_batch_and_each_pass_is_a_record() {
    let folder = folder("records");
    let costs = train(&folder);
    let records = records(&folder);
    // The version, and 2 batches and a mean in each of 2 passes.
    assert_eq!(records.len(), 1 + 2 * 3);
    assert!(records[0].ends_with(b"\x1a\x0dbrain.Event:2"));
    let has = |record: &[u8], part: &[u8]| record.windows(part.len()).any(|window| window == part);
    let value = |tag: &str, value: f32| [tag.as_bytes(), b"\x15", &value.to_le_bytes()].concat();
    for (record, (cost, step)) in
        [&records[1], &records[2], &records[4], &records[5]].iter().zip(costs.iter().zip(1..))
    {
        assert!(has(record, &value("batch/cost", *cost)) && has(record, &[0x10, step]));
    }
    assert!(has(&records[1], &value("batch/largest", 2.0)));
    assert!(
        has(
            &records[6],
            &value("pass/cost", ((2.0 * f64::from(costs[2]) + f64::from(costs[3])) / 3.0) as f32)
        ) && has(&records[6], &[0x10, 4])
    );
    fs::remove_dir_all(folder).unwrap();
}

/// `PADDLE_TENSORBOARD` is a Python that has the package `tensorboard`.
#[test]
fn the_real_tensorboard_reads_them() {
    let Ok(python) = std::env::var("PADDLE_TENSORBOARD") else {
        eprintln!("skipped: PADDLE_TENSORBOARD is not set");
        return;
    };
    let folder = folder("real");
    let costs = train(&folder);
    let program = "import sys\n\
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n\
        events = EventAccumulator(sys.argv[1]).Reload()\n\
        for tag in sorted(events.Tags()['scalars']):\n\
        \x20   print(tag, *(f'{event.step}:{event.value:.6g}' for event in events.Scalars(tag)))\n";
    let output = Command::new(python).args(["-c", program]).arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let tags: Vec<_> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(tags, ["batch/cost", "batch/largest", "pass/cost", "pass/largest"], "{text}");
    let read: Vec<f32> = text
        .lines()
        .next()
        .unwrap()
        .split(' ')
        .skip(1)
        .map(|pair| pair.split(':').nth(1).unwrap().parse().unwrap())
        .collect();
    let near = |a: &f32, b: &f32| (a / b - 1.0).abs() < 1e-4;
    assert!(read.len() == 4 && read.iter().zip(&costs).all(|(a, b)| near(a, b)), "{read:?} {costs:?}");
    assert!(text.contains("batch/largest 1:2 2:3 3:2 4:3\n"), "{text}");
    fs::remove_dir_all(folder).unwrap();
}
