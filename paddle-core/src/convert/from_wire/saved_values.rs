//! What `paddle.save` wrote as parameters.

use std::collections::BTreeMap;

use super::narrow_types::widened;
use crate::convert::error::{ConvertError, Fault};
use crate::convert::types::{dtype, too_large};
use crate::ops::{Fill, Op, Program};
use crate::program::{Dim, ParameterOptions, ParameterUse, Site, Type};
use crate::wire::TensorRecord;
use crate::wire::pickle::SavedValues;

/// The arrays of a `.pdparams` or `.pdopt` file as parameters, and a program that has these and computes nothing. Their names are those
/// of the parameters, `linear_0.w_0`, as models in files have them, where the file says them, and otherwise those of the file.
///
/// # Errors
/// If an array is too large for memory.
pub fn load_saved(saved: SavedValues) -> Result<(Program, BTreeMap<String, TensorRecord>), ConvertError> {
    let SavedValues { arrays, parameters, .. } = saved;
    let (mut program, mut records) = (Program::new(), BTreeMap::new());
    for (name, record) in arrays {
        let name = parameters.get(&name).cloned().unwrap_or(name);
        // Layers that share a parameter have its value each.
        if records.contains_key(&name) {
            continue;
        }
        let record = widened(record)
            .map_err(|error| Fault::Wire(error.wanted_for(format_args!("parameter `{name}`")).into()))?;
        let Some(dtype) = dtype(record.element) else { continue };
        let dims: Vec<Dim> = record.dims.iter().map(|&size| Dim::from(size)).collect();
        let ty = Type { dtype, rows: None, dims };
        if !ty.is_possible() {
            return Err(too_large(&ty).into());
        }
        let wanted = ParameterUse {
            initializer: Op::from(Fill::zeros(ty)),
            options: ParameterOptions::default(),
            site: Site::default(),
        };
        program.create_parameter(&name, wanted).map_err(Fault::from)?;
        records.insert(name, record);
    }
    Ok((program, records))
}
