//! `OPERATORS.md`: the operators.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::{Op, Sample, Slot};

use crate::{is_as_written, line, path};

const HEAD: &str = "\
# Operators

Written by `UPDATE_GOLDEN=1 cargo test -p paddle-core --test tables` from the operators' own files, `paddle-core/src/ops/`.

- **Operator**: its name and slots, PaddlePaddle's where it has the operator; `*` takes any number of values.
- **Accuracy**: how far the floating-point results of a kernel may be from the exact ones, and why. *Exact*: rounded
  once, one result is right. *Rounding*: 4 units in the last place. *Accumulating*: (8 + √n) · 2⁻²⁴ · Σ|terms| of a sum of
  n terms (2⁻⁵³ in double precision). *Transformed*: (80 + √n) · 2⁻²⁴ · Σ|terms|, in double precision as *accumulating*. Other types are
  equal.
- **Gradient**: the inputs that it passes to.

| Operator | What it computes | Accuracy | Gradient |
| --- | --- | --- | --- |
";

/// The heading of the part that the kernels' tests write, `paddle-kernels/tests/backends/operators_on_cards.rs`.
const ON_CARDS: &str = "\n## On cards\n";

/// What is known of one operator, from its prototype and its samples: their attributes may differ.
struct Known {
    ops: Vec<Op>,
    samples: Vec<Sample>,
}

impl Known {
    fn row(&self) -> String {
        let schema = self.ops[0].schema();
        let slots = |slots: &[Slot]| slots.iter().map(Slot::to_string).collect::<Vec<_>>().join(", ");
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
            let class = op.operation().accuracy();
            let class = format!("*{}*: {}", class.name(), class.reason());
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        classes.join("; or ")
    }

    fn gradient(&self) -> String {
        let schema = self.ops[0].schema();
        if schema.effects.blocks {
            return "of its blocks".into();
        }
        if schema.outputs.iter().any(|slot| slot.name.ends_with("@GRAD")) {
            return "is one".into();
        }
        if schema.effects.state && schema.outputs.is_empty() {
            return "updates".into();
        }
        if !schema.effects.differentiable {
            return "none".into();
        }
        let passes: BTreeSet<usize> = self.samples.iter().flat_map(passes).collect();
        let mut slots: Vec<String> = passes.iter().map(|&k| schema.input(k).to_string()).collect();
        slots.dedup();
        if slots.is_empty() { "none".into() } else { slots.join(", ") }
    }
}

/// The inputs of a sample that gradients pass to: of floating point, if an output is.
fn passes(sample: &Sample) -> Vec<usize> {
    let program = sample.program().unwrap_or_else(|error| panic!("{sample:?}: {error}"));
    if !program.outputs().iter().any(|&output| program.ty(output).dtype.is_float()) {
        return Vec::new();
    }
    let is_float = |k: &usize| sample.inputs[sample.slots[*k]].dtype.is_float();
    let passes = |k: &usize| {
        let slot = sample.op.operation().input(*k);
        slot.passes_gradient && slot.is_read
    };
    (0..sample.slots.len()).filter(is_float).filter(passes).collect()
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
    // Behind it is what tests of the kernels write.
    let kept = std::fs::read_to_string(path("OPERATORS.md")).unwrap_or_default();
    let behind = kept.find(ON_CARDS).map_or("", |at| &kept[at..]);
    is_as_written("OPERATORS.md", &format!("{HEAD}{table}{behind}"));
}

#[test]
fn what_slots_say_fits_their_operators() {
    for op in Op::prototypes() {
        let schema = op.schema();
        for slots in [schema.inputs, schema.outputs] {
            let before = slots.split_last().map_or(slots, |(_, before)| before);
            let is_early = before.iter().any(|slot| slot.is_variadic);
            assert!(!is_early, "`{}`: only the last slot takes any number", schema.name);
        }
        let is_changed = schema.inputs.iter().any(|slot| slot.is_changed);
        assert!(!is_changed || schema.effects.state, "`{}` changes an input, which is state", schema.name);
        let of_inputs = schema.inputs.iter().any(|slot| slot.is_intermediate);
        let of_outputs = schema.outputs.iter().any(|slot| slot.is_changed || !slot.is_read);
        assert!(!of_inputs && !of_outputs, "`{}` says of a slot what is of others", schema.name);
    }
}

macro_rules! names {
    ($($name:ident,)*) => {
        [$(stringify!($name)),*]
    };
}

#[test]
fn the_list_that_is_passed_on_has_every_operator() {
    let listed = BTreeSet::from(paddle_core::with_operators!(names));
    let shown: Vec<String> = Op::prototypes().iter().map(|op| format!("{op:?}")).collect();
    let variants: BTreeSet<&str> = shown.iter().filter_map(|op| op.split('(').next()).collect();
    assert_eq!(listed, variants);
}
