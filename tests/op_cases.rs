//! Small programs that the real PaddlePaddle ran, one for each operator or so: their forward part is run here, our own
//! gradients of it, and the updates that they make of these. They are kept beside the repository, not in it;
//! `PADDLE_OP_CASES` names another folder of such files.
//!
//! Keys of a case's arrays: `in|X` is fed, `param|X` is a parameter before, `after|X` after, `out|X` the last value of a
//! variable, and `lod|0|X` are the offsets of its sequences. `op_cases/skipped.txt` lists the cases that need what is not
//! here; `UPDATE_GOLDEN=1` rewrites it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use paddle::Cpu;
use paddle::core::convert::{from_wire, is_known};
use paddle::core::ops::Op;
use paddle::core::passes::backward::gradients;
use paddle::core::plan::Backend;
use paddle::core::program::{Program, Role, VarId};
use paddle::core::wire::{OpAttr, OpDesc, ProgramDesc};
use paddle_kernels::reference::Reference;
use support::npz;
use support::runner::Runner;
use support::tensor::{Tensor, Values};

const RTOL: f64 = 1e-4;
const ATOL: f64 = 1e-5;

type Arrays = BTreeMap<String, Tensor>;

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

/// A program and what it computed.
struct Case {
    desc: ProgramDesc,
    arrays: Arrays,
}

fn role(op: &OpDesc) -> Role {
    op.attr_int("op_role").expect("a number").map_or(Role::Forward, Role::from_wire)
}

fn written(op: &OpDesc) -> impl Iterator<Item = &String> {
    // What is in this slot is a shape, and no value.
    op.outputs.iter().filter(|slot| slot.parameter != "XShape").flat_map(|slot| &slot.arguments)
}

/// What `ops` read before they have written it, and that is no parameter.
fn read_first(desc: &ProgramDesc) -> BTreeSet<String> {
    let block = &desc.blocks[0];
    let kept =
        |name: &String| block.vars.iter().any(|var| var.name == *name && var.persistable == Some(true));
    let (mut known, mut first) = (BTreeSet::new(), BTreeSet::new());
    for op in &block.ops {
        let read = op.inputs.iter().flat_map(|slot| &slot.arguments);
        first.extend(read.filter(|name| !known.contains(name) && !kept(name)).cloned());
        known.extend(written(op));
    }
    first
}

impl Case {
    fn read(folder: &Path, name: &str) -> Case {
        let bytes = std::fs::read(folder.join(format!("{name}.pdprogram"))).expect("a program");
        let desc = ProgramDesc::decode(&bytes).expect("it is a program");
        Case { desc, arrays: npz::read(&folder.join(format!("{name}.npz"))) }
    }

    /// The arrays of this kind, by the names of their variables.
    fn arrays(&self, kind: &str) -> Arrays {
        let mine = self.arrays.iter().filter_map(|(key, array)| Some((key.strip_prefix(kind)?, array)));
        let with_offsets = |(name, array): (&str, &Tensor)| {
            let array = match self.arrays.get(&format!("lod|0|{name}")).map(|offsets| &offsets.values) {
                Some(Values::I64(offsets)) => array.clone().with_offsets(offsets),
                Some(other) => panic!("offsets of `{name}` are {other:?}"),
                None => array.clone(),
            };
            (name.to_string(), array)
        };
        mine.map(with_offsets).collect()
    }

    /// The program of the operators of some roles, which is fed and fetches these variables.
    fn part(&self, roles: &[Role], fed: &[String], fetched: &[String]) -> ProgramDesc {
        let mut desc = self.desc.clone();
        let ops = &mut desc.blocks[0].ops;
        ops.retain(|op| roles.contains(&role(op)));
        let column = |column: usize| OpAttr::int("col", column as i32);
        let feeds = fed.iter().enumerate();
        ops.extend(
            feeds.map(|(k, name)| OpDesc::new("feed").with_output("Out", [name]).with_attr(column(k))),
        );
        let fetches = fetched.iter().enumerate();
        ops.extend(
            fetches.map(|(k, name)| OpDesc::new("fetch").with_input("X", [name]).with_attr(column(k))),
        );
        desc
    }

    /// What operators of these roles write.
    fn written(&self, roles: &[Role]) -> BTreeSet<String> {
        let ops = self.desc.blocks[0].ops.iter().filter(|op| roles.contains(&role(op)));
        ops.flat_map(written).cloned().collect()
    }

    /// The operators that have no rule, in any block that the forward part and the updates own.
    fn unknown(&self) -> BTreeSet<String> {
        let ops = self.desc.blocks.iter().flat_map(|block| &block.ops);
        let mine = ops.filter(|op| role(op) != Role::Backward);
        mine.filter(|op| !is_known(&op.r#type)).map(|op| op.r#type.clone()).collect()
    }

    fn check<B: Backend + Clone>(&self, backend: &B) -> Result<Outcome, String> {
        let inputs = self.arrays("in|");
        let mut parameters = self.arrays("param|");
        let expected = self.arrays("out|");
        let forward = [Role::Forward, Role::Loss];
        let (computed, updated) = (self.written(&forward), self.written(&[Role::Optimize]));

        // The last value of each variable, from the updates if they write it.
        let mut fetched: BTreeSet<String> =
            expected.keys().filter(|name| computed.contains(*name)).cloned().collect();
        let update = self.part(&[Role::Optimize], &[], &[]);
        let needed = read_first(&update);
        fetched.extend(needed.iter().filter(|name| computed.contains(*name)).cloned());
        let is_loss = |op: &&OpDesc| role(op) == Role::Loss;
        let cost = self.desc.blocks[0].ops.iter().find(is_loss).map(|op| op.outputs[0].arguments[0].clone());
        // The cost last.
        let mut fetched: Vec<String> = fetched.into_iter().collect();
        fetched.extend(cost.clone());
        let fed: Vec<String> = inputs.keys().cloned().collect();
        let program = from_wire(&self.part(&forward, &fed, &fetched), None);
        let unknown = self.unknown();
        let mut program = match program {
            Ok(program) => program,
            Err(_) if !unknown.is_empty() => return Ok(Outcome::Needs(unknown)),
            Err(error) => return Err(error.to_string()),
        };
        let missing: BTreeSet<String> = unknown.into_iter().chain(foreign(&program)).collect();
        if !missing.is_empty() {
            return Ok(Outcome::Needs(missing));
        }

        // Gradients of what is fed and of parameters, by our own rules.
        let mut outputs = program.outputs().to_vec();
        if cost.is_some() {
            let cost = outputs.pop().expect("it was fetched");
            fetched.pop();
            program.set_outputs(&[cost]).map_err(|error| error.to_string())?;
            let roots: BTreeSet<&String> = expected.keys().chain(&needed).collect();
            let roots: Vec<(String, VarId)> = roots
                .into_iter()
                .filter_map(|name| Some((name.clone(), program.find(name.strip_suffix("@GRAD")?)?)))
                .collect();
            let wanted: Vec<VarId> = roots.iter().map(|&(_, root)| root).collect();
            let found = gradients(&mut program, &wanted).map_err(|error| error.to_string())?;
            for ((name, root), gradient) in roots.into_iter().zip(found) {
                // Where the cost does not depend on a value, its gradient is zeros: those of the cost by itself are
                // not there to be fetched.
                match gradient {
                    Some(gradient) => {
                        fetched.push(name);
                        outputs.push(gradient);
                    }
                    None => check_zeros(&name, expected.get(&name), &program, root)?,
                }
            }
        }
        program.set_outputs(&outputs).map_err(|error| error.to_string())?;
        let (found, after) = run(backend, &program, &parameters, &inputs)?;
        let mut found: Arrays = fetched.into_iter().zip(found).collect();
        parameters.extend(after);

        if !update.blocks[0].ops.is_empty() {
            let fed: Vec<String> = needed.into_iter().collect();
            let fetched: Vec<String> =
                expected.keys().filter(|name| updated.contains(*name)).cloned().collect();
            let program = from_wire(&self.part(&[Role::Optimize], &fed, &fetched), None);
            let program = program.map_err(|error| format!("the updates: {error}"))?;
            let missing = foreign(&program);
            if !missing.is_empty() {
                return Ok(Outcome::Needs(missing));
            }
            let (values, after) = run(backend, &program, &parameters, &found)?;
            found.extend(fetched.into_iter().zip(values));
            parameters.extend(after);
        }

        let is_random = program.blocks().iter().flat_map(|block| &block.ops).any(|op| op.op.effects().random);
        let mut worst = 0f64;
        let known =
            |name: &String| computed.contains(name) || updated.contains(name) || found.contains_key(name);
        let values =
            expected.into_iter().filter(|(name, _)| known(name)).map(|(name, array)| (name, array, &found));
        let after = self.arrays("after|").into_iter().map(|(name, array)| (name, array, &parameters));
        for (name, expected, of) in values.chain(after) {
            let found = of.get(&name).ok_or_else(|| format!("`{name}` has no value"))?;
            if self.arrays.contains_key(&format!("lod|1|{name}")) {
                return Err(format!("`{name}` has sequences of sequences, which are not compared"));
            }
            worst = worst.max(
                match is_random {
                    true => found.compare_shape(&expected).map(|()| 0.0),
                    false => found.compare(&expected, RTOL, ATOL),
                }
                .map_err(|difference| format!("`{name}`: {difference}"))?,
            );
        }
        Ok(if is_random { Outcome::Shapes } else { Outcome::Passed(worst) })
    }
}

/// The operators of a program that stayed foreign.
fn foreign(program: &Program) -> BTreeSet<String> {
    let ops = program.blocks().iter().flat_map(|block| &block.ops);
    ops.filter_map(|operator| match &operator.op {
        Op::Foreign(foreign) => Some(foreign.name.clone()),
        _ => None,
    })
    .collect()
}

/// A gradient that is not computed has to be expected to be zeros.
fn check_zeros(name: &str, expected: Option<&Tensor>, program: &Program, root: VarId) -> Result<(), String> {
    match expected {
        Some(expected) if expected.values.numbers().iter().any(|&value| value != 0.0) => Err(format!(
            "the cost has no path to `{}`, whose gradient `{name}` is not zeros",
            program.var(root).name
        )),
        _ => Ok(()),
    }
}

/// The outputs, and the parameters afterwards.
fn run<B: Backend + Clone>(
    backend: &B,
    program: &Program,
    parameters: &Arrays,
    inputs: &Arrays,
) -> Result<(Vec<Tensor>, Arrays), String> {
    let names: BTreeSet<&str> = program.parameters().map(|var| program.var(var).name.as_str()).collect();
    let mine = parameters.iter().filter(|(name, _)| names.contains(name.as_str()));
    let parameters: Arrays = mine.map(|(name, array)| (name.clone(), array.clone())).collect();
    let input = |&var: &VarId| {
        let name = &program.var(var).name;
        inputs.get(name).cloned().ok_or_else(|| format!("`{name}` is fed, but has no value"))
    };
    let inputs = program.inputs().iter().map(input).collect::<Result<Vec<Tensor>, String>>()?;
    let mut runner = Runner::new(backend.clone(), program);
    runner.set(&parameters);
    let outputs = runner.step(&inputs);
    Ok((outputs, runner.parameters()))
}

/// How a case goes on a backend; a panic is a failure.
fn outcome<B: Backend + Clone>(case: &Case, backend: &B) -> Outcome {
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
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/paddle/op_cases");
    let other = std::env::var_os("PADDLE_OP_CASES").map(PathBuf::from);
    let folder = other.clone().unwrap_or_else(beside);
    if !folder.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
        return;
    }
    let files = std::fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "pdprogram"));
    let cases: BTreeSet<String> =
        programs.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    let cpu = Cpu::new().expect("a processor");

    let (mut table, mut failures, mut skipped) = (String::new(), Vec::new(), Vec::new());
    let mut passed = 0;
    for name in &cases {
        let case = Case::read(&folder, name);
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
