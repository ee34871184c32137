//! Pictures of trainings and of what networks make.

mod curve;
mod data;
mod grid;

pub use curve::Curve;
pub use grid::grid;
