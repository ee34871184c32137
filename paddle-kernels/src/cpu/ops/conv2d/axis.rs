//! How results meet the elements of images along one axis.

use std::ops::Range;

/// The elements of a source that the results along one axis are summed from.
///
/// Result `q` is the sum over the taps `j` of what element `q · step + start + j · stride` of the source contributes.
/// Elements outside of the source are zero.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// The number of elements of the source.
    pub(super) source: usize,
    /// The number of results.
    pub(super) count: usize,
    /// The distance between the elements that neighbouring results begin with.
    step: usize,
    start: isize,
    /// The distance between the elements of neighbouring taps.
    pub(super) stride: isize,
    /// The number of taps.
    pub(super) taps: usize,
    /// The elements of the filter that the taps meet: `first + j · between`.
    first: usize,
    pub(super) between: usize,
    /// Where the results are among all elements of the output: at `output_first + q · output_step`.
    pub(super) output_first: usize,
    pub(super) output_step: usize,
}

/// A convolution along one axis.
#[derive(Clone, Copy)]
pub(super) struct Geometry {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) filter: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) padding: usize,
}

impl Geometry {
    /// The windows of the outputs over the input.
    pub(super) fn forward(self) -> Axis {
        Axis {
            source: self.input,
            count: self.output,
            step: self.stride,
            start: -(self.padding as isize),
            stride: self.dilation as isize,
            taps: self.filter,
            first: 0,
            between: 1,
            output_first: 0,
            output_step: 1,
        }
    }

    /// What the elements of the input get from the gradient of the output. The elements of one `phase`, which are a
    /// stride apart, meet the same elements of the filter.
    pub(super) fn backward(self, phase: usize) -> Axis {
        let Geometry { input, output, filter, stride, dilation, padding } = self;
        // Element k of the filter meets the phase if the stride divides this.
        let distance = |k: usize| (phase + padding) as isize - (k * dilation) as isize;
        let meets = |k: &usize| distance(*k).rem_euclid(stride as isize) == 0;
        let first = (0..filter).find(meets);
        let next = first.and_then(|first| (first + 1..filter).find(meets));
        let between = next.zip(first).map_or(filter, |(next, first)| next - first);
        Axis {
            source: output,
            count: input.saturating_sub(phase).div_ceil(stride),
            step: 1,
            start: first.map_or(0, |first| distance(first) / stride as isize),
            stride: -((between * dilation / stride) as isize),
            taps: first.map_or(0, |first| (filter - first).div_ceil(between)),
            first: first.unwrap_or(0),
            between,
            output_first: phase,
            output_step: stride,
        }
    }
}

impl Axis {
    /// Where a result is among all elements of the output.
    pub(super) fn output(&self, result: usize) -> usize {
        self.output_first + result * self.output_step
    }

    fn offset(&self, tap: usize) -> isize {
        self.start + tap as isize * self.stride
    }

    /// The element of the source that a result meets with a tap; the tap meets the source.
    pub(super) fn met_in_source(&self, result: usize, tap: usize) -> usize {
        (result as isize * self.step as isize + self.offset(tap)) as usize
    }

    fn meets(&self, result: usize, tap: usize) -> bool {
        let at = result as isize * self.step as isize + self.offset(tap);
        (0..self.source as isize).contains(&at)
    }

    /// The taps with which a result meets the source. The elements that taps meet are at the same distances, so these taps are
    /// neighbours.
    pub(super) fn meeting(&self, result: usize) -> Range<usize> {
        let first = (0..self.taps).find(|&tap| self.meets(result, tap)).unwrap_or(self.taps);
        let end = (first..self.taps).find(|&tap| !self.meets(result, tap)).unwrap_or(self.taps);
        first..end
    }

    /// The results that meet the source with all taps, which are neighbours too.
    pub(super) fn all_inside(&self) -> Range<usize> {
        let is_inside = |result: &usize| self.meeting(*result).len() == self.taps;
        let first = (0..self.count).find(is_inside).unwrap_or(self.count);
        let end = (first..self.count).find(|result| !is_inside(result)).unwrap_or(self.count);
        first..end
    }

    /// The elements of the source, inside or not, from the first to the last that `count` neighbouring results meet.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn span(&self, count: usize) -> usize {
        (count - 1) * self.step + self.taps.saturating_sub(1) * self.stride.unsigned_abs() + 1
    }

    /// The first element of the source, inside or not, that a result meets.
    pub(super) fn first_met(&self, result: usize) -> isize {
        let last = self.taps.saturating_sub(1);
        (result * self.step) as isize + self.offset(0).min(self.offset(last))
    }

    fn shift(&self, tap: usize) -> isize {
        self.offset(tap).div_euclid(self.step as isize)
    }

    fn by_phase(&self) -> bool {
        self.taps >= self.step
    }

    /// The element of the filter that a tap meets.
    pub(super) fn met(&self, tap: usize) -> usize {
        self.first + tap * self.between
    }

    /// A copy of the source has its elements sorted by their remainder modulo the step, so that those which neighbouring
    /// results meet are neighbours. This is the number of remainders, or the number of taps if that is smaller.
    pub(super) fn lines(&self) -> usize {
        if self.by_phase() { self.step } else { self.taps }
    }

    /// The elements of each line that `count` neighbouring results meet.
    pub(super) fn reach(&self, count: usize) -> usize {
        count + (self.highest() - self.lowest()) as usize
    }

    fn lowest(&self) -> isize {
        self.shift(0).min(self.shift(self.taps.saturating_sub(1)))
    }

    fn highest(&self) -> isize {
        self.shift(0).max(self.shift(self.taps.saturating_sub(1)))
    }

    /// The line that a tap meets, and the place within the line, for the first of some results.
    pub(super) fn place(&self, tap: usize) -> [usize; 2] {
        let line =
            if self.by_phase() { self.offset(tap).rem_euclid(self.step as isize) as usize } else { tap };
        [line, (self.shift(tap) - self.lowest()) as usize]
    }

    /// A line of a copy, for results from `first` on.
    pub(super) fn line(&self, first: usize, line: usize) -> Line {
        let step = self.step as isize;
        let phase = if self.by_phase() { line as isize } else { self.offset(line).rem_euclid(step) };
        let first = (first as isize + self.lowest()) * step + phase;
        Line { source: self.source as isize, first, step }
    }

    /// The distance in the source between the elements of neighbouring places.
    pub(super) fn step(&self) -> usize {
        self.step
    }
}

/// A line of a copy: which elements of the source its places have.
#[derive(Clone, Copy)]
pub(super) struct Line {
    source: isize,
    /// The element at the first place.
    first: isize,
    step: isize,
}

impl Line {
    /// The element of the source at a place, if the source has it.
    #[inline(always)]
    pub(super) fn element(self, place: usize) -> Option<usize> {
        let at = self.first + place as isize * self.step;
        (0..self.source).contains(&at).then_some(at as usize)
    }

    /// Which of the first `reach` places are inside of the source.
    pub(super) fn inside(self, reach: usize) -> Range<usize> {
        // The first place whose element is not below a number.
        let place = |element: isize| (element - self.first + self.step - 1).div_euclid(self.step);
        let low = place(0).clamp(0, reach as isize);
        low as usize..place(self.source).clamp(low, reach as isize) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometries() -> impl Iterator<Item = Geometry> {
        // An interpreter takes long.
        let (inputs, filters) = if cfg!(miri) { (1..4, 1..4) } else { (1..9, 1..5) };
        let sizes = inputs.flat_map(move |input| filters.clone().map(move |filter| (input, filter)));
        let steps = (1..5).flat_map(|stride| (1..4).map(move |dilation| (stride, dilation)));
        let steps: Vec<_> = steps.flat_map(|steps| (0..4).map(move |padding| (steps, padding))).collect();
        sizes.flat_map(move |(input, filter)| {
            let steps = steps.clone().into_iter();
            steps.filter_map(move |((stride, dilation), padding)| {
                let covered = (filter - 1) * dilation + 1;
                let slack = usize::checked_sub(input + 2 * padding, covered)?;
                Some(Geometry { input, output: slack / stride + 1, filter, stride, dilation, padding })
            })
        })
    }

    /// The triples of input, filter and output elements that meet.
    fn meetings(geometry: Geometry) -> Vec<[usize; 3]> {
        let mut all = Vec::new();
        for output in 0..geometry.output {
            for k in 0..geometry.filter {
                let at = (output * geometry.stride + k * geometry.dilation).checked_sub(geometry.padding);
                all.extend(at.filter(|&at| at < geometry.input).map(|input| [input, k, output]));
            }
        }
        all.sort_unstable();
        all
    }

    /// For results from each `first` on: the results, the elements of the filter and of the source that meet.
    fn met(axis: Axis, first: usize) -> Vec<[usize; 3]> {
        let mut all = Vec::new();
        let count = axis.count - first;
        for tap in 0..axis.taps {
            let [line, place] = axis.place(tap);
            assert!(line < axis.lines() && place + count <= axis.reach(count));
            let line = axis.line(first, line);
            let inside = line.inside(axis.reach(count));
            let found = (0..axis.reach(count)).filter(|&at| line.element(at).is_some());
            assert!(found.eq(inside));
            for q in 0..count {
                let result = axis.output_first + (first + q) * axis.output_step;
                let element = line.element(place + q);
                all.extend(element.map(|element| [result, axis.met(tap), element]));
            }
        }
        all
    }

    #[test]
    fn results_meet_what_the_definition_says() {
        for geometry in geometries() {
            let mut forward: Vec<_> =
                met(geometry.forward(), 0).into_iter().map(|[output, k, input]| [input, k, output]).collect();
            forward.sort_unstable();
            assert_eq!(forward, meetings(geometry));
            let mut backward: Vec<_> = (0..geometry.stride.min(geometry.input))
                .flat_map(|phase| met(geometry.backward(phase), 0))
                .collect();
            backward.sort_unstable();
            assert_eq!(backward, meetings(geometry));
        }
    }

    #[test]
    fn a_part_of_the_results_meets_the_same() {
        for geometry in geometries() {
            for axis in [geometry.forward(), geometry.backward(0)] {
                let all = met(axis, 0);
                for first in 0..axis.count {
                    let from = axis.output_first + first * axis.output_step;
                    let part: Vec<_> = all.iter().copied().filter(|[result, ..]| *result >= from).collect();
                    assert_eq!(met(axis, first), part);
                }
            }
        }
    }
}
