//! The translation of a file: values get names, operators the form of before.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use super::json::{self, ABSENT, Attribute, Dialect, Operation, Ty, Wrong};
use super::operators::{Entry, Kind, OfAttribute, Operand, Slot, table};
use crate::convert::from_wire::THIRD_VERSION;
use crate::wire::{
    AttrType, BlockDesc, LodTensorArrayDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, Scalar, TensorDesc,
    VarDesc, VarKind, VarType, Version, WireError,
};

/// What a variable of Python's has that has no value yet.
const UNDEFINED: f32 = 1.77113e27;

/// Translates a whole file.
pub(super) fn program(bytes: &[u8]) -> Result<ProgramDesc, WireError> {
    let wrong = |cause: Wrong| WireError::Json { place: None, cause };
    let file = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    let regions = json::regions(&file).map_err(wrong)?;
    let [region] = regions else { return Err(wrong(format!("it has {} regions", regions.len()))) };
    let mut translation = Translation::new(bytes.len());
    let block = translation.block(region, None).map_err(wrong)?;
    let left = translation.operators(block.1, block.0)?;
    match left {
        Some(_) => Err(wrong("its outermost block yields values".to_string())),
        None => Ok(translation.finish()),
    }
}

/// The state of a translation.
pub(super) struct Translation {
    table: BTreeMap<&'static str, Entry>,
    blocks: Vec<BlockDesc>,
    values: BTreeMap<i64, Named>,
    constants: BTreeMap<i64, Constant>,
    /// Values that stand for none yet: they have no shape of their own, though their type has one.
    undefined: BTreeSet<i64>,
    /// The elements of lists that were made one value.
    stacked: BTreeMap<i64, Vec<String>>,
    /// The types of elements.
    elements: BTreeMap<i64, VarKind>,
    /// The names that are taken.
    names: BTreeSet<String>,
    /// The names and numbers that operators may still have: in a file that PaddlePaddle wrote they are fewer than its bytes. The same
    /// list of a few bytes could be an operand again and again.
    room: usize,
}

/// How a value is called.
#[derive(Clone)]
pub(super) enum Named {
    One(String),
    /// A list of values.
    Several(Vec<String>),
}

/// What is known of a value.
enum Constant {
    Number { value: f64, element: VarKind },
    Ints(Vec<i64>),
}

impl Translation {
    fn new(room: usize) -> Self {
        Translation {
            table: table(),
            blocks: Vec::new(),
            values: BTreeMap::new(),
            constants: BTreeMap::new(),
            undefined: BTreeSet::new(),
            stacked: BTreeMap::new(),
            elements: BTreeMap::new(),
            names: ["feed", "fetch"].map(String::from).into(),
            room,
        }
    }

    /// The translated program, without the constants that only attributes have.
    fn finish(mut self) -> ProgramDesc {
        let ops = self.blocks.iter().flat_map(|block| &block.ops);
        let read: BTreeSet<String> =
            ops.flat_map(|op| &op.inputs).flat_map(|slot| slot.arguments.iter().cloned()).collect();
        for block in &mut self.blocks {
            block.ops.retain(|op| {
                let is_constant = matches!(op.r#type.as_str(), "fill_constant" | "assign_value");
                !is_constant || op.output("Out").iter().any(|name| read.contains(name))
            });
        }
        let version = Version { version: Some(THIRD_VERSION), ..Version::default() };
        ProgramDesc { blocks: self.blocks, version: Some(version), ..ProgramDesc::default() }
    }

    /// Begins a block for the only block of a region: its number, and what it has.
    pub(super) fn block<'j>(
        &mut self,
        region: &'j serde_json::Value,
        parent: Option<usize>,
    ) -> Result<(usize, &'j serde_json::Value), Wrong> {
        let [block] = json::blocks(region)? else {
            return Err("a region of it does not have one block".to_string());
        };
        let number = self.blocks.len();
        self.blocks.push(BlockDesc {
            idx: number as i32,
            parent_idx: parent.map_or(-1, |parent| parent as i32),
            forward_block_idx: Some(-1),
            ..BlockDesc::default()
        });
        Ok((number, block))
    }

    /// Translates the operators of a block. What its last one yields are the results.
    pub(super) fn operators(
        &mut self,
        block: &serde_json::Value,
        number: usize,
    ) -> Result<Option<Vec<i64>>, WireError> {
        let place = |at: usize| Some(format!("operator {at} of block {number}"));
        let operators = json::operators(block).map_err(|cause| WireError::Json { place: None, cause })?;
        for (at, value) in operators.iter().enumerate() {
            let wrong = |cause: Wrong| WireError::Json { place: place(at), cause };
            let operation = Operation::new(value).map_err(wrong)?;
            let wrong = |cause: Wrong| {
                let place = place(at).map(|place| format!("{place}, `{}`", operation.name));
                WireError::Json { place, cause }
            };
            match (operation.dialect, operation.name) {
                (Dialect::ControlFlow, "yield") if at + 1 == operators.len() => {
                    return Ok(Some(operation.operands));
                }
                (Dialect::Operator, "if") => self.branches(&operation, number, &wrong)?,
                (Dialect::Operator, "while") => self.repetition(&operation, number, &wrong)?,
                _ => self.operator(&operation, number).map_err(wrong)?,
            }
        }
        Ok(None)
    }

    /// Translates an operator without regions.
    fn operator(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        for (id, ty) in &x.results {
            if let Ty::Tensor { element, .. } = ty {
                self.elements.insert(*id, *element);
            }
        }
        match (x.dialect, x.name) {
            (Dialect::Builtin, "parameter") => self.parameter(x),
            (Dialect::Builtin, "combine") => {
                let mut all = Vec::new();
                for &operand in &x.operands {
                    all.extend(self.names(operand)?);
                }
                self.values.insert(x.result(0)?.0, Named::Several(all));
                Ok(())
            }
            (Dialect::Builtin, "split") => {
                let names = self.names(x.operand(0)?)?;
                if names.len() != x.results.len() {
                    return Err(format!("it gives {} values of a list of {}", x.results.len(), names.len()));
                }
                let results = x.results.iter().map(|(id, _)| *id);
                self.values.extend(results.zip(names.into_iter().map(Named::One)));
                Ok(())
            }
            (Dialect::Operator, "data" | "feed") => self.input(x, block),
            (Dialect::Operator, "fetch") => self.output(x, block),
            (Dialect::Operator, "full") => self.full(x, block),
            (Dialect::Operator, "full_int_array") => self.full_int_array(x, block),
            (Dialect::Operator, "assign_value" | "assign_value_") => self.assign_value(x, block),
            (Dialect::Operator, "assign_out_") => {
                let target = self.name(x.operand(1)?)?;
                let copy = OpDesc::new("assign").with_input("X", [self.name(x.operand(0)?)?]);
                self.push(block, copy.with_output("Out", [&target]));
                self.values.insert(x.result(0)?.0, Named::One(target));
                Ok(())
            }
            (Dialect::Operator, "create_array") => self.results(x, block).map(|_| ()),
            (Dialect::Operator, "array_write_") => {
                let [array, value, place] = [x.operand(0)?, x.operand(1)?, x.operand(2)?];
                let array = self.name(array)?;
                let written = OpDesc::new("write_to_array");
                let written =
                    written.with_input("X", [self.name(value)?]).with_input("I", [self.name(place)?]);
                self.push(block, written.with_output("Out", [&array]));
                self.values.insert(x.result(0)?.0, Named::One(array));
                Ok(())
            }
            (Dialect::Operator, "slice_array_dense") => self.place_of_array(x, block),
            (Dialect::Operator, "shape64") => self.shape(x, block),
            (Dialect::Operator, "arange") => self.range(x, block),
            (Dialect::Operator, _) => self.by_table(x, block),
            _ => self.unknown(x, block),
        }
    }

    fn parameter(&mut self, x: &Operation<'_>) -> Result<(), Wrong> {
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

    fn input(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
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
        let column = self.blocks[0].ops.iter().filter(|op| op.r#type == "feed").count();
        let var = VarDesc { need_check_feed: Some(true), ..variable(name, ty) };
        self.blocks[0].vars.push(var);
        if column == 0 {
            self.holder("feed", VarKind::FeedMinibatch);
        }
        let feed = OpDesc::new("feed").with_input("X", ["feed"]).with_output("Out", [name]);
        self.push(0, feed.with_attr(OpAttr::int("col", column as i32)));
        self.values.insert(*id, Named::One(name.clone()));
        Ok(())
    }

    fn output(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let name = self.name(x.operand(0)?)?;
        let column = x.required("col")?.int().and_then(|column| i32::try_from(column).ok());
        let column = column.ok_or("its column is no number")?;
        if !self.blocks[0].vars.iter().any(|var| var.name == "fetch") {
            self.holder("fetch", VarKind::FetchList);
        }
        let fetch = OpDesc::new("fetch").with_input("X", [name]).with_output("Out", ["fetch"]);
        self.push(block, fetch.with_attr(OpAttr::int("col", column)));
        Ok(())
    }

    fn holder(&mut self, name: &str, kind: VarKind) {
        let r#type = VarType { r#type: kind.into(), ..VarType::default() };
        let var = VarDesc { name: name.to_string(), r#type, persistable: Some(true), ..VarDesc::default() };
        self.blocks[0].vars.push(var);
    }

    /// A constant, which is also known where an attribute is asked for.
    fn full(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::List(shape) = x.required("shape")? else {
            return Err("its shape is no list".to_string());
        };
        let dims: Vec<i64> = shape.iter().filter_map(Attribute::int).collect();
        let value = match x.required("value")? {
            Attribute::Float(value) => *value,
            Attribute::Int(value) => *value as f64,
            Attribute::Bool(value) => f64::from(u8::from(*value)),
            _ => return Err("its value is no number".to_string()),
        };
        let Attribute::Element(Some(element)) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        let (id, ty) = x.result(0)?;
        self.spend(dims.len())?;
        if matches!(ty, Ty::Tensor { dims: of_type, .. } if *of_type != dims) {
            return self.undefined(*id, block);
        }
        self.constants.insert(*id, Constant::Number { value, element });
        let whole = value as i64;
        let exact = if whole as f64 == value && element != VarKind::Bool {
            whole.to_string()
        } else {
            value.to_string()
        };
        let names = self.results(x, block)?;
        let filled = OpDesc::new("fill_constant").with_output("Out", names);
        let filled =
            filled.with_attr(OpAttr::longs("shape", dims)).with_attr(OpAttr::float("value", value as f32));
        let filled = filled.with_attr(OpAttr::string("str_value", exact));
        self.push(block, filled.with_attr(OpAttr::int("dtype", element.into())));
        Ok(())
    }

    /// A value that stands for none, as it was written before.
    fn undefined(&mut self, id: i64, block: usize) -> Result<(), Wrong> {
        let ty = Ty::Tensor { element: VarKind::Fp32, dims: Vec::new() };
        let name = self.new_name(format!("undefined_{id}"), &ty, block);
        let filled = OpDesc::new("fill_constant").with_output("Out", [&name]);
        let filled =
            filled.with_attr(OpAttr::longs("shape", [])).with_attr(OpAttr::float("value", UNDEFINED));
        self.push(block, filled.with_attr(OpAttr::int("dtype", VarKind::Fp32.into())));
        self.undefined.insert(id);
        self.name_value(id, name);
        Ok(())
    }

    fn full_int_array(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::List(values) = x.required("value")? else {
            return Err("its value is no list".to_string());
        };
        let values: Vec<i64> = values.iter().filter_map(Attribute::int).collect();
        let Attribute::Element(Some(element)) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        self.spend(values.len())?;
        self.constants.insert(x.result(0)?.0, Constant::Ints(values.clone()));
        let names = self.results(x, block)?;
        let given = OpDesc::new("assign_value").with_output("Out", names);
        let given = given.with_attr(OpAttr::longs("shape", [values.len() as i64]));
        let given = given.with_attr(scalars("values", values.into_iter().map(Attribute::Int)));
        self.push(block, given.with_attr(OpAttr::int("dtype", element.into())));
        Ok(())
    }

    /// Elements of any type, which a value may be overwritten with.
    fn assign_value(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::List(values) = x.required("values")? else {
            return Err("its values are no list".to_string());
        };
        let Attribute::List(shape) = x.required("shape")? else {
            return Err("its shape is no list".to_string());
        };
        let Attribute::Element(Some(element)) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        self.spend(values.len() + shape.len())?;
        let number = |value: &Attribute| match *value {
            Attribute::Float(value) if element == VarKind::Bool => Attribute::Bool(value != 0.0),
            Attribute::Float(value) if is_whole(element) => Attribute::Int(value as i64),
            ref value => value.clone(),
        };
        let values = scalars("values", values.iter().map(number));
        let shape: Vec<i64> = shape.iter().filter_map(Attribute::int).collect();
        let names = match x.operands.first() {
            Some(&overwritten) => {
                let name = self.name(overwritten)?;
                self.values.insert(x.result(0)?.0, Named::One(name.clone()));
                vec![name]
            }
            None => self.results(x, block)?,
        };
        let given = OpDesc::new("assign_value").with_output("Out", names);
        let given = given.with_attr(OpAttr::longs("shape", shape)).with_attr(values);
        self.push(block, given.with_attr(OpAttr::int("dtype", element.into())));
        Ok(())
    }

    /// One place of an array.
    fn place_of_array(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
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
    fn shape(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
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
    fn range(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
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

    /// Translates an operator as the table says.
    fn by_table(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let table = take(&mut self.table);
        let found = match table.get(x.name) {
            Some(entry) => Some((entry, false)),
            // Operators whose names end so overwrite their first operand.
            None => x.name.strip_suffix('_').and_then(|name| table.get(name)).map(|entry| (entry, true)),
        };
        let done = match found {
            Some((entry, overwrites)) => self.entered(x, block, entry, overwrites),
            None => Ok(false),
        };
        self.table = table;
        if done? { Ok(()) } else { self.unknown(x, block) }
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
                Operand::Attribute(of) => match self.with_attribute(desc, of, id)? {
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
            let named = match operand {
                Some(operand) if operand != ABSENT => self.value(operand)?.clone(),
                _ => self.new_value(x.name, *id, ty, block)?,
            };
            let names = match &named {
                Named::One(name) => vec![name.clone()],
                Named::Several(names) => names.clone(),
            };
            self.spend(names.len())?;
            self.values.insert(*id, named);
            desc = desc.with_output(slot, names);
        }
        if x.name == "stack" && desc.attr("axis").is_some_and(|axis| axis.i == Some(0)) {
            let parts = desc.input("X").to_vec();
            self.spend(parts.len())?;
            self.stacked.insert(x.result(0)?.0, parts);
        }
        self.push(block, desc);
        Ok(true)
    }

    /// The operator with an attribute, whose value an operand says.
    fn with_attribute(&mut self, desc: OpDesc, of: &OfAttribute, id: i64) -> Result<Option<OpDesc>, Wrong> {
        let is_undefined = self.undefined.contains(&id);
        let known = self.constants.get(&id).filter(|_| !is_undefined).map(|constant| match constant {
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
        let (slot, names) = match self.value(id)?.clone() {
            Named::One(_) if of.slot_of_several.is_some() && self.stacked.contains_key(&id) => {
                (of.slot_of_several, self.stacked[&id].clone())
            }
            Named::One(name) => (of.slot, vec![name]),
            Named::Several(names) => (of.slot_of_several, names),
        };
        self.spend(names.len())?;
        Ok(slot.map(|slot| desc.with_input(slot, names)))
    }

    /// An attribute in the form of before, if it has one: whole numbers in the narrowest type that has them.
    fn attribute(&mut self, name: &str, value: &Attribute, is_float: bool) -> Result<Option<OpAttr>, Wrong> {
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

    /// Keeps an operator that has no form of before: under its name, so that it is refused where the program is read.
    fn unknown(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
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

    /// New names for the results of an operator.
    fn results(&mut self, x: &Operation<'_>, block: usize) -> Result<Vec<String>, Wrong> {
        let mut all = Vec::new();
        for (id, ty) in &x.results {
            let named = self.new_value(x.name, *id, ty, block)?;
            match &named {
                Named::One(name) => all.push(name.clone()),
                Named::Several(names) => all.extend(names.iter().cloned()),
            }
            self.values.insert(*id, named);
        }
        Ok(all)
    }

    /// New variables for a result of an operator.
    pub(super) fn new_value(&mut self, of: &str, id: i64, ty: &Ty, block: usize) -> Result<Named, Wrong> {
        let of = of.trim_end_matches('_');
        if let Ty::List(parts) = ty {
            let names = parts.iter().enumerate();
            let names = names.map(|(at, ty)| self.new_name(format!("{of}_{id}_{at}"), ty, block));
            return Ok(Named::Several(names.collect()));
        }
        Ok(Named::One(self.new_name(format!("{of}_{id}"), ty, block)))
    }

    /// Declares a variable under a name, or a longer one if it is taken.
    pub(super) fn new_name(&mut self, mut name: String, ty: &Ty, block: usize) -> String {
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        self.blocks[block].vars.push(variable(&name, ty));
        name
    }

    pub(super) fn value(&self, id: i64) -> Result<&Named, Wrong> {
        self.values.get(&id).ok_or_else(|| format!("it reads value {id}, which is given nowhere before"))
    }

    pub(super) fn is_undefined(&self, id: i64) -> bool {
        self.undefined.contains(&id)
    }

    pub(super) fn name_value(&mut self, id: i64, name: String) {
        self.values.insert(id, Named::One(name));
    }

    /// The name of a value that is no list.
    pub(super) fn name(&self, id: i64) -> Result<String, Wrong> {
        match self.value(id)? {
            Named::One(name) => Ok(name.clone()),
            Named::Several(_) => Err(format!("it reads value {id} as one, but it is a list")),
        }
    }

    fn names(&mut self, id: i64) -> Result<Vec<String>, Wrong> {
        let names = match self.value(id)? {
            Named::One(name) => vec![name.clone()],
            Named::Several(names) => names.clone(),
        };
        self.spend(names.len())?;
        Ok(names)
    }

    pub(super) fn push(&mut self, block: usize, desc: OpDesc) {
        self.blocks[block].ops.push(desc);
    }

    fn spend(&mut self, count: usize) -> Result<(), Wrong> {
        let left = self.room.checked_sub(count);
        self.room = left.ok_or("its operators have more operands than the file has bytes")?;
        Ok(())
    }
}

/// Attributes that say nothing about what an operator computes.
const NEVER_READ: [&str; 3] = ["place", "stop_gradient", "struct_name"];

/// Whether elements of this type have no fraction.
fn is_whole(element: VarKind) -> bool {
    !matches!(element, VarKind::Fp16 | VarKind::Bf16 | VarKind::Fp32 | VarKind::Fp64)
}

/// Numbers that each have their type.
fn scalars(name: &str, values: impl Iterator<Item = Attribute>) -> OpAttr {
    let scalar = |value| match value {
        Attribute::Bool(value) => Some(Scalar { r#type: 1, b: Some(value), ..Scalar::default() }),
        Attribute::Int(value) => Some(Scalar { r#type: 2, i: Some(value), ..Scalar::default() }),
        Attribute::Float(value) => Some(Scalar { r#type: 3, r: Some(value), ..Scalar::default() }),
        _ => None,
    };
    OpAttr {
        name: name.to_string(),
        r#type: AttrType::Scalars.into(),
        scalars: values.filter_map(scalar).collect(),
        ..OpAttr::default()
    }
}

/// A variable of a type.
fn variable(name: &str, ty: &Ty) -> VarDesc {
    let tensor = |element: VarKind, dims: &[i64]| TensorDesc {
        data_type: element.into(),
        dims: dims.to_vec(),
        ..TensorDesc::default()
    };
    let r#type = match ty {
        Ty::Tensor { element, dims } => {
            let lod_tensor = LodTensorDesc { tensor: tensor(*element, dims), ..LodTensorDesc::default() };
            VarType { r#type: VarKind::LodTensor.into(), lod_tensor: Some(lod_tensor), ..VarType::default() }
        }
        Ty::Array { element, dims } => {
            let tensor_array =
                LodTensorArrayDesc { tensor: tensor(*element, dims), ..LodTensorArrayDesc::default() };
            VarType {
                r#type: VarKind::LodTensorArray.into(),
                tensor_array: Some(tensor_array),
                ..VarType::default()
            }
        }
        Ty::List(_) | Ty::Other => VarType { r#type: VarKind::Raw.into(), ..VarType::default() },
    };
    VarDesc { name: name.to_string(), r#type, persistable: Some(false), ..VarDesc::default() }
}
