//! The arrangement: the layouts of values, and those in which operators read and write them.
//!
//! A backend [prefers](Backend::prefers) some operators in another layout than row-major order, and
//! [takes](Backend::takes) others in it. Values that an operator takes only *alike* are a region: all of them have the
//! layout, or none. A region has it if that leaves fewer elements to be brought to another order. At the border of a
//! region the plan has launches that change the layout, except where the operator there takes both layouts. A transpose to the order
//! of the layout is a view of what has the layout, so there the layout is what saves moving elements.

use std::collections::{BTreeMap, BTreeSet};

use super::backend::{Backend, Layout, Side, Takes};
use super::facts::Facts;
use super::live::At;
use super::views::stays_in;
use crate::ops::{Operator, Program};
use crate::passes::{Switch, Switches};
use crate::program::{Definition, Dim, VarId};

/// The layouts of a program on a backend.
#[derive(Default)]
pub(super) struct Arrangement {
    /// The layout that is not row-major order.
    layout: Layout,
    /// The values that have the layout.
    values: BTreeSet<VarId>,
    /// The operators that read or write a value in the layout, and the value.
    operands: BTreeSet<(At, VarId)>,
}

/// The layout beside row-major order that values of a program may have on a backend; row-major order if there is none.
pub(super) fn preferred<B: Backend>(backend: &B, program: &Program, switches: Switches) -> Layout {
    let mut operators = program.blocks().iter().flat_map(|block| &block.ops);
    let layout = operators.find_map(|operator| backend.prefers(&operator.op));
    layout.filter(|_| switches.has(Switch::Arrange)).unwrap_or_default()
}

impl Arrangement {
    /// Arranges the values of a program, which may have this [preferred] layout.
    pub(super) fn new<B: Backend>(
        backend: &B,
        program: &Program,
        facts: &Facts,
        layout: Layout,
    ) -> Arrangement {
        match layout.is_row_major() {
            true => Arrangement::default(),
            false => Regions::new(backend, program, facts, layout).arrange(),
        }
    }

    /// The layout of a value, which is that of its memory.
    pub(super) fn of_value(&self, var: VarId) -> Layout {
        if self.values.contains(&var) { self.layout.clone() } else { Layout::ROW_MAJOR }
    }

    /// The layout in which an operator reads or writes a value.
    pub(super) fn of_operand(&self, at: At, var: VarId) -> Layout {
        if self.operands.contains(&(at, var)) { self.layout.clone() } else { Layout::ROW_MAJOR }
    }
}

/// The regions of a program, before their layouts are chosen.
struct Regions<'a> {
    program: &'a Program,
    layout: Layout,
    /// For each operator, how it takes the operands whose elements have another order in the layout.
    takes: BTreeMap<At, BTreeMap<VarId, Takes>>,
    /// For each operator, the operands that it takes alike whose elements have the same order in both layouts. They are said
    /// to have the layout of the others.
    same: BTreeMap<At, BTreeSet<VarId>>,
    /// For operators that change nothing in memory if one operand has the layout, this operand.
    staying: BTreeMap<At, VarId>,
    /// The values that have to be in row-major order.
    pinned: BTreeSet<VarId>,
    /// For each value and each operator that takes operands alike, another one of its region, or itself.
    parents: BTreeMap<Node, Node>,
    /// For a region, how many elements have to be brought to another order if it has the layout, and if it has not.
    costs: BTreeMap<Node, [u64; 2]>,
}

/// A member of a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Value(VarId),
    Operator(At),
}

impl<'a> Regions<'a> {
    fn new<B: Backend>(backend: &B, program: &'a Program, facts: &Facts, layout: Layout) -> Self {
        let mut regions = Regions {
            program,
            layout,
            takes: BTreeMap::new(),
            same: BTreeMap::new(),
            staying: BTreeMap::new(),
            pinned: BTreeSet::new(),
            parents: BTreeMap::new(),
            costs: BTreeMap::new(),
        };
        let mut preferring = BTreeSet::new();
        for &at in &facts.live {
            let operator = &program.block(at.0).ops[at.1];
            regions.add(backend, facts, at, operator);
            if backend.prefers(&operator.op).as_ref() == Some(&regions.layout) {
                preferring.insert(at);
            }
        }
        regions.join();
        regions.count(&preferring);
        regions
    }

    /// Adds an operator, and those of its operands that have to be in row-major order.
    fn add<B: Backend>(&mut self, backend: &B, facts: &Facts, at: At, operator: &Operator) {
        let program = self.program;
        let side = Side::of(backend, program, operator);
        let fits = side == Some(Side::Own) && self.fits(operator);
        let (mut takes, mut same): (BTreeMap<VarId, Takes>, _) = (BTreeMap::new(), BTreeSet::new());
        for (k, &var) in operator.inputs.iter().chain(&operator.outputs).enumerate() {
            let shape = program.shape(program.ty(var));
            let is_used = k >= operator.inputs.len() || operator.op.operation().input(k).is_read;
            if !is_used || self.layout.rank() != Some(shape.len()) {
                continue;
            }
            let taken = if fits { backend.takes(&operator.op, k, &self.layout) } else { Takes::RowMajor };
            if self.layout.keeps_order(|axis| is_one(&shape[axis])) {
                if taken == Takes::Alike {
                    same.insert(var);
                }
                continue;
            }
            takes.entry(var).and_modify(|before| *before = taken.min(*before)).or_insert(taken);
            // The runtime itself moves the operands of operators that no side supports.
            if side.is_none()
                || program.var(var).definition != Definition::Operator
                || facts.kept.contains(&var)
                || facts.results.contains_key(&var)
                || facts.parts.contains_key(&var)
            {
                self.pinned.insert(var);
            }
        }
        // If the result has memory of its own, something is moved in any case.
        if operator.outputs.iter().all(|output| facts.views.contains_key(output)) {
            self.staying.extend(stays_in(operator, &self.layout).map(|var| (at, var)));
        }
        self.takes.insert(at, takes);
        self.same.insert(at, same);
    }

    /// Whether operands with fewer axes than the layout mean the same for values in it: in element-wise operators they are
    /// aligned at the last axes.
    fn fits(&self, operator: &Operator) -> bool {
        let Some(rank) = self.layout.rank() else { return false };
        let aligned = |&input: &VarId| {
            let shape = self.program.shape(self.program.ty(input));
            rank.checked_sub(shape.len()).is_some_and(|lead| {
                lead == 0 || self.layout.keeps_order(|axis| axis < lead || is_one(&shape[axis - lead]))
            })
        };
        !operator.op.effects().element_wise || operator.inputs.iter().all(aligned)
    }

    fn root(&self, mut node: Node) -> Node {
        while let Some(&parent) = self.parents.get(&node).filter(|&&parent| parent != node) {
            node = parent;
        }
        node
    }

    /// Joins operators and the operands that they take alike.
    fn join(&mut self) {
        let all: Vec<(At, VarId)> = self
            .takes
            .iter()
            .flat_map(|(&at, takes)| takes.iter().map(move |(&var, &takes)| (at, var, takes)))
            .filter(|&(_, var, takes)| takes == Takes::Alike && !self.pinned.contains(&var))
            .map(|(at, var, _)| (at, var))
            .collect();
        for (at, var) in all {
            let (from, to) = (self.root(Node::Value(var)), self.root(Node::Operator(at)));
            self.parents.insert(from, to);
        }
    }

    /// Counts what operators cost the regions of their operands.
    fn count(&mut self, preferring: &BTreeSet<At>) {
        let mut costs: BTreeMap<Node, [u64; 2]> = BTreeMap::new();
        // A value is brought to row-major order once, however many operators read it.
        let mut seen = BTreeSet::new();
        for (&at, takes) in &self.takes {
            for (&var, &takes) in takes {
                let elements = self.elements(var);
                let (node, cost) = match (takes, self.pinned.contains(&var)) {
                    (_, false) if self.staying.get(&at) == Some(&var) => (Node::Value(var), [0, elements]),
                    (Takes::Alike, true) => (Node::Operator(at), [elements, 0]),
                    (Takes::Each, false) if preferring.contains(&at) => (Node::Value(var), [0, elements]),
                    (Takes::RowMajor, false) if seen.insert(var) => (Node::Value(var), [elements, 0]),
                    _ => continue,
                };
                let costs = costs.entry(self.root(node)).or_default();
                for (costs, cost) in costs.iter_mut().zip(cost) {
                    *costs = costs.saturating_add(cost);
                }
            }
        }
        self.costs = costs;
    }

    /// The elements of a value as far as they are known: for each row.
    fn elements(&self, var: VarId) -> u64 {
        let shape = self.program.shape(self.program.ty(var));
        let known = shape.iter().filter_map(|dim| u64::try_from(dim.constant()?).ok());
        known.fold(1, u64::saturating_mul)
    }

    /// Whether the region of a member has the layout.
    fn has_layout(&self, node: Node) -> bool {
        self.costs.get(&self.root(node)).is_some_and(|[with, without]| with < without)
    }

    fn arrange(self) -> Arrangement {
        let (mut values, mut operands) = (BTreeSet::new(), BTreeSet::new());
        for (&at, takes) in &self.takes {
            for (&var, &takes) in takes {
                let in_layout = !self.pinned.contains(&var) && self.has_layout(Node::Value(var));
                if in_layout {
                    values.insert(var);
                }
                let is_operand = match takes {
                    Takes::RowMajor => false,
                    Takes::Alike => self.has_layout(Node::Operator(at)),
                    Takes::Each => in_layout,
                };
                if is_operand {
                    operands.insert((at, var));
                }
            }
        }
        for (&at, same) in self.same.iter().filter(|&(&at, _)| self.has_layout(Node::Operator(at))) {
            operands.extend(same.iter().map(|&var| (at, var)));
        }
        Arrangement { layout: self.layout, values, operands }
    }
}

fn is_one(dim: &Dim) -> bool {
    dim.constant() == Some(1)
}
