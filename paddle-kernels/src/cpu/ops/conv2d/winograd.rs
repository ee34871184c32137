//! Convolutions of stride 1 by Winograd's minimal filtering (Lavin and Gray, "Fast Algorithms for Convolutional Neural
//! Networks", 2016).
//!
//! Images are cut into overlapping tiles of 6 by 6 elements, each of which gives 4 by 4 results of filters of 3 by 3
//! elements, or 2 by 2 results of 5 by 5. Tiles and filters are values of polynomials at 6 by 6 points, where the
//! convolution is a product for each point: 36 multiply-adds instead of 144, or of 100. The products of a point are a
//! product of matrices, from channels to filters, whose rows are tiles.
//!
//! Sums are of larger terms than those of the definition, so their rounding errors are larger by a constant factor, which
//! depends on the points: in `f32` they are within 60 units of rounding of the sum of the absolute values of the terms, with
//! filters of 5 by 5 elements within 80 (`tests.rs` compares with `f64`). By the definition that is a few units.
#![allow(unsafe_code, reason = "computes with vectors")]

mod adjoint;
mod gradient;
mod transform;

pub(super) use adjoint::Contributions;
pub(super) use gradient::TileGradient;

use self::transform::{Filter, Input, Memory, Output, Patch, Reversed, Room, Values, transform};
use super::correlate::most_columns;
use super::filters::Filters;
use super::product::{Ahead, Product};
use crate::cpu::epilogue::{Finish, InRegisters};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::shared::Shared;
use crate::cpu::stack;
use crate::cpu::transpose::transpose;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// The points along each axis, as many as a tile has elements.
const POINTS: usize = 6;
/// The points of a tile.
const ALL: usize = POINTS * POINTS;
/// The most tiles that are computed at once.
const TILES: usize = 28;
/// The most bytes of the values of these tiles at all points.
const BYTES: usize = 256 * 1024;
/// The most bytes of filters at all points. Larger ones would come from memory for each few tiles.
const FILTER_BYTES: usize = 8 << 20;

/// A convolution of stride 1 that is computed by tiles.
#[derive(Clone, Copy)]
pub(super) struct Tiling {
    /// The filters, whose elements are counted by points.
    pub(super) filters: Filters,
    /// Height and width of a filter.
    taps: usize,
    /// The elements in front of the images along both axes that the first result meets.
    padding: [usize; 2],
    /// The source and the results, both with the channels as the fastest axis.
    images: Images,
    results: Images,
    /// Whether gradients of the images are computed of those of the results. The filters go from the results to the images then.
    transposed: bool,
}

impl Tiling {
    /// The tiles of a convolution with filters of `taps` by `taps` elements; none if there is no such tiling, or if it takes
    /// longer than the definition. `filters` have the size of the filters.
    pub(super) fn new<T: Float>(
        filters: Filters,
        padding: [usize; 2],
        [images, results]: [Images; 2],
    ) -> Option<Tiling> {
        let [taps, width] = filters.size;
        let of_points = Filters { size: [POINTS, POINTS], ..filters };
        let tiling = Tiling { filters: of_points, taps, padding, images, results, transposed: false };
        let fits = matches!(taps, 3 | 5)
            && width == taps
            && images.last
            && results.last
            && of_points.groups.saturating_mul(of_points.group()).saturating_mul(size_of::<T>())
                <= FILTER_BYTES
            && tiling.at_once::<T>(filters.inner) >= 4;
        (fits && tiling.saved() > 0).then_some(tiling)
    }

    /// The tiles of the same results, of which gradients of the images are computed.
    pub(super) fn transposed(self) -> Self {
        Tiling { transposed: true, ..self }
    }

    pub(super) fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// The results of a tile along each axis.
    fn step(&self) -> usize {
        POINTS + 1 - self.taps
    }

    /// The tiles of an image, down and across.
    fn grid(&self) -> [usize; 2] {
        self.results.size.map(|size| size.div_ceil(self.step()))
    }

    /// The tiles of all images.
    fn tiles(&self) -> usize {
        let [down, across] = self.grid();
        self.images.count * down * across
    }

    /// About how many operations on registers the tiles of one image and group take.
    pub(super) fn cost(&self) -> usize {
        /// The operations of transforming a tile of the source, for a register of channels.
        const INPUT: usize = 260;
        /// The operations of transforming a tile of the result.
        const OUTPUT: usize = 180;
        let Filters { inner, outer, lanes, .. } = self.filters;
        let (inputs, outputs) = (inner.div_ceil(lanes), outer.div_ceil(lanes));
        let [down, across] = self.grid();
        down * across * (ALL * inner * outputs + INPUT * inputs + OUTPUT * outputs)
    }

    /// How many operations on registers the tiles of one image and group save, beside the definition.
    pub(super) fn saved(&self) -> usize {
        let Filters { inner, outer, lanes, .. } = self.filters;
        let definition = self.results.plane() * self.taps * self.taps * inner * outer.div_ceil(lanes);
        definition.saturating_sub(self.cost())
    }

    /// How many tiles are computed at once, if each has so many channels at every point.
    fn at_once<T>(&self, channels: usize) -> usize {
        let tile = ALL * channels.next_multiple_of(self.filters.lanes) * size_of::<T>();
        (BYTES / tile.max(1)).min(TILES)
    }

    /// The bytes of the values of so many tiles at all points, and of their products with a block of filters.
    fn bytes<T>(&self, tiles: usize) -> [usize; 2] {
        let Filters { inner, lanes, .. } = self.filters;
        let channels = [inner.next_multiple_of(lanes), self.filters.width(0)];
        channels.map(|channels| ALL * tiles * channels * size_of::<T>())
    }

    /// The part of the source that a tile covers, and the results that it gives. Tiles of all images are numbered.
    fn tile(&self, index: usize) -> (usize, [isize; 2], [usize; 2]) {
        let [down, across] = self.grid();
        let (image, index) = (index / (down * across), index % (down * across));
        let result = [index / across * self.step(), index % across * self.step()];
        let first = [0, 1].map(|axis| result[axis] as isize - self.padding[axis] as isize);
        (image, first, result)
    }

    /// Multiplies the values of `count` tiles at all points by a block of `width` filters.
    ///
    /// # Safety
    /// Values and products have room; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn multiply<V: Vector>(
        &self,
        [values, products]: [*mut V::Element; 2],
        packed: &[V::Element],
        [count, width]: [usize; 2],
    ) {
        let filters = self.filters;
        let depth = filters.inner.next_multiple_of(V::LANES);
        let at_once = most_columns(count, width / V::LANES, V::REGISTERS);
        for point in 0..ALL {
            // SAFETY: the caller's.
            unsafe {
                let of_point = Product {
                    from: values.add(point * count * depth).cast_const(),
                    depth: filters.inner,
                    packed: packed[point * filters.inner * width..].as_ptr(),
                    ahead: match filters.are_far::<V::Element>() {
                        true => Ahead::Filters((filters.inner * width) as isize),
                        false => Ahead::Nothing,
                    },
                    to: products.add(point * count * width),
                    far: false,
                    distances: [depth, width],
                    filters: width,
                    ending: InRegisters::NONE,
                    begin: [0; 2],
                };
                of_point.compute_at_once::<V>(count, width, at_once);
            }
        }
    }

    /// Computes the values of filters at all points. `distances` are those of neighbouring groups, outer and inner channels;
    /// `turned` filters have their elements in the reverse order.
    pub(super) fn pack<T: Float>(
        &self,
        isa: Isa,
        team: &Team,
        filters: &[T],
        distances: [usize; 3],
        turned: bool,
        packed: &mut [T],
    ) {
        let blocks = self.filters.blocks();
        let to = Shared(packed.as_mut_ptr());
        team.run(self.filters.groups * blocks, &|index| {
            let (group, block) = (index / blocks, index % blocks);
            let to = to.at(group * self.filters.group() + self.filters.block(block));
            let from = &filters[group * distances[0]..];
            on_registers(isa, Packing { of: self, from, distances, turned, block, to });
        });
    }
}

/// The values of a block of filters of one group at all points.
struct Packing<'a, T> {
    of: &'a Tiling,
    from: &'a [T],
    distances: [usize; 3],
    turned: bool,
    block: usize,
    to: *mut T,
}

impl<T: Float> Work<T> for Packing<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; each packing has a block of its own.
        unsafe {
            match self.of.taps {
                3 => self.pack::<V, 3>(),
                _ => self.pack::<V, 5>(),
            }
        }
    }
}

impl<T: Float> Packing<'_, T> {
    /// # Safety
    /// The machine has the instruction set of `V`; filters have `TAPS` by `TAPS` elements; nobody else uses the block.
    #[inline(always)]
    unsafe fn pack<V: Vector<Element = T>, const TAPS: usize>(&self) {
        let Filters { inner, outer, .. } = self.of.filters;
        let (width, first) = (self.of.filters.width(self.block), self.block * self.of.filters.widest());
        let count = (outer - first).min(width);
        let [_, outer_distance, inner_distance] = self.distances;
        // The elements of the filters of one inner channel: outer channels are neighbours.
        let mut elements = [T::ZERO; MOST_TAPS * MOST_WIDTH];
        for channel in 0..inner {
            let from = &self.from[first * outer_distance + channel * inner_distance..];
            // SAFETY: reads the elements of `count` filters; the block has room for each channel.
            unsafe {
                let to = elements.as_mut_ptr();
                transpose(from.as_ptr(), outer_distance, to, width, TAPS * TAPS, count);
                for lane in (0..width).step_by(V::LANES) {
                    let start = elements.as_ptr().add(lane);
                    let from = Memory { start, distances: [TAPS * width, width] };
                    let to = Values { start: self.to.add(channel * width + lane), distance: inner * width };
                    match self.turned {
                        false => transform::<V, Filter, TAPS, POINTS>(&from, &to),
                        true => transform::<V, Filter, TAPS, POINTS>(&Reversed(from), &to),
                    }
                }
            }
        }
    }
}

/// The most elements of a filter.
const MOST_TAPS: usize = 25;
/// The most filters of a block.
const MOST_WIDTH: usize = 32;

/// Results of convolutions, or gradients of images.
pub(super) struct Tiles<'a, T> {
    pub(super) tiling: Tiling,
    pub(super) packed: &'a [T],
    pub(super) source: &'a [T],
    pub(super) out: *mut T,
    pub(super) ending: InRegisters<T>,
}

// SAFETY: threads write results that do not overlap.
unsafe impl<T: Sync> Sync for Tiles<'_, T> {}

impl<T: Float> Tiles<'_, T> {
    /// Computes all results, and the epilogue if the channels of a result are computed together: returns whether they are.
    pub(super) fn run(&self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        /// A thread computes at least about so many tiles at once.
        const FEWEST: usize = 8;
        let (tiles, blocks) = (self.tiling.tiles(), self.tiling.filters.blocks());
        let at_once = self.tiling.at_once::<T>(self.tiling.filters.inner);
        // Pieces of the same size, and as many for each thread.
        let pieces = tiles.div_ceil(at_once).next_multiple_of(team.threads()).min(tiles.div_ceil(FEWEST));
        let most = at_once;
        let at_once = tiles.div_ceil(pieces.max(1)).min(at_once).max(1);
        // Whole rows of tiles have neighbouring results, of which an epilogue is computed faster.
        let [_, across] = self.tiling.grid();
        let whole = at_once.next_multiple_of(across.max(1));
        let at_once = if finish.is_none() || whole > most { at_once } else { whole };
        let pieces = tiles.div_ceil(at_once);
        // Each share of the blocks transforms the source again.
        let shares = team.threads().div_ceil((pieces * self.tiling.filters.groups).max(1)).min(blocks);
        let is_whole = self.tiling.filters.groups * shares == 1;
        team.run(self.tiling.filters.groups * pieces * shares, &|index| {
            let (index, share) = (index / shares, index % shares);
            let (group, piece) = (index / pieces, index % pieces);
            let tiles = [piece * at_once, tiles.min((piece + 1) * at_once)];
            let blocks = [share, share + 1].map(|share| share * blocks / shares);
            stack::lend(self.tiling.bytes::<T>(at_once), &mut |memory| {
                on_registers(isa, Piece { of: self, group, tiles, blocks, memory });
            });
            if is_whole && !finish.is_none() {
                // SAFETY: these results are the piece's own, and are final.
                unsafe { self.finish(tiles, finish) };
            }
        });
        is_whole
    }

    /// Computes the epilogue of some tiles.
    ///
    /// # Safety
    /// Their results are final, and nobody else uses them.
    unsafe fn finish(&self, [mut tile, end]: [usize; 2], finish: Finish<'_>) {
        let (step, [down, across], results) = (self.tiling.step(), self.tiling.grid(), self.tiling.results);
        let [height, width] = results.size;
        while tile < end {
            let (image, _, [y, x]) = self.tiling.tile(tile);
            let part = |row: usize, columns: usize, count: usize| {
                let first = ((image * height + row) * width + columns) * results.channels;
                // SAFETY: the caller's.
                unsafe { finish.part(self.out, first..first + count * results.channels) };
            };
            let rows = ((end - tile) / across).min(down - y / step);
            if x == 0 && rows > 0 {
                part(y, 0, (rows * step).min(height - y) * width);
                tile += rows * across;
            } else {
                let count = (across - tile % across).min(end - tile);
                let columns = (count * step).min(width - x);
                (y..height.min(y + step)).for_each(|row| part(row, x, columns));
                tile += count;
            }
        }
    }
}

/// The results of some tiles for some blocks of filters of one group.
struct Piece<'a, T> {
    of: &'a Tiles<'a, T>,
    group: usize,
    tiles: [usize; 2],
    blocks: [usize; 2],
    /// Memory for the values of the tiles, and for their products.
    memory: [*mut T; 2],
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's.
        unsafe {
            match self.of.tiling.taps {
                3 => self.compute::<V, 4>(),
                _ => self.compute::<V, 2>(),
            }
        }
    }
}

impl<T: Float> Piece<'_, T> {
    /// # Safety
    /// The machine has the instruction set of `V`; a tile has `STEP` by `STEP` results.
    #[inline(always)]
    unsafe fn compute<V: Vector<Element = T>, const STEP: usize>(&self) {
        let Tiles { tiling, packed, source, out, ending } = self.of;
        let Tiling { filters, images, results, .. } = tiling;
        let count = self.tiles[1] - self.tiles[0];
        let depth = filters.inner.next_multiple_of(V::LANES);
        let [values, products] = self.memory;
        // SAFETY: the values of the tiles, and their products with a block, have room; results are inside of the output.
        unsafe {
            for tile in 0..count {
                let (image, first, _) = tiling.tile(self.tiles[0] + tile);
                let from = source[image * images.image() + self.group * filters.inner..].as_ptr();
                let to = values.add(tile * depth);
                Patch::<T, POINTS>::new(*images, from, filters.inner, first)
                    .values::<V, Input>(to, count * depth);
            }
            for block in self.blocks[0]..self.blocks[1] {
                let width = filters.width(block);
                let packed = &packed[self.group * filters.group() + filters.block(block)..];
                tiling.multiply::<V>([values, products], packed, [count, width]);
                let channel = block * filters.widest();
                let channels = (filters.outer - channel).min(width);
                for tile in 0..count {
                    let (image, _, [y, x]) = tiling.tile(self.tiles[0] + tile);
                    let first = image * results.image() + self.group * filters.outer + channel;
                    let first = first + (y * results.size[1] + x) * results.channels;
                    let out = out.add(first);
                    for lane in (0..channels).step_by(V::LANES) {
                        let point = count * width;
                        let start = products.cast_const().add(tile * width + lane);
                        let from = Memory { start, distances: [POINTS * point, point] };
                        let to = Room {
                            start: out.add(lane),
                            distances: [results.size[1] * results.channels, results.channels],
                            size: [results.size[0] - y, results.size[1] - x],
                            endings: ending
                                .load_all(self.group * filters.outer + channel + lane, channels - lane),
                            first: first + lane,
                        };
                        transform::<V, Output, POINTS, STEP>(&from, &to);
                    }
                }
            }
        }
    }
}
