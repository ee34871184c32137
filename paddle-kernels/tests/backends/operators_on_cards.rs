//! The part of `OPERATORS.md` that says which operators cards lack. `UPDATE_GOLDEN=1` rewrites it.

use std::collections::BTreeMap;
use std::path::Path;

use paddle_core::ops::Op;
use paddle_core::plan::Backend;
use paddle_core::program::DType;
use paddle_kernels::{Cpu, gpu};

const HEADING: &str = "\n## On cards\n";

const TEXT: &str = "
Written by `UPDATE_GOLDEN=1 cargo test -p paddle-kernels --features wgpu --test backends operators_on_cards`.

Cards compute all operators but these. What is of type `f64` is computed by the CPU, but for the result of `auc`; and values that are
written in the source, if they have more than 1024 elements. The values that the CPU needs, and those that it gives, are copied; the text
of the plan shows where.

| Operator | Who runs it |
| --- | --- |
";

#[test]
fn the_table_lists_what_cards_lack() {
    let cpu = Cpu::with_threads(1).unwrap();
    let types = [DType::F32; 16];
    let mut lacking: BTreeMap<&str, &str> = BTreeMap::new();
    for op in Op::prototypes().iter().filter(|op| !gpu::supports(op, &types)) {
        let who = match op {
            Op::Custom(_) => "the CPU: its kernel is a function of the user's",
            op if cpu.supports(op, &types) => "the CPU",
            _ => "the runtime, on all devices",
        };
        lacking.insert(op.name(), who);
    }
    let rows: String = lacking.iter().map(|(name, who)| format!("| `{name}` | {who} |\n")).collect();
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
