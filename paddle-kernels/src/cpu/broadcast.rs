//! Broadcasting: how the elements of an operand repeat over a larger shape.

use paddle_core::plan::Extent;

/// The largest number of axes after merging. No program comes near it.
const MOST_AXES: usize = 8;

/// Neighbouring axes of the larger shape, merged: the operand advances along all of them, or stays along all of them.
#[derive(Debug, Clone)]
struct Axis {
    extents: Vec<Extent>,
    advances: bool,
}

/// How an operand advances over a shape, with as few merged axes as possible.
#[derive(Debug, Clone)]
pub(super) struct Broadcast {
    /// Outermost first. Axes along which the operand advances alternate with axes along which it stays. Axes of size 1
    /// are left out.
    axes: Vec<Axis>,
}

/// The simplest form of an operand, seen from the larger shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The operand has the larger shape.
    Whole,
    /// The operand has one element.
    Single,
    /// The operand repeats in another way.
    Repeated,
}

impl Broadcast {
    /// The broadcast of an operand to a shape, aligned at the last dimensions. `None` if the operand does not fit.
    pub(super) fn new(operand: &[Extent], shape: &[Extent]) -> Option<Broadcast> {
        let lead = shape.len().checked_sub(operand.len())?;
        let mut axes: Vec<Axis> = Vec::new();
        for (i, &extent) in shape.iter().enumerate() {
            let own = i.checked_sub(lead).map_or(Extent::Fixed(1), |at| operand[at]);
            if extent == Extent::Fixed(1) && own == extent {
                continue;
            }
            let advances = own == extent;
            if !advances && own != Extent::Fixed(1) {
                return None;
            }
            match axes.last_mut() {
                Some(axis) if axis.advances == advances => axis.extents.push(extent),
                _ => axes.push(Axis { extents: vec![extent], advances }),
            }
        }
        (axes.len() <= MOST_AXES).then_some(Broadcast { axes })
    }

    pub(super) fn form(&self) -> Form {
        match &self.axes[..] {
            [] => Form::Whole,
            [axis] if axis.advances => Form::Whole,
            [_] => Form::Single,
            _ => Form::Repeated,
        }
    }

    /// The number of elements after which the operand repeats, if it stays along the first axis: the size of the axes
    /// behind.
    pub(super) fn period(&self, sizes: &[usize]) -> Option<usize> {
        let (first, rest) = self.axes.split_first()?;
        (!first.advances)
            .then(|| rest.iter().fold(1, |size: usize, axis| size.saturating_mul(axis.size(sizes))))
    }

    /// Writes the elements of the operand at positions `first..first + to.len()` of the larger shape.
    pub(super) fn spread<T: Copy>(&self, sizes: &[usize], operand: &[T], first: usize, to: &mut [T]) {
        let Some((last, outer)) = self.axes.split_last() else {
            return to.copy_from_slice(&operand[..to.len()]);
        };
        // A counter over the axes. The digit of the last axis is counted in `at`.
        let (mut digits, mut steps, mut extents) = ([0; MOST_AXES], [0; MOST_AXES], [0; MOST_AXES]);
        let run = last.size(sizes);
        if run == 0 {
            return;
        }
        let mut step = if last.advances { run } else { 1 };
        let (mut at, mut rest) = (first % run, first / run);
        let mut start = 0;
        for (i, axis) in outer.iter().enumerate().rev() {
            extents[i] = axis.size(sizes).max(1);
            digits[i] = rest % extents[i];
            rest /= extents[i];
            if axis.advances {
                steps[i] = step;
                start += digits[i] * step;
                step *= extents[i];
            }
        }
        let mut done = 0;
        while done < to.len() {
            let count = (run - at).min(to.len() - done);
            let to = &mut to[done..done + count];
            if last.advances {
                to.copy_from_slice(&operand[start + at..start + at + count]);
            } else {
                to.fill(operand[start]);
            }
            done += count;
            at = 0;
            for i in (0..outer.len()).rev() {
                digits[i] += 1;
                start += steps[i];
                if digits[i] < extents[i] {
                    break;
                }
                start -= steps[i] * extents[i];
                digits[i] = 0;
            }
        }
    }
}

impl Axis {
    fn size(&self, sizes: &[usize]) -> usize {
        self.extents.iter().fold(1, |size: usize, extent| size.saturating_mul(extent.get(sizes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(shape: &[usize]) -> Vec<Extent> {
        shape.iter().copied().map(Extent::Fixed).collect()
    }

    /// The expected elements, by division with remainder.
    fn expected(operand: &[usize], shape: &[usize]) -> Vec<u32> {
        let lead = shape.len() - operand.len();
        (0..shape.iter().product())
            .map(|position: usize| {
                let (mut rest, mut step, mut at) = (position, 1, 0);
                for (i, &extent) in shape.iter().enumerate().rev() {
                    let own = if i < lead { 1 } else { operand[i - lead] };
                    if own != 1 {
                        at += rest % extent * step;
                    }
                    step *= own;
                    rest /= extent;
                }
                at as u32
            })
            .collect()
    }

    #[test]
    fn spreads_every_part_of_every_form() {
        let cases: [(&[usize], &[usize], Form); 11] = [
            (&[], &[], Form::Whole),
            (&[3, 4], &[3, 4], Form::Whole),
            (&[4], &[1, 4], Form::Whole),
            (&[], &[3, 4], Form::Single),
            (&[1, 1], &[3, 4], Form::Single),
            (&[4], &[3, 4], Form::Repeated),
            (&[3, 1], &[3, 4], Form::Repeated),
            (&[1, 4, 1], &[3, 4, 5], Form::Repeated),
            (&[3, 1, 5], &[3, 4, 5], Form::Repeated),
            (&[3, 1, 5, 1], &[3, 2, 5, 7], Form::Repeated),
            (&[2, 1, 5, 1], &[3, 2, 2, 5, 7], Form::Repeated),
        ];
        for (operand, shape, form) in cases {
            let broadcast = Broadcast::new(&extents(operand), &extents(shape)).unwrap();
            assert_eq!(broadcast.form(), form, "{operand:?} over {shape:?}");
            let all = expected(operand, shape);
            let values: Vec<u32> = (0..operand.iter().product::<usize>() as u32).collect();
            // Miri is slow, so it sees fewer of the positions.
            let step = if cfg!(miri) { 1 + all.len() / 6 } else { 1 };
            for first in (0..all.len()).step_by(step) {
                for end in (first..=all.len()).step_by(step) {
                    let mut to = vec![u32::MAX; end - first];
                    broadcast.spread(&[], &values, first, &mut to);
                    assert_eq!(to, all[first..end], "{operand:?} over {shape:?} from {first}");
                }
            }
        }
    }

    #[test]
    fn periods_are_those_of_trailing_axes() {
        let shape = [Extent::Bound(0), Extent::Fixed(4), Extent::Fixed(5)];
        let period = |operand: &[Extent]| Broadcast::new(operand, &shape).unwrap().period(&[7]);
        assert_eq!(period(&shape), None);
        assert_eq!(period(&shape[1..]), Some(20));
        assert_eq!(period(&shape[2..]), Some(5));
        assert_eq!(period(&[]), Some(1));
        assert_eq!(period(&[Extent::Bound(0), Extent::Fixed(1), Extent::Fixed(1)]), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (operand, shape) in [(&[3][..], &[4][..]), (&[2, 3], &[3]), (&[4], &[1])] {
            assert!(Broadcast::new(&extents(operand), &extents(shape)).is_none());
        }
    }
}
