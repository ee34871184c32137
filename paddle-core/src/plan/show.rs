//! A plan as text: its instructions, where their operands live, and for how long.

use std::fmt;

use super::code::{Copy, Home, Instruction, Plan, SlotId};
use crate::ops::Join;

impl<K> fmt::Display for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plan {\n")?;
        let (compute, update) = self.code[0].split_at(self.update_from);
        for (part, code) in [("compute", compute), ("update", update)] {
            if !code.is_empty() {
                writeln!(f, "  {part} {{")?;
                self.write_code(f, code, 2)?;
                f.write_str("  }\n")?;
            }
        }
        f.write_str("}\n")
    }
}

impl<K> Plan<K> {
    /// `name: arena 3..7`; the numbers count instructions through all blocks.
    fn write_slot(&self, slot: SlotId) -> String {
        let slot = &self.slots[slot.0];
        let (birth, death) = slot.life;
        match slot.home {
            Home::Arena => format!("{}: arena {birth}..{death}", slot.name),
            Home::Frame(around) => format!("{}: frame of loop {}", slot.name, around.0),
            Home::Pool => format!("{}: pool", slot.name),
            Home::Parameter(offset) => format!("{}: parameters at {offset}", slot.name),
            Home::State(offset) => format!("{}: states at {offset}", slot.name),
        }
    }

    fn write_slots(&self, slots: &[SlotId]) -> String {
        slots.iter().map(|&slot| self.write_slot(slot)).collect::<Vec<_>>().join(", ")
    }

    fn write_copies(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        copies: &[Copy],
        depth: usize,
    ) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for copy in copies {
            writeln!(f, "{indent}{what} {} -> {}", self.write_slot(copy.from), self.write_slot(copy.to))?;
        }
        Ok(())
    }

    fn write_code(&self, f: &mut fmt::Formatter<'_>, code: &[Instruction<K>], depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for instruction in code {
            match instruction {
                Instruction::Launch { operands, inputs, origin, .. } => {
                    let (inputs, outputs) = operands.split_at(*inputs);
                    let (inputs, outputs) = (self.write_slots(inputs), self.write_slots(outputs));
                    writeln!(f, "{indent}{}({inputs}) -> {outputs}", origin.operators.join(" + "))?;
                }
                Instruction::Gather { from, to, .. } => {
                    writeln!(f, "{indent}gather {} -> {}", self.write_slot(*from), self.write_slot(*to))?;
                }
                Instruction::Copy(copy) => self.write_copies(f, "copy", &[*copy], depth)?,
                Instruction::If(code) => {
                    let how = if code.splits { "if" } else { "if, as before," };
                    for (word, branch) in [how, "else"].into_iter().zip(code.branches) {
                        writeln!(f, "{indent}{word} ({}) {{", self.write_slot(code.condition))?;
                        self.write_code(f, &self.code[branch], depth + 1)?;
                        writeln!(f, "{indent}}}")?;
                    }
                    for join in &code.joins {
                        let how = match join.join {
                            Join::Merge => "merge",
                            Join::Sum => "sum",
                            Join::Select => "select",
                        };
                        let (from, to) = (self.write_slots(&join.from), self.write_slot(join.to));
                        writeln!(f, "{indent}{how} {from} -> {to}")?;
                    }
                }
                Instruction::While(code) => {
                    self.write_copies(f, "enter", &code.enter, depth)?;
                    writeln!(f, "{indent}while {{")?;
                    self.write_code(f, &self.code[code.condition], depth + 1)?;
                    writeln!(f, "{indent}}} ({}) {{", self.write_slot(code.holds))?;
                    self.write_copies(f, "save", &code.save, depth + 1)?;
                    self.write_code(f, &self.code[code.body], depth + 1)?;
                    self.write_copies(f, "advance", &code.advance, depth + 1)?;
                    writeln!(f, "{indent}}}")?;
                }
                Instruction::WhileGrad(code) => {
                    self.write_copies(f, "enter", &code.enter, depth)?;
                    writeln!(f, "{indent}unwind loop {} {{", code.recorded.0)?;
                    self.write_code(f, &self.code[code.body], depth + 1)?;
                    self.write_copies(f, "add", &code.sums, depth + 1)?;
                    self.write_copies(f, "advance", &code.advance, depth + 1)?;
                    writeln!(f, "{indent}}}")?;
                }
            }
        }
        Ok(())
    }
}
