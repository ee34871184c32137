//! Operators whose forms of before differ in more than names: what is fed and fetched, parameters, arrays, sizes, ranges, and those that
//! have no form of before.

use super::json::{ABSENT, Attribute, Dialect, Operation, Ty, Wrong};
use super::translation::{Constant, Named, Translation};
use super::values::variable;
use crate::wire::{OpAttr, OpDesc, VarDesc, VarKind};

impl Translation {
    /// Some values as a list.
    pub(super) fn combined(&mut self, x: &Operation<'_>) -> Result<(), Wrong> {
        let mut all = Vec::new();
        for &operand in &x.operands {
            all.extend(self.names(operand)?);
        }
        self.values.insert(x.result(0)?.0, Named::Several(all));
        Ok(())
    }

    /// The values of a list.
    pub(super) fn split(&mut self, x: &Operation<'_>) -> Result<(), Wrong> {
        let names = self.names(x.operand(0)?)?;
        if names.len() != x.results.len() {
            return Err(format!("it gives {} values of a list of {}", x.results.len(), names.len()));
        }
        let results = x.results.iter().map(|(id, _)| *id);
        self.values.extend(results.zip(names.into_iter().map(Named::One)));
        Ok(())
    }

    /// A value in the place of another one.
    pub(super) fn assign_out(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let copy = OpDesc::new("assign").with_input("X", [self.name(x.operand(0)?)?]);
        let target = self.overwrite(x.operand(1)?, x.result(0)?.0)?;
        self.push(block, copy.with_output("Out", target));
        Ok(())
    }

    pub(super) fn write_to_array(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let [array, value, place] = [x.operand(0)?, x.operand(1)?, x.operand(2)?];
        let written = OpDesc::new("write_to_array");
        let written = written.with_input("X", [self.name(value)?]).with_input("I", [self.name(place)?]);
        let array = self.overwrite(array, x.result(0)?.0)?;
        self.push(block, written.with_output("Out", array));
        Ok(())
    }

    pub(super) fn parameter(&mut self, x: &Operation<'_>) -> Result<(), Wrong> {
        let Some(Attribute::Text(name)) = x.attribute("name") else {
            return Err("it has no name".to_string());
        };
        let (id, ty) = x.result(0)?;
        if !self.names.insert(name.clone()) {
            return Err(format!("there are two values `{name}`"));
        }
        let is = |attribute| x.attribute(attribute) == Some(&Attribute::Bool(true));
        let persistable = Some(is("persistable"));
        let var = VarDesc {
            persistable,
            is_parameter: persistable,
            stop_gradient: Some(is("stop_gradient")),
            ..variable(name, ty)
        };
        self.blocks[0].vars.push(var);
        self.values.insert(*id, Named::One(name.clone()));
        Ok(())
    }

    pub(super) fn input(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::Text(name) = x.required("name")? else {
            return Err("its name is no text".to_string());
        };
        let (id, ty) = x.result(0)?;
        if block != 0 {
            return Err("values are fed to the outermost block alone".to_string());
        }
        if !self.names.insert(name.clone()) {
            return Err(format!("there are two values `{name}`"));
        }
        let column = self.inputs;
        self.inputs += 1;
        let var = VarDesc { need_check_feed: Some(true), ..variable(name, ty) };
        self.blocks[0].vars.push(var);
        let feed = OpDesc::new("feed").with_input("X", ["feed"]).with_output("Out", [name]);
        self.push(0, feed.with_attr(OpAttr::int("col", column as i32)));
        self.values.insert(*id, Named::One(name.clone()));
        Ok(())
    }

    pub(super) fn output(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let name = self.name(x.operand(0)?)?;
        let column = x.required("col")?.int().and_then(|column| i32::try_from(column).ok());
        let column = column.ok_or("its column is no number")?;
        let fetch = OpDesc::new("fetch").with_input("X", [name]).with_output("Out", ["fetch"]);
        self.push(block, fetch.with_attr(OpAttr::int("col", column)));
        Ok(())
    }

    /// One place of an array.
    pub(super) fn place_of_array(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let read = OpDesc::new("slice").with_input("Input", [self.name(x.operand(0)?)?]);
        let read = match self.constants.get(&x.operand(1)?) {
            Some(Constant::Ints(starts)) if starts.len() == 1 => {
                let ends =
                    starts.iter().map(|start| if *start == -1 { i64::from(i32::MAX) } else { start + 1 });
                let ends = OpAttr::longs("ends", ends.collect::<Vec<i64>>());
                read.with_attr(OpAttr::longs("starts", starts.clone())).with_attr(ends)
            }
            _ => read.with_input("StartsTensor", [self.name(x.operand(1)?)?]),
        };
        let read = read.with_attr(OpAttr::ints("axes", [0])).with_attr(OpAttr::ints("decrease_axis", [0]));
        let names = self.results(x, block)?;
        self.push(block, read.with_output("Out", names));
        Ok(())
    }

    /// The sizes of a value, which were of 32 bits.
    pub(super) fn shape(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let (id, ty) = x.result(0)?;
        let narrow = match ty {
            Ty::Tensor { dims, .. } => Ty::Tensor { element: VarKind::Int32, dims: dims.clone() },
            _ => Ty::Other,
        };
        let narrow = self.new_name(format!("shape_{id}"), &narrow, block);
        let sizes = OpDesc::new("shape").with_input("Input", [self.name(x.operand(0)?)?]);
        self.push(block, sizes.with_output("Out", [&narrow]));
        let wide = OpDesc::new("cast").with_input("X", [narrow]).with_output("Out", self.results(x, block)?);
        let wide = wide.with_attr(OpAttr::int("in_dtype", VarKind::Int32.into()));
        self.push(block, wide.with_attr(OpAttr::int("out_dtype", VarKind::Int64.into())));
        Ok(())
    }

    /// Numbers of a type of their own, which was that of the bounds.
    pub(super) fn range(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::Element(element) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        let (id, ty) = x.result(0)?;
        let found = self.elements.get(&x.operand(0)?).copied();
        let mut bounds = OpDesc::new("range");
        for (place, slot) in ["Start", "End", "Step"].into_iter().enumerate() {
            bounds = bounds.with_input(slot, [self.name(x.operand(place)?)?]);
        }
        let (Some(found), Some(element), Ty::Tensor { dims, .. }) = (found, element, ty) else {
            let names = self.results(x, block)?;
            self.push(block, bounds.with_output("Out", names));
            return Ok(());
        };
        let numbers = Ty::Tensor { element: found, dims: dims.clone() };
        let numbers = self.new_name(format!("range_{id}"), &numbers, block);
        self.push(block, bounds.with_output("Out", [&numbers]));
        let cast = OpDesc::new("cast").with_input("X", [numbers]).with_output("Out", self.results(x, block)?);
        let cast = cast.with_attr(OpAttr::int("in_dtype", found.into()));
        self.push(block, cast.with_attr(OpAttr::int("out_dtype", element.into())));
        Ok(())
    }

    /// Keeps an operator that has no form of before: under its name, so that it is refused where the program is read.
    pub(super) fn unknown(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let mut names = Vec::new();
        for &operand in x.operands.iter().filter(|operand| **operand != ABSENT) {
            names.extend(self.names(operand)?);
        }
        let dialect = match x.dialect {
            Dialect::Builtin => "builtin",
            Dialect::Operator => "pd_op",
            Dialect::ControlFlow => "cf",
            Dialect::Other => "other",
        };
        let outputs = self.results(x, block)?;
        let kept = OpDesc::new(format!("{dialect}.{}", x.name)).with_input("X", names);
        self.push(block, kept.with_output("Out", outputs));
        Ok(())
    }
}
