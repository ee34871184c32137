//! What is written of operators against PaddlePaddle's own definitions of them: slots, attributes, kinds and defaults. These
//! are kept beside the repository, not in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paddle::core::convert::to_wire;
use paddle::core::ops::{Attribute, Number, Op};
use paddle::core::wire::{AttrType, OpDesc};
use serde_json::Value;

/// PaddlePaddle's operators by name; none, and a note, where they are not there.
fn definitions() -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/op_protos.json");
    let Ok(text) = std::fs::read(path) else {
        eprintln!("skipped: the definitions of PaddlePaddle are not beside the repository");
        return None;
    };
    let all: Value = serde_json::from_slice(&text).expect("it is JSON");
    Some(all["ops"].clone())
}

/// What all samples have on the wire, by the names of the operators, without those that PaddlePaddle does not define.
fn written(definitions: &Value) -> BTreeMap<String, Vec<OpDesc>> {
    let mut all: BTreeMap<String, Vec<OpDesc>> = BTreeMap::new();
    for sample in Op::samples() {
        let main = to_wire(&sample.program().expect("a sample is a program")).main;
        for op in main.blocks.into_iter().flat_map(|block| block.ops) {
            let is_defined = definitions[op.r#type.as_str()]["proto"] == true;
            if is_defined && !["feed", "fetch"].contains(&op.r#type.as_str()) {
                all.entry(op.r#type.clone()).or_default().push(op);
            }
        }
    }
    all
}

/// The names of slots, each with whether it has to be there.
fn slots(of: &Value) -> BTreeMap<&str, bool> {
    let all = of.as_array().expect("slots are listed").iter().filter_map(Value::as_str);
    all.map(|slot| (slot.trim_end_matches(['*', '?', '~']), !slot.contains(['?', '~']))).collect()
}

/// What PaddlePaddle calls the kind of an attribute.
fn kind(number: i32) -> &'static str {
    match AttrType::try_from(number).expect("there is such a kind") {
        AttrType::Boolean => "BOOLEAN",
        AttrType::Int => "INT",
        AttrType::Long => "LONG",
        AttrType::Float => "FLOAT",
        AttrType::String => "STRING",
        AttrType::Ints => "INTS",
        AttrType::Longs => "LONGS",
        AttrType::Floats => "FLOATS",
        AttrType::Float64s => "FLOAT64S",
        other => panic!("{other:?}"),
    }
}

/// What differs of an operator, as it was written, from its definition.
fn differences(op: &OpDesc, definition: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (side, written) in [("in", &op.inputs), ("out", &op.outputs)] {
        let slots = slots(&definition[side]);
        let unknown = written.iter().filter(|slot| !slots.contains_key(slot.parameter.as_str()));
        found.extend(unknown.map(|slot| format!("{} +{}", op.r#type, slot.parameter)));
        let is_there = |name: &str| written.iter().any(|slot| slot.parameter == name);
        let lacking = slots.iter().filter(|(name, is_needed)| **is_needed && !is_there(name));
        found.extend(lacking.map(|(name, _)| format!("{} -{name}", op.r#type)));
    }
    let attributes = definition["attrs"].as_object().expect("attributes are listed");
    // Ours, and those that all operators have.
    let is_common = |name: &str| name.starts_with("rust.") || name.starts_with("op_");
    for attr in op.attrs.iter().filter(|attr| !is_common(&attr.name)) {
        match attributes.get(&attr.name) {
            Some(attribute) if attribute["t"] == kind(attr.r#type) => {}
            None if definition["extra_attrs"].get(&attr.name).is_some() => {}
            _ => found.push(format!("{} +{}: {}", op.r#type, attr.name, kind(attr.r#type))),
        }
    }
    let is_there = |name: &str| op.attrs.iter().any(|attr| attr.name == name);
    let needed = attributes.iter().filter(|(_, attribute)| attribute.get("d").is_none());
    found
        .extend(needed.filter(|(name, _)| !is_there(name)).map(|(name, _)| format!("{} -{name}", op.r#type)));
    found
}

/// What is written otherwise than PaddlePaddle defines it.
const OTHER_FORMS: &[&str] = &[
    // The rows that random numbers go by, in our own dialect alone.
    "dropout +Rows",
    "gaussian_random +Rows",
    "uniform_random +Rows",
    // These are written as their families are.
    "elementwise_heaviside +axis: INT",
    "reduce_all +dim: INTS",
    "reduce_any +dim: INTS",
    "truncated_gaussian_random +shape: LONGS",
    // It is there where the update is centred.
    "rmsprop -MeanGradOut",
];

#[test]
fn slots_and_attributes_are_those_of_paddlepaddle() {
    let Some(definitions) = definitions() else { return };
    let all = written(&definitions);
    assert!(all.len() > 100, "{} operators", all.len());
    let differences = all
        .iter()
        .flat_map(|(name, ops)| ops.iter().flat_map(|op| differences(op, &definitions[name.as_str()])));
    let differences: BTreeSet<String> = differences.collect();
    assert_eq!(differences, OTHER_FORMS.iter().map(ToString::to_string).collect());
}

/// Defaults that are not PaddlePaddle's: a rule reads `auc` by those of PaddlePaddle, and -1 groups, which it has, are no number
/// of groups.
const OTHER_DEFAULTS: &[&str] = &["auc.num_thresholds", "auc.slide_steps", "group_norm.groups"];

#[test]
fn defaults_are_those_of_paddlepaddle() {
    let Some(definitions) = definitions() else { return };
    let mut others = BTreeSet::new();
    for name in written(&definitions).keys() {
        let Ok(op) = Op::from_attributes(name, Vec::new()) else { continue };
        for (attribute, value) in op.attributes() {
            let theirs = &definitions[name.as_str()]["attrs"][attribute]["d"];
            let is_same = match &value {
                Attribute::Number(Number::Bool(ours)) => theirs.as_bool() == Some(*ours),
                Attribute::Number(Number::Int(ours)) => theirs.as_i64() == Some(*ours),
                // Theirs is of single precision.
                Attribute::Number(Number::Float(ours)) => {
                    theirs.as_f64().map(|theirs| theirs as f32) == Some(*ours as f32)
                }
                Attribute::Text(ours) => theirs.as_str() == Some(ours),
                _ => true,
            };
            if !theirs.is_null() && !is_same {
                others.insert(format!("{name}.{attribute}"));
            }
        }
    }
    assert_eq!(others, OTHER_DEFAULTS.iter().map(ToString::to_string).collect());
}
