//! Reads `Program`s from the wire: our own dialect and PaddlePaddle's, by the same rules. See the [module
//! documentation](super).

mod batch_axis;
mod blocks;
mod error;
mod inlined;
mod known_values;
mod narrow_types;
mod operator;
mod own_tables;
mod parameter_values;
mod rules;
mod saved_values;
mod sizes_of_inputs;
mod unsupported;
mod variables;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use self::blocks::{WireBlock, blocks};
pub use self::error::{ConvertError, Fault, VariableFault, WirePlace};
pub(super) use self::narrow_types::{bits, half, widened, wider};
use self::operator::Reading;
#[cfg(feature = "convert")]
pub(super) use self::parameter_values::check_params;
pub use self::parameter_values::load_params;
pub use self::rules::is_known;
#[cfg(feature = "convert")]
pub(super) use self::rules::update_of;
use self::rules::{Array, ArrayLoop, RankTable, TableName};
pub use self::saved_values::load_saved;
#[cfg(feature = "convert")]
pub(super) use self::unsupported::load_recorded_forward;
pub use self::unsupported::{Unsupported, load, load_to_train};
use self::versions::Versions;
use super::dialect::{CALLSTACK, PROGRAM, ROLE, ROLE_VAR};
use super::draft::{Draft, MEMORY};
use crate::ops::{Program, Store};
use crate::program::{BlockId, Definition, FileId, Located, Mark, Place, Role, Site, Type, VarId};
use crate::wire::{OpDesc, ProgramDesc};

/// Reads a program.
///
/// Parameters get the initialisers of `startup`, and zeros without one; [`load_params`] reads their values.
///
/// Whatever the messages hold, reading does not panic and takes bounded memory. Errors have a place.
pub fn from_wire(main: &ProgramDesc, startup: Option<&ProgramDesc>) -> Result<Program, ConvertError> {
    let mut reader = Reader::new(main, MEMORY)?;
    reader.read(startup)?;
    Ok(reader.draft.program)
}

/// The state of a reader.
struct Reader<'a> {
    blocks: Vec<WireBlock<'a>>,
    versions: Versions<'a>,
    /// What is in the places of each array, by the block that declares it and its name.
    arrays: BTreeMap<(usize, &'a str), Array<'a>>,
    /// The rank tables, by the block that declares them and their names.
    rank_tables: BTreeMap<TableName<'a>, RankTable>,
    /// The loops around what is read now that keep values of their iterations in arrays, the outermost first.
    array_loops: Vec<ArrayLoop<'a>>,
    draft: Draft,
    /// Whether the program is in our own dialect. If so, its blocks keep their numbers.
    is_ours: bool,
    files: BTreeMap<String, FileId>,
    /// The gradient of each parameter.
    gradients: BTreeMap<VarId, VarId>,
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
            versions: Versions::new(blocks.len()),
            arrays: BTreeMap::new(),
            rank_tables: BTreeMap::new(),
            array_loops: Vec::new(),
            blocks,
            draft: Draft::new(memory),
            is_ours: false,
            files: BTreeMap::new(),
            gradients: BTreeMap::new(),
            trains: false,
            found: None,
        })
    }

    /// Reads the program. It is complete if no fault was found.
    fn read(&mut self, startup: Option<&'a ProgramDesc>) -> Result<(), ConvertError> {
        self.versions.enter(0, Program::GLOBAL, BTreeSet::new());
        self.header()?;
        self.parameters(startup)?;
        self.inputs()?;
        let outputs = self.block(0)?;
        if self.found.as_ref().is_some_and(|found| !found.is_empty()) {
            return Ok(());
        }
        self.draft.program.set_outputs(&outputs)?;
        self.pairs()?;
        self.taps()?;
        self.draft.program.verify().map_err(Fault::Verify)?;
        self.draft.program.derive_checks();
        Ok(())
    }

    /// The variables that the `feed` operators of a block write, in the order of their columns.
    fn fed(&self, block: usize) -> Result<Vec<&'a str>, ConvertError> {
        let ops = self.blocks[block].desc.ops.iter().enumerate();
        let mut columns = Vec::new();
        for (at, op) in ops.filter(|(_, op)| op.r#type == "feed") {
            let read = || Ok((column(op)?, one(op.output("Out"), "Out")?));
            columns.push(read().map_err(|fault| place(fault, block, at, op))?);
        }
        in_order(columns).ok_or(Fault::Columns { operator: "feed", block }.into())
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

    /// Whether an operator that is no loop reads a variable with this name.
    fn is_read(&self, name: &str) -> bool {
        let ops = self.blocks.iter().flat_map(|block| &block.desc.ops).filter(|op| op.r#type != "while");
        ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments).any(|read| read == name)
    }

    /// Takes back what an attempt has appended.
    fn take_back(&mut self, to: Mark) {
        self.rank_tables.retain(|_, table| table.remains(to));
        self.draft.take_back(to);
    }

    /// Whether there are operators that have no rule and stay foreign. One that repeats elements has none if a run computes how often.
    fn has_unknown(&self) -> bool {
        let mut ops = self.blocks.iter().flat_map(|block| &block.desc.ops);
        let is_read = |name: &str| is_known(name) || ["feed", "fetch", PROGRAM].contains(&name);
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

    /// Binds the values that an operator passes to its block to the variables of the block's `feed` operators.
    fn enter(&mut self, block: usize, id: BlockId, types: &[Type]) -> Result<(), ConvertError> {
        let names = self.fed(block)?;
        if names.len() != types.len() {
            return Err(Fault::FeedCount { block, found: names.len(), expected: types.len() }.into());
        }
        for (name, ty) in names.into_iter().zip(types) {
            let param = self.draft.block_parameter(id, name, ty)?;
            self.versions.write(&self.blocks, block, name, param)?;
        }
        Ok(())
    }

    /// Reads the operators of a block, and returns the values of its `fetch` operators.
    fn block(&mut self, block: usize) -> Result<Vec<VarId>, ConvertError> {
        let mut columns = Vec::new();
        for (at, op) in self.blocks[block].desc.ops.iter().enumerate() {
            match op.r#type.as_str() {
                // `feed` operators were read before all others.
                "feed" => {}
                PROGRAM if block == 0 => {}
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
                    let site = self.site(op).map_err(|fault| place(fault, block, at, op))?;
                    let mut reading =
                        Reading { reader: self, desc: op, block, site, lack: None, merges: false };
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

    /// The role and source place of an operator.
    fn site(&mut self, op: &OpDesc) -> Result<Site, Fault> {
        let role = op.attr_int(ROLE)?.map(Role::from_wire).unwrap_or_default();
        let layer = layer(op).map(|layer| self.draft.program.create_layer(layer));
        let place = source(op).map(|source| Place { layer, ..self.place(source) });
        Ok(Site { role, place })
    }

    fn place(&mut self, source: Located) -> Place {
        let program = &mut self.draft.program;
        let file = self.files.entry(source.file);
        let file = *file.or_insert_with_key(|name| program.create_file(name));
        Place { file, line: source.line, column: source.column, layer: None }
    }

    /// Notes the values that an operator of the outermost block calls gradients of parameters.
    fn note_gradients(&mut self, op: &'a OpDesc, block: usize) -> Result<(), Fault> {
        for pair in op.attr_strings(ROLE_VAR)?.unwrap_or_default().as_chunks::<2>().0 {
            let [parameter, gradient] = pair;
            let values = [parameter, gradient].map(|name| self.versions.read(&self.blocks, block, name));
            let [Ok(parameter), Ok(gradient)] = values else { continue };
            let (of, by) = (self.draft.program.var(parameter), self.draft.program.var(gradient));
            let fits = of.definition == Definition::Parameter
                && by.definition == Definition::Operator
                && by.block == Program::GLOBAL
                && of.ty == by.ty;
            if !fits {
                return Err(Fault::GradientPair { parameter: of.name.clone() });
            }
            self.gradients.insert(parameter, gradient);
        }
        Ok(())
    }
}

/// Adds the place of an operator to a fault.
pub(super) fn place(fault: Fault, block: usize, operator: usize, op: &OpDesc) -> ConvertError {
    let place = WirePlace { block, operator, op_type: op.r#type.clone(), name: None, source: source(op) };
    ConvertError { place: Some(Box::new(place)), fault }
}

/// The source place of an operator: `file:line:column`. PaddlePaddle writes traces of Python instead.
fn source(op: &OpDesc) -> Option<Located> {
    let ([text] | [text, _]) = op.attr_strings(CALLSTACK).ok()?? else { return None };
    located(text)
}

/// The layer at the operator's source place.
fn layer(op: &OpDesc) -> Option<&str> {
    let [_, layer] = op.attr_strings(CALLSTACK).ok()?? else { return None };
    Some(layer)
}

fn located(text: &str) -> Option<Located> {
    let mut parts = text.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Located { file: parts.next()?.to_string(), line, column })
}

/// The only variable of a slot.
pub(super) fn one<'a>(arguments: &'a [String], slot: &'static str) -> Result<&'a str, Fault> {
    match arguments {
        [name] => Ok(name),
        _ => Err(Fault::Slot { slot, found: arguments.len(), expected: 1 }),
    }
}

fn column(op: &OpDesc) -> Result<i32, Fault> {
    op.attr_int("col")?.ok_or(Fault::MissingAttribute { attribute: "col" })
}

/// The entries in the order of their columns; `None` unless the columns are 0, 1, 2, ….
fn in_order<T>(mut columns: Vec<(i32, T)>) -> Option<Vec<T>> {
    columns.sort_by_key(|&(column, _)| column);
    let counted = columns.iter().enumerate().all(|(at, &(column, _))| usize::try_from(column) == Ok(at));
    counted.then(|| columns.into_iter().map(|(_, found)| found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::to_wire;
    use crate::text;

    #[test]
    fn memory_is_bounded() {
        let source =
            "program {\n  size T\n  block 0 (x: f32[T]) {\n    y: f32[T] = relu(x)\n    return y\n  }\n}\n";
        let wire = to_wire(&text::parse(source).unwrap());
        let read = |memory| Reader::new(&wire.main, memory).and_then(|mut reader| reader.read(None));
        assert!(read(300).is_ok());
        let error = read(100).unwrap_err();
        assert_eq!(error.fault, Fault::Memory);
        assert_eq!(error.place.unwrap().op_type, "relu");
    }
}
