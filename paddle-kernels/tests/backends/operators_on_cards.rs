//! The part of `OPERATORS.md` that says which operators cards lack. `UPDATE_GOLDEN=1` rewrites it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paddle_core::ops::Op;
use paddle_core::plan::Backend;
use paddle_core::program::DType;
use paddle_kernels::{Cpu, gpu};

use crate::draw::Draw;
use crate::run::Case;
use crate::samples::every_sample;

const HEADING: &str = "\n## On cards\n";

const TEXT: &str = "
Written by `UPDATE_GOLDEN=1 cargo test -p paddle-kernels --features wgpu --test backends operators_on_cards`.

Cards compute all operators but these. What is of type `f64` is computed by the CPU, but for the result of `auc`; and values that are
written in the source, if they have more than 1024 elements. The values that the CPU needs, and those that it gives, are copied; the text
of the plan shows where.

| Operator | Who runs it |
| --- | --- |
";

/// Who runs an operator that has no kernel for cards.
fn instead(op: &Op) -> &'static str {
    match op {
        Op::Custom(_) => "the CPU: its kernel is a function of the user's",
        op if Cpu::with_threads(1).unwrap().supports(op, &[DType::F32; 16]) => "the CPU",
        _ => "the runtime, on all devices",
    }
}

#[test]
fn the_table_lists_what_cards_lack() {
    let mut lacking: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for op in Op::prototypes().iter().filter(|op| !gpu::supports(op, &[DType::F32; 16])) {
        lacking.entry(op.name()).or_default().insert(instead(op).into());
    }
    // Of some operators, cards lack some types.
    for sample in every_sample().iter().filter(|sample| gpu::supports(&sample.op, &[DType::F32; 16])) {
        let case = Case::of(sample, &mut Draw::new(1));
        let operator = case.group.operators().next().expect("a case has an operator");
        let operands = operator.inputs.iter().chain(&operator.outputs);
        let types: Vec<DType> = operands.map(|&operand| case.group.ty(operand).dtype).collect();
        if !types.contains(&DType::F64) && !gpu::supports(&sample.op, &types) {
            let row = format!("{}, of `{}`", instead(&sample.op), types[0]);
            lacking.entry(sample.op.name()).or_default().insert(row);
        }
    }
    let cell = |who: &BTreeSet<String>| who.iter().cloned().collect::<Vec<_>>().join("; ");
    let rows: String = lacking.iter().map(|(name, who)| format!("| `{name}` | {} |\n", cell(who))).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("OPERATORS.md");
    let all = std::fs::read_to_string(&path).unwrap();
    let written = all.find(HEADING).map_or("", |at| &all[at..]);
    let expected = format!("{HEADING}{TEXT}{rows}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let before = &all[..all.len() - written.len()];
        return std::fs::write(&path, format!("{before}{expected}")).unwrap();
    }
    assert!(
        written == expected,
        "OPERATORS.md is not what the code says; run with UPDATE_GOLDEN=1\n{expected}"
    );
}
