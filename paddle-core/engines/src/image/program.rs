//! The program of a job, which has to be static: its image has no libraries.

use std::path::Path;

use object::Endianness;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};

use super::ImageError;

/// A kind of processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// `amd64`.
    X86_64,
    /// `arm64`.
    Aarch64,
}

/// A static program for Linux.
#[derive(Clone)]
pub struct Program {
    pub(super) bytes: Vec<u8>,
    machine: Machine,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program for {:?} ({} bytes)", self.machine, self.bytes.len())
    }
}

impl Program {
    /// Reads a program, and checks that it is static.
    ///
    /// # Errors
    /// [`ImageError::NotStatic`] with the command that builds a static one; or if it is no program.
    pub fn open(path: &Path) -> Result<Program, ImageError> {
        let bytes = std::fs::read(path)
            .map_err(|error| ImageError::Read { path: path.into(), reason: error.to_string() })?;
        let broken =
            |reason: &dyn ToString| ImageError::NotAProgram { path: path.into(), reason: reason.to_string() };
        let header = FileHeader64::<Endianness>::parse(&*bytes).map_err(|error| broken(&error))?;
        let endian = header.endian().map_err(|error| broken(&error))?;
        let machine = match header.e_machine(endian) {
            EM_X86_64 => Machine::X86_64,
            EM_AARCH64 => Machine::Aarch64,
            other => return Err(broken(&format!("its machine is {other:?}"))),
        };
        let segments = header.program_headers(endian, &*bytes).map_err(|error| broken(&error))?;
        if segments.is_empty() {
            return Err(broken(&"it has nothing to load, as an object file or a library"));
        }
        // Whoever asks for an interpreter, which is the loader, asks for libraries.
        if let Some(segment) = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP) {
            let name = segment.data(endian, &*bytes).unwrap_or_default();
            let interpreter = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
            let target = match machine {
                Machine::X86_64 => "x86_64-unknown-linux",
                Machine::Aarch64 => "aarch64-unknown-linux",
            };
            let command = format!(
                "cargo build --release --target {target}-musl` or, without that target, \
                 `RUSTFLAGS=\"-C target-feature=+crt-static\" cargo build --release --target {target}-gnu"
            );
            return Err(ImageError::NotStatic { path: path.into(), interpreter, command });
        }
        Ok(Program { bytes, machine })
    }

    /// What it runs on.
    pub fn machine(&self) -> Machine {
        self.machine
    }
}
