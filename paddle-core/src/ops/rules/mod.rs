//! The shape rules and gradient rules that several operators share.

pub(super) mod labels;
pub(super) mod loops;
pub(super) mod window;
