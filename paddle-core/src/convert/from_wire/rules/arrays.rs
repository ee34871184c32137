//! Rules for arrays, in which PaddlePaddle keeps Python's lists. While a program is read, it is known what is in each place of an
//! array: loops that use one are written out.

use super::rank_tables::TableName;
use crate::convert::draft::{Known, MOST_ITERATIONS};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{AssignValue, Number};
use crate::program::{DType, Dim, Type, VarId};

/// What an array holds.
#[derive(Clone)]
pub(in crate::convert::from_wire) enum Array<'a> {
    Places(Places),
    /// A loop around writes into it, and only the operators of that loop itself know what.
    Growing,
    /// The steps of whole sequences, in the order of a rank table.
    Steps {
        value: VarId,
        table: TableName<'a>,
    },
    /// Values of one type: those before a loop, and those of its iterations, which are one value along a first axis.
    Collected {
        before: Vec<VarId>,
        rest: VarId,
        ty: Type,
    },
}

const GROWS: &str = "a loop around it writes into its array";

/// The variable that an array is in: the block that declares it, and its name.
pub(super) type ArrayName<'a> = (usize, &'a str);

/// The values in the places of an array. Nothing has been written in some.
type Places = Vec<Option<VarId>>;

impl<'a> Reading<'_, 'a> {
    /// The array that an operator reads: the block that declares it, and its name.
    pub(super) fn array(&self, slot: &'static str) -> Result<ArrayName<'a>, Fault> {
        let desc = self.desc;
        self.array_named(one(desc.input(slot), slot)?)
    }

    pub(super) fn array_named(&self, name: &'a str) -> Result<ArrayName<'a>, Fault> {
        self.array_seen_from(self.block, name)
    }

    /// The array that has this name in a block.
    pub(super) fn array_seen_from(&self, block: usize, name: &'a str) -> Result<ArrayName<'a>, Fault> {
        let blocks = &self.reader.blocks;
        let holder = std::iter::successors(Some(block), |&block| blocks[block].parent);
        let holder = holder.into_iter().find(|&block| blocks[block].declared.contains_key(name));
        Ok((holder.ok_or_else(|| Fault::Undeclared { name: name.to_string() })?, name))
    }

    fn places(&self, array: ArrayName<'a>) -> &[Option<VarId>] {
        match self.reader.arrays.get(&array) {
            Some(Array::Places(places)) => places.as_slice(),
            Some(Array::Steps { .. } | Array::Collected { .. } | Array::Growing) | None => &[],
        }
    }

    /// The place in a slot. `None` if it is not known, or further away than loops go.
    fn place_in(&self, slot: &'static str) -> Result<Option<usize>, Fault> {
        let place = self.constant_int(slot)?.filter(|place| (0..MOST_ITERATIONS).contains(place));
        Ok(place.map(|place| place as usize))
    }

    pub(super) fn write_to_array(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let array = self.array_named(one(desc.output("Out"), "Out")?)?;
        if self.is_written_in_loop(array) {
            return self.write_in_loop(array, x);
        }
        if self.reader.versions.id(array.0) != Some(self.id()) {
            return self.lacks("it writes to an array in a branch that may not be taken, or in a loop whose number of iterations is not known");
        }
        let Some(place) = self.place_in("I")? else {
            return self.lacks("the place that it writes to is not known");
        };
        let array = self.reader.arrays.entry(array).or_insert_with(|| Array::Places(Vec::new()));
        let Array::Places(places) = array else {
            return self.lacks("it writes into the steps of sequences, or behind what a loop has written");
        };
        if places.len() <= place {
            places.resize(place + 1, None);
        }
        places[place] = Some(x);
        Ok(true)
    }

    pub(super) fn read_from_array(&mut self) -> Result<bool, ConvertError> {
        let array = self.array("X")?;
        if self.is_written_in_loop(array) {
            return self.read_in_loop(array);
        }
        let place = self.place_in("I")?;
        let place = match self.reader.arrays.get(&array) {
            Some(&Array::Steps { value, table }) => return self.step_of(value, table),
            Some(Array::Collected { .. } | Array::Growing) => None,
            Some(Array::Places(_)) | None => place,
        };
        let Some(place) = place else {
            let place = self.input("I")?;
            return self.read_at(array, place);
        };
        match self.places(array).get(place).copied().flatten() {
            Some(value) => self.alias("Out", value),
            None => self.lacks("nothing has been written in the place that it reads"),
        }
    }

    /// Makes a value that of another variable, too.
    pub(super) fn alias(&mut self, slot: &'static str, value: VarId) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.write(one(desc.output(slot), slot)?, value)?;
        Ok(true)
    }

    pub(super) fn array_length(&mut self) -> Result<bool, ConvertError> {
        let array = self.array("X")?;
        if self.is_written_in_loop(array) {
            return self.length_in_loop(array);
        }
        match self.reader.arrays.get(&array) {
            Some(&Array::Steps { table, .. }) => return self.number_of_steps(table),
            Some(Array::Collected { .. }) => {
                let Some((all, _)) = self.stacked(array)? else { return Ok(false) };
                let desc = self.desc;
                let length = self.ty(all).dims.first().cloned().unwrap_or(Dim::from(0));
                let length = self.at().size_as(&length, DType::I64)?;
                return self.named_value(one(desc.output("Out"), "Out")?, length);
            }
            Some(Array::Growing) => return self.lacks(GROWS),
            Some(Array::Places(_)) | None => {}
        }
        let length = Number::Int(self.places(array).len() as i64);
        self.out(AssignValue { values: vec![length], ty: Type::new(DType::I64, [1]) }, &[])
    }

    /// All values of an array along an axis, or along a new one; and how much of the axis each of them has.
    pub(super) fn array_to_tensor(&mut self) -> Result<bool, ConvertError> {
        let (array, desc) = (self.array("X")?, self.desc);
        let axis = desc.attr_long("axis")?.unwrap_or(0);
        let is_new = self.bool("use_stack", false)?;
        if let Some(Array::Collected { .. }) = self.reader.arrays.get(&array) {
            return self.collected_to_tensor(array, axis, is_new);
        }
        let Some(parts) = self.places(array).iter().copied().collect::<Option<Vec<VarId>>>() else {
            return self.lacks("nothing has been written in some place of its array");
        };
        let Some(joined) = self.at().joined(&parts, axis, is_new)? else {
            return self.lacks("its array is empty, or its values have no such axis");
        };
        self.named_value(one(desc.output("Out"), "Out")?, joined)?;
        if let [name] = desc.output("OutIndex") {
            let sizes: Vec<Dim> = match is_new {
                true => vec![Dim::from(1); parts.len()],
                false => {
                    let of = |&part: &VarId| {
                        let shape = self.reader.draft.program.shape(self.ty(part));
                        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
                        shape.get(axis as usize).cloned().unwrap_or(Dim::from(1))
                    };
                    parts.iter().map(of).collect()
                }
            };
            let sizes = self.at().shape_value(&sizes)?;
            self.named_value(name, sizes)?;
        }
        Ok(true)
    }

    /// A part of an array, or the value in one of its places.
    pub(super) fn slice_of_array(&mut self) -> Result<bool, ConvertError> {
        let (array, desc) = (self.array("Input")?, self.desc);
        if let Some(Array::Growing) = self.reader.arrays.get(&array) {
            return self.lacks(GROWS);
        }
        let starts = self.numbers("starts", "StartsTensor", "StartsTensorList")?;
        let ends = self.numbers("ends", "EndsTensor", "EndsTensorList")?;
        let is_one = !desc.attr_longs("decrease_axis")?.unwrap_or_default().is_empty();
        if let (Some(Array::Collected { .. }), Some(&[start]), true) =
            (self.reader.arrays.get(&array), starts.as_deref(), is_one)
        {
            return self.place_of_collected(array, start);
        }
        if starts.is_none() && is_one {
            let places = [self.inputs("StartsTensor")?, self.inputs("StartsTensorList")?].concat();
            if let [place] = places[..] {
                return self.read_at(array, place);
            }
        }
        let (Some(&[start]), Some(&[end])) = (starts.as_deref(), ends.as_deref()) else {
            return self.lacks("the places that it reads are not known");
        };
        let count = self.places(array).len() as i64;
        let from_start =
            |place: i64| if place < 0 { place.saturating_add(count) } else { place }.clamp(0, count);
        let (start, end) = (from_start(start) as usize, from_start(end) as usize);
        let part: Places = self.places(array).get(start..end).unwrap_or_default().to_vec();
        if is_one {
            return match part[..] {
                [Some(value)] => self.alias("Out", value),
                _ => self.lacks("nothing has been written in the place that it reads"),
            };
        }
        self.write_array(part)
    }

    /// Makes these values those of the array in slot `Out`.
    fn write_array(&mut self, places: Places) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let to = self.array_named(one(desc.output("Out"), "Out")?)?;
        if self.reader.versions.id(to.0) != Some(self.id()) {
            return self.lacks("it writes to an array in a branch that may not be taken");
        }
        self.reader.draft.spend(8 * places.len())?;
        self.reader.arrays.insert(to, Array::Places(places));
        Ok(true)
    }

    pub(super) fn copy_of_array(&mut self) -> Result<bool, ConvertError> {
        let (array, desc) = (self.array("X")?, self.desc);
        if let Some(Array::Growing) = self.reader.arrays.get(&array) {
            return self.lacks(GROWS);
        }
        if let Some(collected @ Array::Collected { .. }) = self.reader.arrays.get(&array) {
            let collected = collected.clone();
            let to = self.array_named(one(desc.output("Out"), "Out")?)?;
            if self.reader.versions.id(to.0) != Some(self.id()) {
                return self.lacks("it writes to an array in a branch that may not be taken");
            }
            self.reader.arrays.insert(to, collected);
            return Ok(true);
        }
        let places = self.places(array).to_vec();
        self.write_array(places)
    }

    /// Whether the only variable in a slot is an array.
    pub(super) fn is_array(&self, slot: &str) -> bool {
        matches!(self.desc.input(slot), [name] if self.is_array_in(self.block, name))
    }

    /// The number of a known choice, counted from 0.
    pub(super) fn known_choice(&self, slot: &'static str) -> Result<Option<usize>, Fault> {
        let known = self.known(self.input(slot)?).and_then(|known| match known {
            [one] => Known::dim(one),
            _ => None,
        });
        Ok(known.and_then(|choice| usize::try_from(choice.constant()?).ok()))
    }
}
