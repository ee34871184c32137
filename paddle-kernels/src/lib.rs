//! The backends: `cpu` and `reference`.
