//! Tiles of products, which threads share.

use std::ops::Range;

use super::PANEL_WIDTH;

/// The tiles of C. A tile has all of k, so bits do not depend on them.
pub(in super::super) struct Grid {
    m: usize,
    n: usize,
    tile_rows: usize,
    tile_columns: usize,
}

/// Fewer multiply-adds than this are one tile.
pub(super) const ONE_TILE: usize = 1 << 17;
/// A tile has at least about this many.
const SMALLEST_TILE: usize = 1 << 15;
/// More rows than this push the rows of A out of the second-level cache before the next panel reads them again.
const MOST_ROWS: usize = 256;
/// Fewer rows than this do not repay packing a panel of B for them.
const FEWEST_ROWS: usize = 64;
/// As many rows, or fewer, read a large B where it is.
pub(super) const FEW_ROWS: usize = 128;
/// A row of B is not cut into parts of fewer bytes, if A has a single row.
const LONG_ROW: usize = 1024;
/// So many tiles keep any team busy, and more only cost.
const MANY_TILES: usize = 32;

impl Grid {
    /// For a product of elements `T`.
    pub(in super::super) fn new<T>(m: usize, n: usize, k: usize) -> Grid {
        Grid::of_panels::<T>([m, n, k], 1)
    }

    /// For a product of matrices in memory. Few rows take two panels of B at a time, if that leaves something to do for all threads.
    pub(super) fn of_matrices<T>([m, n, k]: [usize; 3], threads: usize) -> Grid {
        let panels = n.div_ceil(PANEL_WIDTH / size_of::<T>());
        let is_wide = m <= FEW_ROWS && panels >= 4 * threads;
        Grid::of_panels::<T>([m, n, k], if is_wide { 2 } else { 1 })
    }

    /// Tiles have a multiple of `together` panels.
    fn of_panels<T>([m, n, k]: [usize; 3], together: usize) -> Grid {
        // The columns that a tile is made of.
        let panel = PANEL_WIDTH / size_of::<T>();
        let work = m.saturating_mul(n).saturating_mul(k);
        if work < ONE_TILE {
            return Grid { m, n, tile_rows: m, tile_columns: n };
        }
        if m == 1 {
            // Long rows of B are read from their begin to their end.
            let tile_columns =
                n.div_ceil(MANY_TILES / 4).max(LONG_ROW / size_of::<T>()).next_multiple_of(panel);
            return Grid { m, n, tile_rows: m, tile_columns: tile_columns.min(n) };
        }
        let panels = n.div_ceil(panel);
        let bands = m.div_ceil(MOST_ROWS).max((MANY_TILES / 4).div_ceil(panels).min(m / FEWEST_ROWS));
        let tile_rows = m.div_ceil(bands).next_multiple_of(8).min(m);
        let bands = m.div_ceil(tile_rows);
        let by_count = panels * bands / MANY_TILES;
        let by_work = SMALLEST_TILE.div_ceil(tile_rows.saturating_mul(k).saturating_mul(panel));
        let across = by_count.max(by_work).max(1).next_multiple_of(together).min(panels);
        Grid { m, n, tile_rows, tile_columns: panel * across }
    }

    /// For a product of which tiles have as many columns, or fewer, and any number of rows: as many rows as leave something to do for all
    /// threads, but a multiple of `rows`.
    pub(super) fn of_columns<T>(
        [m, n]: [usize; 2],
        most_columns: usize,
        rows: usize,
        threads: usize,
    ) -> Grid {
        let panel = PANEL_WIDTH / size_of::<T>();
        let tile_columns = n.div_ceil(n.div_ceil(most_columns).max(1)).next_multiple_of(panel);
        let (bands, across) = (m.div_ceil(rows), n.div_ceil(tile_columns.max(1)));
        let most = if threads == 1 { bands } else { bands * across / (2 * threads) };
        let together = most.clamp(1, bands.max(1));
        Grid { m, n, tile_rows: together * rows, tile_columns }
    }

    pub(super) fn across(&self) -> usize {
        self.n.div_ceil(self.tile_columns.max(1))
    }

    pub(in super::super) fn tiles(&self) -> usize {
        self.m.div_ceil(self.tile_rows.max(1)) * self.across()
    }

    pub(in super::super) fn tile(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) =
            (index / self.across() * self.tile_rows, index % self.across() * self.tile_columns);
        (row..self.m.min(row + self.tile_rows), column..self.n.min(column + self.tile_columns))
    }
}
