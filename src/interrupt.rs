//! Ctrl-C as a request to stop.

#[cfg(feature = "terminal")]
mod signal;

use std::error::Error;
use std::fmt;
use std::io;

#[cfg(feature = "terminal")]
pub(crate) use signal::Interrupt;

#[cfg(not(feature = "terminal"))]
use crate::options::Options;

/// Without the feature `terminal`, no signal is caught.
#[cfg(not(feature = "terminal"))]
pub(crate) enum Interrupt {}

#[cfg(not(feature = "terminal"))]
impl Interrupt {
    pub(crate) fn wanted_by(_options: &Options) -> Result<Option<Self>, InterruptError> {
        Ok(None)
    }

    pub(crate) fn came(&self) -> bool {
        match *self {}
    }
}

/// The system does not let the process catch Ctrl-C.
#[derive(Debug)]
pub struct InterruptError(io::Error);

impl fmt::Display for InterruptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ctrl-C cannot be caught: {}; leave out `interruptible()`", self.0)
    }
}

impl Error for InterruptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
