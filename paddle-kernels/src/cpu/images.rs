//! Images `[N, C, H, W]`, in row-major order or with the channels as the fastest axis.
#![allow(unsafe_code, reason = "transposes through raw pointers")]

use paddle_core::plan::{Extent, OperandType};

use super::pieces::Cut;
use super::transpose::transpose;
use super::vector::Element;
use crate::team::Team;

/// The type of an operand that has images.
#[derive(Clone, Copy)]
pub(super) struct ImagesType {
    shape: [Extent; 4],
    last: bool,
}

impl ImagesType {
    /// The type of an operand with four axes; none for others.
    pub(super) fn new(ty: &OperandType) -> Option<ImagesType> {
        let shape = ty.shape.as_slice().try_into().ok()?;
        Some(ImagesType { shape, last: !ty.layout.is_row_major() })
    }

    pub(super) fn get(self, sizes: &[usize]) -> Images {
        let [count, channels, height, width] = self.shape.map(|extent| extent.get(sizes));
        Images { count, channels, size: [height, width], last: self.last }
    }
}

/// Where the elements of some channels are in an image.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// The elements of a row of a channel.
    pub(super) width: usize,
    /// The distance of neighbouring channels.
    pub(super) channel: usize,
    /// The distance of neighbouring elements of a channel.
    pub(super) element: usize,
}

/// Images in a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Images {
    pub(super) count: usize,
    pub(super) channels: usize,
    /// Height and width.
    pub(super) size: [usize; 2],
    /// Whether the channels are the fastest axis.
    pub(super) last: bool,
}

impl Images {
    /// The elements of a channel of one image.
    pub(super) fn plane(self) -> usize {
        self.size[0] * self.size[1]
    }

    /// The elements of all images.
    pub(super) fn len(self) -> usize {
        self.count * self.image()
    }

    /// The distance of neighbouring images.
    pub(super) fn image(self) -> usize {
        self.channels * self.plane()
    }

    /// The distances of neighbouring channels, and of neighbouring elements of a channel.
    pub(super) fn distances(self) -> [usize; 2] {
        if self.last { [1, self.channels] } else { [self.plane(), 1] }
    }

    /// Where the elements of every `step`-th channel are in an image.
    pub(super) fn places(self, step: usize) -> Places {
        let [channel, element] = self.distances();
        Places { width: self.size[1], channel: channel * step, element }
    }

    /// The images in the other order of axes.
    pub(super) fn turned(self) -> Images {
        Images { last: !self.last, ..self }
    }

    /// Copies images to the other order of axes.
    pub(super) fn turn<T: Element>(self, team: &Team, from: &[T], to: &mut [T]) {
        self.turn_by(team, from, to, |from, stride, to, step, depth, width| {
            // SAFETY: as below.
            unsafe { transpose(from, stride, to, step, depth, width) }
        });
    }

    /// Copies images, whatever their elements are, to the other order of axes.
    pub(super) fn turn_any<T: Copy + Send + Sync>(self, team: &Team, from: &[T], to: &mut [T]) {
        self.turn_by(team, from, to, |from, stride, to, step, depth, width| {
            for (p, j) in (0..depth).flat_map(|p| (0..width).map(move |j| (p, j))) {
                // SAFETY: as below.
                unsafe { *to.add(p * step + j) = *from.add(j * stride + p) }
            }
        });
    }

    /// Copies images to the other order of axes by a function that transposes, like [`transpose`], valid elements.
    fn turn_by<T: Copy + Send + Sync>(
        self,
        team: &Team,
        from: &[T],
        to: &mut [T],
        transpose: impl Fn(*const T, usize, *mut T, usize, usize, usize) + Sync,
    ) {
        /// The elements of a channel that a thread moves at a time.
        const ELEMENTS: usize = 1024;
        assert!(from.len() == self.len() && to.len() == self.len(), "these images");
        let (plane, channels) = (self.plane(), self.channels);
        let parts = plane.div_ceil(ELEMENTS);
        let cut = Cut::new(to, 1);
        team.run(self.count * parts, &|index| {
            let (image, first) = (index / parts * self.image(), index % parts * ELEMENTS);
            let count = ELEMENTS.min(plane - first);
            // Reads and writes `count` elements of each channel of one image; no other index has them.
            let (from, to) = (from[image..].as_ptr(), cut.address(image));
            match self.last {
                false => {
                    let to = to.wrapping_add(first * channels);
                    transpose(from.wrapping_add(first), plane, to, channels, count, channels);
                }
                true => {
                    let from = from.wrapping_add(first * channels);
                    transpose(from, channels, to.wrapping_add(first), plane, channels, count);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_turn_and_turn_back() {
        let large = if cfg!(miri) { [4, 9] } else { [40, 31] };
        for (channels, size) in [(3, [5, 7]), (16, [1, 1]), (21, large)] {
            let images = Images { count: 2, channels, size, last: false };
            let from: Vec<f32> = (0..images.len()).map(|i| i as f32).collect();
            let (mut turned, mut back) = (vec![0.0; from.len()], vec![0.0; from.len()]);
            let team = Team::new(2).unwrap();
            images.turn(&team, &from, &mut turned);
            let mut any = vec![0.0; from.len()];
            images.turn_any(&team, &from, &mut any);
            assert_eq!(any, turned);
            for (at, value) in turned.iter().enumerate() {
                let (image, rest) = (at / images.image(), at % images.image());
                let (element, channel) = (rest / channels, rest % channels);
                assert_eq!(*value, from[image * images.image() + channel * images.plane() + element]);
            }
            images.turned().turn(&team, &turned, &mut back);
            assert_eq!(back, from);
        }
    }
}
