//! A program while it is read, whatever the dialect that it is read from: what both readers append to, and the rules that both need.
//!
//! | file | holds |
//! | --- | --- |
//! | `at.rs` | the place where a rule appends its operators |
//! | `known_values.rs` | numbers and sizes that are known while a program is read |
//! | `batch_axis.rs` | the batch that is not in front |
//! | `chosen.rs` | elements that are chosen while a program runs |
//! | `computed_range.rs` | ranges whose limits are computed while a program runs |
//! | `einsum.rs` | sums of products, written with letters |
//! | `kept_boxes.rs` | boxes that suppression keeps |
//! | `log_softmax.rs` | logarithms of softmax |
//! | `narrow.rs` | values as element types have them that are narrower than ours |
//! | `placed.rs` | values some of whose elements are replaced, or added to |
//! | `recurrent.rs` | layers of recurrent units |
//! | `regions.rs` | parts of images as images of one size |
//! | `rounded.rs` | numbers that are rounded to even ones |
//! | `sampled.rs` | elements of images at places between them |
//! | `scanned.rs` | running combinations along an axis |
//! | `units.rs` | one step of such units |
//! | `unrolled.rs` | loops that are written out |
//! | `resampled.rs` | values of other sizes along an axis |
//! | `shapes.rs` | reshapes, repetitions and paddings |

mod at;
mod batch_axis;
mod chosen;
mod computed_range;
mod einsum;
mod kept_boxes;
mod known_values;
mod log_softmax;
mod narrow;
mod placed;
mod recurrent;
mod regions;
mod resampled;
mod rounded;
mod sampled;
mod scanned;
mod shapes;
mod units;
mod unrolled;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::at::At;
pub(super) use self::batch_axis::Merged;
pub(super) use self::kept_boxes::{Keeping, Kept};
pub(super) use self::known_values::Known;
use self::known_values::known;
pub(super) use self::placed::Along;
pub(super) use self::recurrent::Steps;
pub(super) use self::regions::Regions;
pub(super) use self::resampled::Mix;
pub(super) use self::sampled::{Outside, Sampling};
pub(super) use self::shapes::{MOST_POSITIONS, positions_of};
pub(super) use self::units::{Unit, Weights};
pub(super) use self::unrolled::MOST_ITERATIONS;
use super::budget::{Budget, VALUE};
use super::error::Fault;
use super::types::too_large;
use crate::ops::compositions;
use crate::ops::{Op, Operator, Program};
use crate::program::{BlockId, DType, Dim, RowsId, Site, SymbolId, Type, VarId};

/// The value that a composition gives, or what it lacks.
pub(super) type Tried = compositions::Tried<Fault>;

/// A program while it is read.
pub(super) struct Draft {
    pub(super) program: Program,
    /// The row space of unknown leading dimensions.
    pub(super) batch: Option<RowsId>,
    /// An input of the network that has these rows.
    pub(super) has_batch: Option<VarId>,
    /// Values in which the batch is an ordinary axis, by the block and the value with rows.
    pub(super) merged: BTreeMap<(BlockId, VarId), VarId>,
    /// Row spaces whose number of rows is a size like any other: nothing else has these rows.
    pub(super) counted: BTreeSet<RowsId>,
    /// The tokens of segments, by the block and the numbers of the segments.
    pub(super) segments: BTreeMap<(BlockId, VarId), VarId>,
    /// Known elements of small values.
    pub(super) known: BTreeMap<VarId, Vec<Known>>,
    /// The names of sizes that only the file has.
    sizes: BTreeSet<String>,
    /// For each variable, the last suffix of its versions.
    suffixes: BTreeMap<String, u64>,
    budget: Budget,
}

impl Draft {
    /// An empty program, whose values may take so much memory in bytes.
    pub(super) fn new(memory: usize) -> Self {
        Draft {
            program: Program::new(),
            batch: None,
            has_batch: None,
            merged: BTreeMap::new(),
            counted: BTreeSet::new(),
            segments: BTreeMap::new(),
            known: BTreeMap::new(),
            sizes: BTreeSet::new(),
            suffixes: BTreeMap::new(),
            budget: Budget::new(memory),
        }
    }

    /// Appends an operator whose outputs are new versions of these variables.
    pub(super) fn append(
        &mut self,
        block: BlockId,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        names: &[&str],
        site: Site,
    ) -> Result<Vec<VarId>, Fault> {
        let types = self.program.infer(block, &op, inputs, blocks, None)?.types;
        if types.len() != names.len() {
            return Err(Fault::Outputs { found: names.len(), expected: types.len() });
        }
        let mut outputs = Vec::with_capacity(names.len());
        for (name, ty) in names.iter().zip(types) {
            let name = self.fresh(name);
            self.budget.charge(&name, &ty)?;
            outputs.push(self.program.create_var(block, &name, ty)?);
        }
        if let [output] = outputs[..] {
            let of_inputs: Vec<Option<&[Known]>> =
                inputs.iter().map(|input| self.known.get(input).map(Vec::as_slice)).collect();
            let types: Vec<&Type> = inputs.iter().map(|&input| self.program.ty(input)).collect();
            if let Some(known) = known(&op, &of_inputs, &types, self.program.ty(output)) {
                self.spend(VALUE * known.len())?;
                self.known.insert(output, known);
            }
        }
        let (inputs, blocks) = (inputs.to_vec(), blocks.to_vec());
        let operator = Operator { op, inputs, outputs: outputs.clone(), blocks, site };
        self.program.push_op(block, operator);
        Ok(outputs)
    }

    /// Adds a parameter to a block as a new version of a variable.
    pub(super) fn block_parameter(&mut self, id: BlockId, name: &str, ty: &Type) -> Result<VarId, Fault> {
        let name = self.fresh(name);
        self.budget.charge(&name, ty)?;
        Ok(self.program.create_block_parameter(id, &name, ty.clone())?)
    }

    /// Subtracts so many bytes from the memory that is left. What takes time and no memory is counted, too: loops that are
    /// written out make many operators of few.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.budget.spend(bytes)
    }

    /// The name of the next version of a variable: its own, or its own with the first free suffix.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let mut fresh = name.to_string();
        while self.program.find(&fresh).is_some() {
            let suffix = self.suffixes.entry(name.to_string()).or_default();
            *suffix += 1;
            fresh = format!("{name}_{suffix}");
        }
        fresh
    }

    /// Returns the type if a value of it fits into memory.
    pub(super) fn checked(&self, ty: Type) -> Result<Type, Fault> {
        if ty.is_possible() { Ok(ty) } else { Err(too_large(&ty)) }
    }

    /// A new symbol, with this name or a similar one.
    pub(super) fn size(&mut self, name: &str) -> SymbolId {
        let free = self.free_size(name.to_string());
        self.program.create_symbol(&free)
    }

    pub(super) fn free_size(&mut self, mut name: String) -> String {
        while !self.sizes.insert(name.clone()) {
            name.push('\'');
        }
        name
    }

    /// The rows of the batch.
    pub(super) fn batch(&mut self) -> RowsId {
        *self.batch.get_or_insert_with(|| self.program.create_rows("_"))
    }

    pub(super) fn ty(&self, var: VarId) -> &Type {
        self.program.ty(var)
    }

    /// The axis with this number, which counts from the end if it is negative.
    pub(super) fn axis(&self, var: VarId, axis: i64) -> Option<usize> {
        let rank = self.ty(var).rank() as i64;
        usize::try_from(if axis < 0 { axis.checked_add(rank)? } else { axis })
            .ok()
            .filter(|&a| (a as i64) < rank)
    }

    /// The fault of an axis that a value does not have.
    pub(super) fn no_axis(&self, var: VarId, attribute: &'static str, axis: i64) -> Fault {
        let message = format!("there is no axis {axis} of {} dimensions", self.ty(var).rank());
        Fault::Attribute { attribute, message }
    }

    /// The row space with this number of rows.
    pub(super) fn rows_of_number(&self, number: &Dim) -> Option<RowsId> {
        let symbol = number.as_symbol()?;
        let place = self.program.row_spaces().iter().position(|rows| rows.size == symbol)?;
        Some(RowsId(place as u32))
    }

    /// The type with these sizes. If the first is the number of rows of a row space, the type has these rows.
    pub(super) fn type_of(&self, dtype: DType, mut dims: Vec<Dim>) -> Type {
        let rows = dims.first().and_then(|dim| self.rows_of_number(dim));
        let rows = rows.filter(|rows| !self.counted.contains(rows));
        if rows.is_some() {
            dims.remove(0);
        }
        Type { dtype, rows, dims }
    }
}
