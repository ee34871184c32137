//! Reads PaddlePaddle's programs from the wire. See the [module documentation](super).

mod batch_axis;
mod inlined;
mod known_values;
mod narrow_types;
mod operator;
mod parameter_values;
mod rules;
mod saved_values;
mod side_by_side;
mod sizes_of_inputs;
mod unsupported;
mod variables;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::narrow_types::{bits, half, widened};
use self::operator::Reading;
#[cfg(feature = "convert")]
pub(super) use self::parameter_values::check_params;
pub use self::parameter_values::load_params;
pub use self::rules::is_known;
use self::rules::{Array, ArrayLoop, RankTable, TableName};
pub use self::saved_values::load_saved;
#[cfg(feature = "convert")]
pub(super) use self::unsupported::load_recorded_forward;
pub use self::unsupported::{Unsupported, load, load_to_train};
use self::versions::Versions;
use super::budget::MEMORY;
use super::draft::Draft;
use super::ours::{from_ours, is_ours};
use super::sites::{Sites, place, record_gradients};
use crate::convert::blocks::{WireBlock, blocks, column, in_order, one};
use crate::convert::error::{ConvertError, Fault};
use crate::ops::{Program, Store};
use crate::program::{BlockId, Definition, Mark, Site, VarId};
use crate::wire::ProgramDesc;

/// The release from which on slices that go backwards end where Python's do, casts to types of 16 bits round to the nearest number, and
/// programs are saved as JSON.
pub(super) const THIRD_VERSION: i64 = 3_000_000;

/// Reads a program, in our own dialect or PaddlePaddle's.
///
/// Parameters get the initialisers of `startup`, and zeros without one; [`load_params`] reads their values.
///
/// Whatever the messages hold, reading does not panic and takes bounded memory. Errors have a place.
pub fn from_wire(main: &ProgramDesc, startup: Option<&ProgramDesc>) -> Result<Program, ConvertError> {
    if is_ours(main) {
        return from_ours(main, startup);
    }
    let mut reader = Reader::new(main, MEMORY)?;
    reader.read(startup)?;
    Ok(reader.draft.program)
}

/// The state of a reader.
struct Reader<'a> {
    /// The release that wrote the program: `major * 1000000 + minor * 1000 + patch`, or 0.
    version: i64,
    blocks: Vec<WireBlock<'a>>,
    versions: Versions<'a>,
    /// What is in the places of each array, by the block that declares it and its name.
    arrays: BTreeMap<(usize, &'a str), Array<'a>>,
    /// The rank tables, by the block that declares them and their names.
    rank_tables: BTreeMap<TableName<'a>, RankTable>,
    /// The loops around what is read now that keep values of their iterations in arrays, the outermost first.
    array_loops: Vec<ArrayLoop<'a>>,
    draft: Draft,
    sites: Sites,
    /// The gradient of each parameter.
    gradients: BTreeMap<VarId, VarId>,
    /// The names of variables that an operator reads which is no loop, and that are more than copied to variables which none reads.
    read: BTreeSet<&'a str>,
    /// Whether operators that were saved for inference are read as those of a training.
    trains: bool,
    /// The faults so far, if all of them are wanted.
    found: Option<Vec<ConvertError>>,
}

impl<'a> Reader<'a> {
    /// A reader of a program whose values may take so much memory in bytes.
    fn new(main: &'a ProgramDesc, memory: usize) -> Result<Self, ConvertError> {
        let blocks = blocks(main)?;
        Ok(Reader {
            version: main.version.as_ref().and_then(|version| version.version).unwrap_or_default(),
            versions: Versions::new(blocks.len()),
            read: read(&blocks),
            arrays: BTreeMap::new(),
            rank_tables: BTreeMap::new(),
            array_loops: Vec::new(),
            blocks,
            draft: Draft::new(memory),
            sites: Sites::default(),
            gradients: BTreeMap::new(),
            trains: false,
            found: None,
        })
    }

    /// Reads the program. It is complete if no fault was found.
    fn read(&mut self, startup: Option<&'a ProgramDesc>) -> Result<(), ConvertError> {
        self.versions.enter(0, Program::GLOBAL, BTreeSet::new());
        self.parameters(startup)?;
        self.inputs()?;
        let outputs = self.block(0)?;
        if self.found.as_ref().is_some_and(|found| !found.is_empty()) {
            return Ok(());
        }
        self.draft.program.set_outputs(&outputs)?;
        record_gradients(&mut self.draft.program, &self.gradients);
        self.draft.program.verify().map_err(Fault::Verify)?;
        self.draft.program.derive_checks();
        Ok(())
    }

    /// The parameter or state of a variable that outlives a run.
    fn lasting(&self, block: usize, name: &str) -> Option<VarId> {
        let is_local = block != 0 && self.blocks[block].declared.contains_key(name);
        let var = self.draft.program.find(name).filter(|_| !is_local)?;
        let lasts =
            matches!(self.draft.program.var(var).definition, Definition::Parameter | Definition::State);
        lasts.then_some(var)
    }

    /// Stores a value in such a variable.
    fn store(
        &mut self,
        block: usize,
        name: &'a str,
        lasting: VarId,
        value: VarId,
        site: Site,
    ) -> Result<(), Fault> {
        let id = self.versions.id(block).unwrap_or(BlockId(u32::MAX));
        self.draft.append(id, Store.into(), &[lasting, value], &[], &[], site)?;
        self.versions.write(&self.blocks, block, name, lasting)
    }

    /// Takes back what an attempt has appended.
    fn take_back(&mut self, to: Mark) {
        self.rank_tables.retain(|_, table| table.remains(to));
        self.draft.take_back(to);
    }

    /// Whether there are operators that have no rule and stay foreign. One that repeats elements has none if a run computes how often.
    fn has_unknown(&self) -> bool {
        let mut ops = self.blocks.iter().flat_map(|block| &block.desc.ops);
        let is_read = |name: &str| is_known(name) || ["feed", "fetch"].contains(&name);
        ops.any(|op| !is_read(&op.r#type) || !op.input("RepeatsTensor").is_empty())
    }

    /// The number of operators' reads of a variable with this name.
    fn readers(&self, name: &str) -> usize {
        let ops = self.blocks.iter().flat_map(|block| &block.desc.ops);
        ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments).filter(|read| *read == name).count()
    }

    /// The number of operators of this type, `feed` or `fetch`, in a block.
    fn count(&self, block: usize, op_type: &str) -> usize {
        self.blocks[block].desc.ops.iter().filter(|op| op.r#type == op_type).count()
    }

    /// Reads the operators of a block, and returns the values of its `fetch` operators.
    fn block(&mut self, block: usize) -> Result<Vec<VarId>, ConvertError> {
        let mut columns = Vec::new();
        for (at, op) in self.blocks[block].desc.ops.iter().enumerate() {
            match op.r#type.as_str() {
                // `feed` operators were read before all others.
                "feed" => {}
                "fetch" => {
                    let read = || {
                        let name = one(op.input("X"), "X")?;
                        Ok((column(op)?, self.versions.read(&self.blocks, block, name)?))
                    };
                    match read() {
                        Ok(column) => columns.push(column),
                        Err(fault) => self.go_on(place(fault, block, at, op), block, [])?,
                    }
                }
                _ => {
                    let site = self
                        .sites
                        .site(&mut self.draft.program, op)
                        .map_err(|fault| place(fault, block, at, op))?;
                    let mut reading = Reading::new(self, op, block, site);
                    if let Err(error) = reading.operator() {
                        // An error inside of a nested block has its own place already.
                        let fault = match error.place {
                            Some(_) => error,
                            None => place(error.fault, block, at, op),
                        };
                        self.go_on_behind(fault, block, op)?;
                    }
                }
            }
        }
        if self.found.is_some() && columns.len() < self.count(block, "fetch") {
            // What is not there has been reported, or follows from what was.
            return Err(Fault::Unread { name: "fetch".to_string() }.into());
        }
        in_order(columns).ok_or(Fault::Columns { operator: "fetch", block }.into())
    }
}

/// The names of variables that operators read, which are no loops and copy to more than variables that none reads.
fn read<'a>(blocks: &[WireBlock<'a>]) -> BTreeSet<&'a str> {
    let lasts = |name: &String| {
        let declared = blocks.iter().filter_map(|block| block.declared.get(name.as_str()));
        declared.into_iter().any(|var| var.persistable == Some(true))
    };
    let (mut copied, mut left) = (BTreeMap::<&str, Vec<&str>>::new(), Vec::new());
    for op in blocks.iter().flat_map(|block| &block.desc.ops) {
        let inputs = op.inputs.iter().filter(|slot| op.r#type != "while" || slot.parameter == "Condition");
        let inputs = inputs.flat_map(|slot| &slot.arguments).map(String::as_str);
        match op.output("Out") {
            [copy] if op.r#type == "assign" && !lasts(copy) => copied.entry(copy).or_default().extend(inputs),
            _ => left.extend(inputs),
        }
    }
    let mut read = BTreeSet::new();
    while let Some(name) = left.pop() {
        if read.insert(name) {
            left.extend(copied.remove(name).unwrap_or_default());
        }
    }
    read
}
