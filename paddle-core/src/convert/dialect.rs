//! Names on the wire.
//!
//! The names of our dialect start with [`OURS`]: operators that PaddlePaddle lacks or has with another meaning, and
//! attributes with exact values where PaddlePaddle's own are rounded. No operator or attribute of PaddlePaddle has a
//! dot in its name.

/// The start of every operator and attribute that PaddlePaddle does not have.
pub(super) const OURS: &str = "rust.";

/// The first operator of a program: version of the dialect, tables of symbols, row spaces and checks.
pub(super) const PROGRAM: &str = "rust.program";

/// The version of the dialect.
pub(super) const VERSION: i64 = 1;

/// The exact type of a variable or of a constant.
pub(super) const TYPE: &str = "rust.type";

/// The parameter to which a state belongs, and the slot.
pub(super) const STATE_OF: &str = "rust.state_of";

/// The exact types of the outputs of an unknown operator.
pub(super) const TYPES: &str = "rust.types";

/// The exact dimensions of a reshape, or sizes of a split.
pub(super) const DIMS: &str = "rust.dims";

/// The size on which random numbers depend, if it is bound later.
pub(super) const FAN: &str = "rust.fan";

/// The path of an operator that draws random numbers.
pub(super) const PATH: &str = "rust.path";

/// The name in a slot that has no variable.
pub(super) const EMPTY: &str = "@EMPTY@";

/// The attributes of every operator.
pub(super) const ROLE: &str = "op_role";
pub(super) const ROLE_VAR: &str = "op_role_var";
pub(super) const CALLSTACK: &str = "op_callstack";
