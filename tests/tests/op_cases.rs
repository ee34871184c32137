//! Small programs that the real PaddlePaddle ran, one for each operator or so: their forward part is run here, our own
//! gradients of it, and the updates that they make of these. They are kept beside the repository, not in it;
//! `PADDLE_OP_CASES` names another folder of such files.
//!
//! Keys of a case's arrays: `in|X` is fed, `param|X` is a parameter before, `after|X` after, `out|X` the last value of a
//! variable, and `lod|0|X` are the offsets of its sequences, `lod|1|X` those of sequences in these. `op_cases/skipped.txt`
//! lists the cases that need what is not here; `UPDATE_GOLDEN=1` rewrites it.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use paddle::Cpu;
use paddle::core::ops::Program;
use paddle::core::passes::test_mode::test_mode;
use paddle::core::plan::Backend;
use paddle::core::program::{Role, VarId};
use paddle::language::decompile;
use paddle_kernels::reference::Reference;
use support::cut::{Arrays, Cut, Uncut, role};
use support::op_case::{OpCase, cases_of};
use support::runner::Runner;
use support::source::compiled;
use support::tensor::Tensor;

const RTOL: f64 = 1e-4;
const ATOL: f64 = 1e-5;

/// How a case went.
enum Outcome {
    /// The largest error.
    Passed(f64),
    /// It draws random numbers, so only shapes were compared.
    Shapes,
    /// The operators that it needs and that are not here.
    Needs(BTreeSet<String>),
    /// What differs.
    Failed(String),
}

impl OpCase {
    fn check<B: Backend + Clone>(&self, backend: &B) -> Result<Outcome, String> {
        let (inputs, expected) = (self.arrays("in|"), self.arrays("out|"));
        let names = |arrays: &Arrays| arrays.keys().cloned().collect();
        let Cut { compute, update, zeros } = match Cut::new(&self.desc, &names(&inputs), &names(&expected)) {
            Ok(cut) => cut,
            Err(Uncut::Needs(operators)) => return Ok(Outcome::Needs(operators)),
            Err(Uncut::Wrong(why)) => return Err(why),
        };
        let mut parameters = self.arrays("param|");
        let mut found = inputs;
        for part in [&compute, &update] {
            let mut runner = Runner::new(backend.clone(), &part.program);
            let values = part.step(&mut runner, &mut parameters, &found)?;
            found.extend(values);
        }
        found.extend(zeros.iter().filter_map(|name| Some((name.clone(), expected.get(name)?.zeros_like()))));

        let mut worst = 0f64;
        let after = self.arrays("after|");
        // What is in this slot is a shape, and no value.
        let slots = self.desc.blocks[0].ops.iter().flat_map(|op| &op.outputs);
        let shapes = slots.filter(|slot| slot.parameter == "XShape").flat_map(|slot| &slot.arguments);
        let shapes: BTreeSet<&String> = shapes.collect();
        let values = expected.iter().filter(|(name, _)| !shapes.contains(name)).map(|pair| (pair, &found));
        for ((name, expected), of) in values.chain(after.iter().map(|pair| (pair, &parameters))) {
            let found = of.get(name).ok_or_else(|| format!("`{name}` has no value"))?;
            // PaddlePaddle's older kernels give gradients without offsets. Its `sequence_expand` forgets the outer level.
            let has_none = expected.offsets.is_empty() && name.ends_with("@GRAD");
            let more = found.offsets.len().saturating_sub(expected.offsets.len());
            let offsets = match expected.offsets.is_empty() {
                true if has_none => Vec::new(),
                true => found.offsets.clone(),
                false => found.offsets[more..].to_vec(),
            };
            let found = Tensor { offsets, ..found.clone() };
            let error = match compute.is_random() {
                true => found.compare_shape(expected).map(|()| 0.0),
                false => found.compare(expected, RTOL, ATOL),
            };
            worst = worst.max(error.map_err(|difference| format!("`{name}`: {difference}"))?);
        }
        Ok(if compute.is_random() { Outcome::Shapes } else { Outcome::Passed(worst) })
    }
}

/// How a case goes on a backend; a panic is a failure.
fn outcome<B: Backend + Clone>(case: &OpCase, backend: &B) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| case.check(backend))) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(difference)) => Outcome::Failed(difference),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Outcome::Failed(format!("panicked: {}", text.unwrap_or_default()))
        }
    }
}

/// The worse of two outcomes.
fn worse(a: Outcome, b: Outcome) -> Outcome {
    match (a, b) {
        (Outcome::Failed(why), _) => Outcome::Failed(format!("reference: {why}")),
        (_, Outcome::Failed(why)) => Outcome::Failed(format!("cpu: {why}")),
        (Outcome::Passed(a), Outcome::Passed(b)) => Outcome::Passed(a.max(b)),
        (a, _) => a,
    }
}

fn names(set: &BTreeSet<String>) -> String {
    set.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[test]
fn table() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/op_cases");
    let other = std::env::var_os("PADDLE_OP_CASES").map(PathBuf::from);
    let folder = other.clone().unwrap_or_else(beside);
    if !folder.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let cases = cases_of(&folder);
    let cpu = Cpu::new().expect("a processor");

    let (mut table, mut failures, mut skipped) = (String::new(), Vec::new(), Vec::new());
    let mut passed = 0;
    for name in &cases {
        let case = OpCase::read(&folder, name);
        let result = match worse(outcome(&case, &Reference::single()), outcome(&case, &cpu)) {
            Outcome::Passed(worst) => format!("passed, {worst:.1e}"),
            Outcome::Shapes => "passed, shapes only: it draws random numbers".to_string(),
            Outcome::Needs(needs) => {
                let needs = names(&needs);
                skipped.push(format!("{name}: {needs}"));
                format!("skipped: needs {needs}")
            }
            Outcome::Failed(why) => {
                failures.push(format!("{name}: {why}"));
                format!("FAILED: {why}")
            }
        };
        passed += usize::from(result.starts_with("passed"));
        let ops = case.desc.blocks.iter().flat_map(|block| &block.ops);
        let forward =
            ops.filter(|op| matches!(role(op), Role::Forward | Role::Loss)).map(|op| op.r#type.clone());
        let forward = names(&forward.collect());
        writeln!(table, "{name:34} {result:60} {forward}").expect("a text takes everything");
    }
    writeln!(
        table,
        "{passed} of {} passed, {} skipped, {} failed",
        cases.len(),
        skipped.len(),
        failures.len()
    )
    .expect("a text takes everything");
    println!("{table}");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("op_cases.txt"), &table).expect("a file");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // What is skipped is written down, so that a case that gets lost is a failure.
    if other.is_none() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/op_cases/skipped.txt");
        let skipped: String = skipped.into_iter().map(|line| line + "\n").collect();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &skipped).expect("the list can be written");
        }
        let golden = std::fs::read_to_string(&path).expect("a list");
        assert!(
            skipped == golden,
            "other cases are skipped than {path:?} says; if they should, run with UPDATE_GOLDEN=1\n{skipped}"
        );
    }
}

/// The cases that are in the repository: `oracle/operator_cases.py` wrote them.
#[test]
fn cases_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/op_cases/kept");
    let cpu = Cpu::new().expect("a processor");
    let cases = cases_of(&folder);
    assert_eq!(cases.len(), 81);
    for name in &cases {
        let case = OpCase::read(&folder, name);
        match worse(outcome(&case, &Reference::single()), outcome(&case, &cpu)) {
            Outcome::Passed(_) => {}
            Outcome::Shapes => panic!("{name} draws nothing"),
            Outcome::Needs(needs) => panic!("{name} needs {}", names(&needs)),
            Outcome::Failed(why) => panic!("{name}: {why}"),
        }
    }
}

/// Recurrent units whose batch may vary run along sequences, and give what those with a fixed batch give.
#[test]
fn recurrent_units_along_sequences() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/op_cases");
    if !folder.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let cpu = Cpu::new().expect("a processor");
    for name in ["rnn_gru", "rnn_lstm", "rnn_lstm_seqlen", "rnn_simple"] {
        let mut case = OpCase::read(&folder, name);
        for var in case.desc.blocks[0].vars.iter_mut().filter(|var| ["x", "sl"].contains(&var.name.as_str()))
        {
            var.r#type.lod_tensor.as_mut().expect("it is a tensor").tensor.dims[0] = -1;
        }
        match worse(outcome(&case, &Reference::single()), outcome(&case, &cpu)) {
            Outcome::Passed(_) => {}
            Outcome::Shapes => panic!("{name} draws nothing"),
            Outcome::Needs(needs) => panic!("{name} needs {}", names(&needs)),
            Outcome::Failed(why) => panic!("{name}: {why}"),
        }
    }
}

/// What a case computes forward, as source, computes the same. `op_cases/unprinted.txt` lists the cases that the language
/// cannot say, and why; those of the folder `PADDLE_OP_CASES`, if that is given, are printed.
#[test]
fn as_source() {
    let given = std::env::var_os("PADDLE_OP_CASES").map(PathBuf::from);
    let shared = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/op_cases");
    let folder = given.clone().unwrap_or_else(shared);
    if !folder.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let cases = cases_of(&folder);
    let (mut unprinted, mut failures, mut same) = (String::new(), Vec::new(), 0);
    for name in &cases {
        let case = OpCase::read(&folder, name);
        let printed = match catch_unwind(AssertUnwindSafe(|| case.check_source())) {
            Ok(printed) => printed,
            Err(panic) => Err(panic.downcast_ref::<String>().cloned().unwrap_or_default()),
        };
        match printed {
            Ok(None) => same += 1,
            Ok(Some(why)) => unprinted.push_str(&format!("{name}: {why}\n")),
            Err(why) => failures.push(format!("{name}: {why}")),
        }
    }
    assert!(failures.is_empty(), "{} of {same}:\n{}", failures.len(), failures.join("\n"));
    if given.is_some() {
        return println!("{same} of {} are the same as source\n{unprinted}", cases.len());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/op_cases/unprinted.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &unprinted).expect("the list can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("a list");
    assert!(unprinted == golden, "if it should be, run with UPDATE_GOLDEN=1\n{unprinted}");
}

impl OpCase {
    /// Prints the forward part as source, and compares what both compute. Returns why it cannot be printed.
    fn check_source(&self) -> Result<Option<String>, String> {
        let (inputs, expected) = (self.arrays("in|"), self.arrays("out|"));
        let names = |arrays: &Arrays| arrays.keys().cloned().collect();
        let Ok(Cut { compute, .. }) = Cut::new(&self.desc, &names(&inputs), &names(&expected)) else {
            return Ok(None);
        };
        let mut program = compute.program.clone();
        let is_forward = |var: &VarId| {
            let role = program.writer(*var).map(|operator| operator.site.role);
            // What a parameter is behind its update is no result of what is printed.
            matches!(role, None | Some(Role::Forward | Role::Loss)) && program.parameter(*var).is_none()
        };
        let outputs: Vec<VarId> = program.outputs().iter().copied().filter(is_forward).collect();
        program.set_outputs(&outputs).map_err(|error| error.to_string())?;
        let source = match decompile(&program, "case") {
            Ok(source) => source,
            Err(error) => return Ok(Some(error.to_string().replace('\n', " "))),
        };
        let mut again = compiled(&source).map_err(|error| format!("{error}\n{source}"))?;
        if program.to_string().contains("is_test=true") {
            test_mode(&mut again);
        }
        let parameters = self.arrays("param|");
        let fed = |program: &Program| -> Vec<Tensor> {
            let names = program.inputs().iter().map(|input| &program.var(*input).name);
            names.map(|name| inputs.get(name).or(parameters.get(name)).expect("it is fed").clone()).collect()
        };
        let inputs = fed(&program);
        let [one, other] = [&program, &again].map(|program| {
            let mut runner = Runner::new(Reference::single(), program);
            runner.set_known(&parameters);
            runner.run(&inputs)
        });
        for (at, (one, other)) in one.iter().zip(&other).enumerate() {
            let compared = match compute.is_random() {
                true => other.compare_shape(one),
                false => other.compare(one, 1e-5, 1e-6).map(|_| ()),
            };
            compared.map_err(|why| format!("output {at}: {why}\n{source}\n{program}"))?;
        }
        Ok(None)
    }
}
