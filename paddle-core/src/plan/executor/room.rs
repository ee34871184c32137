//! Room: the layouts of an executor, and the memory for them.

use super::super::backend::Backend;
use super::super::error::RunError;
use super::super::layout::{MemoryLayout, capacity};
use super::{ARENA, Executor, Fallback, LAYOUTS, POOL, PREPARED, TAPE};
use crate::program::SymbolId;

impl<B: Backend> Executor<B> {
    /// Computes the extents for the bound sizes and finds or makes a layout.
    pub(super) fn resize(&mut self) -> Result<(), RunError> {
        for at in 0..self.plan.symbols.len() {
            self.state.symbols[at] = self.upper_bound(at, &|symbol| self.bound[symbol].unwrap_or(0));
        }
        self.evaluate()?;
        self.note_shapes();
        let fitting =
            (0..self.layouts.len()).filter(|&at| self.layouts[at].fits(&self.plan, &self.state.sizes));
        match fitting.min_by_key(|&at| self.layouts[at].total()) {
            Some(at) => {
                // A slot may have room for more rows than the layout was made for, as its bytes are rounded up.
                let capacities = self.layouts[at].capacities.iter_mut();
                capacities
                    .zip(&self.state.symbols)
                    .for_each(|(capacity, &size)| *capacity = size.max(*capacity));
                self.layouts[at..].rotate_left(1);
                self.make_room(self.layouts.len() - 1)
            }
            None => self.add_layout(),
        }
    }

    /// Lays the tapes out for the current layout.
    pub(super) fn begin_tape(&mut self) -> Result<(), RunError> {
        let Some(layout) = self.layouts.last() else { return Err(RunError::NotBegun) };
        let buffer = &mut self.buffers[TAPE];
        let [tape, other] = &mut self.state.tapes;
        tape.begin(&self.backend, &self.plan, &layout.capacities, buffer)?;
        match (&mut self.fallback, self.backend.fallback()) {
            (Some(Fallback { buffers, .. }), Some(fallback)) => {
                other.begin(fallback, &self.plan, &layout.capacities, &mut buffers[TAPE])
            }
            _ => Ok(()),
        }
    }

    /// Computes the shapes of the outputs.
    pub(super) fn note_shapes(&mut self) {
        for (shape, output) in self.shapes.iter_mut().zip(&self.plan.outputs) {
            for (size, extent) in shape.iter_mut().zip(&self.plan.slots[output.slot.0].shape) {
                *size = extent.get(&self.state.sizes);
            }
        }
    }

    /// An upper bound on a symbol before the run: a size that is known only later is at most that of the row space
    /// its rows are taken from.
    fn upper_bound(&self, symbol: usize, root: &dyn Fn(usize) -> usize) -> usize {
        let mut at = symbol;
        while let Some(parent) = self.plan.bounds[at] {
            at = parent.0 as usize;
        }
        root(at)
    }

    pub(super) fn evaluate(&mut self) -> Result<(), RunError> {
        for at in 0..self.plan.extents.len() {
            if !self.state.evaluate(&self.plan, at) {
                // What depends on a size that a run computes is nothing before it.
                let symbols = self.plan.extents[at].symbols();
                if symbols.iter().any(|symbol| !self.plan.late_checks[symbol.0 as usize].is_empty()) {
                    self.state.sizes[at] = 0;
                    continue;
                }
                let names = |symbol: SymbolId| self.plan.symbols[symbol.0 as usize].clone();
                let value = self.plan.extents[at].display(&names).to_string();
                return Err(RunError::TooLarge { value });
            }
        }
        Ok(())
    }

    /// Adds a layout. The first is for exactly this batch: most plans see batches of one size only, and values that lie close
    /// together share pages. A later one has room for every size seen so far, so that later batches in between fit too; if
    /// there is no memory for that, it is for exactly this batch as well.
    fn add_layout(&mut self) -> Result<(), RunError> {
        if self.layouts.is_empty() {
            return self.add_exact_layout();
        }
        match self.rounded_layout()? {
            Some(layout) => self.push_layout(layout).or_else(|_| self.add_exact_layout()),
            None => self.add_exact_layout(),
        }
    }

    /// A layout for the capacities of all sizes. None if an extent falls as a symbol grows, or overflows.
    fn rounded_layout(&mut self) -> Result<Option<MemoryLayout>, RunError> {
        let actual = self.state.symbols.clone();
        for (at, size) in self.state.symbols.iter_mut().enumerate() {
            let seen = self.layouts.iter().map(|layout| layout.capacities[at]).max().unwrap_or(0);
            *size = capacity(*size).max(seen);
        }
        let made = self
            .evaluate()
            .and_then(|()| MemoryLayout::new(&self.plan, &self.state.symbols, &self.state.sizes));
        self.state.symbols = actual;
        self.evaluate()?;
        Ok(made.ok().filter(|layout| layout.fits(&self.plan, &self.state.sizes)))
    }

    pub(super) fn add_exact_layout(&mut self) -> Result<(), RunError> {
        self.push_layout(MemoryLayout::new(&self.plan, &self.state.symbols, &self.state.sizes)?)
    }

    /// Makes a layout the current one, if there is memory for it.
    fn push_layout(&mut self, layout: MemoryLayout) -> Result<(), RunError> {
        self.layouts.push(layout);
        let last = self.layouts.len() - 1;
        if let Err(error) = self.make_room(last) {
            self.layouts.pop();
            return Err(error);
        }
        if last == LAYOUTS {
            self.layouts.remove(0);
        }
        Ok(())
    }

    /// Allocates the memory of a layout. The old contents are lost.
    fn make_room(&mut self, layout: usize) -> Result<(), RunError> {
        let layout = &self.layouts[layout];
        for (memory, bytes) in [(ARENA, layout.arena), (POOL, layout.pool), (PREPARED, layout.prepared)] {
            let (buffer, length) = (&mut self.buffers[memory], &mut self.lengths[memory]);
            if bytes > *length {
                if memory == PREPARED {
                    self.prepared = None;
                }
                // Nothing in the buffer is needed any more, so its memory is freed before more is allocated.
                *length = 0;
                *buffer = self.backend.allocate(0)?;
                let taken = self.backend.allocate(bytes);
                *buffer = taken.map_err(|error| error.wanted_for(layout.needed_for(&self.plan)))?;
                *length = bytes;
            }
        }
        if let (Some(Fallback { buffers, length, .. }), Some(fallback)) =
            (&mut self.fallback, self.backend.fallback())
            && layout.staging > *length
        {
            *length = 0;
            buffers[ARENA] = fallback.allocate(0)?;
            let taken = fallback.allocate(layout.staging);
            buffers[ARENA] = taken.map_err(|error| error.wanted_for(layout.needed_for(&self.plan)))?;
            *length = layout.staging;
        }
        self.state.locate(&self.plan, layout);
        Ok(())
    }
}
