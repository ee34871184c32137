//! How row spaces hang together: what their rows are rows of, and which of them are sequences.
//!
//! A value moves between two spaces by `gather_rows`, to a space whose rows are taken from its own, and back by
//! `scatter_rows` where both have the same rows in another order.

use super::{BlockId, OpInterface, Program, RowOrigin, RowSpace, RowsId, Type};

impl<O: OpInterface> Program<O> {
    /// The row space that the rows of `rows` are taken from: each of them is one of its rows.
    pub fn source_of(&self, rows: RowsId) -> Option<RowsId> {
        let space = self.row_space(rows);
        match space.origin {
            RowOrigin::Root | RowOrigin::Tokens => None,
            RowOrigin::Chosen | RowOrigin::Active { .. } | RowOrigin::Steps | RowOrigin::Rounds => {
                space.parent
            }
            RowOrigin::Part { of } => Some(of),
        }
    }

    /// `rows`, and the row spaces that they are taken from, one from the other.
    pub(crate) fn sources(&self, rows: RowsId) -> impl Iterator<Item = RowsId> + '_ {
        std::iter::successors(Some(rows), |&rows| self.source_of(rows))
    }

    /// Whether `rows` is `ancestor` or is taken from it.
    pub fn descends(&self, rows: RowsId, ancestor: RowsId) -> bool {
        self.sources(rows).any(|rows| rows == ancestor)
    }

    /// The row space that `rows` are taken from in the end: rows that are fed, or tokens.
    pub fn drawn_from(&self, rows: RowsId) -> RowsId {
        self.sources(rows).last().unwrap_or(rows)
    }

    /// The rows that the sequences belong to whose tokens `rows` are, all of them.
    pub fn rows_of_whole_sequences(&self, rows: RowsId) -> Option<RowsId> {
        let space = self.row_space(rows);
        match space.origin {
            RowOrigin::Tokens | RowOrigin::Part { .. } => space.parent,
            _ => None,
        }
    }

    /// The tokens of the sequences that a type is of, whole ones: of sequences of sequences, the outer ones first.
    pub fn levels(&self, ty: &Type) -> Vec<RowsId> {
        let mut levels = Vec::new();
        let mut at = ty.rows;
        while let Some(rows) = at {
            at = self.rows_of_whole_sequences(rows);
            levels.extend(at.map(|_| rows));
        }
        levels.reverse();
        levels
    }

    /// The rows that the sequences belong to whose tokens `rows` are, or are taken from.
    pub fn rows_of_sequences(&self, rows: RowsId) -> Option<RowsId> {
        self.sources(rows).find_map(|rows| self.rows_of_whole_sequences(rows))
    }

    /// Whether the rows of a type are the tokens of sequences, or taken from them.
    pub fn is_sequence(&self, ty: &Type) -> bool {
        ty.rows.is_some_and(|rows| self.rows_of_sequences(rows).is_some())
    }

    /// How deep the sequences nest whose tokens, or some of them, the rows of a type are.
    pub fn depth_of_sequences(&self, ty: &Type) -> usize {
        let around = |rows: &RowsId| self.rows_of_sequences(*rows);
        std::iter::successors(ty.rows.as_ref().and_then(around), around).count()
    }

    /// Whether `rows` are all the rows of those that they are taken from, in another order.
    pub fn is_reordered(&self, rows: RowsId) -> bool {
        let space = self.row_space(rows);
        match space.origin {
            RowOrigin::Steps | RowOrigin::Rounds => true,
            RowOrigin::Part { .. } => space.parent.is_some_and(|parent| self.is_reordered(parent)),
            RowOrigin::Root | RowOrigin::Chosen | RowOrigin::Active { .. } | RowOrigin::Tokens => false,
        }
    }

    /// The tokens that the iterations of a loop on `rows` have together.
    pub fn steps_of_loop(&self, rows: RowsId) -> Option<RowsId> {
        match self.row_space(rows).origin {
            RowOrigin::Active { steps } => Some(steps),
            _ => None,
        }
    }

    /// The row space of this origin below this parent.
    fn find_space(&self, parent: RowsId, origin: RowOrigin) -> Option<RowsId> {
        let fits = |space: &RowSpace| space.parent == Some(parent) && space.origin == origin;
        self.row_spaces.iter().position(fits).map(|at| RowsId(at as u32))
    }

    /// The tokens `tokens` in the order in which loops come to them. There is one such space.
    pub fn steps_of(&mut self, tokens: RowsId) -> RowsId {
        self.find_space(tokens, RowOrigin::Steps).unwrap_or_else(|| {
            let name = self.fresh_size(format!("{}.steps", self.row_space(tokens).name));
            self.add_rows(name, Some(tokens), RowOrigin::Steps)
        })
    }

    /// Of the sequences whose tokens are `of`, those that belong to the rows `parent`. There is one such space.
    pub fn part_of(&mut self, of: RowsId, parent: RowsId) -> RowsId {
        let origin = RowOrigin::Part { of };
        self.find_space(parent, origin).unwrap_or_else(|| {
            let of = &self.row_space(self.drawn_from(of)).name;
            let last = of.rsplit('.').next().unwrap_or(of);
            let name = self.fresh_size(format!("{}.{last}", self.row_space(parent).name));
            self.add_rows(name, Some(parent), origin)
        })
    }

    /// The row space of what comes to an iteration of a loop on `rows` of values on `of`, whose rows are those of all
    /// iterations, or sequences that belong to these.
    pub(crate) fn find_iteration(&self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        match self.steps_of_loop(rows)? {
            steps if steps == of => Some(rows),
            steps if self.row_space(of).parent == Some(steps) => {
                self.find_space(rows, RowOrigin::Part { of })
            }
            _ => None,
        }
    }

    /// The same; sequences get a space where they have none.
    pub fn iteration_of(&mut self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        let steps = self.steps_of_loop(rows)?;
        if self.rows_of_whole_sequences(of) == Some(steps) {
            return Some(self.part_of(of, rows));
        }
        self.find_iteration(of, rows)
    }

    /// The row space that the values of all iterations of a loop on `rows` have together, of a value on `of` in each.
    pub fn over_iterations(&self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        let steps = self.steps_of_loop(rows)?;
        match self.row_space(of).origin {
            _ if of == rows => Some(steps),
            RowOrigin::Part { of: all } if self.row_space(of).parent == Some(rows) => {
                Some(all).filter(|&all| self.row_space(all).parent == Some(steps))
            }
            _ => None,
        }
    }

    /// The row space outside of a block on `rows` that values on `of` are put back to: where `of` is `rows`, the rows that
    /// these are taken from; where it is a part of sequences, these.
    pub fn outside_of(&self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        if of == rows {
            return self.source_of(rows);
        }
        let space = self.row_space(of);
        let RowOrigin::Part { of: all } = space.origin else { return None };
        let (inside, outside) = (space.parent?, self.row_space(all).parent?);
        (self.outside_of(inside, rows) == Some(outside)).then_some(all)
    }

    /// Whether `rows` are `own`, or sequences that belong to them.
    pub(crate) fn is_local(&self, rows: RowsId, own: RowsId) -> bool {
        let mut at = Some(rows);
        while let Some(rows) = at.filter(|&rows| rows != own) {
            at = self.rows_of_whole_sequences(rows);
        }
        at.is_some()
    }

    /// The row space in a block on `own` of values on `rows`: itself, or that which is gathered from it.
    pub fn local_rows(&mut self, rows: RowsId, own: RowsId) -> RowsId {
        if rows == own {
            return rows;
        }
        if self.source_of(own) == Some(rows) {
            return own;
        }
        match self.rows_of_whole_sequences(rows) {
            Some(parent) => match self.local_rows(parent, own) {
                local if local == parent => rows,
                local => self.part_of(rows, local),
            },
            None => rows,
        }
    }

    /// The outermost block that has the rows of `block`.
    pub(crate) fn holder_of_rows(&self, block: BlockId) -> BlockId {
        let mut holder = block;
        while self.block(holder).rows.is_none()
            && let Some(parent) = self.block(holder).parent
        {
            holder = parent;
        }
        holder
    }

    /// The name, or else the name with a free suffix, of a size.
    pub(super) fn fresh_size(&self, name: String) -> String {
        let taken = |name: &String| self.symbols.iter().any(|symbol| symbol.name == *name);
        if !taken(&name) {
            return name;
        }
        let suffixed = (1..).map(|suffix: u64| format!("{name}_{suffix}"));
        suffixed.into_iter().find(|name| !taken(name)).unwrap_or(name)
    }
}
