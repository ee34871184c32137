//! Generated programs of every form of control flow, nested at random.

use std::collections::BTreeMap;

use paddle::core::convert::export;
use paddle::core::ops::{Op, Program};
use paddle::core::passes::hoist::hoist;
use paddle::core::passes::split::split;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::Fed;
use crate::host::Host;
use crate::in_onnx::{case, outputs, python};
use crate::process::{Case, is_wanted, run, run_in, write};
use crate::support::runner::Runner;
use crate::support::tensor::{Tensor, Values};

#[path = "../../../paddle-kernels/tests/backends/nested/batch.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod batch;
#[path = "../../../paddle-kernels/tests/backends/nested/build.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod build;
#[path = "../../../paddle-kernels/tests/backends/nested/made.rs"]
mod made;
#[path = "../../../paddle-kernels/tests/backends/nested/outline.rs"]
#[expect(dead_code, reason = "the tests of backends use the rest")]
mod outline;
#[path = "../../../paddle-kernels/tests/backends/nested/sequences.rs"]
mod sequences;

use batch::{Spread, draw_batch};
use build::Built;
use outline::Outline;

/// How many programs are drawn, unless `PADDLE_GENERATED_PROGRAMS` says so.
const PROGRAMS: usize = 300;

fn count() -> usize {
    std::env::var("PADDLE_GENERATED_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS)
}

fn tensor(fed: Fed) -> Tensor {
    let values = match fed.values {
        Host::Bool(values) => Values::Bool(values),
        Host::I32(values) => Values::I32(values),
        Host::I64(values) => Values::I64(values),
        Host::F32(values) => Values::F32(values),
        Host::F64(values) => Values::F64(values),
    };
    Tensor { shape: fed.shape, values, offsets: fed.offsets }
}

/// What PaddlePaddle's kernels do where sequences have no token in any row: a loop that no row enters has given them, or
/// nothing is left of others.
const NO_TOKENS: [&str; 4] = [
    "dims size must not be equal 0",
    "the process ended: SIGFPE",
    "Tensor holds no memory",
    "is not initialized",
];

/// A generated program and what it computes here.
struct Computed {
    seed: usize,
    outline: Vec<Outline>,
    /// Whether it makes sequences of others, of which nothing may be left.
    makes: bool,
    outputs: Vec<Tensor>,
}

/// Exports programs, and computes their outputs.
fn computed<T>(
    count: usize,
    spread: Spread,
    mut exported: impl FnMut(usize, &Program, &[Vec<Tensor>]) -> T,
) -> (Vec<T>, Vec<Computed>) {
    let (mut cases, mut all) = (Vec::new(), Vec::new());
    for seed in 0..count {
        let mut draw = Draw::new(seed as u64 + 1000);
        let outline = Outline::block(&mut draw, 0);
        let built = Built::new(&outline, &mut draw);
        let mut program = built.program.clone();
        // Some as they are planned: what does not depend on loops stands before them.
        if seed % 4 == 3 {
            for pass in [split, hoist] {
                pass(&mut program).unwrap_or_else(|error| panic!("{seed}: {error}\n{program}"));
            }
        }
        let program = &program;
        let batches: Vec<Vec<Tensor>> = [8, 11]
            .iter()
            .map(|&rows| draw_batch(&built, program, rows, spread, &mut draw))
            .map(|batch| batch.into_iter().map(tensor).collect())
            .collect();
        let mut operators = program.blocks().iter().flat_map(|block| &block.ops);
        let makes = operators.any(|operator| matches!(operator.op, Op::SequenceRange(_)));
        let mut reference = Runner::new(Reference::single(), program);
        all.extend(batches.iter().map(|batch| Computed {
            seed,
            outline: outline.clone(),
            makes,
            outputs: reference.run(batch),
        }));
        cases.push(exported(seed, program, &batches));
    }
    (cases, all)
}

/// How outputs differ from those that are expected.
fn difference(found: &[Tensor], expected: &[Tensor]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} outputs", found.len()));
    }
    found.iter().zip(expected).find_map(|(found, expected)| found.compare(expected, 1e-4, 1e-5).err())
}

/// Rows on both sides of every decision, and no sequence that is fed without tokens.
fn compare(api: &str, count: usize) {
    // It is to be possible for all of them.
    let (cases, all) = computed(count, Spread::Filled, |seed, program, batches| {
        let model =
            export(program, &BTreeMap::new()).unwrap_or_else(|error| panic!("{seed}: {error}\n{program}"));
        Case::new(write(&format!("generated{seed}"), &model), batches)
    });
    let (mut agree, mut differ) = (0, Vec::new());
    // Of the programs without sequences that are made: all batches, and those that agree.
    let mut plain = (0, 0);
    let mut failed: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (Computed { seed, outline, makes, outputs }, theirs) in all.iter().zip(run(api, &cases)) {
        plain.0 += usize::from(!makes);
        match theirs {
            Err(error) => failed.entry(error).or_default().push(*seed),
            Ok(theirs) => match difference(&theirs, outputs) {
                Some(difference) => differ.push(format!("{seed} {outline:?}: {difference}")),
                None => {
                    agree += 1;
                    plain.1 += usize::from(!makes);
                }
            },
        }
    }
    println!("{agree} of {} batches of {} programs agree in the {api}", all.len(), cases.len());
    for (error, seeds) in &failed {
        println!("{} fail, of programs {seeds:?}: {error}", seeds.len());
    }
    assert!(differ.is_empty(), "{differ:#?}");
    let unknown = failed.keys().find(|error| !NO_TOKENS.iter().any(|known| error.contains(known)));
    assert_eq!(unknown, None);
    assert!(agree * 10 >= all.len() * 9, "{agree} of {} batches agree", all.len());
    assert!(plain.1 * 100 >= plain.0 * 99, "{} of {} batches without made sequences", plain.1, plain.0);
    println!("{} of {} without made sequences", plain.1, plain.0);
}

#[test]
fn generated_programs() {
    if is_wanted() {
        compare("executor", count());
        compare("plain_predictor", count() / 4);
    }
}

#[test]
fn generated_programs_in_onnx() {
    let Some(python) = python() else { return };
    for spread in [Spread::Filled, Spread::Arbitrary, Spread::OneSided, Spread::Empty] {
        let (models, all) = computed(count(), spread, |seed, program, batches| {
            case(&format!("generated{seed}"), program, &BTreeMap::new(), batches)
                .unwrap_or_else(|error| panic!("{seed}: {error}\n{program}"))
        });
        let (cases, protos): (Vec<Case>, Vec<_>) = models.into_iter().unzip();
        let mut wrong = Vec::new();
        // Each program has two batches.
        let found = run_in(&python, "onnxruntime", &cases);
        for (k, (Computed { seed, outline, outputs: expected, .. }, found)) in
            all.iter().zip(found).enumerate()
        {
            match found.map(|found| difference(&outputs(&protos[k / 2], found), expected)) {
                Ok(None) => {}
                Ok(Some(difference)) => wrong.push(format!("{seed} {outline:?}: {difference}")),
                Err(error) => wrong.push(format!("{seed} {outline:?}: {error}")),
            }
        }
        println!("{} of {} batches agree in onnxruntime", all.len() - wrong.len(), all.len());
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
