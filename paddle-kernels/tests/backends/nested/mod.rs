//! Programs of every form of control flow, nested at random. The results of a row must not depend on the other rows.
//!
//! An outline lists the forms of a program and how they nest. The build makes a program from it. A batch is drawn so
//! that every branch and every loop is entered by some of the rows that reach it.

mod batch;
mod build;
mod independence;
mod made;
mod nestings;
mod outline;
mod sequences;

pub(crate) use independence::draw_program;
