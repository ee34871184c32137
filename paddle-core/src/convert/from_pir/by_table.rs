//! Operators as the table says.

use super::constants::{is_whole, scalars};
use super::json::{ABSENT, Attribute, Operation, Wrong};
use super::operators::{Entry, Kind, OfAttribute, Operand, Slot, TABLE};
use super::translation::{Constant, Named, Stacked, Translation};
use crate::wire::{OpAttr, OpDesc};

/// Attributes that say nothing about what an operator computes.
const NEVER_READ: [&str; 3] = ["place", "stop_gradient", "struct_name"];

impl Translation {
    /// Translates an operator as the table says.
    pub(super) fn by_table(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let found = match TABLE.get(x.name) {
            Some(entry) => Some((entry, false)),
            // Operators whose names end so overwrite their first operand.
            None => x.name.strip_suffix('_').and_then(|name| TABLE.get(name)).map(|entry| (entry, true)),
        };
        let done = match found {
            Some((entry, overwrites)) => self.entered(x, block, entry, overwrites)?,
            None => false,
        };
        if done { Ok(()) } else { self.unknown(x, block) }
    }

    /// Translates an operator that the table has, if it has this form.
    fn entered(
        &mut self,
        x: &Operation<'_>,
        block: usize,
        entry: &Entry,
        overwrites: bool,
    ) -> Result<bool, Wrong> {
        let mut desc = OpDesc::new(entry.name);
        for (operand, &id) in entry.operands.iter().zip(&x.operands).filter(|(_, id)| **id != ABSENT) {
            match operand {
                Operand::Ignored => {}
                Operand::Slot(slot) => desc = desc.with_input(*slot, self.names(id)?),
                Operand::Attribute(of) => match self.with_attribute(desc, of, id, block)? {
                    Some(with) => desc = with,
                    None => return Ok(false),
                },
            }
        }
        for (name, value) in x.attributes.iter().filter(|(name, _)| !NEVER_READ.contains(name)) {
            let (name, is_float) = entry.attribute(name);
            desc.attrs.extend(self.attribute(name, value, is_float)?);
        }
        desc.attrs.extend(entry.truths.iter().map(|&(name, truth)| OpAttr::bool(name, truth)));
        if entry.name.starts_with("reduce_") && desc.attr("dim").is_none_or(|dim| dim.ints.is_empty()) {
            desc.attrs.retain(|attr| attr.name != "reduce_all");
            desc.attrs.push(OpAttr::bool("reduce_all", true));
        }
        let overwritten = entry.results.iter().any(|slot| matches!(slot, Slot::Overwritten { .. }));
        for (place, (slot, (id, ty))) in entry.results.iter().zip(&x.results).enumerate() {
            let (slot, operand) = match *slot {
                Slot::New(slot) if place == 0 && overwrites && !overwritten => {
                    (slot, x.operands.first().copied())
                }
                Slot::New(slot) => (slot, None),
                Slot::Overwritten { slot, operand } => {
                    let slots = entry
                        .operands
                        .iter()
                        .position(|of| matches!(of, Operand::Slot(name) if *name == operand));
                    (slot, slots.and_then(|place| x.operands.get(place)).copied())
                }
            };
            let names = match operand {
                Some(operand) if operand != ABSENT => self.overwrite(operand, *id)?,
                _ => {
                    let named = self.new_value(x.name, *id, ty, block)?;
                    let names = named.all();
                    self.spend(names.len())?;
                    self.values.insert(*id, named);
                    names
                }
            };
            desc = desc.with_output(slot, names);
        }
        if x.name == "stack" && desc.attr("axis").is_some_and(|axis| axis.i == Some(0)) {
            let parts = desc.input("X").to_vec();
            self.spend(parts.len())?;
            self.stacked.insert(x.result(0)?.0, Stacked { block, parts, writes: self.writes });
        }
        self.push(block, desc);
        Ok(true)
    }

    /// The elements of a list that was made one value, if they have not been written since. Those of a block around this one may be
    /// written behind it, where it is a loop.
    fn parts(&self, id: i64, block: usize) -> Option<Vec<String>> {
        let stacked = self.stacked.get(&id).filter(|stacked| stacked.block == block)?;
        let is_same = |part: &String| self.written.get(part).is_none_or(|&write| write <= stacked.writes);
        stacked.parts.iter().all(is_same).then(|| stacked.parts.clone())
    }

    /// The operator with an attribute, whose value an operand says.
    fn with_attribute(
        &mut self,
        desc: OpDesc,
        of: &OfAttribute,
        id: i64,
        block: usize,
    ) -> Result<Option<OpDesc>, Wrong> {
        let known = self.constants.get(&id).map(|constant| match constant {
            Constant::Ints(values) => Attribute::List(values.iter().copied().map(Attribute::Int).collect()),
            &Constant::Number { value, element } => match (of.kind, is_whole(element)) {
                (Kind::Same, true) | (Kind::Int, _) => Attribute::Int(value as i64),
                (Kind::Same | Kind::Float, _) => Attribute::Float(value),
                (Kind::Text, _) => Attribute::Text(value.to_string()),
            },
        });
        if let Some(value) = known {
            let attr = self.attribute(of.name, &value, of.kind == Kind::Float)?;
            return Ok(Some(OpDesc { attrs: desc.attrs.into_iter().chain(attr).collect(), ..desc }));
        }
        let parts = of.slot_of_several.and_then(|_| self.parts(id, block));
        let (slot, names) = match (self.value(id)?, parts) {
            (Named::One(_), Some(parts)) => (of.slot_of_several, parts),
            (Named::One(name), None) => (of.slot, vec![name.clone()]),
            (Named::Several(names), _) => (of.slot_of_several, names.clone()),
        };
        self.spend(names.len())?;
        Ok(slot.map(|slot| desc.with_input(slot, names)))
    }

    /// An attribute in the form of before, if it has one: whole numbers in the narrowest type that has them.
    pub(super) fn attribute(
        &mut self,
        name: &str,
        value: &Attribute,
        is_float: bool,
    ) -> Result<Option<OpAttr>, Wrong> {
        let narrow = |value: i64| i32::try_from(value).ok();
        Ok(Some(match value {
            Attribute::Bool(value) => OpAttr::bool(name, *value),
            Attribute::Int(value) if is_float => OpAttr::float(name, *value as f32),
            Attribute::Int(value) => match narrow(*value) {
                Some(int) => OpAttr::int(name, int),
                None => OpAttr::long(name, *value),
            },
            Attribute::Float(value) => OpAttr::float(name, *value as f32),
            Attribute::Text(text) => OpAttr::string(name, text.clone()),
            Attribute::Element(element) => OpAttr::int(name, element.map_or(-1, i32::from)),
            Attribute::List(values) => {
                self.spend(values.len())?;
                if name == "values" {
                    return Ok(Some(scalars(name, values.iter().cloned())));
                }
                let floats = values.iter().map(|value| match *value {
                    Attribute::Float(value) => Some(value as f32),
                    Attribute::Int(value) => Some(value as f32),
                    _ => None,
                });
                let texts = values.iter().map(|value| match value {
                    Attribute::Text(text) => Some(text.clone()),
                    _ => None,
                });
                let ints =
                    values.iter().map(Attribute::int).collect::<Option<Vec<i64>>>().filter(|_| !is_float);
                match (ints, floats.collect::<Option<Vec<f32>>>(), texts.collect::<Option<Vec<String>>>()) {
                    (Some(ints), ..) => {
                        match ints.iter().map(|&int| narrow(int)).collect::<Option<Vec<i32>>>() {
                            Some(ints) => OpAttr::ints(name, ints),
                            None => OpAttr::longs(name, ints),
                        }
                    }
                    (_, Some(floats), _) => OpAttr::floats(name, floats),
                    (.., Some(texts)) => OpAttr::strings(name, texts),
                    _ => return Ok(None),
                }
            }
            Attribute::Other => return Ok(None),
        }))
    }
}
