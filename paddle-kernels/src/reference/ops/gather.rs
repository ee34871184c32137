//! `gather`, `gather_nd`, `scatter`, `scatter_nd_add`: elements and slices by their indices.

use paddle_core::ops::{
    Gather, GatherGrad, GatherNd, Scatter, ScatterNdAdd, TakeAlongAxis, TakeAlongAxisGrad,
};
use paddle_core::plan::KernelError;

use super::Evaluate;
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{index, position, positions};
use crate::reference::values::Values;

/// The indices of operand `k`, each of which has to be below the size of its axis.
fn checked(call: &Call<'_>, k: usize, size: impl Fn(usize) -> usize) -> Result<Vec<usize>, KernelError> {
    let Values::I64(numbers) = call.read(k) else { panic!("the shape rule wants numbers of type i64") };
    let number = |(at, &number): (usize, &i64)| match usize::try_from(number) {
        Ok(found) if found < size(at) => Ok(found),
        _ => Err(messages::index_out_of_range(number, at, size(at))),
    };
    numbers.iter().enumerate().map(number).collect()
}

/// For each element of a result of shape `out`, the element of a value of shape `x` that it is taken from.
fn taken(axis: usize, x: &[usize], (numbers, of_numbers): (&[usize], &[usize]), out: &[usize]) -> Vec<usize> {
    // If both have rows, these are one axis of the result.
    let rows = x.len() + of_numbers.len() - 1 - out.len();
    let source = |position: Vec<usize>| {
        let places = of_numbers.len() - rows;
        let (before, rest) = position.split_at(axis);
        let (place, behind) = rest.split_at(places);
        let number = numbers[index(&[&position[..rows], place].concat(), of_numbers)];
        index(&[before, &[number], behind].concat(), x)
    };
    positions(out).map(source).collect()
}

impl Evaluate for Gather {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (axis, x) = (self.axis as usize, call.shape(0));
        let numbers = checked(call, 1, |_| x[axis])?;
        let taken = taken(axis, &x, (&numbers, &call.shape(1)), &call.output_shape(0));
        Ok(vec![call.read(0).at(&taken)])
    }
}

impl Evaluate for GatherGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (axis, x) = (self.0.axis as usize, call.shape(0));
        let numbers = checked(call, 1, |_| x[axis])?;
        let taken = taken(axis, &x, (&numbers, &call.shape(1)), &call.shape(2));
        let mut out = vec![0.0; x.iter().product()];
        taken.into_iter().zip(call.read(2).floats()).for_each(|(to, grad)| out[to] += grad);
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}

/// For each element of the slices at positions (input 1), the element of a value of shape `x` that it stands for.
fn at_positions(call: &Call<'_>, x: &[usize]) -> Result<Vec<usize>, KernelError> {
    let length = *call.shape(1).last().expect("the shape rule wants positions");
    let numbers = checked(call, 1, |at| x[at % length])?;
    let count = call.shape(1).iter().rev().skip(1).product();
    let of = |at: usize| {
        let position = &numbers[at * length..][..length];
        positions(&x[length..]).map(move |inner| index(&[position, &inner].concat(), x)).collect::<Vec<_>>()
    };
    Ok((0..count).flat_map(of).collect())
}

impl Evaluate for GatherNd {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(0).at(&at_positions(call, &call.shape(0))?)])
    }
}

impl Evaluate for ScatterNdAdd {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let targets = at_positions(call, &call.shape(0))?;
        Ok(vec![call.read(0).with_added(&targets, &call.read(2))])
    }
}

impl Evaluate for Scatter {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let x = call.shape(0);
        let ids = checked(call, 1, |_| x[0])?;
        let width = x[1..].iter().product::<usize>();
        let count = x.iter().product();
        // The candidates are the elements of both values, one after the other.
        let mut chosen: Vec<usize> = (0..count).collect();
        for (update, id) in ids.into_iter().enumerate() {
            for i in 0..width {
                chosen[id * width + i] = count + update * width + i;
            }
        }
        Ok(vec![Values::join(&[call.read(0), call.read(2)]).at(&chosen)])
    }
}

/// For each element of a value with the shape of the indices, the element of a value of shape `x` that it is taken
/// from.
fn along(axis: i64, call: &Call<'_>, x: &[usize]) -> Result<Vec<usize>, KernelError> {
    let numbers = checked(call, 1, |_| x[axis as usize])?;
    let shape = call.shape(1);
    let source = |(at, number): (usize, usize)| {
        let mut position = position(at, &shape);
        position[axis as usize] = number;
        index(&position, x)
    };
    Ok(numbers.into_iter().enumerate().map(source).collect())
}

impl Evaluate for TakeAlongAxis {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(0).at(&along(self.axis, call, &call.shape(0))?)])
    }
}

impl Evaluate for TakeAlongAxisGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let x = call.shape(0);
        let mut out = vec![0.0; x.iter().product()];
        along(self.0.axis, call, &x)?
            .into_iter()
            .zip(call.read(2).floats())
            .for_each(|(to, grad)| out[to] += grad);
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}
