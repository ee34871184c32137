//! Reads `Program`s from the wire: our own dialect and PaddlePaddle's, by the same rules. See the [module
//! documentation](super).

mod blocks;
mod error;
mod known_values;
mod operator;
mod parameter_values;
mod rules;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

use self::blocks::{WireBlock, blocks};
pub use self::error::{ConvertError, Fault, VariableFault, WirePlace};
use self::known_values::{Known, known};
use self::operator::Reading;
pub(super) use self::parameter_values::check_params;
pub use self::parameter_values::load_params;
use self::rules::initializer;
pub use self::rules::is_known;
use self::versions::Versions;
use super::dialect::{CALLSTACK, PROGRAM, ROLE, ROLE_VAR, STATE_OF, TYPE, VERSION};
use super::parameter_options;
use super::types::{Tables, declare, dim_text, dtype, parse_condition, parse_type, too_large};
use crate::ops::{Fill, Op, Operator, ParameterUse, Program, Store};
use crate::program::{
    BlockId, Check, Definition, Dim, FileId, Located, ParameterOptions, Place, Role, RowOrigin, RowsId, Site,
    SymbolId, Type, VarId,
};
use crate::wire::{OpDesc, ProgramDesc, VarDesc, VarKind};

/// The approximate memory in bytes that the values of one program may take. A few bytes can ask for many values: each
/// loop of a nest has the state of the innermost one.
const MEMORY: usize = 256 << 20;

/// The approximate size of a value in bytes, without its name and symbolic sizes.
const VALUE: usize = 200;

/// Reads a program.
///
/// Parameters get the initialisers of `startup`, and zeros without one; [`load_params`] reads their values.
///
/// Whatever the messages hold, reading does not panic and takes bounded memory. Errors have a place.
pub fn from_wire(main: &ProgramDesc, startup: Option<&ProgramDesc>) -> Result<Program, ConvertError> {
    read(main, startup, MEMORY)
}

fn read(main: &ProgramDesc, startup: Option<&ProgramDesc>, memory: usize) -> Result<Program, ConvertError> {
    let blocks = blocks(main)?;
    let mut reader = Reader {
        versions: Versions::new(blocks.len()),
        blocks,
        program: Program::new(),
        is_ours: false,
        batch: None,
        sizes: BTreeSet::new(),
        files: BTreeMap::new(),
        suffixes: BTreeMap::new(),
        memory,
        gradients: BTreeMap::new(),
        known: BTreeMap::new(),
    };
    reader.versions.enter(0, Program::GLOBAL, BTreeSet::new());
    reader.header()?;
    reader.parameters(startup)?;
    reader.inputs()?;
    let outputs = reader.block(0)?;
    reader.program.set_outputs(&outputs)?;
    reader.pairs()?;
    reader.taps()?;
    reader.program.verify().map_err(Fault::Verify)?;
    reader.program.derive_checks();
    Ok(reader.program)
}

/// The state of a reader.
struct Reader<'a> {
    blocks: Vec<WireBlock<'a>>,
    versions: Versions<'a>,
    program: Program,
    /// Whether the program is in our own dialect. If so, its blocks keep their numbers.
    is_ours: bool,
    /// The row space of unknown leading dimensions.
    batch: Option<RowsId>,
    /// The names of sizes that only the file has.
    sizes: BTreeSet<String>,
    files: BTreeMap<String, FileId>,
    /// For each variable, the last suffix of its versions.
    suffixes: BTreeMap<String, u64>,
    /// The memory that is left for values.
    memory: usize,
    /// The gradient of each parameter.
    gradients: BTreeMap<VarId, VarId>,
    /// Known elements of small values.
    known: BTreeMap<VarId, Vec<Known>>,
}

impl<'a> Reader<'a> {
    /// Reads the tables of our own dialect, if the program has them.
    fn header(&mut self) -> Result<(), ConvertError> {
        let ops = &self.blocks[0].desc.ops;
        let Some(at) = ops.iter().position(|op| op.r#type == PROGRAM) else {
            return Ok(());
        };
        let tables = &ops[at];
        let read = |this: &mut Self| {
            let version = tables.attr_long("version")?.unwrap_or(VERSION);
            if version > VERSION {
                return Err(Fault::Newer { version });
            }
            let longs = |name: &'static str| Ok::<_, Fault>(tables.attr_longs(name)?.unwrap_or_default());
            let (outside, sizes, parents) = (longs("outside")?, longs("sizes")?, longs("parents")?);
            let (tokens, origins) = (longs("tokens")?, longs("origins")?);
            let listed = Tables {
                symbols: tables.attr_strings("symbols")?.unwrap_or_default(),
                outside: &outside,
                rows: tables.attr_strings("row_spaces")?.unwrap_or_default(),
                sizes: &sizes,
                parents: &parents,
                tokens: &tokens,
                origins: &origins,
            };
            let shards = tables.attr_long("shards")?.unwrap_or(1);
            let Some(shards) = u32::try_from(shards).ok().and_then(NonZero::new) else {
                let message = format!("a batch cannot be cut into {shards} shards");
                return Err(Fault::Attribute { attribute: "shards", message });
            };
            this.program.set_shards(shards);
            declare(&mut this.program, listed).ok_or_else(|| {
                let message = "it does not fit the other tables".to_string();
                Fault::Attribute { attribute: "row_spaces", message }
            })?;
            this.checks(tables.attr_strings("checks")?.unwrap_or_default())
        };
        read(self).map_err(|fault| place(fault, 0, at, tables))?;
        for parent in self.blocks.iter().filter_map(|block| block.parent) {
            self.program.create_block(BlockId(parent as u32), None)?;
        }
        self.is_ours = true;
        Ok(())
    }

    /// Reads the taps of our own dialect: pairs of the tap's name and its value's name.
    fn taps(&mut self) -> Result<(), ConvertError> {
        self.listed_pairs("taps", |program, name, value| {
            let var = find(program, value)?;
            program.tap(name, var).map_err(|error| error.to_string())
        })
    }

    /// Calls a function for each pair of names in an attribute of our own dialect.
    fn listed_pairs(
        &mut self,
        attribute: &'static str,
        mut read: impl FnMut(&mut Program, &str, &str) -> Result<(), String>,
    ) -> Result<(), ConvertError> {
        let tables = self.blocks[0].desc.ops.iter().enumerate().find(|(_, op)| op.r#type == PROGRAM);
        let Some((at, tables)) = tables else { return Ok(()) };
        let mut read = |program: &mut Program| {
            let wrong = |message| Fault::Attribute { attribute, message };
            let (pairs, rest) = tables.attr_strings(attribute)?.unwrap_or_default().as_chunks::<2>();
            pairs.iter().try_for_each(|[first, second]| read(program, first, second).map_err(wrong))?;
            match rest {
                [] => Ok(()),
                _ => Err(wrong("its names do not come in pairs".to_string())),
            }
        };
        read(&mut self.program).map_err(|fault| place(fault, 0, at, tables))
    }

    /// Reads the checks of our own dialect: the condition, message and place of each.
    fn checks(&mut self, texts: &[String]) -> Result<(), Fault> {
        let (checks, rest) = texts.as_chunks::<3>();
        for [condition, message, place] in checks {
            let condition = parse_condition(&self.program, condition).ok_or_else(|| {
                let message = format!("`{condition}` is not a condition on sizes");
                Fault::Attribute { attribute: "checks", message }
            })?;
            let place = located(place).map(|place| self.place(place));
            self.program.add_check(Check { condition, message: message.clone(), place });
        }
        match rest {
            [] => Ok(()),
            _ => {
                let message = "a check has a condition, a message and a place".to_string();
                Err(Fault::Attribute { attribute: "checks", message })
            }
        }
    }

    /// Creates the parameters: persistable tensors that some operator reads, or that are declared to be parameters.
    fn parameters(&mut self, startup: Option<&'a ProgramDesc>) -> Result<(), ConvertError> {
        let all_ops = self.blocks.iter().flat_map(|block| &block.desc.ops);
        let read: BTreeSet<&str> =
            all_ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments).map(String::as_str).collect();
        let is_parameter = |var: &VarDesc| {
            var.persistable == Some(true)
                && VarKind::try_from(var.r#type.r#type) == Ok(VarKind::LodTensor)
                && (var.is_parameter == Some(true) || read.contains(var.name.as_str()))
        };
        let desc = self.blocks[0].desc;
        let mut left: Vec<&'a VarDesc> = desc.vars.iter().filter(|var| is_parameter(var)).collect();
        // Parameters are created in the order of the startup part, then those that it leaves out.
        let initializers = startup.map(initializers).unwrap_or_default();
        let order = |var: &&VarDesc| initializers.get(var.name.as_str()).map_or(usize::MAX, |&(at, _)| at);
        left.sort_by_key(order);
        for var in left {
            let ty = self.declared_type(var, false, None)?;
            let zeros = Op::from(Fill::zeros(ty.clone()));
            let initializer = initializers.get(var.name.as_str());
            let wanted = initializer
                .map(|&(at, op)| self.initializer(op, &ty).map_err(|fault| place(fault, 0, at, op)));
            let (known, options, site) = wanted.transpose()?.unwrap_or_default();
            let initial = known.unwrap_or(zeros);
            let owner = initializer.map(|&(at, op)| self.owner(op).map_err(|fault| place(fault, 0, at, op)));
            let id = match owner.transpose()?.flatten() {
                Some((parameter, slot)) => self.program.add_state(&var.name, parameter, slot, initial)?,
                None => {
                    let wanted = ParameterUse { initializer: initial, options, site };
                    self.program.create_parameter(&var.name, wanted)?
                }
            };
            if self.program.ty(id) != &ty {
                let found = self.program.show(self.program.ty(id));
                let expected = self.program.show(&ty);
                return Err(Fault::Parameter { name: var.name.clone(), found, expected }.into());
            }
            self.versions.write(&self.blocks, 0, &var.name, id)?;
        }
        Ok(())
    }

    /// The parameter to which a state belongs, and the slot, in our own dialect.
    fn owner(&self, op: &'a OpDesc) -> Result<Option<(VarId, &'a str)>, Fault> {
        let Some(owner) = op.attr_strings(STATE_OF)? else { return Ok(None) };
        let wrong = |message| Fault::Attribute { attribute: STATE_OF, message };
        let [parameter, slot] = owner else {
            return Err(wrong("a state belongs to a parameter and has a slot".to_string()));
        };
        let found = self.program.find(parameter);
        let found = found.ok_or_else(|| wrong(format!("there is no parameter `{parameter}`")))?;
        Ok(Some((found, slot)))
    }

    /// The initialiser, if it is known, the options and the place that the startup part has for a parameter.
    fn initializer(&mut self, op: &OpDesc, ty: &Type) -> Result<(Option<Op>, ParameterOptions, Site), Fault> {
        let initializer = initializer(&self.program, op, ty)?;
        Ok((initializer, parameter_options::read(op)?, self.site(op)?))
    }

    /// Creates the network's inputs: the variables that `feed` operators write, in the order of their columns. In a
    /// program without `feed` operators, which was saved for training, inputs are marked.
    fn inputs(&mut self) -> Result<(), ConvertError> {
        let mut names = self.fed(0)?;
        if names.is_empty() {
            let vars = &self.blocks[0].desc.vars;
            let marked = |var: &&VarDesc| var.need_check_feed == Some(true) && var.persistable != Some(true);
            names = vars.iter().filter(marked).map(|var| var.name.as_str()).collect();
        }
        for name in names {
            let Some(&var) = self.blocks[0].declared.get(name) else {
                return Err(Fault::Undeclared { name: name.to_string() }.into());
            };
            let ty = self.declared_type(var, true, None)?;
            let id = self.program.create_input(name, ty)?;
            self.versions.write(&self.blocks, 0, name, id)?;
        }
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
        let var = self.program.find(name).filter(|_| !is_local)?;
        let lasts = matches!(self.program.var(var).definition, Definition::Parameter | Definition::State);
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
        self.append(id, Store.into(), &[lasting, value], &[], &[], site)?;
        self.versions.write(&self.blocks, block, name, lasting)
    }

    /// The number of operators' reads of a variable with this name.
    fn readers(&self, name: &str) -> usize {
        let ops = self.blocks.iter().flat_map(|block| &block.desc.ops);
        ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments).filter(|read| *read == name).count()
    }

    /// The number of `feed` operators in a block.
    fn feeds(&self, block: usize) -> usize {
        self.blocks[block].desc.ops.iter().filter(|op| op.r#type == "feed").count()
    }

    /// Binds the values that an operator passes to its block to the variables of the block's `feed` operators.
    fn enter(&mut self, block: usize, id: BlockId, types: &[Type]) -> Result<(), ConvertError> {
        let names = self.fed(block)?;
        if names.len() != types.len() {
            return Err(Fault::FeedCount { block, found: names.len(), expected: types.len() }.into());
        }
        for (name, ty) in names.into_iter().zip(types) {
            let param = self.block_parameter(id, name, ty)?;
            self.versions.write(&self.blocks, block, name, param)?;
        }
        Ok(())
    }

    /// Adds a parameter to a block as a new version of a variable.
    fn block_parameter(&mut self, id: BlockId, name: &str, ty: &Type) -> Result<VarId, Fault> {
        let name = self.fresh(name);
        self.charge(&name, ty)?;
        Ok(self.program.create_block_parameter(id, &name, ty.clone())?)
    }

    /// Appends an operator whose outputs are new versions of these variables.
    fn append(
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
            self.charge(&name, &ty)?;
            outputs.push(self.program.create_var(block, &name, ty)?);
        }
        if let [output] = outputs[..] {
            let of_inputs: Vec<Option<&[Known]>> =
                inputs.iter().map(|input| self.known.get(input).map(Vec::as_slice)).collect();
            if let Some(known) = known(&op, &of_inputs, self.program.ty(output)) {
                self.memory = self.memory.checked_sub(VALUE * known.len()).ok_or(Fault::Memory)?;
                self.known.insert(output, known);
            }
        }
        let (inputs, blocks) = (inputs.to_vec(), blocks.to_vec());
        let operator = Operator { op, inputs, outputs: outputs.clone(), blocks, site };
        self.program.push_op(block, operator);
        Ok(outputs)
    }

    /// Subtracts the memory of a value from what is left.
    fn charge(&mut self, name: &str, ty: &Type) -> Result<(), Fault> {
        let symbolic = ty.dims.iter().filter(|dim| dim.constant().is_none());
        let takes = VALUE + 2 * name.len() + symbolic.map(|dim| 16 * dim_text(dim).len()).sum::<usize>();
        self.memory = self.memory.checked_sub(takes).ok_or(Fault::Memory)?;
        Ok(())
    }

    /// The name of the next version of a variable: its own, or its own with the first free suffix.
    fn fresh(&mut self, name: &str) -> String {
        let mut fresh = name.to_string();
        while self.program.find(&fresh).is_some() {
            let suffix = self.suffixes.entry(name.to_string()).or_default();
            *suffix += 1;
            fresh = format!("{name}_{suffix}");
        }
        fresh
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
                    columns.push(read().map_err(|fault| place(fault, block, at, op))?);
                }
                _ => {
                    let site = self.site(op).map_err(|fault| place(fault, block, at, op))?;
                    let mut reading = Reading { reader: self, desc: op, block, site };
                    let result = reading.operator();
                    // An error inside of a nested block has its own place already.
                    result.map_err(|error| match error.place {
                        Some(_) => error,
                        None => place(error.fault, block, at, op),
                    })?;
                }
            }
        }
        in_order(columns).ok_or(Fault::Columns { operator: "fetch", block }.into())
    }

    /// The type of a variable: the exact one if it is written, otherwise the one in its description. There, an unknown
    /// leading dimension is the batch, and each other unknown one is a size of its own. Sequences have the tokens
    /// `tokens`, or new ones.
    fn declared_type(
        &mut self,
        var: &VarDesc,
        may_vary: bool,
        tokens: Option<RowsId>,
    ) -> Result<Type, Fault> {
        let wrong = |reason| Fault::Variable { name: var.name.clone(), reason };
        if let Some(text) = var.attrs.iter().find(|attr| attr.name == TYPE) {
            let text = text.s.clone().unwrap_or_default();
            let ty = parse_type(&self.program, &text).ok_or_else(|| wrong(VariableFault::Type(text)))?;
            return self.checked(ty);
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
        if level > 1 {
            return Err(wrong(VariableFault::Sequences));
        }
        let element = VarKind::try_from(desc.data_type);
        let element = element.map_err(|_| wrong(VariableFault::Number(desc.data_type)))?;
        let dtype = dtype(element).ok_or_else(|| wrong(VariableFault::Element(element)))?;
        let wire = &desc.dims;
        if wire.iter().any(|&dim| dim < if may_vary { -1 } else { 0 }) {
            return Err(wrong(VariableFault::Dimensions(wire.clone())));
        }
        let rows = match (level, wire.first()) {
            (1, Some(_)) if may_vary => Some(tokens.unwrap_or_else(|| self.tokens(&var.name))),
            (_, Some(-1)) => Some(self.batch()),
            _ => None,
        };
        let mut dims = Vec::with_capacity(wire.len());
        for (axis, &dim) in wire.iter().enumerate().skip(usize::from(rows.is_some())) {
            dims.push(match dim {
                -1 => Dim::symbol(self.size(&format!("{}[{axis}]", var.name))),
                _ => Dim::from(dim),
            });
        }
        self.checked(Type { dtype, rows, dims })
    }

    /// Returns the type if a value of it fits into memory.
    fn checked(&self, ty: Type) -> Result<Type, Fault> {
        if ty.is_possible() { Ok(ty) } else { Err(too_large(&ty)) }
    }

    /// A new symbol, with this name or a similar one.
    fn size(&mut self, name: &str) -> SymbolId {
        let free = self.free_size(name.to_string());
        self.program.create_symbol(&free)
    }

    fn free_size(&mut self, mut name: String) -> String {
        while !self.sizes.insert(name.clone()) {
            name.push('\'');
        }
        name
    }

    /// The row space of new sequences, one for each row of the batch.
    fn tokens(&mut self, name: &str) -> RowsId {
        let batch = self.batch();
        let name = self.free_size(format!("_.{name}"));
        self.program.add_rows(name, Some(batch), RowOrigin::Tokens)
    }

    fn batch(&mut self) -> RowsId {
        *self.batch.get_or_insert_with(|| self.program.create_rows("_"))
    }

    /// The role and source place of an operator.
    fn site(&mut self, op: &OpDesc) -> Result<Site, Fault> {
        let role = op.attr_int(ROLE)?.map(Role::from_wire).unwrap_or_default();
        let layer = layer(op).map(|layer| self.program.create_layer(layer));
        let place = source(op).map(|source| Place { layer, ..self.place(source) });
        Ok(Site { role, place })
    }

    fn place(&mut self, source: Located) -> Place {
        let program = &mut self.program;
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
            let (of, by) = (self.program.var(parameter), self.program.var(gradient));
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

    /// Records the gradients: those that our own dialect lists, otherwise in the order of the parameters.
    fn pairs(&mut self) -> Result<(), ConvertError> {
        self.listed_pairs("gradients", |program, parameter, gradient| {
            let (parameter, gradient) = (find(program, parameter)?, find(program, gradient)?);
            program.record_gradient(parameter, gradient);
            Ok(())
        })?;
        if !self.program.gradients().is_empty() {
            return Ok(());
        }
        let parameters: Vec<VarId> = self.program.parameters().collect();
        for parameter in parameters {
            if let Some(&gradient) = self.gradients.get(&parameter) {
                self.program.record_gradient(parameter, gradient);
            }
        }
        Ok(())
    }
}

/// The value with this name.
fn find(program: &Program, name: &str) -> Result<VarId, String> {
    program.find(name).ok_or_else(|| format!("there is no value `{name}`"))
}

/// The operators of a startup program by the variable that they write; the last one counts.
fn initializers(startup: &ProgramDesc) -> BTreeMap<&str, (usize, &OpDesc)> {
    let ops = startup.blocks.first().map(|block| block.ops.as_slice()).unwrap_or_default();
    let written = |(at, op): (usize, &'_ OpDesc)| (at, op.output("Out").len() == 1);
    let all = ops.iter().enumerate().filter(|&(at, op)| written((at, op)).1);
    all.map(|(at, op)| (op.output("Out")[0].as_str(), (at, op))).collect()
}

/// Adds the place of an operator to a fault.
fn place(fault: Fault, block: usize, operator: usize, op: &OpDesc) -> ConvertError {
    let place = WirePlace { block, operator, op_type: op.r#type.clone(), source: source(op) };
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
fn one<'a>(arguments: &'a [String], slot: &'static str) -> Result<&'a str, Fault> {
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
        assert!(super::read(&wire.main, None, 300).is_ok());
        let error = super::read(&wire.main, None, 100).unwrap_err();
        assert_eq!(error.fault, Fault::Memory);
        assert_eq!(error.place.unwrap().op_type, "relu");
    }
}
