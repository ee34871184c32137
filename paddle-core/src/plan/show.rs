//! A plan as text: its instructions, where their operands live, and for how long.

use std::fmt;

use super::arithmetic::Precision;
use super::backend::Side;
use super::code::{Home, Instruction, LaunchCode, LoopKind, Operators, Origin, Plan, SlotId};
use crate::ops::Join;

impl<K> fmt::Display for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plan {\n")?;
        let (compute, update) = self.code[0].split_at(self.update_from);
        for (part, code) in [("prepare", &self.prepare[..]), ("compute", compute), ("update", update)] {
            if !code.is_empty() {
                writeln!(f, "  {part} {{")?;
                self.write_code(f, code, 2)?;
                f.write_str("  }\n")?;
            }
        }
        f.write_str("}\n")
    }
}

fn on(side: Side) -> &'static str {
    match side {
        Side::Own => "",
        Side::Fallback => "fallback ",
    }
}

impl<K> Plan<K> {
    /// A slot: `name: arena 3..7`, where the numbers count instructions through all blocks. A layout that is not
    /// row-major stands behind the name: `name[0, 2, 3, 1]: arena 3..7`.
    fn write_slot(&self, slot: SlotId) -> String {
        let slot = &self.slots[slot.0];
        let (birth, death) = slot.life;
        let name = match slot.layout.is_row_major() {
            true => slot.name.clone(),
            false => format!("{}{:?}", slot.name, slot.layout.axes(slot.shape.len())),
        };
        match slot.home {
            Home::Arena => format!("{name}: arena {birth}..{death}"),
            Home::Lane(side, lane) => match self.lanes[lane.0].around {
                Some(around) => format!("{name}: {}tape of loop {}", on(side), around.0),
                None => format!("{name}: {}tape", on(side)),
            },
            Home::View { of, .. } | Home::Iteration { of, .. } => {
                format!("{name}: in {}", self.slots[of.0].name)
            }
            Home::Pool => format!("{name}: pool"),
            Home::Prepared => format!("{name}: prepared"),
            Home::Staging => format!("{name}: fallback {birth}..{death}"),
            Home::Parameter(side, number) => format!("{name}: {}parameter {number}", on(side)),
            Home::State(side, number) => format!("{name}: {}state {number}", on(side)),
        }
    }

    fn write_slots(&self, slots: &[SlotId]) -> String {
        slots.iter().map(|&slot| self.write_slot(slot)).collect::<Vec<_>>().join(", ")
    }

    /// A launch: `softmax(a: arena 1..3) -> b: pool`, `fc in bf16(…) -> …`, or `copy a: arena 1..3 -> b: pool`.
    fn write_launch(&self, launch: &LaunchCode<K>) -> String {
        let (inputs, outputs) = self.operands(launch).split_at(launch.inputs);
        match (&self.origins[launch.number as usize], inputs, outputs) {
            (Origin::Operators(Operators { names, precision, .. }), ..) => {
                let (inputs, outputs) = (self.write_slots(inputs), self.write_slots(outputs));
                let precision = match precision {
                    Precision::F32 => String::new(),
                    other => format!(" in {other}"),
                };
                format!("{}{precision}({inputs}) -> {outputs}", names.join(" + "))
            }
            (Origin::Move(kind), [from, ..], [to, ..]) => {
                format!("{} {} -> {}", kind.name(), self.write_slot(*from), self.write_slot(*to))
            }
            (Origin::Move(kind), ..) => format!("{} {}", kind.name(), self.write_slots(outputs)),
        }
    }

    fn write_code(&self, f: &mut fmt::Formatter<'_>, code: &[Instruction<K>], depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for instruction in code {
            if let Some(launch) = instruction.launch() {
                writeln!(f, "{indent}{}", self.write_launch(launch))?;
            }
            match instruction {
                Instruction::Launch(_)
                | Instruction::Sort(_)
                | Instruction::Take(_)
                | Instruction::Make(_) => {}
                Instruction::Exchange(code) => {
                    writeln!(f, "{indent}{}({})", code.operator, self.write_slots(&code.slots))?;
                }
                Instruction::If(code) => {
                    let how = if code.forward { "if" } else { "if, as before," };
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
                Instruction::Loop(code) => {
                    self.write_code(f, &code.enter, depth)?;
                    match &code.kind {
                        LoopKind::For { .. } => writeln!(f, "{indent}for {{")?,
                        LoopKind::While { condition, holds, rows, .. } => {
                            let word = if rows.is_some() { "while, row by row," } else { "while" };
                            writeln!(f, "{indent}{word} {{")?;
                            self.write_code(f, condition, depth + 1)?;
                            writeln!(f, "{indent}}} ({}) {{", self.write_slot(*holds))?;
                        }
                    }
                    for code in [&code.save, &code.body, &code.advance] {
                        self.write_code(f, code, depth + 1)?;
                    }
                    writeln!(f, "{indent}}}")?;
                    self.write_code(f, &code.leave, depth)?;
                }
                Instruction::LoopGrad(code) => {
                    self.write_code(f, &code.enter, depth)?;
                    writeln!(f, "{indent}unwind loop {} {{", code.id.0)?;
                    self.write_code(f, &code.body, depth + 1)?;
                    writeln!(f, "{indent}}}")?;
                    self.write_code(f, &code.leave, depth)?;
                }
            }
        }
        Ok(())
    }
}
