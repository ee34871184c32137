//! Convolutions by kernels that go over channels and elements of the filter; see [`correlate`](super::correlate) and
//! [`gradient`](super::gradient).

use paddle_core::memory::OutOfMemory;

use super::Sizes;
use super::axis::{Axis, Geometry};
use super::correlate::{Correlation, PIECES};
use super::filters::Filters;
use super::gradient::{FilterGradient, parts};
use super::strips::Strips;
use super::taps::Taps;
use crate::cpu::isa::{Isa, Level};
use crate::cpu::kernel::Machine;
use crate::cpu::number::Float;
use crate::cpu::scratch::Scratch;
use crate::cpu::vector::Vector;

/// The lanes of the widest register.
fn lanes<T: Float>(isa: Isa) -> usize {
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => T::Avx512::LANES,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => T::Avx2::LANES,
        Level::Portable => T::Portable::LANES,
    }
}

impl Sizes {
    fn geometry(&self) -> [Geometry; 2] {
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

    /// The strips of results along two axes, and the taps of the filter; none if a copy of a strip would be too large.
    fn strips<T>(&self, axes: [Axis; 2], channels: usize) -> Option<(Strips, Taps)> {
        let pieces = PIECES.div_ceil((self.images * self.groups).max(1));
        let strips = Strips::new::<T>(axes, channels, pieces)?;
        let taps = Taps::new(&strips, self.filter.width)?;
        Some((strips, taps))
    }

    fn filters<T: Float>(&self, isa: Isa, [inner, outer]: [usize; 2]) -> Filters {
        let size = [self.filter.height, self.filter.width];
        Filters { groups: self.groups, inner, outer, size, lanes: lanes::<T>(isa) }
    }

    /// Computes the results, unless a copy of a strip would be too large: then it returns false. Filters of a version are
    /// packed once.
    pub(super) fn forward_directly<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        [input, filter]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        let axes = self.geometry().map(Geometry::forward);
        let Some((strips, taps)) = self.strips::<T>(axes, self.channels) else { return Ok(false) };
        let filters = self.filters::<T>(machine.isa, [self.channels, self.filters]);
        let inner = self.filter.len();
        let outer = self.channels * inner;
        let pack = |packed: &mut [T]| {
            filters.pack(&machine.team, filter, [self.filters * outer, outer, inner], packed);
        };
        scratch.lend_made(filters.groups * filters.group(), version, pack, |packed| {
            let result = [self.output.height, self.output.width];
            let (images, out) = (self.images, out.as_mut_ptr());
            let correlation =
                Correlation { strips, taps, filters, packed, source: input, images, result, out };
            correlation.run(machine.isa, &machine.team);
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
        let [down, across] = self.geometry();
        let phases = || {
            let down = (0..down.stride.min(down.input)).map(move |phase| down.backward(phase));
            down.flat_map(move |y| (0..across.stride.min(across.input)).map(move |x| [y, across.backward(x)]))
        };
        let filters = self.filters::<T>(machine.isa, [self.filters, self.channels]);
        let cost =
            |[y, x]: [Axis; 2]| y.count * y.taps * x.count * x.taps * self.filters * filters.width_of_all();
        if phases().map(cost).sum::<usize>() > self.cost_of_scattering() {
            return Ok(false);
        }
        let outer = self.filter.len();
        let inner = self.channels * outer;
        let pack = |packed: &mut [T]| {
            filters.pack(&machine.team, filter, [self.filters * inner, outer, inner], packed);
        };
        scratch.lend_made(filters.groups * filters.group(), version, pack, |packed| {
            let result = [self.input.height, self.input.width];
            let (images, out, packed) = (self.images, out.as_mut_ptr(), &*packed);
            for axes in phases() {
                let Some((strips, taps)) = self.strips::<T>(axes, self.filters) else { return Ok(false) };
                let correlation =
                    Correlation { strips, taps, filters, packed, source: grad, images, result, out };
                correlation.run(machine.isa, &machine.team);
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
        let Some((strips, taps)) = self.strips::<T>(axes, self.channels) else { return Ok(false) };
        let filters = self.filters::<T>(machine.isa, [self.channels, self.filters]);
        let elements = filters.groups * filters.group();
        let count = parts(self.images * strips.count(), elements);
        scratch.lend(count * elements, |parts| {
            let (images, start) = (self.images, parts.as_mut_ptr());
            let gradient =
                FilterGradient { strips, taps, filters, source: input, grad, images, parts: start };
            gradient.run(machine.isa, &machine.team, count);
            filters.unpack(machine.isa, &machine.team, parts, out);
        })?;
        Ok(true)
    }
}
