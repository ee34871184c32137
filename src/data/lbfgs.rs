//! Minimisation of smooth convex functions to any accuracy, by L-BFGS.

use std::collections::VecDeque;

/// The number of steps from which the curvature is estimated.
const MEMORY: usize = 4;

/// Minimises `cost` from `x` until `is_done(gradient)`, and returns the number of steps. `None` if that takes more than
/// `most` steps, or if a step makes no progress.
///
/// The method is L-BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989). The
/// length of a step is halved until the cost falls enough (Armijo's rule), which suffices for strictly convex
/// functions. `cost(x, gradient)` returns the cost and writes its gradient; `diagonal` approximates the second
/// derivatives.
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
        // The oldest step gives up its memory.
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
        // The old position and gradient become their differences to the new ones.
        step.x.iter_mut().zip(&*x).for_each(|(from, to)| *from = to - *from);
        step.gradient.iter_mut().zip(&gradient).for_each(|(from, to)| *from = to - *from);
        step.product = dot(&step.x, &step.gradient);
        if step.product > 0.0 {
            memory.push_back(step);
        }
    }
    None
}

/// The changes of `x` and of the gradient in a step, and their scalar product.
#[derive(Default)]
struct Step {
    x: Vec<f64>,
    gradient: Vec<f64>,
    product: f64,
}

/// The direction of descent: minus the gradient times the estimated inverse of the second derivatives, by L-BFGS's two
/// loops over the steps.
fn direction(gradient: &[f64], diagonal: &[f64], memory: &VecDeque<Step>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|x| -x).collect();
    let mut along = Vec::with_capacity(memory.len());
    for step in memory.iter().rev() {
        let share = dot(&step.x, &direction) / step.product;
        add(&mut direction, -share, &step.gradient);
        along.push(share);
    }
    // The curvature along the last step, relative to `diagonal`.
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
        // With exact second derivatives, one step suffices.
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
