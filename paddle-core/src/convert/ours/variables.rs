//! The variables that nothing in the program writes: parameters, their states, and inputs. Each declares its exact type.

use std::collections::{BTreeMap, BTreeSet};

use super::{Reader, constants, id};
use crate::convert::blocks::{WireBlock, fed};
use crate::convert::dialect::{STATE_OF, TYPE};
use crate::convert::error::{ConvertError, Fault, VariableFault};
use crate::convert::parameter_options;
use crate::convert::sites::place;
use crate::convert::types::{parse_type, too_large};
use crate::ops::{Fill, Op, ParameterUse};
use crate::program::{ParameterOptions, Site, Type, VarId};
use crate::wire::{OpDesc, ProgramDesc, VarDesc, VarKind};

impl<'a> Reader<'a> {
    /// Creates the parameters and states, in the order of the startup part, then those that it leaves out.
    pub(super) fn parameters(&mut self, startup: Option<&'a ProgramDesc>) -> Result<(), ConvertError> {
        let is_lasting = |var: &&VarDesc| {
            var.persistable == Some(true) && VarKind::try_from(var.r#type.r#type) == Ok(VarKind::LodTensor)
        };
        let mut left: Vec<&'a VarDesc> = self.blocks[0].desc.vars.iter().filter(is_lasting).collect();
        let initializers = startup.map(initializers).unwrap_or_default();
        let statistics = statistics(&self.blocks);
        left.sort_by_cached_key(|var| initializers.get(var.name.as_str()).map_or(usize::MAX, |&(at, _)| at));
        for var in left {
            let ty = self.declared_type(var)?;
            match initializers.get(var.name.as_str()) {
                Some(&(at, op)) => self.initialized(var, &ty, op).map_err(|error| match error.place {
                    None if !matches!(error.fault, Fault::Parameter { .. }) => place(error.fault, 0, at, op),
                    _ => error,
                })?,
                None => {
                    let trainable = !statistics.contains(var.name.as_str());
                    let zeros = ParameterUse {
                        initializer: Op::from(Fill::zeros(ty)),
                        options: ParameterOptions { trainable, ..Default::default() },
                        site: Site::default(),
                    };
                    self.program.create_parameter(&var.name, zeros)?;
                }
            }
        }
        Ok(())
    }

    /// Creates the parameter, or the state of one, that an operator initialises.
    fn initialized(&mut self, var: &VarDesc, ty: &Type, op: &OpDesc) -> Result<(), ConvertError> {
        let initializer = constants::initializer(&self.program, op, ty)?;
        let initializer = initializer.unwrap_or_else(|| Fill::zeros(ty.clone()).into());
        let id = match self.owner(op)? {
            Some((parameter, slot)) => self.program.add_state(&var.name, parameter, slot, initializer)?,
            None => {
                let (options, site) = (parameter_options::read(op)?, self.sites.site(&mut self.program, op)?);
                self.program.create_parameter(&var.name, ParameterUse { initializer, options, site })?
            }
        };
        if self.program.ty(id) == ty {
            return Ok(());
        }
        let [found, expected] = [self.program.ty(id), ty].map(|ty| self.program.show(ty));
        Err(Fault::Parameter { name: var.name.clone(), found, expected }.into())
    }

    /// The parameter to which a state belongs, and the slot.
    fn owner<'o>(&self, op: &'o OpDesc) -> Result<Option<(VarId, &'o str)>, Fault> {
        let Some(owner) = op.attr_strings(STATE_OF)? else { return Ok(None) };
        let wrong = |message| Fault::Attribute { attribute: STATE_OF, message };
        let [parameter, slot] = owner else {
            return Err(wrong("a state belongs to a parameter and has a slot".to_string()));
        };
        let found = self.program.find(parameter);
        let found = found.ok_or_else(|| wrong(format!("there is no parameter `{parameter}`")))?;
        Ok(Some((found, slot)))
    }

    /// Creates the network's inputs: the variables that `feed` operators write, in the order of their columns.
    pub(super) fn inputs(&mut self) -> Result<(), ConvertError> {
        for name in fed(&self.blocks, 0)? {
            let Some(&var) = self.blocks[0].declared.get(name) else {
                return Err(Fault::Undeclared { name: name.to_string() }.into());
            };
            let ty = self.declared_type(var)?;
            self.program.create_input(name, ty)?;
        }
        Ok(())
    }

    /// Binds the values that an operator passes to its block to the variables of the block's `feed` operators.
    pub(super) fn block_parameters(&mut self, block: usize, types: &[Type]) -> Result<(), ConvertError> {
        let names = fed(&self.blocks, block)?;
        if names.len() != types.len() {
            return Err(Fault::FeedCount { block, found: names.len(), expected: types.len() }.into());
        }
        for (name, ty) in names.into_iter().zip(types) {
            self.check_declared(block, name)?;
            self.budget.charge(name, ty)?;
            self.program.create_block_parameter(id(block), name, ty.clone())?;
        }
        Ok(())
    }

    fn declared_type(&self, var: &VarDesc) -> Result<Type, Fault> {
        let text = var.attrs.iter().find(|attr| attr.name == TYPE).and_then(|attr| attr.s.clone());
        let text = text.unwrap_or_default();
        match parse_type(&self.program, &text) {
            Some(ty) if ty.is_possible() => Ok(ty),
            Some(ty) => Err(too_large(&ty)),
            None => Err(Fault::Variable { name: var.name.clone(), reason: VariableFault::Type(text) }),
        }
    }
}

/// The statistics of batches. Their operator moves them; they have no gradient.
pub(in crate::convert) fn statistics<'a>(blocks: &[WireBlock<'a>]) -> BTreeSet<&'a str> {
    let ops = blocks.iter().flat_map(|block| &block.desc.ops).filter(|op| op.r#type == "batch_norm");
    ops.flat_map(|op| op.input("Mean").iter().chain(op.input("Variance"))).map(String::as_str).collect()
}

/// The operators of a startup program by the variable that they write; the last one counts.
pub(in crate::convert) fn initializers(startup: &ProgramDesc) -> BTreeMap<&str, (usize, &OpDesc)> {
    let ops = startup.blocks.first().map(|block| block.ops.as_slice()).unwrap_or_default();
    let written = |(_, op): &(usize, &OpDesc)| op.output("Out").len() == 1;
    ops.iter().enumerate().filter(written).map(|(at, op)| (op.output("Out")[0].as_str(), (at, op))).collect()
}
