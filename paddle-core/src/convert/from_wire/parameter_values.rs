//! Reads the values of parameters from a `.pdiparams` file, and compares them with the program.

use std::collections::BTreeMap;

use super::narrow_types::widened;
use crate::convert::error::{ConvertError, Fault};
use crate::convert::types::{element, wire_dims};
use crate::ops::Program;
use crate::wire::{ProgramDesc, TensorRecord, parameter_names, read_params};

/// Reads the `.pdiparams` file that belongs to `desc`, and returns the parameters of `program`, which was read from
/// `desc`. Each is compared with the type that the program declares. The file may also have tensors that no operator
/// reads.
pub fn load_params(
    desc: &ProgramDesc,
    program: &Program,
    bytes: &[u8],
) -> Result<BTreeMap<String, TensorRecord>, ConvertError> {
    let mut params = read_params(bytes, &parameter_names(desc))?;
    params.retain(|name, _| program.find(name).is_some_and(|var| program.initializer(var).is_some()));
    let params = params.into_iter().map(|(name, record)| {
        let wide = widened(record).map_err(|error| error.wanted_for(format_args!("parameter `{name}`")));
        Ok((name, wide.map_err(|error| Fault::Wire(error.into()))?))
    });
    let params = params.collect::<Result<BTreeMap<_, _>, ConvertError>>()?;
    check_params(program, &params)?;
    Ok(params)
}

/// Checks that every parameter has a tensor of its type.
pub(in crate::convert) fn check_params(
    program: &Program,
    params: &BTreeMap<String, TensorRecord>,
) -> Result<(), ConvertError> {
    for parameter in program.parameters() {
        let var = program.var(parameter);
        let record =
            params.get(&var.name).ok_or_else(|| Fault::MissingParameter { name: var.name.clone() })?;
        let dims = wire_dims(&var.ty);
        let fits = record.element == element(var.ty.dtype)
            && record.dims.len() == dims.len()
            && record.dims.iter().zip(&dims).all(|(found, expected)| found == expected || *expected == -1);
        if !fits {
            let found = format!("{} {:?}", record.element, record.dims);
            let expected = format!("{} {dims:?}", element(var.ty.dtype));
            return Err(Fault::Parameter { name: var.name.clone(), found, expected }.into());
        }
    }
    Ok(())
}
