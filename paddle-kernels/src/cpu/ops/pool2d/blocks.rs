//! Pooling of several channels side by side: each lane is a channel, so windows of any size and stride are vector code.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use paddle_core::ops::PoolKind;

use super::columns::{Columns, ELEMENTS, Pool, WINDOWS};
use crate::cpu::epilogue::Finish;
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::transpose::{LANES, interleave, separate};
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// About so many elements are pooled at a time.
const PIECE: usize = 1 << 13;

/// The elements of some channels at neighbouring places.
#[repr(align(64))]
struct Line<T, const N: usize>([[T; LANES]; N]);

/// What a thread computes with.
struct Lines<T> {
    line: Line<T, ELEMENTS>,
    /// Elements of the images, beside their gradients.
    seen: Line<T, ELEMENTS>,
    results: Line<T, WINDOWS>,
    /// The gradients of the results.
    grads: Line<T, WINDOWS>,
}

impl<T: Float> Lines<T> {
    /// All lanes have a value, as those without a channel are computed with too.
    fn new() -> Self {
        let (line, windows) = ([[T::ZERO; LANES]; ELEMENTS], [[T::ZERO; LANES]; WINDOWS]);
        Lines { line: Line(line), seen: Line(line), results: Line(windows), grads: Line(windows) }
    }
}

/// What is computed.
#[derive(Clone, Copy)]
pub(super) enum Pass<T> {
    /// The results.
    Forward { x: *const T, out: *mut T },
    /// The gradients of the images. Those of means do not read the images, which may have another layout.
    Backward { x: *const T, x_images: Images, grad: *const T, out: *mut T },
}

/// Pooling of images.
pub(super) struct Pooling<T> {
    pub(super) pool: Pool,
    pub(super) images: Images,
    pub(super) results: Images,
    /// The images or their gradients, and the results or their gradients, are valid for this pooling.
    pub(super) pass: Pass<T>,
}

// SAFETY: threads write channels of images, or of their gradients, that do not overlap.
unsafe impl<T: Sync> Sync for Pooling<T> {}

/// Some channels of an image.
#[derive(Clone, Copy)]
struct Block {
    image: usize,
    first: usize,
    channels: usize,
}

impl Block {
    /// Where the first channel begins.
    #[inline(always)]
    fn start(self, images: Images) -> usize {
        self.image * images.image() + self.first * images.distances()[0]
    }
}

impl<T: Float> Pooling<T> {
    /// Pools all images. Returns whether the epilogue is computed, too.
    pub(super) fn run(mut self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        if self.is_of_neighbours() {
            return self.run_on_neighbours(isa, team, finish);
        }
        let x_last = matches!(self.pass, Pass::Backward { x_images, .. } if x_images.last);
        if !self.images.last && !self.results.last && !x_last {
            if self.run_on_tiles(isa, team, finish) {
                return true;
            }
            // Planes are like those of one image with all channels.
            let as_one =
                |images: Images| Images { channels: images.count * images.channels, count: 1, ..images };
            (self.images, self.results) = (as_one(self.images), as_one(self.results));
            if let Pass::Backward { x_images, .. } = &mut self.pass {
                *x_images = as_one(*x_images);
            }
        }
        let blocks = self.images.channels.div_ceil(LANES);
        let at_once = PIECE.div_ceil(LANES * self.images.plane().max(1));
        // Threads take neighbouring blocks of channels.
        let all = self.images.count * blocks;
        team.run(all.div_ceil(at_once), &|index| {
            let mut lines = Lines::new();
            for index in index * at_once..all.min((index + 1) * at_once) {
                let block = self.block(index / blocks, index % blocks);
                on_registers(isa, Piece { of: &self, block, lines: &mut lines });
            }
        });
        finish.is_none()
    }

    fn block(&self, image: usize, block: usize) -> Block {
        let first = block * LANES;
        Block { image, first, channels: LANES.min(self.images.channels - first) }
    }
}

struct Piece<'a, T> {
    of: &'a Pooling<T>,
    block: Block,
    lines: &'a mut Lines<T>,
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let Piece { of, block, lines } = self;
        // SAFETY: the images and results are valid, and no other piece has these channels.
        unsafe {
            match of.pass {
                Pass::Forward { x, out } => of.forward::<V>(block, lines, x, out),
                Pass::Backward { x, x_images, grad, out } => {
                    of.backward::<V>(block, lines, (x, x_images), grad, out);
                }
            }
        }
    }
}

impl<T: Float> Pooling<T> {
    /// # Safety
    /// As for [`Work::run`]; `x` and `out` have the block.
    #[inline(always)]
    unsafe fn forward<V: Vector<Element = T>>(
        &self,
        block: Block,
        lines: &mut Lines<T>,
        x: *const T,
        out: *mut T,
    ) {
        let [down, across] = self.pool.output;
        let distances = self.results.distances();
        for columns in self.pool.columns() {
            for y in 0..down {
                // SAFETY: the caller's.
                unsafe {
                    self.results::<V>(block, lines, (x, self.images), y, &columns);
                    let to = out.add(block.start(self.results) + (y * across + columns.first) * distances[1]);
                    separate(
                        lines.results.0.as_ptr().cast(),
                        LANES,
                        to,
                        distances,
                        block.channels,
                        columns.len,
                    );
                }
            }
        }
    }

    /// The results of the windows of a row. Those of windows without elements are zero.
    ///
    /// # Safety
    /// As for [`Work::run`]; `x` has the block.
    #[inline(always)]
    unsafe fn results<V: Vector<Element = T>>(
        &self,
        block: Block,
        Lines { seen: line, results, .. }: &mut Lines<T>,
        (x, x_images): (*const T, Images),
        y: usize,
        columns: &Columns,
    ) {
        let (rows, is_max) = (self.pool.rows(y), self.pool.op.pooling_type == PoolKind::Max);
        for (at, result) in results.0.iter_mut().enumerate().take(columns.len) {
            if rows.is_empty() || columns.is_empty(at) {
                *result = [T::ZERO; LANES];
            }
        }
        for row in rows.clone() {
            for elements in columns.chunks() {
                // SAFETY: the elements are inside of the row, and the parts inside of the elements.
                unsafe {
                    let run = Run::of(block, x.cast_mut(), x_images, row, &elements, line, true);
                    for (at, part) in columns.parts(elements.clone()) {
                        let is_first = row == rows.start && part.start == columns.start(at);
                        let result = results.0[at].as_mut_ptr();
                        for lane in (0..LANES).step_by(V::LANES) {
                            let (mut column, mut value) = (part.start, V::load(result.add(lane)));
                            if is_first && column < part.end {
                                value = run.load(column - elements.start, lane);
                                column += 1;
                            }
                            while column < part.end {
                                let x: V = run.load(column - elements.start, lane);
                                value = if is_max { x.or_larger(value) } else { value.add(x) };
                                column += 1;
                            }
                            value.store(result.add(lane));
                        }
                    }
                }
            }
        }
        if !is_max {
            let counts = self.pool.counts::<T>(y, columns);
            // SAFETY: the machine has the instruction set of `V`.
            unsafe { divide::<V>(&mut results.0[..columns.len], &counts) };
        }
    }

    /// # Safety
    /// As for [`Work::run`]; `x` has the block if the maximum is pooled, `grad` and `out` have it.
    #[inline(always)]
    unsafe fn backward<V: Vector<Element = T>>(
        &self,
        block: Block,
        lines: &mut Lines<T>,
        (x, x_images): (*const T, Images),
        grad: *const T,
        out: *mut T,
    ) {
        let ([down, across], is_max) = (self.pool.output, self.pool.op.pooling_type == PoolKind::Max);
        let of_result = self.results.distances();
        // SAFETY: the caller's; all elements are inside of the block.
        unsafe {
            self.clear::<V>(block, out);
            for columns in self.pool.columns() {
                for y in 0..down {
                    let from =
                        grad.add(block.start(self.results) + (y * across + columns.first) * of_result[1]);
                    let to = lines.grads.0.as_mut_ptr().cast();
                    interleave(from, of_result, to, LANES, block.channels, columns.len);
                    match is_max {
                        true => self.results::<V>(block, lines, (x, x_images), y, &columns),
                        false => {
                            divide::<V>(&mut lines.grads.0[..columns.len], &self.pool.counts(y, &columns))
                        }
                    }
                    let Lines { line, seen, results, grads } = &mut *lines;
                    for row in self.pool.rows(y) {
                        for elements in columns.chunks() {
                            let to = Run::of(block, out, self.images, row, &elements, line, true);
                            let from = Run::of(block, x.cast_mut(), x_images, row, &elements, seen, is_max);
                            for (at, part) in columns.parts(elements.clone()) {
                                let (result, grad) = (results.0[at].as_ptr(), grads.0[at].as_mut_ptr());
                                for lane in (0..LANES).step_by(V::LANES) {
                                    let (result, zero) = (V::load(result.add(lane)), V::splat(T::ZERO));
                                    let mut rest = V::load(grad.add(lane));
                                    let mut column = part.start;
                                    while column < part.end {
                                        let at = column - elements.start;
                                        let mut share = rest;
                                        if is_max {
                                            // The first element that is the largest gets all.
                                            let seen: V = from.load(at, lane);
                                            share = seen.select_same(result, rest, zero);
                                            rest = seen.select_same(result, zero, rest);
                                        }
                                        to.store(at, lane, to.load::<V>(at, lane).add(share));
                                        column += 1;
                                    }
                                    rest.store(grad.add(lane));
                                }
                            }
                            to.put_back(block, out, self.images, row, &elements);
                        }
                    }
                }
            }
        }
    }

    /// Fills the channels of a block with zeros.
    ///
    /// # Safety
    /// `out` has the block; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn clear<V: Vector<Element = T>>(&self, block: Block, out: *mut T) {
        let ([channel, distance], plane) = (self.images.distances(), self.images.plane());
        // SAFETY: the caller's.
        unsafe {
            let start = out.add(block.start(self.images));
            if channel == 1 {
                let run = Run { start, distance, channels: block.channels };
                for (at, lane) in
                    (0..plane).flat_map(|at| (0..LANES).step_by(V::LANES).map(move |lane| (at, lane)))
                {
                    run.store(at, lane, V::splat(T::ZERO));
                }
            } else {
                (0..block.channels).for_each(|at| start.add(at * channel).write_bytes(0, plane));
            }
        }
    }
}

/// Neighbouring elements of some channels, which are side by side.
#[derive(Clone, Copy)]
struct Run<T> {
    start: *mut T,
    /// The distance of neighbouring elements.
    distance: usize,
    /// The lanes that have a value.
    channels: usize,
}

impl<T: Float> Run<T> {
    /// Elements of a row of some images: where they are if channels are neighbours there, or else a copy in `line`, if it is
    /// needed.
    ///
    /// # Safety
    /// `from` has the block, and the elements are inside of the row.
    #[inline(always)]
    unsafe fn of(
        block: Block,
        from: *mut T,
        images: Images,
        row: usize,
        elements: &Range<usize>,
        line: &mut Line<T, ELEMENTS>,
        is_needed: bool,
    ) -> Run<T> {
        let [channel, element] = images.distances();
        // SAFETY: the caller's; a line has room for a chunk.
        unsafe {
            let from = from.add(block.start(images) + (row * images.size[1] + elements.start) * element);
            if channel == 1 {
                return Run { start: from, distance: element, channels: block.channels };
            }
            let start = line.0.as_mut_ptr().cast();
            if is_needed {
                interleave(from, [channel, element], start, LANES, block.channels, elements.len());
            }
            Run { start, distance: LANES, channels: LANES }
        }
    }

    /// Copies changed elements to the images, if they are a copy.
    ///
    /// # Safety
    /// As for [`Run::of`], which made this run of these elements.
    #[inline(always)]
    unsafe fn put_back(self, block: Block, to: *mut T, images: Images, row: usize, elements: &Range<usize>) {
        let [channel, element] = images.distances();
        if channel == 1 {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            let to = to.add(block.start(images) + (row * images.size[1] + elements.start) * element);
            separate(self.start, LANES, to, [channel, element], block.channels, elements.len());
        }
    }

    /// Some lanes of an element. Those without a value are zero.
    ///
    /// # Safety
    /// The run has the element; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn load<V: Vector<Element = T>>(self, at: usize, lane: usize) -> V {
        // SAFETY: the caller's.
        unsafe {
            let from = self.start.add(at * self.distance + lane);
            match self.channels.saturating_sub(lane) {
                count if count >= V::LANES => V::load(from),
                0 => V::splat(T::ZERO),
                count => V::load_partial(from, count),
            }
        }
    }

    /// # Safety
    /// As for [`Run::load`]; nobody else uses the element.
    #[inline(always)]
    unsafe fn store<V: Vector<Element = T>>(self, at: usize, lane: usize, value: V) {
        // SAFETY: the caller's.
        unsafe {
            let to = self.start.add(at * self.distance + lane);
            match self.channels.saturating_sub(lane) {
                count if count >= V::LANES => value.store(to),
                0 => {}
                count => value.store_partial(to, count),
            }
        }
    }
}

/// Divides the values of each window by its count.
///
/// # Safety
/// The machine has the instruction set of `V`.
#[inline(always)]
unsafe fn divide<V: Vector>(windows: &mut [[V::Element; LANES]], counts: &[V::Element]) {
    for (values, count) in windows.iter_mut().zip(counts) {
        for values in values.chunks_exact_mut(V::LANES) {
            // SAFETY: these are the lanes of a register.
            unsafe { V::load(values.as_ptr()).div(V::splat(*count)).store(values.as_mut_ptr()) };
        }
    }
}
