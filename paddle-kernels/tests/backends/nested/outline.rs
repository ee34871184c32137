//! The forms of a program, and how they nest.

use crate::draw::Draw;

/// A form of control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// `if` on each row, with two branches.
    Branches,
    /// `if` on each row without `else`: the other rows keep their value.
    Branch,
    /// `if` on each row whose results are a value and a whole sequence for each row.
    SequenceBranches,
    /// `while` that rows leave one by one.
    While,
    /// `while` that rows leave one by one, with a collected value.
    Collecting,
    /// `for` along a sequence, with a state and a collected value.
    For,
    /// `for` along two sequences in step, each with tokens of its own.
    InStep,
    /// `for` along a sequence from its end, with nothing collected.
    Backwards,
    /// `for` along a sequence without a state.
    Stateless,
    /// `for` along a sequence that collects a value of some tokens.
    Filtered,
    /// `for` along a sequence of sequences that collects changed sequences.
    Sequences,
    /// The same without a state, with a `for` along each sequence.
    Texts,
    /// `while` on all rows for a number of iterations.
    Counted,
}

impl Form {
    pub(crate) const ALL: [Form; 13] = [
        Form::Branches,
        Form::Branch,
        Form::SequenceBranches,
        Form::While,
        Form::Collecting,
        Form::For,
        Form::InStep,
        Form::Backwards,
        Form::Stateless,
        Form::Filtered,
        Form::Sequences,
        Form::Texts,
        Form::Counted,
    ];

    /// Whether the form has two blocks in which others can stand.
    fn has_two_blocks(self) -> bool {
        matches!(self, Form::Branches | Form::SequenceBranches)
    }
}

/// A form, and the forms in its blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outline {
    pub(crate) form: Form,
    /// The forms in each block. Forms with one block have them in the first.
    pub(crate) inner: [Vec<Outline>; 2],
}

impl Outline {
    /// A form with others in its first block.
    pub(crate) fn around(form: Form, inner: Vec<Outline>) -> Outline {
        Outline { form, inner: [inner, Vec::new()] }
    }

    /// The forms of a block at a depth: one or two outside, fewer inside.
    pub(crate) fn block(draw: &mut Draw, depth: usize) -> Vec<Outline> {
        let count = match depth {
            0 => 1 + draw.below(2),
            _ => draw.below(2),
        };
        (0..count).map(|_| Outline::draw(draw, depth)).collect()
    }

    fn draw(draw: &mut Draw, depth: usize) -> Outline {
        let form = *draw.choose(&Form::ALL);
        let mut inner = [Vec::new(), Vec::new()];
        if depth < 2 {
            inner[0] = Outline::block(draw, depth + 1);
            if form.has_two_blocks() {
                inner[1] = Outline::block(draw, depth + 1);
            }
        }
        Outline { form, inner }
    }
}
