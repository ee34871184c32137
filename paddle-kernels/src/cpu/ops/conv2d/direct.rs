//! Convolutions by kernels that go over channels and elements of the filter; see [`correlate`](super::correlate) and
//! [`gradient`](super::gradient).

use paddle_core::memory::OutOfMemory;

use super::axis::{Axis, Geometry};
use super::correlate::{Correlation, PIECES};
use super::filters::Filters;
use super::gradient::{FilterGradient, parts, strips_at_once};
use super::side_by_side::{self, InPlaceGradient, Neighbours, SideBySide, SideBySideGradient};
use super::strips::{CHANNELS, Strips};
use super::taps::Taps;
use super::winograd::{Contributions, TileGradient, Tiles, Tiling};
use super::{Conv2dGradKind, Pass, Sizes};
use crate::cpu::epilogue::{Finish, InRegisters};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::kernel::Machine;
use crate::cpu::number::Float;
use crate::cpu::scratch::Scratch;
use crate::cpu::vector::Registers;

impl Sizes {
    pub(super) fn geometry(&self) -> [Geometry; 2] {
        let axis = |at: usize, [input, output, filter]: [usize; 3]| Geometry {
            input,
            output,
            filter,
            stride: self.strides[at],
            dilation: self.dilations[at],
            padding: self.padding[at],
        };
        [
            axis(0, [self.input.height, self.output.height, self.filter.height]),
            axis(1, [self.input.width, self.output.width, self.filter.width]),
        ]
    }

    /// The gradients of images along two axes, for those that meet the same elements of the filters.
    pub(super) fn phases(&self) -> impl Iterator<Item = [Axis; 2]> {
        let [down, across] = self.geometry();
        let down = (0..down.stride.min(down.input)).map(move |phase| down.backward(phase));
        down.flat_map(move |y| (0..across.stride.min(across.input)).map(move |x| [y, across.backward(x)]))
    }

    /// Whether the kernels for a pass take images with the channels as the fastest axis.
    pub(super) fn is_direct<T: Float>(&self, pass: Pass) -> bool {
        match pass {
            // What is not computed directly is scattered.
            Pass::Grad(Conv2dGradKind::Input) => true,
            Pass::Forward | Pass::Grad(Conv2dGradKind::Filter) if const { !T::WIDE } => false,
            Pass::Forward if self.is_pointwise() => true,
            Pass::Forward | Pass::Grad(Conv2dGradKind::Filter) => {
                let axes = self.geometry().map(Geometry::forward);
                let side_by_side = self.filters_side_by_side().fill_registers();
                let lanes = if side_by_side { CHANNELS } else { 1 };
                self.strips::<T>(axes, self.channels * lanes, false).is_some()
            }
        }
    }

    /// The strips of results along two axes, and the taps of the filter; none if a copy of a strip would be too large. The
    /// filters come from a far cache, or they do not.
    fn strips<T>(&self, axes: [Axis; 2], channels: usize, far: bool) -> Option<(Strips, Taps)> {
        let strips = Strips::new::<T>(axes, channels, (!far).then(|| self.pieces()))?;
        let taps = Taps::new(&strips, self.filter.width)?;
        Some((strips, taps))
    }

    /// The least number of strips of an image that keeps a team busy.
    fn pieces(&self) -> usize {
        PIECES.div_ceil((self.images * self.groups).max(1))
    }

    pub(super) fn filters<T: Float>(&self, isa: Isa, [inner, outer]: [usize; 2]) -> Filters {
        let size = [self.filter.height, self.filter.width];
        Filters { groups: self.groups, inner, outer, size, lanes: Registers::of::<T>(isa).lanes }
    }

    /// Computes the results, unless a copy of a strip would be too large: then it returns false. Filters of a version are
    /// packed once.
    pub(super) fn forward_directly<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        [input, filter]: [&[T]; 2],
        (out, finish): (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        let axes = self.geometry().map(Geometry::forward);
        let filters = self.filters::<T>(machine.isa, [self.channels, self.filters]);
        let found = self.strips::<T>(axes, self.channels, filters.are_far::<T>());
        let Some((strips, taps)) = found else { return Ok(false) };
        let inner = self.filter.len();
        let outer = self.channels * inner;
        let pack = |packed: &mut [T]| {
            filters.pack(&machine.team, filter, [self.filters * outer, outer, inner], packed);
        };
        scratch.lend_made(filters.groups * filters.group(), version, pack, |packed| {
            let (images, results, start) = (self.images(), self.results(), out.as_mut_ptr());
            let (ending, finish) =
                if results.last { finish.in_registers() } else { (InRegisters::NONE, finish) };
            let (source, packed) = (input, &*packed);
            let correlation =
                Correlation { strips, taps, filters, packed, source, images, results, out: start, ending };
            if !correlation.run(machine.isa, &machine.team, finish) {
                finish.all(&machine.team, out);
            }
        })?;
        Ok(true)
    }

    /// Computes the gradients of the images, unless a copy of a strip would be too large, or scattering is faster: then it
    /// returns false.
    pub(super) fn grad_input_directly<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        let filters = self.filters::<T>(machine.isa, [self.filters, self.channels]);
        let cost =
            |[y, x]: [Axis; 2]| y.count * y.taps * x.count * x.taps * self.filters * filters.width_of_all();
        if self.phases().map(cost).sum::<usize>() > self.cost_of_scattering() {
            return Ok(false);
        }
        let outer = self.filter.len();
        let inner = self.channels * outer;
        let pack = |packed: &mut [T]| {
            filters.pack(&machine.team, filter, [self.filters * inner, outer, inner], packed);
        };
        scratch.lend_made(filters.groups * filters.group(), version, pack, |packed| {
            let (images, results, out, packed) = (self.results(), self.images(), out.as_mut_ptr(), &*packed);
            for axes in self.phases() {
                let found = self.strips::<T>(axes, self.filters, filters.are_far::<T>());
                let Some((strips, taps)) = found else { return Ok(false) };
                let (source, ending) = (grad, InRegisters::NONE);
                let correlation =
                    Correlation { strips, taps, filters, packed, source, images, results, out, ending };
                correlation.run(machine.isa, &machine.team, Finish::default());
            }
            Ok(true)
        })?
    }

    /// Computes the gradients of the filters, unless a copy of a strip would be too large: then it returns false.
    pub(super) fn grad_filter_directly<T: Float>(
        &self,
        machine: &Machine,
        scratch: &Scratch<T>,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        let axes = self.geometry().map(Geometry::forward);
        let found = strips_at_once::<T>(axes, self.channels, self.pieces(), self.images);
        let Some((strips, at_once)) = found else { return Ok(false) };
        let Some(taps) = Taps::new(&strips, self.filter.width) else { return Ok(false) };
        let filters = self.filters::<T>(machine.isa, [self.channels, self.filters]);
        let elements = filters.groups * filters.group();
        // Threads share channels, too, so these take no partial gradients.
        let chunks = filters.groups * self.channels.div_ceil(strips.channels);
        let count = parts(self.images * strips.count(), elements).min(PIECES.div_ceil(chunks.max(1)));
        scratch.lend(count * elements, |parts| {
            let (images, results) = (self.images(), self.results());
            let (source, to) = (input, parts.as_mut_ptr());
            let gradient =
                FilterGradient { strips, taps, filters, source, images, grad, results, parts: to, at_once };
            gradient.run(machine.isa, &machine.team, count);
            filters.unpack(machine.isa, &machine.team, parts, out);
        })?;
        Ok(true)
    }

    /// Whether each group has one channel and one filter.
    fn is_depthwise(&self) -> bool {
        self.channels == 1 && self.filters == 1
    }

    fn filters_side_by_side(&self) -> side_by_side::Filters {
        let Sizes { groups, channels, filters, .. } = *self;
        side_by_side::Filters { groups, channels, filters, elements: self.filter.len() }
    }

    /// Computes the results if groups have few channels; returns false if not, or if a copy of a strip would be too large.
    pub(super) fn forward_side_by_side<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [input, filter]: [&[T]; 2],
        out: (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        let axes = [self.geometry().map(Geometry::forward)];
        self.side_by_side(machine, scratch, axes.into_iter(), false, [input, filter], out)
    }

    /// Computes the gradients of the images if groups have few channels; returns false if not, or if a copy of a strip would
    /// be too large.
    pub(super) fn grad_input_side_by_side<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        let out = (out, Finish::default());
        self.side_by_side(machine, scratch, self.phases(), true, [grad, filter], out)
    }

    fn side_by_side<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        mut axes: impl Iterator<Item = [Axis; 2]>,
        backward: bool,
        [source, filter]: [&[T]; 2],
        (out, finish): (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        let filters = self.filters_side_by_side();
        if !filters.fill_registers() {
            return Ok(false);
        }
        let pack = |packed: &mut [T]| filters.pack(filter, packed);
        scratch.lend_made(filters.packed(), version, pack, |packed| {
            let (packed, start) = (&*packed, out.as_mut_ptr());
            let (mut images, mut results) = (self.images(), self.results());
            if backward {
                (images, results) = (results, images);
            }
            let in_place = self.last == [true; 2] && self.is_depthwise();
            let inner = if backward { self.filters } else { self.channels };
            let is_done = axes.all(|axes| {
                if in_place {
                    let (width, out, (ending, finish)) = (self.filter.width, start, finish.in_registers());
                    let neighbours =
                        Neighbours { axes, filters, width, packed, source, images, results, out, ending };
                    neighbours.run(machine.isa, &machine.team, finish);
                    return true;
                }
                let Some((strips, taps)) = self.strips::<T>(axes, inner * CHANNELS, false) else {
                    return false;
                };
                let out = start;
                let side_by_side =
                    SideBySide { strips, taps, filters, backward, packed, source, images, results, out };
                side_by_side.run(machine.isa, &machine.team);
                true
            });
            if is_done && !in_place {
                finish.all(&machine.team, out);
            }
            Ok(is_done)
        })?
    }

    /// Computes the gradients of the filters if groups have few channels; returns false if not, or if a copy of a strip would
    /// be too large.
    pub(super) fn grad_filter_side_by_side<T: Float>(
        &self,
        machine: &Machine,
        scratch: &Scratch<T>,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        let filters = self.filters_side_by_side();
        if !filters.fill_registers() {
            return Ok(false);
        }
        let axes = self.geometry().map(Geometry::forward);
        let (images, results) = (self.images(), self.results());
        if self.last == [true; 2] && self.is_depthwise() {
            let count = parts(self.images * axes[0].count, filters.packed());
            scratch.lend(count * filters.packed(), |parts| {
                let (width, source, to) = (self.filter.width, input, parts.as_mut_ptr());
                let gradient =
                    InPlaceGradient { axes, filters, width, source, images, grad, results, parts: to };
                gradient.run(machine.isa, &machine.team, count);
                filters.unpack(machine.isa, &machine.team, parts, out);
            })?;
            return Ok(true);
        }
        let channels = self.channels * CHANNELS;
        let Some((strips, taps)) = self.strips::<T>(axes, channels, false) else { return Ok(false) };
        let count = parts(self.images * strips.count(), filters.packed());
        scratch.lend(count * filters.packed(), |parts| {
            let (source, to) = (input, parts.as_mut_ptr());
            let gradient =
                SideBySideGradient { strips, taps, filters, source, images, grad, results, parts: to };
            gradient.run(machine.isa, &machine.team, count);
            filters.unpack(machine.isa, &machine.team, parts, out);
        })?;
        Ok(true)
    }

    /// The tiles of the results, or of the gradients of the images; none if they are not computed so.
    fn tiling<T: Float>(&self, isa: Isa, pass: Pass) -> Option<Tiling> {
        if self.strides != [1; 2] || self.dilations != [1; 2] || self.images == 0 {
            return None;
        }
        let [images, results] = [self.images(), self.results()];
        match pass {
            Pass::Forward | Pass::Grad(Conv2dGradKind::Filter) => {
                let filters = self.filters::<T>(isa, [self.channels, self.filters]);
                Tiling::new::<T>(filters, self.padding, [images, results])
            }
            Pass::Grad(Conv2dGradKind::Input) => {
                let filters = self.filters::<T>(isa, [self.filters, self.channels]);
                let padding = [0, 1].map(|axis| filters.size[axis].checked_sub(1 + self.padding[axis]));
                let of_images = match padding {
                    [Some(down), Some(across)] => {
                        Tiling::new::<T>(filters, [down, across], [results, images])
                    }
                    _ => None,
                };
                let of_results = Tiling::new::<T>(filters, self.padding, [images, results]);
                let of_results = of_results.map(Tiling::transposed);
                let cheapest = of_images.into_iter().chain(of_results).min_by_key(Tiling::cost)?;
                (cheapest.cost() * filters.lanes <= self.cost_of_scattering()).then_some(cheapest)
            }
        }
    }

    /// Whether images that are in row-major order are turned, as tiles of images with the channels as the fastest axis save more
    /// than copies take.
    pub(super) fn is_worth_turning<T: Float>(&self, isa: Isa, pass: Pass) -> bool {
        /// About the operations on registers that turning an element takes, there and back.
        const TURNED: usize = 2;
        if const { !T::WIDE } || self.last == [true; 2] {
            return false;
        }
        let elements = |images: Images| if images.last { 0 } else { images.image() };
        let turned = TURNED * (elements(self.images()) + elements(self.results()));
        let tiling = Sizes { last: [true; 2], ..*self }.tiling::<T>(isa, pass);
        tiling.is_some_and(|tiling| self.groups * tiling.saved() > turned)
    }

    /// Computes the results by tiles; returns false if they are not computed so.
    pub(super) fn forward_by_tiles<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [input, filter]: [&[T]; 2],
        out: (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        let inner = self.filter.len();
        let outer = self.channels * inner;
        let distances = [self.filters * outer, outer, inner];
        self.by_tiles(machine, scratch, (Pass::Forward, distances), [input, filter], out)
    }

    /// Computes the gradients of the images by tiles; returns false if they are not computed so.
    pub(super) fn grad_input_by_tiles<T: Float>(
        &self,
        machine: &Machine,
        scratch: (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        let outer = self.filter.len();
        let inner = self.channels * outer;
        let pass = Pass::Grad(Conv2dGradKind::Input);
        let (out, distances) = ((out, Finish::default()), [self.filters * inner, outer, inner]);
        self.by_tiles(machine, scratch, (pass, distances), [grad, filter], out)
    }

    fn by_tiles<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        (pass, distances): (Pass, [usize; 3]),
        [source, filter]: [&[T]; 2],
        (out, finish): (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        // In double precision the errors of the definition count, and the code of tiles is long.
        if const { !T::WIDE } {
            return Ok(false);
        }
        let Machine { team, isa, .. } = machine;
        let Some(tiling) = self.tiling::<T>(*isa, pass) else { return Ok(false) };
        // A tile of a gradient meets the elements of the filters in the reverse order.
        let turned = matches!(pass, Pass::Grad(_)) && !tiling.is_transposed();
        let pack = |packed: &mut [T]| tiling.pack(*isa, team, filter, distances, turned, packed);
        scratch.lend_made(self.groups * tiling.filters.group(), version, pack, |packed| {
            if tiling.is_transposed() {
                let (packed, out) = (&*packed, out.as_mut_ptr());
                return Contributions { tiling, packed, grad: source, out }.run(*isa, team);
            }
            let (start, (ending, finish)) = (out.as_mut_ptr(), finish.in_registers());
            let tiles = Tiles { tiling, packed, source, out: start, ending };
            if !tiles.run(*isa, team, finish) {
                finish.all(team, out);
            }
        })?;
        Ok(true)
    }

    /// Computes the gradients of the filters by tiles; returns false if they are not computed so.
    pub(super) fn grad_filter_by_tiles<T: Float>(
        &self,
        machine: &Machine,
        scratch: &Scratch<T>,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        if const { !T::WIDE } {
            return Ok(false);
        }
        let Machine { team, isa, .. } = machine;
        let tiling = self.tiling::<T>(*isa, Pass::Grad(Conv2dGradKind::Filter));
        let Some((tiling, count)) = tiling.and_then(|tiling| Some((tiling, tiling.parts::<T>()?))) else {
            return Ok(false);
        };
        scratch.lend(count * self.groups * tiling.filters.group(), |parts| {
            TileGradient { tiling, source: input, grad, parts: parts.as_mut_ptr() }.run(*isa, team, count);
            tiling.unpack(*isa, team, parts, out);
        })?;
        Ok(true)
    }
}
