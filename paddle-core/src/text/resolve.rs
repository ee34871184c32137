//! The reader: the tree of [`syntax`](super::syntax) → a program. Names become ids.

use std::collections::BTreeMap;

use super::ParseError;
use super::lex::At;
use super::parse::syntax;
use super::print::default_role;
use super::syntax::{
    AttributeText, BlockText, Call, CheckText, Declaration, Factor, Name, OperatorText, ParameterText,
    PlaceText, ProgramText, SizeKind, SizeText, StateText, TypeText,
};
use crate::ops::{Attribute, Op, Operator, ParameterUse, Program};
use crate::program::{
    BlockId, BuildError, Check, Condition, Definition, Dim, Place, Role, RowOrigin, RowsId, Site, SymbolId,
    Type, VarId,
};

/// Reads a program and verifies it.
///
/// ```
/// use paddle_core::text;
///
/// let program = text::parse("program { rows _ block 0 (x: f32[_, 3]) { y: f32[_, 3] = tanh(x) return y } }")?;
/// assert_eq!(program.show(program.ty(program.outputs()[0])), "f32[_, 3]");
/// assert_eq!(text::parse(&program.to_string())?, program);
///
/// let error = text::parse("program { block 0 (x: f32[3]) { y: f32[4] = tanh(x) return y } }").unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 33: `y` is f32[4] here, but `tanh` gives f32[3]");
/// # Ok::<(), text::ParseError>(())
/// ```
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let (mut program, positions) = read_text(text)?;
    let Err(error) = program.verify() else {
        program.derive_checks();
        return Ok(program);
    };
    let found = &error.violations[0];
    let block = &positions[found.block.0 as usize];
    let at = match found.operator {
        Some(operator) => *block.operators.get(operator).unwrap_or(&block.end),
        None => block.at,
    };
    Err(ParseError::new(at, &found.message))
}

/// Reads a program without verifying it. See [`Program::verify`].
pub fn read(text: &str) -> Result<Program, ParseError> {
    read_text(text).map(|(program, _)| program)
}

/// The places of a block and its operators in the text.
#[derive(Clone)]
struct Positions {
    at: At,
    operators: Vec<At>,
    end: At,
}

fn read_text(text: &str) -> Result<(Program, Vec<Positions>), ParseError> {
    let text = syntax(text)?;
    let mut reader = Reader { program: Program::new(), sizes: BTreeMap::new(), rows: BTreeMap::new() };
    reader.program.set_shards(text.shards);
    reader.declare_sizes(&text)?;
    let blocks = reader.create_blocks(&text.global)?;
    for check in &text.checks {
        reader.check(check)?;
    }
    for parameter in &text.parameters {
        reader.parameter(parameter)?;
    }
    for state in &text.states {
        reader.state(state)?;
    }
    reader.declare_values(&text.global)?;
    reader.operators(&text.global, Role::Forward)?;
    for (parameter, gradient) in &text.gradients {
        let (parameter, gradient) = (reader.value(parameter)?, reader.value(gradient)?);
        reader.program.record_gradient(parameter, gradient);
    }
    for (name, value) in &text.taps {
        let var = reader.value(value)?;
        let tapped = reader.program.tap(&name.text, var);
        tapped.map_err(|error| ParseError::new(name.at, error.to_string()))?;
    }
    let positions = |block: &&BlockText| Positions {
        at: block.at,
        operators: block.operators.iter().map(|operator| operator.at).collect(),
        end: block.end,
    };
    Ok((reader.program, blocks.iter().map(positions).collect()))
}

struct Reader {
    program: Program,
    /// All sizes by name, including those of row spaces.
    sizes: BTreeMap<String, SymbolId>,
    rows: BTreeMap<String, RowsId>,
}

fn build_error(at: At) -> impl Fn(BuildError) -> ParseError {
    move |error| ParseError::new(at, error.to_string())
}

impl Reader {
    fn declare_sizes(&mut self, text: &ProgramText) -> Result<(), ParseError> {
        for size in &text.sizes {
            self.new_size(&size.name)?;
            let name = &size.name.text;
            let symbol = match &size.kind {
                SizeKind::Rows => {
                    self.add_rows(name, None, RowOrigin::Root);
                    continue;
                }
                &SizeKind::Fixed(count) => {
                    self.add_rows(name, None, RowOrigin::Fixed(count));
                    continue;
                }
                SizeKind::Chosen(parent) => {
                    let parent = self.find_rows(parent)?;
                    self.add_rows(name, Some(parent), RowOrigin::Chosen);
                    continue;
                }
                SizeKind::Active(parent, steps) => {
                    let (parent, steps) = (self.find_rows(parent)?, self.find_rows(steps)?);
                    self.add_rows(name, Some(parent), RowOrigin::Active { steps });
                    continue;
                }
                SizeKind::Tokens(parent) => {
                    let parent = self.find_rows(parent)?;
                    self.add_rows(name, Some(parent), RowOrigin::Tokens);
                    continue;
                }
                SizeKind::Part(parent, of) => {
                    let (parent, of) = (self.find_rows(parent)?, self.find_rows(of)?);
                    self.add_rows(name, Some(parent), RowOrigin::Part { of });
                    continue;
                }
                SizeKind::Steps(tokens) => {
                    let tokens = self.find_rows(tokens)?;
                    self.add_rows(name, Some(tokens), RowOrigin::Steps);
                    continue;
                }
                SizeKind::Rounds(tokens) => {
                    let tokens = self.find_rows(tokens)?;
                    self.add_rows(name, Some(tokens), RowOrigin::Rounds);
                    continue;
                }
                SizeKind::Fed => self.program.create_symbol(name),
                SizeKind::Outside => self.program.create_outside_symbol(name),
            };
            self.sizes.insert(name.clone(), symbol);
        }
        self.choose_rows(&text.global)
    }

    fn new_size(&self, name: &Name) -> Result<(), ParseError> {
        if self.sizes.contains_key(&name.text) {
            let message = format!("there is already a size or a row space named `{}`", name.text);
            return Err(ParseError::new(name.at, message));
        }
        Ok(())
    }

    fn add_rows(&mut self, name: &str, parent: Option<RowsId>, origin: RowOrigin) {
        let rows = self.program.add_rows(name.to_string(), parent, origin);
        self.rows.insert(name.to_string(), rows);
        self.sizes.insert(name.to_string(), self.program.row_space(rows).size);
    }

    /// Adds the row spaces that a block and its nested blocks choose.
    fn choose_rows(&mut self, block: &BlockText) -> Result<(), ParseError> {
        if let Some(rows) = &block.rows
            && let Some(parent) = &rows.parent
        {
            self.new_size(&rows.name)?;
            let parent = self.find_rows(parent)?;
            self.add_rows(&rows.name.text, Some(parent), RowOrigin::Chosen);
        }
        nested_blocks(block).try_for_each(|block| self.choose_rows(block))
    }

    fn find_rows(&self, name: &Name) -> Result<RowsId, ParseError> {
        let message = || format!("there is no row space `{}` up to here", name.text);
        self.rows.get(&name.text).copied().ok_or_else(|| ParseError::new(name.at, message()))
    }

    /// Adds the blocks with the ids of the text, and returns them in the order of the ids.
    fn create_blocks<'t>(&mut self, global: &'t BlockText) -> Result<Vec<&'t BlockText>, ParseError> {
        if global.id != 0 {
            return Err(ParseError::new(global.at, "the global block is block 0"));
        }
        let mut blocks = BTreeMap::new();
        collect_blocks(global, None, &mut blocks)?;
        for (expected, (&id, &(block, parent))) in (0..).zip(&blocks) {
            if id != expected {
                let message = format!("blocks are numbered without gaps, but there is no block {expected}");
                return Err(ParseError::new(block.at, message));
            }
            let Some(parent) = parent else {
                continue;
            };
            let rows = block.rows.as_ref().map(|rows| self.find_rows(&rows.name)).transpose()?;
            let created = self.program.create_block(BlockId(parent), rows).map_err(build_error(block.at))?;
            if let Some((forward, at)) = block.forward {
                if forward >= id {
                    let message =
                        format!("block {id} cannot be of block {forward}, which does not come before it");
                    return Err(ParseError::new(at, message));
                }
                self.program.block_mut(created).forward = Some(BlockId(forward));
            }
        }
        if let Some(rows) = &global.rows {
            return Err(ParseError::new(rows.name.at, "the global block runs on no rows"));
        }
        if let Some((_, at)) = global.forward {
            return Err(ParseError::new(at, "the global block differentiates no other block"));
        }
        Ok(blocks.into_values().map(|(block, _)| block).collect())
    }

    fn check(&mut self, check: &CheckText) -> Result<(), ParseError> {
        let left = self.size(&check.left)?;
        let condition = match &check.right {
            Some(right) => Condition::Equal(left, self.size(right)?),
            None => Condition::Positive(left),
        };
        let place = check.place.as_ref().map(|place| self.place(place));
        self.program.add_check(Check { condition, message: check.message.clone(), place });
        Ok(())
    }

    fn place(&mut self, (file, line, column, layer): &PlaceText) -> Place {
        let layer = layer.as_ref().map(|layer| self.program.create_layer(layer));
        Place { file: self.program.create_file(file), line: *line, column: *column, layer }
    }

    /// The initialiser of a value, and the declared type of the value.
    fn initializer(&mut self, value: &Declaration, call: &Call) -> Result<(Op, Type), ParseError> {
        let Name { text: name, at } = &value.name;
        if self.program.find(name).is_some() {
            return Err(ParseError::new(*at, format!("there is already a value named `{name}`")));
        }
        if let Some(input) = call.inputs.first() {
            return Err(ParseError::new(input.at, "an initialiser has no inputs"));
        }
        let ty = self.ty(&value.ty)?;
        Ok((self.op(call, std::slice::from_ref(&ty))?, ty))
    }

    /// Checks that an initialised value has its declared type.
    fn check_initialized(&self, var: VarId, value: &Declaration, ty: &Type) -> Result<(), ParseError> {
        let Name { text: name, at } = &value.name;
        let found = self.program.ty(var);
        if found == ty {
            return Ok(());
        }
        let (found, ty) = (self.program.show(found), self.program.show(ty));
        let message = format!("`{name}` is {ty} here, but its initialiser gives {found}");
        Err(ParseError::new(*at, message))
    }

    fn state(&mut self, state: &StateText) -> Result<(), ParseError> {
        let StateText { slot, parameter, value, initializer: call } = state;
        let parameter = self.value(parameter)?;
        let (initializer, ty) = self.initializer(value, call)?;
        let state = self.program.add_state(&value.name.text, parameter, &slot.text, initializer);
        self.check_initialized(state.map_err(build_error(call.at))?, value, &ty)
    }

    fn parameter(&mut self, parameter: &ParameterText) -> Result<(), ParseError> {
        let ParameterText { value, initializer: call, options, place } = parameter;
        let (initializer, ty) = self.initializer(value, call)?;
        let site = Site { role: Role::Forward, place: place.as_ref().map(|place| self.place(place)) };
        let wanted = ParameterUse { initializer, options: options.clone(), site };
        let parameter = self.program.create_parameter(&value.name.text, wanted);
        self.check_initialized(parameter.map_err(build_error(call.at))?, value, &ty)
    }

    /// Adds the values of a block and of its nested blocks.
    fn declare_values(&mut self, block: &BlockText) -> Result<(), ParseError> {
        for param in &block.params {
            let Name { text: name, at } = &param.name;
            let ty = self.ty(&param.ty)?;
            if self.program.find(name).is_some() {
                return Err(ParseError::new(*at, format!("there is already a value named `{name}`")));
            }
            let created = match block.id {
                0 => self.program.create_input(name, ty),
                id => self.program.create_block_parameter(BlockId(id), name, ty),
            };
            created.map_err(build_error(*at))?;
        }
        for operator in &block.operators {
            operator.blocks.iter().try_for_each(|block| self.declare_values(block))?;
            for output in &operator.outputs {
                self.output(block.id, output)?;
            }
        }
        Ok(())
    }

    /// Adds a value. If the text writes it twice, the verifier reports that.
    fn output(&mut self, block: u32, output: &Declaration) -> Result<(), ParseError> {
        let Name { text: name, at } = &output.name;
        let (block, ty) = (BlockId(block), self.ty(&output.ty)?);
        if let Some(known) = self.program.find(name) {
            let known = self.program.var(known);
            if known.block == block && known.ty == ty && known.definition == Definition::Operator {
                return Ok(());
            }
            return Err(ParseError::new(*at, format!("there is already another value named `{name}`")));
        }
        self.program.create_var(block, name, ty).map_err(build_error(*at))?;
        Ok(())
    }

    /// Adds the operators and results of a block and of its nested blocks.
    fn operators(&mut self, block: &BlockText, role: Role) -> Result<(), ParseError> {
        let id = BlockId(block.id);
        for operator in &block.operators {
            let built = self.operator(operator, role)?;
            let role = default_role(built.site.role);
            self.program.push_op(id, built);
            operator.blocks.iter().try_for_each(|block| self.operators(block, role))?;
        }
        self.program.block_mut(id).results = self.values(&block.results)?;
        Ok(())
    }

    fn operator(&mut self, operator: &OperatorText, role: Role) -> Result<Operator, ParseError> {
        let inputs = self.values(&operator.call.inputs)?;
        let outputs = operator.outputs.iter().map(|output| self.value(&output.name));
        let outputs = outputs.collect::<Result<Vec<VarId>, _>>()?;
        let types: Vec<Type> = outputs.iter().map(|&output| self.program.ty(output).clone()).collect();
        let op = self.op(&operator.call, &types)?;
        let place = operator.place.as_ref().map(|place| self.place(place));
        let site = Site { role: operator.role.unwrap_or(role), place };
        let blocks = operator.blocks.iter().map(|block| BlockId(block.id)).collect();
        Ok(Operator { op, inputs, outputs, blocks, site })
    }

    /// The operator of a call whose outputs have these types.
    fn op(&self, call: &Call, outputs: &[Type]) -> Result<Op, ParseError> {
        let mut attributes = Vec::new();
        for (name, value) in &call.attributes {
            let value = match value {
                AttributeText::Ready(value) => value.clone(),
                AttributeText::Dims(sizes) => {
                    Attribute::Dims(sizes.iter().map(|size| self.size(size)).collect::<Result<_, _>>()?)
                }
                AttributeText::Type(ty) => Attribute::Type(self.ty(ty)?),
                AttributeText::Rows(rows) => Attribute::Rows(self.find_rows(rows)?),
                AttributeText::Types(types) => {
                    Attribute::Types(types.iter().map(|ty| self.ty(ty)).collect::<Result<_, _>>()?)
                }
            };
            attributes.push(((*name).to_string(), value));
        }
        for (name, like) in call.prototype.attributes() {
            let implied = match like {
                Attribute::Type(_) => outputs.first().cloned().map(Attribute::Type),
                Attribute::Types(_) => Some(Attribute::Types(outputs.to_vec())),
                Attribute::Rows(_) => outputs.first().and_then(|ty| ty.rows).map(Attribute::Rows),
                Attribute::Number(_)
                | Attribute::Text(_)
                | Attribute::Ints(_)
                | Attribute::Numbers(_)
                | Attribute::Dims(_)
                | Attribute::DType(_)
                | Attribute::Bytes(_)
                | Attribute::Program(_) => None,
            };
            if let Some(implied) = implied
                && !call.attributes.iter().any(|(given, _)| *given == name)
            {
                attributes.push((name.to_string(), implied));
            }
        }
        call.prototype
            .with_attributes(attributes)
            .map_err(|error| ParseError::new(call.at, error.to_string()))
    }

    fn value(&self, name: &Name) -> Result<VarId, ParseError> {
        let message = || format!("there is no value named `{}`", name.text);
        self.program.find(&name.text).ok_or_else(|| ParseError::new(name.at, message()))
    }

    fn values(&self, names: &[Name]) -> Result<Vec<VarId>, ParseError> {
        names.iter().map(|name| self.value(name)).collect()
    }

    fn ty(&self, text: &TypeText) -> Result<Type, ParseError> {
        let rows =
            text.sizes.first().and_then(single_name).and_then(|name| self.rows.get(&name.text)).copied();
        let sizes = &text.sizes[usize::from(rows.is_some())..];
        let dims = sizes.iter().map(|size| self.size(size)).collect::<Result<_, _>>()?;
        Ok(Type { dtype: text.dtype, rows, dims })
    }

    fn size(&self, text: &SizeText) -> Result<Dim, ParseError> {
        let mut sum = Dim::from(0);
        for term in &text.terms {
            let overflow = |error| ParseError::new(term.at, format!("{error}"));
            let mut product = Dim::from(term.coefficient);
            for factor in &term.factors {
                let factor = match factor {
                    Factor::Name(name) | Factor::Parenthesised(name) => match self.sizes.get(&name.text) {
                        Some(&symbol) => Dim::symbol(symbol),
                        None => {
                            let message = format!("there is no size named `{}`", name.text);
                            return Err(ParseError::new(name.at, message));
                        }
                    },
                    Factor::Quotient(dividend, divisor) => {
                        let quotient = self.size(dividend)?.floor_div(&self.size(divisor)?);
                        let message = "a size is divided by a number that is not positive";
                        quotient.ok_or_else(|| ParseError::new(term.at, message))?
                    }
                };
                product = (&product * &factor).map_err(overflow)?;
            }
            sum = (&sum + &product).map_err(overflow)?;
        }
        Ok(sum)
    }
}

/// The name, if the size is a single name.
fn single_name(size: &SizeText) -> Option<&Name> {
    match &size.terms[..] {
        [term] if term.coefficient == 1 => match &term.factors[..] {
            [Factor::Name(name)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The nested blocks of a block, one level down.
fn nested_blocks(block: &BlockText) -> impl Iterator<Item = &BlockText> {
    block.operators.iter().flat_map(|operator| &operator.blocks)
}

type Numbered<'t> = BTreeMap<u32, (&'t BlockText, Option<u32>)>;

/// Collects a block and its nested blocks by id.
fn collect_blocks<'t>(
    block: &'t BlockText,
    parent: Option<u32>,
    into: &mut Numbered<'t>,
) -> Result<(), ParseError> {
    if parent.is_some_and(|parent| block.id <= parent) {
        let message = "a block inside another one has a higher number";
        return Err(ParseError::new(block.at, message));
    }
    if into.insert(block.id, (block, parent)).is_some() {
        return Err(ParseError::new(block.at, format!("there is already a block {}", block.id)));
    }
    nested_blocks(block).try_for_each(|inner| collect_blocks(inner, Some(block.id), into))
}
