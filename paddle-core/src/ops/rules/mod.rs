//! What the shape rules and gradient rules of several operators share.

pub(super) mod labels;
pub(super) mod loops;
pub(super) mod window;
