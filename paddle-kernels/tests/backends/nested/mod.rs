//! Programs of every form of control flow, nested at random: that what a row computes does not depend on those beside it.
//!
//! An outline says which forms a program has and how they nest; the build makes a program of it, and a batch is drawn so
//! that every branch and every loop is entered by some of the rows that could.

mod batch;
mod build;
mod independence;
mod made;
mod nestings;
mod outline;
mod sequences;

pub(crate) use independence::draw_program;
