//! Loading of models that PaddlePaddle saved.

use paddle_core::convert::{from_wire, load_params};
use paddle_core::memory::OutOfMemory;
use paddle_core::wire::ProgramDesc;

use crate::Error;
use crate::element::Values;
use crate::network::{Dynamic, Network};
use crate::parameters::Parameters;

/// Loads a model that PaddlePaddle's `save_inference_model` wrote, from the bytes of the `.pdmodel` and of its
/// `.pdiparams`.
///
/// The network is fed with arrays: `infer(&net, &parameters, &Batch::new(&net)?.with("x", &x)?)`.
///
/// # Errors
/// [`Error::Wire`] if the bytes are not a program or not its parameters, [`Error::Convert`] if the program has an
/// operator that is not supported, and those of [`Parameters::create`].
///
/// ```
/// use paddle::{Error, load_inference_model};
///
/// let error = load_inference_model(b"no program", b"").unwrap_err();
/// assert!(matches!(error, Error::Wire(_)));
/// ```
pub fn load_inference_model(
    pdmodel: &[u8],
    pdiparams: &[u8],
) -> Result<(Network<Dynamic>, Parameters), Error> {
    let desc = ProgramDesc::decode(pdmodel)?;
    let program = from_wire(&desc, None)?;
    let records = load_params(&desc, &program, pdiparams)?;
    let net = Network::from_program(program)?;
    let mut parameters = Parameters::create(&net)?;
    for (name, record) in &records {
        let wanted = |error: OutOfMemory| error.wanted_for(format_args!("parameter `{name}`"));
        parameters.set_values(name, |dtype| Values::from_le_bytes(dtype, &record.data).map_err(wanted))?;
    }
    Ok((net, parameters))
}
