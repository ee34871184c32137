//! The names of values, and the variables that they become.

use super::json::{Operation, Ty, Wrong};
use super::translation::{Named, Translation};
use crate::wire::{LodTensorArrayDesc, LodTensorDesc, OpDesc, TensorDesc, VarDesc, VarKind, VarType};

impl Translation {
    /// New names for the results of an operator.
    pub(super) fn results(&mut self, x: &Operation<'_>, block: usize) -> Result<Vec<String>, Wrong> {
        let mut all = Vec::new();
        for (id, ty) in &x.results {
            let named = self.new_value(x.name, *id, ty, block)?;
            all.extend(named.all());
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

    /// Declares a variable under a name, or one with a number if it is taken.
    pub(super) fn new_name(&mut self, mut name: String, ty: &Ty, block: usize) -> String {
        let mut number = self.names.len();
        let first = name.clone();
        while !self.names.insert(name.clone()) {
            name = format!("{first}_{number}");
            number += 1;
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

    pub(super) fn names(&mut self, id: i64) -> Result<Vec<String>, Wrong> {
        let names = self.value(id)?.all();
        self.spend(names.len())?;
        Ok(names)
    }

    /// Gives a result the names of an operand, which the operator writes in place.
    pub(super) fn overwrite(&mut self, operand: i64, result: i64) -> Result<Vec<String>, Wrong> {
        let named = self.value(operand)?.clone();
        let names = named.all();
        self.spend(names.len())?;
        self.writes += 1;
        self.written.extend(names.iter().map(|name| (name.clone(), self.writes)));
        self.values.insert(result, named);
        Ok(names)
    }

    pub(super) fn push(&mut self, block: usize, desc: OpDesc) {
        self.blocks[block].ops.push(desc);
    }

    pub(super) fn spend(&mut self, count: usize) -> Result<(), Wrong> {
        let left = self.room.checked_sub(count);
        self.room = left.ok_or("its operators have more operands than the file has bytes")?;
        Ok(())
    }
}

/// A variable of a type.
pub(super) fn variable(name: &str, ty: &Ty) -> VarDesc {
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
