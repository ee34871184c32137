//! Relations between row spaces: which rows are taken from which, and which are tokens of sequences.
//!
//! `gather_rows` moves a value to a row space whose rows are taken from the value's. `scatter_rows` moves it back if
//! both spaces have the same rows in another order.

use std::collections::BTreeMap;

use super::{BlockId, OpInterface, Program, RowOrigin, RowSpace, RowsId, Type};

impl<O: OpInterface> Program<O> {
    /// The row space that `rows` is taken from: each row of `rows` is one of its rows. `None` if `rows` is not taken
    /// from another space.
    pub fn source_of(&self, rows: RowsId) -> Option<RowsId> {
        let space = self.row_space(rows);
        match space.origin {
            RowOrigin::Root | RowOrigin::Fixed(_) | RowOrigin::Tokens => None,
            RowOrigin::Chosen | RowOrigin::Active { .. } | RowOrigin::Steps | RowOrigin::Rounds => {
                space.parent
            }
            RowOrigin::Part { of } => Some(of),
        }
    }

    /// `rows`, then the space that it is taken from, then the space that that one is taken from, and so on.
    pub(crate) fn sources(&self, rows: RowsId) -> impl Iterator<Item = RowsId> + '_ {
        std::iter::successors(Some(rows), |&rows| self.source_of(rows))
    }

    /// Whether `rows` is `ancestor`, or is taken from it directly or indirectly.
    pub fn descends(&self, rows: RowsId, ancestor: RowsId) -> bool {
        self.sources(rows).any(|rows| rows == ancestor)
    }

    /// The space that `rows` is taken from in the end, directly or indirectly: fed rows, or tokens.
    pub fn drawn_from(&self, rows: RowsId) -> RowsId {
        self.sources(rows).last().unwrap_or(rows)
    }

    /// The row space that the sequences with the tokens `rows` belong to. `None` if `rows` is not all tokens of whole
    /// sequences.
    pub fn rows_of_whole_sequences(&self, rows: RowsId) -> Option<RowsId> {
        let space = self.row_space(rows);
        match space.origin {
            RowOrigin::Tokens | RowOrigin::Part { .. } => space.parent,
            _ => None,
        }
    }

    /// The row spaces of the tokens of a type of whole sequences, one for each level of nesting, the outermost first.
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

    /// The row space that the sequences belong to whose tokens are `rows`, or from whose tokens `rows` is taken.
    pub fn rows_of_sequences(&self, rows: RowsId) -> Option<RowsId> {
        self.sources(rows).find_map(|rows| self.rows_of_whole_sequences(rows))
    }

    /// Whether the rows of a type are tokens of sequences, or taken from tokens.
    pub fn is_sequence(&self, ty: &Type) -> bool {
        ty.rows.is_some_and(|rows| self.rows_of_sequences(rows).is_some())
    }

    /// The number of levels of sequences around the rows of a type. Rows taken from tokens count as tokens.
    pub fn depth_of_sequences(&self, ty: &Type) -> usize {
        let around = |rows: &RowsId| self.rows_of_sequences(*rows);
        std::iter::successors(ty.rows.as_ref().and_then(around), around).count()
    }

    /// Whether `rows` has exactly the rows of the space that it is taken from, in another order.
    pub fn is_reordered(&self, rows: RowsId) -> bool {
        let space = self.row_space(rows);
        match space.origin {
            RowOrigin::Steps | RowOrigin::Rounds => true,
            RowOrigin::Part { .. } => space.parent.is_some_and(|parent| self.is_reordered(parent)),
            RowOrigin::Root
            | RowOrigin::Fixed(_)
            | RowOrigin::Chosen
            | RowOrigin::Active { .. }
            | RowOrigin::Tokens => false,
        }
    }

    /// The row space that has the rows of `rows` in their order before loops reordered them.
    #[cfg(feature = "convert")]
    pub(crate) fn before_loops(&self, rows: RowsId) -> RowsId {
        let before = |&rows: &RowsId| self.source_of(rows).filter(|_| self.is_reordered(rows));
        std::iter::successors(Some(rows), before).last().unwrap_or(rows)
    }

    /// The row space of all iterations together, for a loop whose body runs on `rows`.
    pub fn steps_of_loop(&self, rows: RowsId) -> Option<RowsId> {
        match self.row_space(rows).origin {
            RowOrigin::Active { steps } => Some(steps),
            _ => None,
        }
    }

    /// Adds a row space of another parent, named after it and after `name`, the full name of a space like it.
    pub(crate) fn add_rows_below(&mut self, parent: RowsId, name: &str, origin: RowOrigin) -> RowsId {
        let last = name.rsplit('.').next().unwrap_or(name);
        let name = self.fresh_size(format!("{}.{last}", self.row_space(parent).name));
        self.add_rows(name, Some(parent), origin)
    }

    /// Moves a block and the values that it defines to other row spaces; those that `to` lacks stay. Attributes are left as
    /// they are.
    pub(crate) fn change_rows(&mut self, block: BlockId, to: &BTreeMap<RowsId, RowsId>) {
        let changed = |rows: &mut Option<RowsId>| {
            *rows = rows.map(|rows| to.get(&rows).copied().unwrap_or(rows));
        };
        changed(&mut self.blocks[block.0 as usize].rows);
        self.vars.iter_mut().filter(|var| var.block == block).for_each(|var| changed(&mut var.ty.rows));
    }

    /// The row space with this parent and this origin.
    fn find_space(&self, parent: RowsId, origin: RowOrigin) -> Option<RowsId> {
        let fits = |space: &RowSpace| space.parent == Some(parent) && space.origin == origin;
        self.row_spaces.iter().position(fits).map(|at| RowsId(at as u32))
    }

    /// The row space of `tokens` in the order of the iterations of a loop. It is created once.
    pub fn steps_of(&mut self, tokens: RowsId) -> RowsId {
        self.find_space(tokens, RowOrigin::Steps).unwrap_or_else(|| {
            let name = self.fresh_size(format!("{}.steps", self.row_space(tokens).name));
            self.add_rows(name, Some(tokens), RowOrigin::Steps)
        })
    }

    /// The row space of those sequences of `of` that belong to the rows `parent`. `of` is the row space of the tokens
    /// of all sequences. It is created once.
    pub fn part_of(&mut self, of: RowsId, parent: RowsId) -> RowsId {
        let origin = RowOrigin::Part { of };
        self.find_space(parent, origin).unwrap_or_else(|| {
            let of = &self.row_space(self.drawn_from(of)).name;
            let last = of.rsplit('.').next().unwrap_or(of);
            let name = self.fresh_size(format!("{}.{last}", self.row_space(parent).name));
            self.add_rows(name, Some(parent), origin)
        })
    }

    /// The row space, in one iteration of a loop on `rows`, of a value that is on `of` for all iterations together.
    /// `of` has the rows of all iterations, or the tokens of sequences that belong to these.
    pub(crate) fn find_iteration(&self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        match self.steps_of_loop(rows)? {
            steps if steps == of => Some(rows),
            steps if self.row_space(of).parent == Some(steps) => {
                self.find_space(rows, RowOrigin::Part { of })
            }
            _ => None,
        }
    }

    /// The row space, in one iteration of a loop on `rows`, of a value that is on `of` for all iterations together. The
    /// space of a part of sequences is created if it does not exist. `None` if the loop cannot bring such values.
    pub fn iteration_of(&mut self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        let steps = self.steps_of_loop(rows)?;
        if self.rows_of_whole_sequences(of) == Some(steps) {
            return Some(self.part_of(of, rows));
        }
        self.find_iteration(of, rows)
    }

    /// The reverse of [`iteration_of`](Self::iteration_of): the row space, for all iterations of a loop on `rows`
    /// together, of a value that is on `of` in each.
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

    /// The row space outside of a block on `rows` that a value on `of` is scattered to. If `of` is `rows`, it is the
    /// space that `rows` is taken from; if `of` is a part of sequences, it is the space of all of them.
    pub fn outside_of(&self, of: RowsId, rows: RowsId) -> Option<RowsId> {
        if of == rows {
            return self.source_of(rows);
        }
        let space = self.row_space(of);
        let RowOrigin::Part { of: all } = space.origin else { return None };
        let (inside, outside) = (space.parent?, self.row_space(all).parent?);
        (self.outside_of(inside, rows) == Some(outside)).then_some(all)
    }

    /// Whether `rows` is `own`, or the tokens of sequences that belong to it.
    pub(crate) fn is_local(&self, rows: RowsId, own: RowsId) -> bool {
        let mut at = Some(rows);
        while let Some(rows) = at.filter(|&rows| rows != own) {
            at = self.rows_of_whole_sequences(rows);
        }
        at.is_some()
    }

    /// The row space, in a block on `own`, of a value on `rows`: `rows` itself, or the space that it is gathered to.
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

    /// The outermost block that runs on the rows of `block`.
    pub(crate) fn holder_of_rows(&self, block: BlockId) -> BlockId {
        let mut holder = block;
        while self.block(holder).rows.is_none()
            && let Some(parent) = self.block(holder).parent
        {
            holder = parent;
        }
        holder
    }

    /// `name`, or `name` with a free suffix, for a size.
    pub(super) fn fresh_size(&self, name: String) -> String {
        let taken = |name: &String| self.symbols.iter().any(|symbol| symbol.name == *name);
        if !taken(&name) {
            return name;
        }
        let suffixed = (1..).map(|suffix: u64| format!("{name}_{suffix}"));
        suffixed.into_iter().find(|name| !taken(name)).unwrap_or(name)
    }
}
