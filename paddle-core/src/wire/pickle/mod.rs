//! What `paddle.save` writes: files `.pdparams` and `.pdopt`. They are Python's pickles, which are programs for a machine with a stack.
//!
//! Nothing of a file is executed. Of the machine's instructions those are known that make numbers, texts, lists, dictionaries and
//! NumPy's arrays, in the protocols 2 to 4; a file with any other one, or with another global name, is refused, with the byte
//! where it stands. Each instruction makes at most one object, and bytes stay those of the file, so memory is bounded by the file's
//! length.
//!
//! Source: `Lib/pickletools.py` of Python 3.12, and `numpy/core/multiarray`.

mod arrays;
mod error;
mod machine;

pub use arrays::{SavedValues, read_saved};
pub use error::{PickleError, PickleFault};
