//! The printer: program → text.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::lex::{CHOSEN, FORMER, RETURN, UNTRAINED, YIELD, name, quoted};
use crate::ops::{Attribute, Op, Operator, Program};
use crate::program::{BlockId, Check, Condition, Place, Role, RowOrigin, RowsId, Type, UpdaterState, VarId};

/// Prints a program, with source places if `places` is set.
pub(crate) fn print(program: &Program, places: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let printer =
        Printer { program, places, f, introduced: declared_in_front(program), printed: BTreeSet::new() };
    printer.program()
}

/// The role that the operators of a block have by default, for the role of the operator that owns the block.
pub(super) fn default_role(owner: Role) -> Role {
    match owner {
        Role::Forward | Role::Loss => Role::Forward,
        Role::Backward | Role::Optimize => owner,
    }
}

/// The row spaces that are declared in front of all blocks: those that no block chooses, and those that other row
/// spaces depend on.
fn declared_in_front(program: &Program) -> BTreeSet<RowsId> {
    let mut front = BTreeSet::new();
    for (id, space) in (0..).map(RowsId).zip(program.row_spaces()) {
        let mut at = Some(id).filter(|_| space.origin != RowOrigin::Chosen);
        while let Some(rows) = at.filter(|&rows| front.insert(rows)) {
            at = program.row_space(rows).parent;
        }
    }
    front
}

struct Printer<'a, 'f, 'b> {
    program: &'a Program,
    places: bool,
    f: &'f mut fmt::Formatter<'b>,
    /// Row spaces that are declared in front of all blocks, or by a block that has been printed.
    introduced: BTreeSet<RowsId>,
    /// Blocks that have been printed. Without this set, printing a program with a cycle of blocks would not end.
    printed: BTreeSet<BlockId>,
}

impl Printer<'_, '_, '_> {
    fn program(mut self) -> fmt::Result {
        let program = self.program;
        self.f.write_str("program {\n")?;
        if program.shards().get() > 1 {
            writeln!(self.f, "  shards {}", program.shards())?;
        }
        // Every row space has its own size symbol, which is created with it.
        let mut row_spaces = program.row_spaces().iter().peekable();
        for (id, symbol) in program.symbols().iter().enumerate() {
            let rows = row_spaces.next_if(|rows| rows.size.0 as usize == id);
            let named = name(&symbol.name);
            match rows.map(|rows| (rows.origin, rows.parent)) {
                None => {
                    let outside = if symbol.outside { " outside" } else { "" };
                    writeln!(self.f, "  size {named}{outside}")?;
                }
                Some((RowOrigin::Tokens, Some(parent))) => {
                    writeln!(self.f, "  tokens {named} of {}", self.rows(parent))?;
                }
                Some((RowOrigin::Part { of }, Some(parent))) => {
                    writeln!(self.f, "  tokens {named} of {} in {}", self.rows(parent), self.rows(of))?;
                }
                Some((RowOrigin::Steps, Some(parent))) => {
                    writeln!(self.f, "  steps {named} of {}", self.rows(parent))?;
                }
                Some((RowOrigin::Rounds, Some(parent))) => {
                    writeln!(self.f, "  rounds {named} of {}", self.rows(parent))?;
                }
                Some((RowOrigin::Active { steps }, Some(parent))) => {
                    writeln!(self.f, "  rows {named} of {} in {}", self.rows(parent), self.rows(steps))?;
                }
                // A row space that others depend on is declared in front; any other one is declared by the block that
                // chooses it.
                Some((RowOrigin::Chosen, Some(parent))) => {
                    if rows
                        .is_some_and(|rows| self.introduced.iter().any(|id| program.row_space(*id) == rows))
                    {
                        writeln!(self.f, "  rows {named} of {}", self.rows(parent))?;
                    }
                }
                Some((RowOrigin::Fixed(count), _)) => writeln!(self.f, "  rows {named} = {count}")?,
                Some((_, _)) => writeln!(self.f, "  rows {named}")?,
            }
        }
        for check in program.checks() {
            self.check(check)?;
        }
        for operator in program.startup() {
            match operator.outputs.first().and_then(|&var| program.state(var)) {
                Some(UpdaterState { parameter, slot, .. }) => {
                    write!(self.f, "  state {} of {}: ", name(slot), self.name(*parameter))?;
                    self.call(operator)?;
                }
                None => {
                    self.f.write_str("  parameter ")?;
                    self.call(operator)?;
                    self.notes(self.options(operator), operator)?;
                }
            }
            self.f.write_char('\n')?;
        }
        for pair in program.gradients() {
            writeln!(self.f, "  gradient {} -> {}", self.name(pair.parameter), self.name(pair.gradient))?;
        }
        for tap in program.taps() {
            writeln!(self.f, "  tap {} -> {}", name(&tap.name), self.name(tap.var))?;
        }
        self.block(Program::GLOBAL, 1, Role::Forward)?;
        self.f.write_str("}\n")
    }

    fn check(&mut self, check: &Check) -> fmt::Result {
        let size = |dim| self.program.write_dim(dim, &name);
        let condition = match &check.condition {
            Condition::Equal(a, b) => format!("{} = {}", size(a), size(b)),
            Condition::Positive(dim) => format!("{} > 0", size(dim)),
        };
        write!(self.f, "  check {condition}: {}", quoted(&check.message))?;
        if let Some(place) = check.place.filter(|_| self.places) {
            write!(self.f, " [{}]", self.place(place))?;
        }
        self.f.write_char('\n')
    }

    /// `at src/main.rs:14:17 in embedding`.
    fn place(&self, place: Place) -> String {
        let layer = self.program.layer(place).map(|layer| format!(" in {}", name(layer)));
        let place = self.program.locate(place);
        format!("at {}:{}:{}{}", name(&place.file), place.line, place.column, layer.unwrap_or_default())
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        write!(self.f, "{:1$}", "", 2 * depth)
    }

    fn rows(&self, rows: RowsId) -> String {
        self.program.row_spaces().get(rows.0 as usize).map_or("?".to_string(), |rows| name(&rows.name))
    }

    fn name(&self, var: VarId) -> String {
        name(&self.program.var(var).name)
    }

    fn names(&self, vars: &[VarId]) -> String {
        vars.iter().map(|&var| self.name(var)).collect::<Vec<_>>().join(", ")
    }

    /// `x: f32[_, 13], y: f32[_, 1]`.
    fn declarations(&self, vars: &[VarId]) -> String {
        let one = |&var: &VarId| format!("{}: {}", self.name(var), self.ty(self.program.ty(var)));
        vars.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn ty(&self, ty: &Type) -> String {
        format!("{}{}", ty.dtype, self.program.write_shape(ty, &name))
    }

    fn block(&mut self, id: BlockId, depth: usize, role: Role) -> fmt::Result {
        let program = self.program;
        let block = program.block(id);
        self.indent(depth)?;
        write!(self.f, "block {}", id.0)?;
        if let Some(forward) = block.forward {
            write!(self.f, " of block {}", forward.0)?;
        }
        if let Some(rows) = block.rows {
            let space = program.row_space(rows);
            write!(self.f, " on {}", name(&space.name))?;
            if let Some(parent) = space.parent.filter(|_| self.introduced.insert(rows)) {
                write!(self.f, " of {}", name(&program.row_space(parent).name))?;
            }
        }
        if !self.printed.insert(id) {
            return self.f.write_str("  // see above\n");
        }
        if !block.params.is_empty() {
            write!(self.f, " ({})", self.declarations(&block.params))?;
        }
        self.f.write_str(" {\n")?;
        for operator in &block.ops {
            self.operator(operator, depth + 1, role)?;
        }
        if !block.results.is_empty() {
            self.indent(depth + 1)?;
            let word = if id == Program::GLOBAL { RETURN } else { YIELD };
            writeln!(self.f, "{word} {}", self.names(&block.results))?;
        }
        self.indent(depth)?;
        self.f.write_str("}\n")
    }

    fn operator(&mut self, operator: &Operator, depth: usize, role: Role) -> fmt::Result {
        self.indent(depth)?;
        self.call(operator)?;
        let mut notes = Vec::new();
        if operator.site.role != role {
            notes.push(operator.site.role.name().to_string());
        }
        self.notes(notes, operator)?;
        if !operator.blocks.is_empty() {
            self.f.write_str(" {\n")?;
            for &block in &operator.blocks {
                self.block(block, depth + 1, default_role(operator.site.role))?;
            }
            self.indent(depth)?;
            self.f.write_char('}')?;
        }
        self.f.write_char('\n')
    }

    /// The notes in brackets behind a call: `[loss at src/main.rs:4:9]`.
    fn notes(&mut self, mut notes: Vec<String>, operator: &Operator) -> fmt::Result {
        if let Some(place) = operator.site.place.filter(|_| self.places) {
            notes.push(self.place(place));
        }
        if !notes.is_empty() {
            write!(self.f, " [{}]", notes.join(" "))?;
        }
        Ok(())
    }

    /// The options of the parameter that an operator initialises: `chosen lr=0.1`.
    fn options(&self, initializer: &Operator) -> Vec<String> {
        let parameters = initializer.outputs.iter();
        let options = parameters.map(|&parameter| self.program.parameter_options(parameter));
        options
            .flat_map(|options| {
                let chosen = options.chosen.then(|| CHOSEN.to_string());
                let untrained = (!options.trainable).then(|| UNTRAINED.to_string());
                let numbers = options.numbers().into_iter();
                let numbers = numbers.filter_map(|(name, value)| Some(format!("{name}={:?}", value?)));
                let former = options.former.iter().map(|former| format!("{FORMER} {}", name(former)));
                chosen.into_iter().chain(untrained).chain(numbers).chain(former).collect::<Vec<_>>()
            })
            .collect()
    }

    /// `o: f32[_, 1] = scale(x, bias=1.0)`.
    fn call(&mut self, operator: &Operator) -> fmt::Result {
        if !operator.outputs.is_empty() {
            write!(self.f, "{} = ", self.declarations(&operator.outputs))?;
        }
        let mut arguments: Vec<String> = operator.inputs.iter().map(|&input| self.name(input)).collect();
        for (attribute, value) in self.attributes(operator) {
            arguments.push(format!("{attribute}={value}"));
        }
        write!(self.f, "{}({})", operator.op.name(), arguments.join(", "))
    }

    /// The attributes that differ from their defaults.
    fn attributes(&self, operator: &Operator) -> Vec<(&'static str, String)> {
        let all = operator.op.attributes();
        let outputs: Vec<&Type> = operator.outputs.iter().map(|&output| self.program.ty(output)).collect();
        let written = |(attribute, value): &(&'static str, Attribute)| {
            let implied = match value {
                Attribute::Type(ty) => outputs.first() == Some(&ty),
                Attribute::Types(types) => types.iter().eq(outputs.iter().copied()),
                Attribute::Number(_)
                | Attribute::Text(_)
                | Attribute::Ints(_)
                | Attribute::Numbers(_)
                | Attribute::Dims(_)
                | Attribute::DType(_)
                | Attribute::Bytes(_)
                | Attribute::Program(_) => false,
                Attribute::Rows(rows) => outputs.first().is_some_and(|ty| ty.rows == Some(*rows)),
            };
            let text = self.attribute(value);
            let default = || self.default(&operator.op, attribute, &all);
            (!implied && default().as_ref() != Some(&text)).then_some((*attribute, text))
        };
        all.iter().filter_map(written).collect()
    }

    /// The default of an attribute, as text. An attribute with this value is not printed.
    fn default(&self, op: &Op, attribute: &str, all: &[(&'static str, Attribute)]) -> Option<String> {
        let others = all.iter().filter(|(name, _)| *name != attribute);
        let others = others.map(|(name, value)| (name.to_string(), value.clone())).collect();
        let op = op.with_attributes(others).ok()?;
        let value = op.attributes().into_iter().find(|(name, _)| *name == attribute)?.1;
        Some(self.attribute(&value))
    }

    fn attribute(&self, value: &Attribute) -> String {
        match value {
            Attribute::Number(number) => number.to_string(),
            Attribute::Text(text) => quoted(text),
            Attribute::Program(program) => quoted(&program.to_string()),
            Attribute::Ints(values) => format!("{values:?}"),
            Attribute::Numbers(numbers) => {
                let numbers = numbers.iter().map(|number| number.to_string());
                format!("[{}]", numbers.collect::<Vec<_>>().join(", "))
            }
            Attribute::Dims(dims) => {
                let dims = dims.iter().map(|dim| self.program.write_dim(dim, &name));
                format!("[{}]", dims.collect::<Vec<_>>().join(", "))
            }
            Attribute::DType(dtype) => dtype.to_string(),
            Attribute::Type(ty) => self.ty(ty),
            Attribute::Rows(rows) => self.rows(*rows),
            Attribute::Types(types) => {
                format!("[{}]", types.iter().map(|ty| self.ty(ty)).collect::<Vec<_>>().join(", "))
            }
            Attribute::Bytes(bytes) => bytes.iter().fold("0x".to_string(), |mut text, byte| {
                text.extend(
                    [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
                );
                text
            }),
        }
    }
}
