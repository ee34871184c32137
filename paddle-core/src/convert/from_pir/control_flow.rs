//! `if` and `while`, whose regions become blocks.

use serde_json::Value;

use super::json::{self, Operation, Ty, Wrong};
use super::translation::{Named, Translation};
use crate::wire::{OpAttr, OpDesc, VarKind, WireError};

impl Translation {
    /// Both regions of an `if` write the same variables, each where its condition holds.
    pub(super) fn branches(
        &mut self,
        x: &Operation<'_>,
        block: usize,
        wrong: &dyn Fn(Wrong) -> WireError,
    ) -> Result<(), WireError> {
        let [holds, fails] = x.regions else {
            return Err(wrong(format!("it has {} regions, and not two", x.regions.len())));
        };
        let condition = x.operand(0).and_then(|id| self.name(id)).map_err(wrong)?;
        let element = Ty::Tensor { element: VarKind::Bool, dims: Vec::new() };
        let negated = self.new_name(format!("not_{condition}"), &element, block);
        let mut results = Vec::new();
        for (id, ty) in &x.results {
            match self.new_value(x.name, *id, ty, block).map_err(wrong)? {
                Named::One(name) => results.push(name),
                Named::Several(_) => return Err(wrong("it gives a list".to_string())),
            }
        }
        let not = OpDesc::new("logical_not").with_input("X", [&condition]).with_output("Out", [&negated]);
        for (region, condition) in [(holds, &condition), (fails, &negated)] {
            if *condition == negated {
                self.push(block, not.clone());
            }
            let inside = self.region(region, block, &results, wrong)?;
            let run = OpDesc::new("conditional_block").with_input("Cond", [condition]);
            let run = run.with_output("Out", &results).with_attr(OpAttr::block("sub_block", inside as i32));
            self.push(block, run.with_attr(OpAttr::bool("is_scalar_condition", true)));
        }
        for ((id, _), name) in x.results.iter().zip(results) {
            self.name_value(*id, name);
        }
        Ok(())
    }

    /// A block for a region without arguments, which writes what it yields to variables around it.
    fn region(
        &mut self,
        region: &Value,
        block: usize,
        results: &[String],
        wrong: &dyn Fn(Wrong) -> WireError,
    ) -> Result<usize, WireError> {
        let (inside, content) = self.block(region, Some(block)).map_err(wrong)?;
        let yielded = self.operators(content, inside)?.unwrap_or_default();
        self.assign_all(&yielded, results, inside).map_err(wrong)?;
        Ok(inside)
    }

    /// The first operand of a `while` is its condition, and so is what its region yields first; the others are its state.
    pub(super) fn repetition(
        &mut self,
        x: &Operation<'_>,
        block: usize,
        wrong: &dyn Fn(Wrong) -> WireError,
    ) -> Result<(), WireError> {
        let [region] = x.regions else {
            return Err(wrong(format!("it has {} regions, and not one", x.regions.len())));
        };
        let Some((&condition, state)) = x.operands.split_first() else {
            return Err(wrong("it has no condition".to_string()));
        };
        let (inside, content) = self.block(region, Some(block)).map_err(wrong)?;
        let arguments = json::arguments(content).map_err(wrong)?;
        if arguments.len() != state.len() || x.results.len() != state.len() {
            let (into, out) = (arguments.len(), x.results.len());
            return Err(wrong(format!(
                "its state is {} values, but its region takes {into} and it gives {out}",
                state.len()
            )));
        }
        let truth = Ty::Tensor { element: VarKind::Bool, dims: vec![1] };
        let goes_on = self.name(condition).map_err(wrong)?;
        let mut written = vec![self.new_name(format!("{goes_on}_on"), &truth, block)];
        self.assign(&goes_on, &written[0], block);
        for ((&first, (argument, ty)), (result, _)) in state.iter().zip(&arguments).zip(&x.results) {
            let value = self.name(first).map_err(wrong)?;
            let name = match ty {
                // An array is written in place.
                Ty::Array { .. } => value,
                _ => {
                    let name = self.new_name(format!("{}_{result}", x.name), ty, block);
                    self.assign(&value, &name, block);
                    name
                }
            };
            self.name_value(*argument, name.clone());
            self.name_value(*result, name.clone());
            written.push(name);
        }
        let yielded = self.operators(content, inside)?.unwrap_or_default();
        self.assign_all(&yielded, &written, inside).map_err(wrong)?;
        let run = OpDesc::new("while").with_input("X", &written[1..]).with_input("Condition", &written[..1]);
        let run = run.with_output("Out", &written).with_attr(OpAttr::block("sub_block", inside as i32));
        self.push(block, run);
        Ok(())
    }

    /// Writes values to variables, all at once: one that is overwritten before it is read is copied.
    fn assign_all(&mut self, values: &[i64], to: &[String], block: usize) -> Result<(), Wrong> {
        if values.len() != to.len() {
            return Err(format!("its region yields {} values, and not {}", values.len(), to.len()));
        }
        let mut from = values.iter().map(|&id| self.name(id)).collect::<Result<Vec<String>, Wrong>>()?;
        for at in 1..from.len() {
            if to[..at].contains(&from[at]) && from[at] != to[at] {
                let copy = self.new_name(format!("{}_before", from[at]), &Ty::Other, block);
                self.assign(&from[at], &copy, block);
                from[at] = copy;
            }
        }
        let is_defined =
            |((id, from), to): &((&i64, &String), &String)| from != to && !self.is_undefined(**id);
        let pairs: Vec<_> = values.iter().zip(&from).zip(to).filter(is_defined).collect();
        for ((_, from), to) in pairs {
            self.assign(from, to, block);
        }
        Ok(())
    }

    fn assign(&mut self, from: &str, to: &str, block: usize) {
        self.push(block, OpDesc::new("assign").with_input("X", [from]).with_output("Out", [to]));
    }
}
