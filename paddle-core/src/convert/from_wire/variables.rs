//! The variables that nothing in the program writes: parameters and inputs, with the types that are declared.

use std::collections::{BTreeMap, BTreeSet};

use super::{Reader, place};
use crate::convert::blocks::fed;
use crate::convert::dialect::{STATE_OF, TYPE};
use crate::convert::error::{ConvertError, Fault, VariableFault};
use crate::convert::ours::constants::initializer;
use crate::convert::ours::variables::{initializers, statistics};
use crate::convert::parameter_options;
use crate::convert::types::{dtype, parse_type};
use crate::ops::{Fill, Op, ParameterUse};
use crate::program::{Dim, ParameterOptions, RowOrigin, RowsId, Site, SymbolId, Type, VarId};
use crate::wire::{OpDesc, ProgramDesc, VarDesc, VarKind};

/// The most levels of sequences that a value may have. Feeds are described by offsets for each of them.
const MOST_LEVELS: usize = 2;

impl<'a> Reader<'a> {
    /// Creates the parameters: persistable tensors that some operator reads, or that are declared to be parameters.
    pub(super) fn parameters(&mut self, startup: Option<&'a ProgramDesc>) -> Result<(), ConvertError> {
        let all_ops = self.blocks.iter().flat_map(|block| &block.desc.ops);
        let read: BTreeSet<&str> =
            all_ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments).map(String::as_str).collect();
        let is_parameter = |var: &VarDesc| {
            var.persistable == Some(true)
                && VarKind::try_from(var.r#type.r#type) == Ok(VarKind::LodTensor)
                && (var.is_parameter == Some(true) || read.contains(var.name.as_str()))
        };
        let statistics = statistics(&self.blocks);
        let desc = self.blocks[0].desc;
        let mut left: Vec<&'a VarDesc> = desc.vars.iter().filter(|var| is_parameter(var)).collect();
        // Parameters are created in the order of the startup part, then those that it leaves out.
        let initializers = startup.map(initializers).unwrap_or_default();
        let order = |var: &&VarDesc| initializers.get(var.name.as_str()).map_or(usize::MAX, |&(at, _)| at);
        left.sort_by_key(order);
        for var in left {
            let initializer = initializers.get(var.name.as_str());
            if let Err(fault) = self.one_parameter(var, initializer, statistics.contains(var.name.as_str())) {
                self.go_on(fault, 0, [var.name.as_str()])?;
            }
        }
        Ok(())
    }

    /// Creates a parameter, or a state of one, with the initialiser that the startup part has at some place.
    fn one_parameter(
        &mut self,
        var: &'a VarDesc,
        initializer: Option<&(usize, &OpDesc)>,
        is_statistic: bool,
    ) -> Result<(), ConvertError> {
        let ty = self.declared_type(var, false, None)?;
        let zeros = Op::from(Fill::zeros(ty.clone()));
        let wanted =
            initializer.map(|&(at, op)| self.initializer(op, &ty).map_err(|fault| place(fault, 0, at, op)));
        let (known, mut options, site) = wanted.transpose()?.unwrap_or_default();
        options.trainable &= !is_statistic;
        let initial = known.unwrap_or(zeros);
        let owner = initializer.map(|&(at, op)| self.owner(op).map_err(|fault| place(fault, 0, at, op)));
        let id = match owner.transpose()?.flatten() {
            Some((parameter, slot)) => self.draft.program.add_state(&var.name, parameter, slot, initial)?,
            None => {
                let wanted = ParameterUse { initializer: initial, options, site };
                self.draft.program.create_parameter(&var.name, wanted)?
            }
        };
        if self.draft.program.ty(id) != &ty {
            let found = self.draft.program.show(self.draft.program.ty(id));
            let expected = self.draft.program.show(&ty);
            return Err(Fault::Parameter { name: var.name.clone(), found, expected }.into());
        }
        Ok(self.versions.write(&self.blocks, 0, &var.name, id)?)
    }

    /// The parameter to which a state belongs, and the slot, in our own dialect.
    fn owner<'o>(&self, op: &'o OpDesc) -> Result<Option<(VarId, &'o str)>, Fault> {
        let Some(owner) = op.attr_strings(STATE_OF)? else { return Ok(None) };
        let wrong = |message| Fault::Attribute { attribute: STATE_OF, message };
        let [parameter, slot] = owner else {
            return Err(wrong("a state belongs to a parameter and has a slot".to_string()));
        };
        let found = self.draft.program.find(parameter);
        let found = found.ok_or_else(|| wrong(format!("there is no parameter `{parameter}`")))?;
        Ok(Some((found, slot)))
    }

    /// The initialiser, if it is known, the options and the place that the startup part has for a parameter.
    fn initializer(&mut self, op: &OpDesc, ty: &Type) -> Result<(Option<Op>, ParameterOptions, Site), Fault> {
        let initializer = initializer(&self.draft.program, op, ty)?;
        Ok((initializer, parameter_options::read(op)?, self.sites.site(&mut self.draft.program, op)?))
    }

    /// Creates the network's inputs: the variables that `feed` operators write, in the order of their columns. In a
    /// program without `feed` operators, which was saved for training, inputs are marked.
    pub(super) fn inputs(&mut self) -> Result<(), ConvertError> {
        let mut names = fed(&self.blocks, 0)?;
        if names.is_empty() {
            let vars = &self.blocks[0].desc.vars;
            let marked = |var: &&VarDesc| var.need_check_feed == Some(true) && var.persistable != Some(true);
            names = vars.iter().filter(marked).map(|var| var.name.as_str()).collect();
        }
        let others = self.inputs_of_other_sizes(&names);
        let mut sizes = BTreeMap::new();
        for name in names {
            let Some(&var) = self.blocks[0].declared.get(name) else {
                return Err(Fault::Undeclared { name: name.to_string() }.into());
            };
            let size = others
                .get(name)
                .map(|&first| *sizes.entry(first).or_insert_with(|| self.draft.size(&format!("{first}[0]"))));
            if let Err(fault) = self.input(name, var, size) {
                self.go_on(fault, 0, [name])?;
            }
        }
        Ok(())
    }

    /// Creates an input. Its first size may be no batch, but one that only some inputs have.
    fn input(&mut self, name: &'a str, var: &VarDesc, size: Option<SymbolId>) -> Result<(), ConvertError> {
        let mut ty = self.declared_type(var, true, None)?;
        if let Some(size) = size {
            ty.rows = None;
            ty.dims.insert(0, Dim::symbol(size));
        }
        let rows = ty.rows;
        let id = self.draft.program.create_input(name, ty)?;
        if rows.is_some() && rows == self.draft.batch {
            self.draft.has_batch.get_or_insert(id);
        }
        Ok(self.versions.write(&self.blocks, 0, name, id)?)
    }

    /// The declaration of a variable that is visible in a block.
    pub(super) fn declaration(&self, block: usize, name: &str) -> Option<&'a VarDesc> {
        let mut at = Some(block);
        while let Some(block) = at {
            if let Some(&var) = self.blocks[block].declared.get(name) {
                return Some(var);
            }
            at = self.blocks[block].parent;
        }
        None
    }

    /// The type of a variable: the exact one if it is written, otherwise the one in its description. There, an unknown
    /// leading dimension is the batch, and each other unknown one is a size of its own. Sequences have the tokens
    /// `tokens`, or new ones.
    pub(super) fn declared_type(
        &mut self,
        var: &VarDesc,
        may_vary: bool,
        tokens: Option<RowsId>,
    ) -> Result<Type, Fault> {
        let wrong = |reason| Fault::Variable { name: var.name.clone(), reason };
        if let Some(text) = var.attrs.iter().find(|attr| attr.name == TYPE) {
            let text = text.s.clone().unwrap_or_default();
            let ty =
                parse_type(&self.draft.program, &text).ok_or_else(|| wrong(VariableFault::Type(text)))?;
            return self.draft.checked(ty);
        }
        let kind = VarKind::try_from(var.r#type.r#type);
        let kind = kind.map_err(|_| wrong(VariableFault::Number(var.r#type.r#type)))?;
        let (desc, level) = match (kind, &var.r#type.lod_tensor, &var.r#type.selected_rows) {
            (VarKind::LodTensor, Some(desc), _) => (&desc.tensor, desc.lod_level.unwrap_or(0)),
            // `SelectedRows` represents a gradient by the rows that are not zero; the value is the same.
            (VarKind::SelectedRows, _, Some(desc)) => (desc, 0),
            (VarKind::LodTensor | VarKind::SelectedRows, _, _) => return Err(wrong(VariableFault::NoTensor)),
            _ => return Err(wrong(VariableFault::Kind(kind))),
        };
        let levels = usize::try_from(level).ok().filter(|&levels| levels <= MOST_LEVELS);
        let levels = levels.ok_or_else(|| wrong(VariableFault::Sequences))?;
        let element = VarKind::try_from(desc.data_type);
        let element = element.map_err(|_| wrong(VariableFault::Number(desc.data_type)))?;
        let dtype = dtype(element).ok_or_else(|| wrong(VariableFault::Element(element)))?;
        let wire = &desc.dims;
        if wire.iter().any(|&dim| dim < if may_vary { -1 } else { 0 }) {
            return Err(wrong(VariableFault::Dimensions(wire.clone())));
        }
        let rows = match (levels, wire.first()) {
            (1.., Some(_)) if may_vary => Some(tokens.unwrap_or_else(|| self.tokens(&var.name, levels))),
            (_, Some(-1)) => Some(self.draft.batch()),
            _ => None,
        };
        let mut dims = Vec::with_capacity(wire.len());
        for (axis, &dim) in wire.iter().enumerate().skip(usize::from(rows.is_some())) {
            dims.push(match dim {
                -1 => Dim::symbol(self.draft.size(&format!("{}[{axis}]", var.name))),
                _ => Dim::from(dim),
            });
        }
        self.draft.checked(Type { dtype, rows, dims })
    }

    /// The row space of new sequences, one for each row of the batch, or of sequences of sequences.
    fn tokens(&mut self, name: &str, levels: usize) -> RowsId {
        (0..levels).fold(self.draft.batch(), |rows, _| {
            let name = self.draft.free_size(format!("_.{name}"));
            self.draft.program.add_rows(name, Some(rows), RowOrigin::Tokens)
        })
    }
}
