//! The translation of a file: values get names, operators the form of before.

use std::collections::{BTreeMap, BTreeSet};

use super::json::{self, Dialect, Operation, Ty, Wrong};
use crate::convert::from_wire::THIRD_VERSION;
use crate::convert::to_wire::holder;
use crate::wire::{BlockDesc, ProgramDesc, VarKind, Version, WireError};

/// Translates a whole file.
pub(super) fn program(bytes: &[u8]) -> Result<ProgramDesc, WireError> {
    let wrong = |cause: Wrong| WireError::Json { place: None, cause };
    let file = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    let regions = json::regions(&file).map_err(wrong)?;
    let [region] = regions else { return Err(wrong(format!("it has {} regions", regions.len()))) };
    let mut translation = Translation::new(bytes.len(), json::overwritten(regions));
    let (number, block) = translation.block(region, None).map_err(wrong)?;
    let holders = [("feed", VarKind::FeedMinibatch), ("fetch", VarKind::FetchList)];
    translation.blocks[number].vars.extend(holders.map(|(name, kind)| holder(name, kind)));
    match translation.operators(block, number)? {
        Some(_) => Err(wrong("its outermost block yields values".to_string())),
        None => Ok(translation.finish()),
    }
}

/// The state of a translation.
pub(super) struct Translation {
    pub(super) blocks: Vec<BlockDesc>,
    pub(super) values: BTreeMap<i64, Named>,
    pub(super) constants: BTreeMap<i64, Constant>,
    /// Values that are written in place, so that none of them is a constant.
    overwritten: BTreeSet<i64>,
    /// Values that stand for none yet: they have no shape of their own, though their type has one.
    pub(super) undefined: BTreeSet<i64>,
    /// The elements of lists that were made one value.
    pub(super) stacked: BTreeMap<i64, Stacked>,
    /// How many values have been written in place, and when each name was so last.
    pub(super) writes: usize,
    pub(super) written: BTreeMap<String, usize>,
    /// The values that have been fed.
    pub(super) inputs: usize,
    /// The types of elements.
    pub(super) elements: BTreeMap<i64, VarKind>,
    /// The names that are taken.
    pub(super) names: BTreeSet<String>,
    /// The names and numbers that operators may still have: in a file that PaddlePaddle wrote they are fewer than its bytes. The same
    /// list of a few bytes could be an operand again and again.
    pub(super) room: usize,
}

/// How a value is called.
#[derive(Clone)]
pub(super) enum Named {
    One(String),
    /// A list of values.
    Several(Vec<String>),
}

impl Named {
    pub(super) fn all(&self) -> Vec<String> {
        match self {
            Named::One(name) => vec![name.clone()],
            Named::Several(names) => names.clone(),
        }
    }
}

/// A list that was made one value: in which block, the elements, and how many values had been written in place before.
pub(super) struct Stacked {
    pub(super) block: usize,
    pub(super) parts: Vec<String>,
    pub(super) writes: usize,
}

/// What is known of a value.
pub(super) enum Constant {
    Number { value: f64, element: VarKind },
    Ints(Vec<i64>),
}

impl Translation {
    fn new(room: usize, overwritten: BTreeSet<i64>) -> Self {
        Translation {
            blocks: Vec::new(),
            values: BTreeMap::new(),
            constants: BTreeMap::new(),
            overwritten,
            undefined: BTreeSet::new(),
            stacked: BTreeMap::new(),
            writes: 0,
            written: BTreeMap::new(),
            inputs: 0,
            elements: BTreeMap::new(),
            names: ["feed", "fetch"].map(String::from).into(),
            room,
        }
    }

    /// Keeps what is known of a value, unless it is written in place.
    pub(super) fn is_constant(&mut self, id: i64, constant: Constant) {
        if !self.overwritten.contains(&id) {
            self.constants.insert(id, constant);
        }
    }

    /// The translated program, without the constants that only attributes have.
    fn finish(mut self) -> ProgramDesc {
        let ops = self.blocks.iter().flat_map(|block| &block.ops);
        let read: BTreeSet<String> =
            ops.flat_map(|op| &op.inputs).flat_map(|slot| slot.arguments.iter().cloned()).collect();
        for block in &mut self.blocks {
            block.ops.retain(|op| {
                let is_constant = matches!(op.r#type.as_str(), "fill_constant" | "assign_value");
                !is_constant || op.output("Out").iter().any(|name| read.contains(name))
            });
        }
        let version = Version { version: Some(THIRD_VERSION), ..Version::default() };
        ProgramDesc { blocks: self.blocks, version: Some(version), ..ProgramDesc::default() }
    }

    /// Begins a block for the only block of a region: its number, and what it has.
    pub(super) fn block<'j>(
        &mut self,
        region: &'j serde_json::Value,
        parent: Option<usize>,
    ) -> Result<(usize, &'j serde_json::Value), Wrong> {
        let [block] = json::blocks(region)? else {
            return Err("a region of it does not have one block".to_string());
        };
        let number = self.blocks.len();
        self.blocks.push(BlockDesc {
            idx: number as i32,
            parent_idx: parent.map_or(-1, |parent| parent as i32),
            forward_block_idx: Some(-1),
            ..BlockDesc::default()
        });
        Ok((number, block))
    }

    /// Translates the operators of a block. What its last one yields are the results.
    pub(super) fn operators(
        &mut self,
        block: &serde_json::Value,
        number: usize,
    ) -> Result<Option<Vec<i64>>, WireError> {
        let place = |at: usize| Some(format!("operator {at} of block {number}"));
        let operators = json::operators(block).map_err(|cause| WireError::Json { place: None, cause })?;
        for (at, value) in operators.iter().enumerate() {
            let wrong = |cause: Wrong| WireError::Json { place: place(at), cause };
            let operation = Operation::new(value).map_err(wrong)?;
            let wrong = |cause: Wrong| {
                let place = place(at).map(|place| format!("{place}, `{}`", operation.name));
                WireError::Json { place, cause }
            };
            match (operation.dialect, operation.name) {
                (Dialect::ControlFlow, "yield") if at + 1 == operators.len() => {
                    return Ok(Some(operation.operands));
                }
                (Dialect::Operator, "if") => self.branches(&operation, number, &wrong)?,
                (Dialect::Operator, "while") => self.repetition(&operation, number, &wrong)?,
                _ => self.operator(&operation, number).map_err(wrong)?,
            }
        }
        Ok(None)
    }

    /// Translates an operator without regions.
    fn operator(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        for (id, ty) in &x.results {
            if let Ty::Tensor { element, .. } = ty {
                self.elements.insert(*id, *element);
            }
        }
        match (x.dialect, x.name) {
            (Dialect::Builtin, "parameter") => self.parameter(x),
            (Dialect::Builtin, "combine") => self.combined(x),
            (Dialect::Builtin, "split") => self.split(x),
            (Dialect::Operator, "data" | "feed") => self.input(x, block),
            (Dialect::Operator, "fetch") => self.output(x, block),
            (Dialect::Operator, "full") => self.full(x, block),
            (Dialect::Operator, "full_int_array") => self.full_int_array(x, block),
            (Dialect::Operator, "assign_value" | "assign_value_") => self.assign_value(x, block),
            (Dialect::Operator, "assign_out_") => self.assign_out(x, block),
            (Dialect::Operator, "create_array") => self.results(x, block).map(|_| ()),
            (Dialect::Operator, "array_write_") => self.write_to_array(x, block),
            (Dialect::Operator, "slice_array_dense") => self.place_of_array(x, block),
            (Dialect::Operator, "shape64") => self.shape(x, block),
            (Dialect::Operator, "arange") => self.range(x, block),
            (Dialect::Operator, _) => self.by_table(x, block),
            _ => self.unknown(x, block),
        }
    }
}
