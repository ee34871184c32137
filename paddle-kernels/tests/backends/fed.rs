//! The values that are fed to a program.

use paddle_core::plan::Feed;

use crate::draw::Draw;
use crate::host::Host;

/// Fed numbers are odd multiples of this. So they are never next to 0, where some functions have a corner.
const GRID: f64 = 1.0 / 512.0;

/// A value for an input.
pub(crate) struct Fed {
    pub(crate) values: Host,
    pub(crate) shape: Vec<usize>,
    pub(crate) offsets: Vec<Vec<i64>>,
}

impl Fed {
    pub(crate) fn feed(&self) -> Feed<'_> {
        Feed { values: self.values.slice(), shape: &self.shape, offsets: &self.offsets }
    }
}

/// Floating-point numbers on the grid.
pub(crate) fn on_grid(draw: &mut Draw, count: usize, (low, high): (f64, f64)) -> Host {
    let cells = ((high - low) / (2.0 * GRID)) as usize;
    Host::F32((0..count).map(|_| (low + (2 * draw.below(cells) + 1) as f64 * GRID) as f32).collect())
}
