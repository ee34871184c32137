//! `OPERATORS.md`: the operators.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::{Op, Sample};

use crate::{is_as_written, line};

const HEAD: &str = "\
# Operators

Written by `UPDATE_GOLDEN=1 cargo test -p paddle-core --test tables` from the operators' own files, `paddle-core/src/ops/`.

- **Operator**: its name and slots, PaddlePaddle's where it has the operator; `*` takes any number of values.
- **Accuracy**: how far the floating-point results of a kernel may be from the exact ones, and why. *Exact*: rounded
  once, one result is right. *Rounding*: 4 units in the last place. *Accumulating*: (8 + √n) · 2⁻²⁴ · Σ|terms| of a sum of
  n terms (2⁻⁵³ in double precision). Other types are equal.
- **Gradient**: the inputs that it passes to.

| Operator | What it computes | Accuracy | Gradient |
| --- | --- | --- | --- |
";

/// What is known of one operator, from its prototype and its samples: their attributes may differ.
struct Known {
    ops: Vec<Op>,
    samples: Vec<Sample>,
}

impl Known {
    fn row(&self) -> String {
        let schema = self.ops[0].schema();
        let slots = |slots: &[&str]| slots.join(", ");
        let signature = match schema.outputs {
            [] => format!("{}({})", schema.name, slots(schema.inputs)),
            outputs => format!("{}({}) → {}", schema.name, slots(schema.inputs), slots(outputs)),
        };
        let cells = [format!("`{signature}`"), line(schema.doc), self.accuracy(), self.gradient()];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        format!("| {} |\n", cells.join(" | "))
    }

    fn accuracy(&self) -> String {
        let mut classes = Vec::new();
        for op in &self.ops {
            let results = op.schema().outputs.len() + op.operation().changes().len();
            for class in (0..results).map(|k| op.operation().accuracy(k)) {
                let class = format!("*{}*: {}", class.name(), class.reason());
                if !classes.contains(&class) {
                    classes.push(class);
                }
            }
        }
        classes.join("; or ")
    }

    fn gradient(&self) -> String {
        let (op, schema) = (self.ops[0].operation(), self.ops[0].schema());
        if schema.outputs.iter().any(|slot| slot.ends_with("@GRAD")) {
            return "is one".into();
        }
        if schema.effects.state && schema.outputs.is_empty() {
            return "updates".into();
        }
        if !op.is_differentiable() {
            return "none".into();
        }
        let passes: BTreeSet<usize> = self.samples.iter().flat_map(passes).collect();
        let slot = |&k: &usize| schema.inputs[k.min(schema.inputs.len() - 1)];
        let mut slots: Vec<&str> = passes.iter().map(slot).collect();
        slots.dedup();
        match (&slots[..], schema.effects.blocks) {
            (_, true) => "of its blocks".into(),
            ([], _) => "none".into(),
            (slots, _) => slots.join(", "),
        }
    }
}

/// The inputs of a sample that gradients pass to: of floating point, if an output is.
fn passes(sample: &Sample) -> Vec<usize> {
    let program = sample.program().unwrap_or_else(|error| panic!("{sample:?}: {error}"));
    if !program.outputs().iter().any(|&output| program.ty(output).dtype.is_float()) {
        return Vec::new();
    }
    let is_float = |k: &usize| sample.inputs[sample.slots[*k]].dtype.is_float();
    let op = sample.op.operation();
    (0..sample.slots.len()).filter(is_float).filter(|&k| op.passes_gradient(k) && op.reads(k)).collect()
}

#[test]
fn the_table_lists_the_operators() {
    let mut all: BTreeMap<&str, Known> = BTreeMap::new();
    let mut known = |op: Op, sample: Option<Sample>| {
        let known = all.entry(op.name()).or_insert(Known { ops: Vec::new(), samples: Vec::new() });
        known.ops.push(op);
        known.samples.extend(sample);
    };
    Op::prototypes().into_iter().for_each(|op| known(op, None));
    Op::samples().into_iter().for_each(|sample| known(sample.op.clone(), Some(sample)));
    let table: String = all.values().map(Known::row).collect();
    is_as_written("OPERATORS.md", &format!("{HEAD}{table}"));
}
