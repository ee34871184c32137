//! The tables of a program, in its first operator: symbols and row spaces, checks, taps and gradients.

use std::num::NonZero;

use super::Reader;
use crate::convert::dialect::{PROGRAM, VERSION};
use crate::convert::error::{ConvertError, Fault};
use crate::convert::sites::{located, place, record_gradients};
use crate::convert::types::{Tables, declare, parse_condition};
use crate::ops::Program;
use crate::program::{BlockId, Check, VarId};

impl<'a> Reader<'a> {
    /// Reads the tables that types refer to, and creates the blocks.
    pub(super) fn tables(&mut self) -> Result<(), ConvertError> {
        let ops = &self.blocks[0].desc.ops;
        let at = ops.iter().position(|op| op.r#type == PROGRAM).ok_or(Fault::NoHeader)?;
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
        Ok(())
    }

    /// Reads the taps: pairs of the tap's name and its value's name.
    pub(super) fn taps(&mut self) -> Result<(), ConvertError> {
        self.listed_pairs("taps", |program, name, value| {
            let var = find(program, value)?;
            program.tap(name, var).map_err(|error| error.to_string())
        })
    }

    /// Calls a function for each pair of names in an attribute.
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

    /// Reads the checks: the condition, message and place of each.
    fn checks(&mut self, texts: &[String]) -> Result<(), Fault> {
        let (checks, rest) = texts.as_chunks::<3>();
        for [condition, message, place] in checks {
            let condition = parse_condition(&self.program, condition).ok_or_else(|| {
                let message = format!("`{condition}` is not a condition on sizes");
                Fault::Attribute { attribute: "checks", message }
            })?;
            let place = located(place).map(|place| self.sites.place(&mut self.program, place));
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

    /// Records the gradients: those that are listed, otherwise in the order of the parameters.
    pub(super) fn gradients(&mut self) -> Result<(), ConvertError> {
        self.listed_pairs("gradients", |program, parameter, gradient| {
            let (parameter, gradient) = (find(program, parameter)?, find(program, gradient)?);
            program.record_gradient(parameter, gradient);
            Ok(())
        })?;
        if self.program.gradients().is_empty() {
            record_gradients(&mut self.program, &self.gradients);
        }
        Ok(())
    }
}

/// The value with this name.
fn find(program: &Program, name: &str) -> Result<VarId, String> {
    program.find(name).ok_or_else(|| format!("there is no value `{name}`"))
}
