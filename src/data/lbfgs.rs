//! The least value of a smooth convex function, found to any exactness.

use std::collections::VecDeque;

/// How many steps the curvature is known from.
const MEMORY: usize = 4;

/// Goes on from `x` until `is_done(gradient)`, and returns how many steps it took; none if it is not done after `most`
/// steps, or gets no further.
///
/// The method is L-BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989) with steps that
/// are halved until they pay (Armijo's rule), which suffices where the function is strictly convex. `cost(x, gradient)` is the
/// function, and writes its gradient; `diagonal` is what its second derivatives are about.
pub(super) fn minimize(
    x: &mut [f64],
    diagonal: &[f64],
    mut cost: impl FnMut(&[f64], &mut [f64]) -> f64,
    is_done: impl Fn(&[f64]) -> bool,
    most: usize,
) -> Option<usize> {
    let mut gradient = vec![0.0; x.len()];
    let mut value = cost(x, &mut gradient);
    let mut memory: VecDeque<Step> = VecDeque::with_capacity(MEMORY);
    for steps in 0..=most {
        if is_done(&gradient) {
            return Some(steps);
        }
        let direction = direction(&gradient, diagonal, &memory);
        let slope = dot(&direction, &gradient);
        // The oldest step's memory is used again.
        let mut step = if memory.len() == MEMORY { memory.pop_front() } else { None }.unwrap_or_default();
        step.x.clear();
        step.x.extend_from_slice(x);
        step.gradient.clear();
        step.gradient.extend_from_slice(&gradient);
        let mut length = 1.0;
        loop {
            for ((x, from), along) in x.iter_mut().zip(&step.x).zip(&direction) {
                *x = from + length * along;
            }
            let found = cost(x, &mut gradient);
            if found <= value + 1e-4 * length * slope {
                value = found;
                break;
            }
            length /= 2.0;
            if length < f64::EPSILON {
                return None;
            }
        }
        // What was, becomes by how much it has changed.
        step.x.iter_mut().zip(&*x).for_each(|(from, to)| *from = to - *from);
        step.gradient.iter_mut().zip(&gradient).for_each(|(from, to)| *from = to - *from);
        step.product = dot(&step.x, &step.gradient);
        if step.product > 0.0 {
            memory.push_back(step);
        }
    }
    None
}

/// How `x` and the gradient changed in a step, and the product of both.
#[derive(Default)]
struct Step {
    x: Vec<f64>,
    gradient: Vec<f64>,
    product: f64,
}

/// Minus the gradient, through the inverse of what is known of the second derivatives: the two loops over the steps.
fn direction(gradient: &[f64], diagonal: &[f64], memory: &VecDeque<Step>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|x| -x).collect();
    let mut along = Vec::with_capacity(memory.len());
    for step in memory.iter().rev() {
        let share = dot(&step.x, &direction) / step.product;
        add(&mut direction, -share, &step.gradient);
        along.push(share);
    }
    // How much flatter it was along the last step.
    let scale = memory.back().map_or(1.0, |step| {
        let expected =
            step.gradient.iter().zip(diagonal).map(|(change, curvature)| change * change / curvature);
        step.product / expected.sum::<f64>()
    });
    direction.iter_mut().zip(diagonal).for_each(|(x, curvature)| *x *= scale / curvature);
    for (step, share) in memory.iter().zip(along.into_iter().rev()) {
        let back = dot(&step.gradient, &direction) / step.product;
        add(&mut direction, share - back, &step.x);
    }
    direction
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// The scalar product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(cost: impl Fn(&[f64], &mut [f64]) -> f64, x: &mut [f64], most: usize) -> Option<usize> {
        let is_flat = |gradient: &[f64]| dot(gradient, gradient) < 1e-20;
        minimize(x, &vec![1.0; x.len()], cost, is_flat, most)
    }

    #[test]
    fn a_bowl_of_very_different_widths() {
        let width = |i: usize| 10f64.powi(i as i32 - 2);
        let bowl = |x: &[f64], gradient: &mut [f64]| {
            let away: Vec<f64> = x.iter().enumerate().map(|(i, x)| x - i as f64).collect();
            gradient.iter_mut().enumerate().for_each(|(i, to)| *to = 2.0 * width(i) * away[i]);
            away.iter().enumerate().map(|(i, away)| width(i) * away * away).sum()
        };
        let mut x = [7.0; 5];
        assert!(steps(bowl, &mut x, 200).is_some());
        assert!(x.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-8), "{x:?}");
        // With the second derivatives as they are, a step suffices.
        let mut x = [7.0; 5];
        let diagonal: Vec<f64> = (0..5).map(|i| 2.0 * width(i)).collect();
        let taken = minimize(&mut x, &diagonal, bowl, |gradient: &[f64]| dot(gradient, gradient) < 1e-20, 9);
        assert_eq!(taken, Some(1));
    }

    #[test]
    fn without_end() {
        let slope = |x: &[f64], gradient: &mut [f64]| {
            gradient.fill(1.0);
            x[0]
        };
        assert_eq!(steps(slope, &mut [0.0], 10), None);
        let nowhere = |_: &[f64], gradient: &mut [f64]| {
            gradient.fill(1.0);
            f64::NAN
        };
        assert_eq!(steps(nowhere, &mut [0.0], 10), None);
        let flat = |_: &[f64], gradient: &mut [f64]| {
            gradient.fill(0.0);
            1.0
        };
        assert_eq!(steps(flat, &mut [3.0], 0), Some(0));
    }
}
