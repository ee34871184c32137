//! Texts of kernels as functions of a card.

#![allow(unsafe_code, reason = "calls NVRTC")]

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::{Ptx, result, sys};
use paddle_core::plan::Group;

use super::cache::Cache;
use super::libraries::ABILITIES;
use crate::gpu::form::cuda::{self, ENTRY};

/// A compiled function.
pub(super) type Function = Arc<CudaFunction>;

/// Compiles texts, each once.
pub(super) struct Compiler {
    /// The option that names what is compiled for.
    target: String,
    /// The version of NVRTC, as part of what code depends on.
    version: String,
    cache: Cache,
    functions: Mutex<HashMap<String, Function>>,
}

impl Compiler {
    /// For cards of this capability.
    pub(super) fn new((major, minor): (i32, i32)) -> Result<Compiler, String> {
        available()?;
        let target = format!("--gpu-architecture=sm_{major}{minor}");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the numbers are written to variables that outlive the call.
        unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result().map_err(|error| error.to_string())?;
        let version = format!("NVRTC {major}.{minor}");
        Ok(Compiler { target, version, cache: Cache::of_user(), functions: Mutex::default() })
    }

    /// The function of a text. Errors if it is refused.
    pub(super) fn function(&self, context: &Arc<CudaContext>, text: String) -> Result<Function, String> {
        let functions = || self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions().get(&text) {
            return Ok(function.clone());
        }
        let key = format!("{} {} {EXACT}\n{text}", self.version, self.target);
        let code = match self.cache.get(&key) {
            Some(code) => code,
            None => {
                let code = compile(&text, &self.target)?;
                self.cache.put(&key, &code);
                code
            }
        };
        let module = context.load_module(Ptx::from_binary(code)).map_err(|error| error.to_string())?;
        let function = Arc::new(module.load_function(ENTRY).map_err(|error| error.to_string())?);
        functions().insert(text, function.clone());
        Ok(function)
    }
}

/// A product in a sum is rounded by itself, unless the form says that it need not be: so a chain of operators has the bits of its operators, and
/// what is subtracted from itself is zero.
const EXACT: &str = "--fmad=false";

/// Compiles the kernels of a group for cards of a capability (`sm_90`), without such a card; gives their number.
///
/// # Errors
/// What NVRTC says, with the text; or that it is not there, or that there is no kernel for the group.
pub fn compile_for(group: &Group, capability: &str) -> Result<usize, String> {
    available()?;
    let kernel = crate::gpu::compile(group, ABILITIES).map_err(|error| error.message)?;
    let target = format!("--gpu-architecture={capability}");
    for stage in &kernel.stages {
        compile(&cuda::print(&stage.form), &target)?;
    }
    Ok(kernel.stages.len())
}

/// Errors if NVRTC is not there.
fn available() -> Result<(), String> {
    // SAFETY: the library is opened, which runs its constructors; NVRTC has none that matter.
    match unsafe { sys::is_culib_present() } {
        true => Ok(()),
        false => Err("NVRTC, which compiles kernels (`libnvrtc.so`), is not found".into()),
    }
}

/// The machine code of a text. Errors say what the compiler says, with the text.
fn compile(text: &str, target: &str) -> Result<Vec<u8>, String> {
    let source = CString::new(text).expect("no text of a kernel contains a zero");
    let program = Program(result::create_program(&source, None).map_err(|error| error.to_string())?);
    // SAFETY: the program was made above, and is destroyed when `program` is dropped.
    let compiled = unsafe { result::compile_program(program.0, &[target, EXACT]) };
    if let Err(error) = compiled {
        // SAFETY: as above.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let log: Vec<u8> = log.into_iter().map(|byte| byte as u8).collect();
        return Err(format!("a kernel is refused: {error}\n{}\n{text}", String::from_utf8_lossy(&log)));
    }
    let mut bytes = 0;
    // SAFETY: as above; the size is written to a variable that outlives the call.
    unsafe { sys::nvrtcGetCUBINSize(program.0, &mut bytes) }.result().map_err(|error| error.to_string())?;
    let mut code = vec![0u8; bytes];
    // SAFETY: as above; there is room for as many bytes as the call before says.
    unsafe { sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast::<c_char>()) }
        .result()
        .map_err(|error| error.to_string())?;
    Ok(code)
}

struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is valid, and nothing uses it any more. What cannot be destroyed is left.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}
