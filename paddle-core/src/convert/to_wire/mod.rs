//! Writes `Program`s to the wire, in the dialect that the macro embeds and that
//! [`from_wire`](crate::convert::from_wire) reads. The dialect is in the [module documentation](super).

pub(super) mod constants;
mod foreign;
mod images;
mod interpolation;
pub(super) mod operators;
mod sizes;
pub(super) mod updates;

use std::collections::{BTreeMap, BTreeSet};

use self::operators::describe;
use super::dialect::{CALLSTACK, PROGRAM, ROLE, ROLE_VAR, STATE_OF, TYPE, VERSION};
use super::parameter_options;
use super::types::{condition_text, origin_numbers, tensor_type, type_text};
use crate::ops::{Block, Op, Operator, Program};
use crate::program::{BlockId, Check, Definition, Role, RowOrigin, UpdaterState, VarId};
use crate::wire::{AttrType, BlockDesc, OpAttr, OpDesc, ProgramDesc, VarDesc, VarDescAttr, VarKind, VarType};

/// A program on the wire.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WireProgram {
    /// The blocks that run.
    pub main: ProgramDesc,
    /// The startup part: one block with one operator per parameter.
    pub startup: ProgramDesc,
}

/// Writes a program in our own dialect. Only the numbers of values and blocks are lost.
pub fn to_wire(program: &Program) -> WireProgram {
    let writer = Writer::new(program);
    let blocks = (0..program.blocks().len()).map(|id| writer.block(BlockId(id as u32))).collect();
    WireProgram {
        main: ProgramDesc { blocks, ..ProgramDesc::default() },
        startup: ProgramDesc { blocks: vec![writer.startup()], ..ProgramDesc::default() },
    }
}

struct Writer<'a> {
    program: &'a Program,
    /// The values of each block.
    vars: Vec<Vec<VarId>>,
    /// The parameters of which a value is the gradient.
    pairs: BTreeMap<VarId, Vec<VarId>>,
    /// The names of the variables with fed and fetched values, which no value has.
    feed: String,
    fetch: String,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program) -> Self {
        let mut vars = vec![Vec::new(); program.blocks().len()];
        for (id, var) in program.vars().iter().enumerate() {
            vars[var.block.0 as usize].push(VarId(id as u32));
        }
        // Variables are sorted by name, as in PaddlePaddle.
        for vars in &mut vars {
            vars.sort_by_key(|&var| &program.var(var).name);
        }
        let mut pairs: BTreeMap<VarId, Vec<VarId>> = BTreeMap::new();
        for pair in program.gradients() {
            pairs.entry(pair.gradient).or_default().push(pair.parameter);
        }
        let free = |name: &str| {
            let mut name = name.to_string();
            while program.find(&name).is_some() {
                name.push('_');
            }
            name
        };
        Writer { program, vars, pairs, feed: free("feed"), fetch: free("fetch") }
    }

    fn name(&self, var: VarId) -> String {
        self.program.var(var).name.clone()
    }

    fn names(&self, vars: &[VarId]) -> Vec<String> {
        vars.iter().map(|&var| self.name(var)).collect()
    }

    fn block(&self, id: BlockId) -> BlockDesc {
        let block = self.program.block(id);
        let mut vars: Vec<VarDesc> = self.vars[id.0 as usize].iter().map(|&var| self.var(var)).collect();
        let mut ops = Vec::with_capacity(block.ops.len() + block.params.len() + block.results.len() + 1);
        if id == Program::GLOBAL {
            vars.push(holder(&self.feed, VarKind::FeedMinibatch));
            vars.push(holder(&self.fetch, VarKind::FetchList));
            ops.push(self.header());
        }
        for (column, &param) in block.params.iter().enumerate() {
            let feed =
                OpDesc::new("feed").with_input("X", [&self.feed]).with_output("Out", [self.name(param)]);
            ops.push(feed.with_attr(OpAttr::int("col", column as i32)));
        }
        ops.extend(block.ops.iter().map(|operator| self.operator(operator)));
        for (column, &result) in block.results.iter().enumerate() {
            let fetch =
                OpDesc::new("fetch").with_input("X", [self.name(result)]).with_output("Out", [&self.fetch]);
            ops.push(fetch.with_attr(OpAttr::int("col", column as i32)));
        }
        BlockDesc {
            idx: id.0 as i32,
            parent_idx: index(block.parent),
            vars,
            ops,
            forward_block_idx: Some(index(block.forward)),
            ..BlockDesc::default()
        }
    }

    fn startup(&self) -> BlockDesc {
        BlockDesc {
            idx: 0,
            parent_idx: -1,
            vars: self
                .program
                .startup()
                .iter()
                .flat_map(|op| &op.outputs)
                .map(|&var| self.var(var))
                .collect(),
            ops: self.program.startup().iter().map(|operator| self.initializer(operator)).collect(),
            ..BlockDesc::default()
        }
    }

    /// The operator that initialises a parameter or a state. A parameter's has its options, and a state's has the
    /// parameter to which the state belongs.
    fn initializer(&self, operator: &Operator) -> OpDesc {
        let mut desc = self.operator(operator);
        for &var in &operator.outputs {
            match self.program.state(var) {
                Some(UpdaterState { parameter, slot, .. }) => {
                    desc.attrs.push(OpAttr::strings(STATE_OF, [self.name(*parameter), slot.clone()]));
                }
                None => parameter_options::write(self.program.parameter_options(var), &mut desc),
            }
        }
        desc
    }

    /// The tables of symbols and row spaces, which types refer to by number.
    fn header(&self) -> OpDesc {
        let rows = self.program.row_spaces();
        let parent = |rows: &crate::program::RowSpace| match rows.origin {
            RowOrigin::Root | RowOrigin::Fixed(_) => -1,
            _ => rows.parent.map_or(-1, |parent| i64::from(parent.0)),
        };
        let outside: Vec<i64> = self.program.outside_symbols().map(|symbol| i64::from(symbol.0)).collect();
        let desc = OpDesc::new(PROGRAM)
            .with_attr(OpAttr::long("version", VERSION))
            .with_attr(OpAttr::strings("symbols", self.program.symbols().iter().map(|s| s.name.as_str())))
            .with_attr(OpAttr::strings("row_spaces", rows.iter().map(|rows| rows.name.as_str())))
            .with_attr(OpAttr::longs("sizes", rows.iter().map(|r| i64::from(r.size.0)).collect::<Vec<_>>()))
            .with_attr(OpAttr::longs("parents", rows.iter().map(parent).collect::<Vec<_>>()));
        // Programs of fixed sizes without sequences lack these attributes.
        let tokens = rows.iter().zip(0..).filter(|(rows, _)| rows.origin == RowOrigin::Tokens);
        let tokens: Vec<i64> = tokens.map(|(_, number)| number).collect();
        let desc = if tokens.is_empty() { desc } else { desc.with_attr(OpAttr::longs("tokens", tokens)) };
        // The row spaces of loops, as triples of the row space, its kind, and another row space that belongs to it.
        let of_loops = rows.iter().zip(0..).filter_map(|(rows, number)| {
            let (kind, of) = origin_numbers(rows.origin)?;
            Some([number, kind, of])
        });
        let of_loops: Vec<i64> = of_loops.flatten().collect();
        let desc =
            if of_loops.is_empty() { desc } else { desc.with_attr(OpAttr::longs("origins", of_loops)) };
        let desc = if outside.is_empty() { desc } else { desc.with_attr(OpAttr::longs("outside", outside)) };
        let checks: Vec<String> = self.program.checks().iter().flat_map(|check| self.check(check)).collect();
        let desc = if checks.is_empty() { desc } else { desc.with_attr(OpAttr::strings("checks", checks)) };
        let taps = self.program.taps().iter().flat_map(|tap| [tap.name.clone(), self.name(tap.var)]);
        let taps: Vec<String> = taps.collect();
        let desc = if taps.is_empty() { desc } else { desc.with_attr(OpAttr::strings("taps", taps)) };
        let desc = match self.own_gradients() {
            pairs if pairs.is_empty() => desc,
            pairs => desc.with_attr(OpAttr::strings("gradients", pairs)),
        };
        match self.program.shards().get() {
            1 => desc,
            shards => desc.with_attr(OpAttr::long("shards", shards.into())),
        }
    }

    /// The pairs of parameters and gradients, if the operators do not tell them. The operators tell them if each
    /// gradient is the result of an operator, in the order of the parameters.
    fn own_gradients(&self) -> Vec<String> {
        let pairs = self.program.gradients();
        let numbers: BTreeMap<VarId, usize> = self.program.parameters().zip(0..).collect();
        let is_in_order = pairs.is_sorted_by(|a, b| numbers.get(&a.parameter) < numbers.get(&b.parameter));
        // Operators that update name gradients that they do not compute.
        let operators = self.program.block(Program::GLOBAL).ops.iter();
        let operators = operators.filter(|operator| operator.site.role != Role::Optimize);
        let given: BTreeSet<VarId> = operators.flat_map(|operator| &operator.outputs).copied().collect();
        if is_in_order && pairs.iter().all(|pair| given.contains(&pair.gradient)) {
            return Vec::new();
        }
        pairs.iter().flat_map(|pair| [pair.parameter, pair.gradient]).map(|var| self.name(var)).collect()
    }

    /// The condition, message and place of a check.
    fn check(&self, check: &Check) -> [String; 3] {
        let place = check.place.map(|place| self.program.locate(place).to_string());
        [condition_text(&check.condition), check.message.clone(), place.unwrap_or_default()]
    }

    fn var(&self, id: VarId) -> VarDesc {
        let var = self.program.var(id);
        let mut desc = VarDesc {
            name: var.name.clone(),
            r#type: tensor_type(self.program, &var.ty),
            ..VarDesc::default()
        };
        let declared = match var.definition {
            Definition::Input => {
                desc.need_check_feed = Some(true);
                true
            }
            Definition::Parameter => {
                (desc.persistable, desc.is_parameter) = (Some(true), Some(true));
                true
            }
            Definition::State => {
                desc.persistable = Some(true);
                true
            }
            Definition::BlockParameter | Definition::Operator => false,
        };
        if declared {
            desc.attrs.push(VarDescAttr {
                name: TYPE.into(),
                r#type: AttrType::String.into(),
                s: Some(type_text(&var.ty)),
                ..VarDescAttr::default()
            });
        }
        desc
    }

    fn operator(&self, operator: &Operator) -> OpDesc {
        let (inputs, outputs) = (self.names(&operator.inputs), self.names(&operator.outputs));
        let types: Vec<_> = operator.inputs.iter().map(|&input| self.program.ty(input)).collect();
        let mut desc = describe(&operator.op, &inputs, &outputs, &types);
        self.add_blocks(operator, &mut desc);
        desc.attrs.push(OpAttr::int(ROLE, operator.site.role.wire()));
        let pair = |gradient: &VarId| {
            let parameters = self.pairs.get(gradient).into_iter().flatten();
            parameters.flat_map(|&parameter| [self.name(parameter), self.name(*gradient)]).collect::<Vec<_>>()
        };
        let pairs: Vec<String> = operator.outputs.iter().flat_map(pair).collect();
        if !pairs.is_empty() {
            desc.attrs.push(OpAttr::strings(ROLE_VAR, pairs));
        }
        if let Some(place) = operator.site.place {
            let layer = self.program.layer(place).map(str::to_string);
            let place = self.program.locate(place).to_string();
            desc.attrs.push(OpAttr::strings(CALLSTACK, std::iter::once(place).chain(layer)));
        }
        desc
    }

    /// Writes the blocks that an operator owns, and the row spaces that it makes.
    fn add_blocks(&self, operator: &Operator, desc: &mut OpDesc) {
        for (attribute, block) in block_attributes(&operator.op).iter().zip(&operator.blocks) {
            desc.attrs.push(OpAttr::block(*attribute, block.0 as i32));
        }
        let chosen = |block: &Block| block.rows.filter(|_| block.forward.is_none());
        let rows: Vec<i64> = operator
            .blocks
            .iter()
            .filter_map(|&block| chosen(self.program.block(block)))
            .map(|rows| i64::from(rows.0))
            .collect();
        if !rows.is_empty() {
            desc.attrs.push(OpAttr::longs("row_spaces", rows));
        }
    }
}

/// The attributes that hold the blocks of an operator.
pub(super) fn block_attributes(op: &Op) -> &'static [&'static str] {
    match op {
        Op::If(_) => &["true_block", "false_block"],
        Op::While(_) => &["condition_block", "body_block"],
        Op::For(_) | Op::LoopGrad(_) => &["body_block"],
        _ => &[],
    }
}

fn index(block: Option<BlockId>) -> i32 {
    block.map_or(-1, |block| block.0 as i32)
}

/// A variable of one of PaddlePaddle's special kinds.
pub(super) fn holder(name: &str, kind: VarKind) -> VarDesc {
    let persistable = matches!(kind, VarKind::FeedMinibatch | VarKind::FetchList);
    VarDesc {
        name: name.to_string(),
        r#type: VarType { r#type: kind.into(), ..VarType::default() },
        persistable: Some(persistable),
        ..VarDesc::default()
    }
}
