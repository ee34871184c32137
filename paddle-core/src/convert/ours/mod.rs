//! Reads programs in our own dialect: the inverse of [`to_wire`](super::to_wire). What it reads is in the [module
//! documentation](super).
//!
//! Every network of a user is read here when the user's program starts, so this room needs none of the rules for what others write.
//!
//! | file | holds |
//! | --- | --- |
//! | `tables.rs` | the tables in the first operator: symbols and row spaces, checks, taps, gradients |
//! | `variables.rs` | parameters, states and inputs |
//! | `operators.rs` | operators and their attributes, where these are not written as they are defined |
//! | `nested.rs` | operators that own blocks |
//! | `constants.rs` `images.rs` `sizes.rs` `updates.rs` `foreign.rs` | attributes by families, most of them for other dialects, too |

pub(super) mod constants;
pub(super) mod foreign;
pub(super) mod images;
mod nested;
mod operators;
mod sizes;
mod tables;
pub(super) mod updates;
pub(super) mod variables;

use std::collections::BTreeMap;

use super::blocks::{WireBlock, blocks, column, in_order, one};
use super::budget::{Budget, MEMORY};
use super::dialect::PROGRAM;
use super::error::{ConvertError, Fault};
use super::sites::{Sites, note_gradients, place};
use crate::ops::{Op, Operator, Program};
use crate::program::{BlockId, Role, Site, Type, VarId};
use crate::wire::{OpDesc, ProgramDesc};

/// Reads a program in our own dialect.
///
/// Parameters get the initialisers of `startup`, and zeros without one.
///
/// Whatever the messages hold, reading does not panic and takes bounded memory. Errors have a place.
pub fn from_ours(main: &ProgramDesc, startup: Option<&ProgramDesc>) -> Result<Program, ConvertError> {
    read(main, startup, MEMORY)
}

/// Whether a program says that it is in our own dialect.
#[cfg(feature = "read")]
pub(super) fn is_ours(main: &ProgramDesc) -> bool {
    main.blocks.first().is_some_and(|block| block.ops.iter().any(|op| op.r#type == PROGRAM))
}

/// Reads a program whose values may take so much memory in bytes.
fn read(main: &ProgramDesc, startup: Option<&ProgramDesc>, memory: usize) -> Result<Program, ConvertError> {
    let blocks = blocks(main)?;
    let mut reader = Reader {
        owned: vec![false; blocks.len()],
        blocks,
        program: Program::new(),
        budget: Budget::new(memory),
        sites: Sites::default(),
        gradients: BTreeMap::new(),
    };
    reader.owned[0] = true;
    reader.tables()?;
    reader.parameters(startup)?;
    reader.inputs()?;
    let outputs = reader.block(0)?;
    reader.program.set_outputs(&outputs)?;
    reader.gradients()?;
    reader.taps()?;
    reader.program.verify().map_err(Fault::Verify)?;
    reader.program.derive_checks();
    Ok(reader.program)
}

/// The state of a reader. Blocks have the same numbers in the program as on the wire.
struct Reader<'a> {
    blocks: Vec<WireBlock<'a>>,
    /// Whether an operator owns the block.
    owned: Vec<bool>,
    program: Program,
    budget: Budget,
    sites: Sites,
    /// The gradient of each parameter.
    gradients: BTreeMap<VarId, VarId>,
}

/// An operator while it is read.
struct Reading<'r, 'a> {
    reader: &'r mut Reader<'a>,
    desc: &'a OpDesc,
    block: usize,
    site: Site,
}

/// The block of the program for a block of the wire.
fn id(block: usize) -> BlockId {
    BlockId(block as u32)
}

impl<'a> Reader<'a> {
    /// The value with this name, if a block sees it.
    fn value(&self, block: usize, name: &str) -> Result<VarId, Fault> {
        let found = self.program.find(name);
        let found = found.filter(|&var| self.program.is_visible(self.program.var(var).block, id(block)));
        found.ok_or_else(|| Fault::Undefined { name: name.to_string() })
    }

    /// Reads the operators of a block, and returns the values of its `fetch` operators.
    fn block(&mut self, block: usize) -> Result<Vec<VarId>, ConvertError> {
        let mut columns = Vec::new();
        for (at, op) in self.blocks[block].desc.ops.iter().enumerate() {
            let read = match op.r#type.as_str() {
                // `feed` operators were read before all others.
                "feed" => Ok(()),
                PROGRAM if block == 0 => Ok(()),
                "fetch" => self.fetched(block, op).map(|column| columns.push(column)).map_err(Into::into),
                _ => self.operator(block, op),
            };
            // An error inside of a nested block has its own place already.
            read.map_err(|error| match error.place {
                Some(_) => error,
                None => place(error.fault, block, at, op),
            })?;
        }
        in_order(columns).ok_or(Fault::Columns { operator: "fetch", block }.into())
    }

    fn fetched(&self, block: usize, op: &OpDesc) -> Result<(i32, VarId), Fault> {
        Ok((column(op)?, self.value(block, one(op.input("X"), "X")?)?))
    }

    fn operator(&mut self, block: usize, desc: &'a OpDesc) -> Result<(), ConvertError> {
        let site = self.sites.site(&mut self.program, desc)?;
        Reading { reader: self, desc, block, site }.operator()?;
        // Operators that update a parameter name its gradient too.
        if site.role != Role::Optimize {
            let mut gradients = std::mem::take(&mut self.gradients);
            note_gradients(&self.program, desc, |name| self.value(block, name).ok(), &mut gradients)?;
            self.gradients = gradients;
        }
        Ok(())
    }

    /// Whether a block declares a variable, so that its operators may write it.
    fn check_declared(&self, block: usize, name: &str) -> Result<(), Fault> {
        if self.blocks[block].declared.contains_key(name) {
            return Ok(());
        }
        let mut at = self.blocks[block].parent;
        while let Some(outer) = at {
            if self.blocks[outer].declared.contains_key(name) {
                return Err(Fault::WritesOuter { name: name.to_string() });
            }
            at = self.blocks[outer].parent;
        }
        Err(Fault::Undeclared { name: name.to_string() })
    }
}

impl<'a> Reading<'_, 'a> {
    /// The values in an input slot.
    fn inputs(&self, slot: &str) -> Result<Vec<VarId>, Fault> {
        self.desc.input(slot).iter().map(|name| self.reader.value(self.block, name)).collect()
    }

    fn types(&self, vars: &[VarId]) -> Vec<Type> {
        vars.iter().map(|&var| self.reader.program.ty(var).clone()).collect()
    }

    /// The variables in an output slot.
    fn outputs(&self, slot: &str) -> Vec<&'a str> {
        let desc = self.desc;
        desc.output(slot).iter().map(String::as_str).collect()
    }

    /// Appends an operator whose outputs have these names.
    fn append(
        &mut self,
        op: Op,
        inputs: &[VarId],
        blocks: &[BlockId],
        names: &[&str],
    ) -> Result<(), ConvertError> {
        let (reader, block) = (&mut *self.reader, id(self.block));
        let types = reader.program.infer(block, &op, inputs, blocks, None)?.types;
        if types.len() != names.len() {
            return Err(Fault::Outputs { found: names.len(), expected: types.len() }.into());
        }
        let mut outputs = Vec::with_capacity(names.len());
        for (name, ty) in names.iter().zip(types) {
            reader.check_declared(self.block, name)?;
            reader.budget.charge(name, &ty)?;
            outputs.push(reader.program.create_var(block, name, ty)?);
        }
        let (inputs, blocks, site) = (inputs.to_vec(), blocks.to_vec(), self.site);
        reader.program.push_op(block, Operator { op, inputs, outputs, blocks, site });
        Ok(())
    }
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
        assert!(read(&wire.main, None, 300).is_ok());
        let error = read(&wire.main, None, 100).unwrap_err();
        assert_eq!(error.fault, Fault::Memory);
        assert_eq!(error.place.unwrap().op_type, "relu");
    }
}
