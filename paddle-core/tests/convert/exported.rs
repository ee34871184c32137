//! What is written for the real PaddlePaddle, as text: one program for each form of loops, and of sequences in blocks.
//! `UPDATE_GOLDEN=1` rewrites the files.

use std::fmt::Write;
use std::path::Path;

use paddle_core::convert::legalise;
use paddle_core::text;
use paddle_core::wire::{AttrType, OpAttr, OpDesc, OpVar, ProgramDesc};

use crate::legalise::is_paddle;

const FORMS: [&str; 5] =
    ["for_with_state", "attention_in_for", "while_per_row", "sequences_of_branches", "if_in_for_in_if"];

fn slots(slots: &[OpVar]) -> String {
    let filled = slots.iter().filter(|slot| !slot.arguments.is_empty());
    let shown: Vec<String> =
        filled.map(|slot| format!("{}={}", slot.parameter, slot.arguments.join(" "))).collect();
    shown.join(", ")
}

fn attribute(attr: &OpAttr) -> String {
    let value = match AttrType::try_from(attr.r#type).expect("it is known") {
        AttrType::Int => format!("{}", attr.i.unwrap_or_default()),
        AttrType::Long => format!("{}", attr.l.unwrap_or_default()),
        AttrType::Float => format!("{}", attr.f.unwrap_or_default()),
        AttrType::Boolean => format!("{}", attr.b.unwrap_or_default()),
        AttrType::String => format!("{:?}", attr.s.as_deref().unwrap_or_default()),
        AttrType::Ints => format!("{:?}", attr.ints),
        AttrType::Longs => format!("{:?}", attr.longs),
        AttrType::Floats => format!("{:?}", attr.floats),
        AttrType::Float64s => format!("{:?}", attr.float64s),
        AttrType::Block => format!("block {}", attr.block_idx.unwrap_or_default()),
        other => panic!("{other}"),
    };
    format!("{}={value}", attr.name)
}

fn operator(op: &OpDesc) -> String {
    let attributes: String = op.attrs.iter().map(|attr| format!(" {}", attribute(attr))).collect();
    let (inputs, outputs) = (slots(&op.inputs), slots(&op.outputs));
    format!("{} ({inputs}) -> {outputs}{attributes}", op.r#type)
}

fn show(desc: &ProgramDesc) -> String {
    let mut shown = String::new();
    for block in &desc.blocks {
        writeln!(shown, "block {} in {}", block.idx, block.parent_idx).unwrap();
        for op in &block.ops {
            writeln!(shown, "  {}", operator(op)).unwrap();
        }
    }
    shown
}

#[test]
fn programs_of_each_form() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/convert/exported");
    for name in FORMS {
        let source = std::fs::read_to_string(directory.join(format!("{name}.txt"))).expect("it is there");
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
        let desc = legalise(&program).unwrap_or_else(|error| panic!("{name}: {error}"));
        is_paddle(&desc);
        let (path, shown) = (directory.join(format!("{name}.paddle.txt")), show(&desc));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &shown).expect("it can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("it is there");
        assert!(shown == expected, "{name} has changed; if it should, run with UPDATE_GOLDEN=1\n{shown}");
    }
}
