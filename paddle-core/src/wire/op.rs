//! Construction of operators, and access to their slots and attributes by name.

use super::{AttrType, OpAttr, OpDesc, OpVar, WireError};

impl OpDesc {
    /// An operator without slots and attributes.
    pub fn new(op: impl Into<String>) -> Self {
        OpDesc { r#type: op.into(), ..OpDesc::default() }
    }

    /// The same with one more input slot.
    pub fn with_input<N: Into<String>>(
        mut self,
        slot: impl Into<String>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.inputs.push(OpVar::new(slot, names));
        self
    }

    /// The same with one more output slot.
    pub fn with_output<N: Into<String>>(
        mut self,
        slot: impl Into<String>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.outputs.push(OpVar::new(slot, names));
        self
    }

    /// The same with one more attribute.
    pub fn with_attr(mut self, attr: OpAttr) -> Self {
        self.attrs.push(attr);
        self
    }

    /// The variables in an input slot; none if the slot is absent. PaddlePaddle also writes empty slots, so both mean
    /// the same.
    pub fn input(&self, slot: &str) -> &[String] {
        arguments(&self.inputs, slot)
    }

    /// The variables in an output slot; none if the slot is absent.
    pub fn output(&self, slot: &str) -> &[String] {
        arguments(&self.outputs, slot)
    }

    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&OpAttr> {
        self.attrs.iter().find(|attr| attr.name == name)
    }

    /// The `BOOLEAN` of this name, if there is one; an error if it has another type.
    pub fn attr_bool(&self, name: &str) -> Result<Option<bool>, WireError> {
        Ok(self.typed(name, AttrType::Boolean)?.map(|attr| attr.b.unwrap_or_default()))
    }

    /// The `INT` of this name, if there is one; an error if it has another type.
    pub fn attr_int(&self, name: &str) -> Result<Option<i32>, WireError> {
        Ok(self.typed(name, AttrType::Int)?.map(|attr| attr.i.unwrap_or_default()))
    }

    /// The `LONG` of this name, if there is one; an `INT` is widened, as PaddlePaddle widens it. An error if it has
    /// another type.
    pub fn attr_long(&self, name: &str) -> Result<Option<i64>, WireError> {
        match self.attr_int(name) {
            Ok(int) => Ok(int.map(i64::from)),
            Err(_) => Ok(self.typed(name, AttrType::Long)?.map(|attr| attr.l.unwrap_or_default())),
        }
    }

    /// The `FLOAT` of this name, if there is one; an error if it has another type.
    pub fn attr_float(&self, name: &str) -> Result<Option<f32>, WireError> {
        Ok(self.typed(name, AttrType::Float)?.map(|attr| attr.f.unwrap_or_default()))
    }

    /// The `FLOAT64` of this name, if there is one; an error if it has another type.
    pub fn attr_double(&self, name: &str) -> Result<Option<f64>, WireError> {
        Ok(self.typed(name, AttrType::Float64)?.and_then(|attr| attr.float64))
    }

    /// The `STRING` of this name, if there is one; an error if it has another type.
    pub fn attr_string(&self, name: &str) -> Result<Option<&str>, WireError> {
        Ok(self.typed(name, AttrType::String)?.map(|attr| attr.s.as_deref().unwrap_or_default()))
    }

    /// The `INTS` of this name, if there are any; an error if they have another type.
    pub fn attr_ints(&self, name: &str) -> Result<Option<&[i32]>, WireError> {
        Ok(self.typed(name, AttrType::Ints)?.map(|attr| attr.ints.as_slice()))
    }

    /// The `LONGS` of this name, if there are any; `INTS` are widened, as PaddlePaddle widens them. An error if they
    /// have another type.
    pub fn attr_longs(&self, name: &str) -> Result<Option<Vec<i64>>, WireError> {
        match self.attr_ints(name) {
            Ok(ints) => Ok(ints.map(|ints| ints.iter().copied().map(i64::from).collect())),
            Err(_) => Ok(self.typed(name, AttrType::Longs)?.map(|attr| attr.longs.clone())),
        }
    }

    /// The `FLOATS` of this name, if there are any; an error if they have another type.
    pub fn attr_floats(&self, name: &str) -> Result<Option<&[f32]>, WireError> {
        Ok(self.typed(name, AttrType::Floats)?.map(|attr| attr.floats.as_slice()))
    }

    /// The `FLOAT64S` of this name, if there are any; an error if they have another type.
    pub fn attr_doubles(&self, name: &str) -> Result<Option<&[f64]>, WireError> {
        Ok(self.typed(name, AttrType::Float64s)?.map(|attr| attr.float64s.as_slice()))
    }

    /// The `STRINGS` of this name, if there are any; an error if they have another type.
    pub fn attr_strings(&self, name: &str) -> Result<Option<&[String]>, WireError> {
        Ok(self.typed(name, AttrType::Strings)?.map(|attr| attr.strings.as_slice()))
    }

    /// The index of the `BLOCK` of this name, if there is one; an error if it has another type. The index is not
    /// checked: the program may have no such block.
    pub fn attr_block(&self, name: &str) -> Result<Option<i32>, WireError> {
        Ok(self.typed(name, AttrType::Block)?.map(|attr| attr.block_idx.unwrap_or_default()))
    }

    fn typed(&self, name: &str, expected: AttrType) -> Result<Option<&OpAttr>, WireError> {
        match self.attr(name) {
            Some(attr) if attr.r#type != i32::from(expected) => Err(WireError::AttrType {
                op: self.r#type.clone(),
                attr: name.to_owned(),
                expected,
                found: attr.r#type,
            }),
            found => Ok(found),
        }
    }
}

impl OpVar {
    fn new<N: Into<String>>(slot: impl Into<String>, names: impl IntoIterator<Item = N>) -> Self {
        let arguments = names.into_iter().map(N::into).collect();
        OpVar { parameter: slot.into(), arguments, ..OpVar::default() }
    }
}

fn arguments<'a>(slots: &'a [OpVar], name: &str) -> &'a [String] {
    slots.iter().find(|slot| slot.parameter == name).map_or(&[], |slot| &slot.arguments)
}

impl OpAttr {
    fn new(name: impl Into<String>, kind: AttrType) -> Self {
        OpAttr { name: name.into(), r#type: kind.into(), ..OpAttr::default() }
    }

    /// A `BOOLEAN`.
    pub fn bool(name: impl Into<String>, value: bool) -> Self {
        OpAttr { b: Some(value), ..OpAttr::new(name, AttrType::Boolean) }
    }

    /// An `INT`.
    pub fn int(name: impl Into<String>, value: i32) -> Self {
        OpAttr { i: Some(value), ..OpAttr::new(name, AttrType::Int) }
    }

    /// A `LONG`.
    pub fn long(name: impl Into<String>, value: i64) -> Self {
        OpAttr { l: Some(value), ..OpAttr::new(name, AttrType::Long) }
    }

    /// A `FLOAT`.
    pub fn float(name: impl Into<String>, value: f32) -> Self {
        OpAttr { f: Some(value), ..OpAttr::new(name, AttrType::Float) }
    }

    /// A `FLOAT64`.
    pub fn double(name: impl Into<String>, value: f64) -> Self {
        OpAttr { float64: Some(value), ..OpAttr::new(name, AttrType::Float64) }
    }

    /// A `STRING`.
    pub fn string(name: impl Into<String>, value: impl Into<String>) -> Self {
        OpAttr { s: Some(value.into()), ..OpAttr::new(name, AttrType::String) }
    }

    /// `INTS`.
    pub fn ints(name: impl Into<String>, values: impl Into<Vec<i32>>) -> Self {
        OpAttr { ints: values.into(), ..OpAttr::new(name, AttrType::Ints) }
    }

    /// `LONGS`.
    pub fn longs(name: impl Into<String>, values: impl Into<Vec<i64>>) -> Self {
        OpAttr { longs: values.into(), ..OpAttr::new(name, AttrType::Longs) }
    }

    /// `FLOATS`.
    pub fn floats(name: impl Into<String>, values: impl Into<Vec<f32>>) -> Self {
        OpAttr { floats: values.into(), ..OpAttr::new(name, AttrType::Floats) }
    }

    /// `FLOAT64S`.
    pub fn doubles(name: impl Into<String>, values: impl Into<Vec<f64>>) -> Self {
        OpAttr { float64s: values.into(), ..OpAttr::new(name, AttrType::Float64s) }
    }

    /// `STRINGS`.
    pub fn strings<S: Into<String>>(name: impl Into<String>, values: impl IntoIterator<Item = S>) -> Self {
        let strings = values.into_iter().map(S::into).collect();
        OpAttr { strings, ..OpAttr::new(name, AttrType::Strings) }
    }

    /// A `BLOCK`, by its index in the program.
    pub fn block(name: impl Into<String>, index: i32) -> Self {
        OpAttr { block_idx: Some(index), ..OpAttr::new(name, AttrType::Block) }
    }
}
