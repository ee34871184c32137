//! Pictures: curves of trainings, grids of images, and files for TensorBoard.

mod curve;
mod data;
mod grid;
mod tensorboard;

use std::io::{self, Write};
use std::path::Path;

pub use curve::Curve;
pub use grid::{Grid, colour_grid, grid};
pub use tensorboard::TensorBoard;

use crate::files::{FileError, FileFault, atomic};

/// Writes a picture as a whole or not at all. Failing to sync it is no error, since a picture can be drawn again.
fn write(path: &Path, picture: io::Result<Vec<u8>>) -> Result<(), FileError> {
    let written = picture
        .map_err(FileFault::Write)
        .and_then(|picture| atomic::write(path, |file| file.write_all(&picture)));
    match written {
        Err(fault) if !fault.is_written() => Err(fault.of(path)),
        _ => Ok(()),
    }
}
