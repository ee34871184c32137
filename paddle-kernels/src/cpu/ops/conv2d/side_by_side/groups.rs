//! Where the channels of groups are, and how those of several groups are brought side by side.
#![allow(unsafe_code, reason = "copies through raw pointers")]

use crate::cpu::images::Images;
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::strips::CHANNELS;
use crate::cpu::transpose::{interleave, separate, transpose};

/// The channels of some groups of an image.
#[derive(Clone, Copy)]
pub(in super::super) struct Groups {
    /// At most as many as there are lanes.
    groups: usize,
    /// The channels of a group.
    pub(in super::super) channels: usize,
    /// The distances of neighbouring groups, of neighbouring channels, and of neighbouring elements of a channel.
    pub(super) group: usize,
    channel: usize,
    pub(in super::super) element: usize,
}

impl Groups {
    pub(super) fn new(images: Images, groups: usize, channels: usize) -> Groups {
        let [channel, element] = images.distances();
        Groups { groups, channels, group: channels * channel, channel, element }
    }

    /// Brings `count` elements of each channel, `step` apart, to where each channel has the groups side by side. Channels are
    /// `apart` in `to`. Lanes without a group keep what they have.
    ///
    /// # Safety
    /// These elements are valid.
    #[inline(always)]
    pub(in super::super) unsafe fn interleave<T: Float>(
        &self,
        from: *const T,
        step: usize,
        to: *mut T,
        apart: usize,
        count: usize,
    ) {
        let Groups { groups, channels, group, channel, element } = *self;
        // SAFETY: the caller's.
        unsafe {
            if channel == 1 {
                for i in 0..count {
                    let (from, to) = (from.add(i * step * element), to.add(i * CHANNELS));
                    transpose(from, group, to, apart, channels, groups);
                }
            } else {
                for k in 0..channels {
                    let (from, to) = (from.add(k * channel), to.add(k * apart));
                    interleave(from, [group, step * element], to, CHANNELS, groups, count);
                }
            }
        }
    }

    /// The reverse of [`Self::interleave`].
    ///
    /// # Safety
    /// These elements are valid.
    #[inline(always)]
    pub(super) unsafe fn separate<T: Float>(
        &self,
        from: *const T,
        apart: usize,
        to: *mut T,
        step: usize,
        count: usize,
    ) {
        let Groups { groups, channels, group, channel, element } = *self;
        // SAFETY: the caller's.
        unsafe {
            if channel == 1 {
                for i in 0..count {
                    let (from, to) = (from.add(i * CHANNELS), to.add(i * step * element));
                    transpose(from, apart, to, group, groups, channels);
                }
            } else {
                for k in 0..channels {
                    let (from, to) = (from.add(k * apart), to.add(k * channel));
                    separate(from, CHANNELS, to, [group, step * element], groups, count);
                }
            }
        }
    }
}
