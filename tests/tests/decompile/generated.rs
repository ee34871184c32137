//! Generated programs of every form of control flow, nested at random: where their source can be written, it compiles and computes
//! the same.

use paddle::core::ops::Program;
use paddle::core::text;
use paddle::language::decompile;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::Fed;
use crate::host::Host;
use crate::support::runner::Runner;
use crate::support::source::compiled;
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
const PROGRAMS: usize = 100;

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

/// How what a source computes differs from what its program does.
fn difference(program: &Program, source: &str, batches: &[Vec<Tensor>]) -> Option<String> {
    let again = match compiled(source) {
        Ok(again) => again,
        Err(error) => return Some(error),
    };
    let [mut one, mut other] = [program, &again].map(|program| Runner::new(Reference::single(), program));
    other.set(&one.parameters());
    batches.iter().find_map(|batch| {
        let (expected, found) = (one.run(batch), other.run(batch));
        if found.len() != expected.len() {
            return Some(format!("{} outputs, and not {}", found.len(), expected.len()));
        }
        found.iter().zip(&expected).find_map(|(found, expected)| found.compare(expected, 1e-5, 1e-6).err())
    })
}

#[test]
fn generated_programs() {
    let count = std::env::var("PADDLE_GENERATED_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let (mut agree, mut wrong, mut lacking) = (0, Vec::new(), 0);
    for seed in 0..count.unwrap_or(PROGRAMS) {
        let mut draw = Draw::new(seed as u64 + 5000);
        let outline = Outline::block(&mut draw, 0);
        let built = Built::new(&outline, &mut draw);
        // Loops have the bound that those of the language have.
        let text = built.program.to_string().replace(", limit=100", "");
        let program = &text::parse(&text).unwrap_or_else(|error| panic!("{seed}: {error}"));
        let batches: Vec<Vec<Tensor>> = [5, 8]
            .iter()
            .map(|&rows| draw_batch(&built, &built.program, rows, Spread::Arbitrary, &mut draw))
            .map(|batch| batch.into_iter().map(tensor).collect())
            .collect();
        match decompile(program, "again") {
            Err(lacks) => {
                lacking += 1;
                println!("{seed}: {lacks}");
            }
            Ok(source) => match difference(program, &source, &batches) {
                None => agree += 1,
                Some(why) => wrong.push(format!("{seed} {outline:?}: {why}\n{source}\n{program}")),
            },
        }
    }
    println!("{agree} agree, {lacking} are not written");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agree > 9 * lacking, "{agree} agree, {lacking} are not written");
}
