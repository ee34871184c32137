//! Operators that change shapes or give them, and those that repeat values.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::types::{is_small_product, product};
use crate::ops::{Cast, Reshape};
use crate::program::{DType, Dim};

/// What is lacking where a shape is not known before a run.
const COMPUTED: &str = "its shape is computed while it runs, but has to be known before";

impl Node<'_, '_> {
    pub(super) fn reshape(&mut self) -> Given {
        let x = self.input(0)?;
        let shape = match self.has(1) {
            true => self.dims(1),
            false => self.ints("shape").map(|shape| shape.into_iter().map(Dim::from).collect()),
        };
        let Some(shape) = shape else { return self.lacks(COMPUTED) };
        let dims = self.reader.draft.reshaped(x, &shape, self.int("allowzero", 0) == 0)?;
        let Some(dims) = dims.filter(|dims| is_small_product(dims) && is_small_product(&self.ty(x).dims))
        else {
            return self.lacks("it splits or merges rows, or its sizes do not follow from others");
        };
        self.give(Reshape { dims }, &[x])
    }

    /// The axes before one merged into one, and the others into another.
    pub(super) fn flatten(&mut self) -> Given {
        let (x, axis) = (self.input(0)?, self.int("axis", 1));
        let (rank, rows, dims) = (self.ty(x).rank(), self.rows(x), self.ty(x).dims.clone());
        let at = if axis == rank as i64 { rank } else { self.axis(x, "axis", axis)? };
        if !is_small_product(&dims) {
            return self.lacks("its sizes are too long");
        }
        let merged = match (rows, at) {
            (1, 1) => vec![product(&dims)?],
            (0, at) => vec![product(&dims[..at])?, product(&dims[at..])?],
            _ => return self.lacks("it merges rows with other dimensions"),
        };
        self.give(Reshape { dims: merged }, &[x])
    }

    /// Without axes, those of size 1.
    pub(super) fn squeeze(&mut self) -> Given {
        let x = self.input(0)?;
        let rows = self.rows(x);
        let dims = self.ty(x).dims.clone();
        let ones =
            || (0..dims.len()).filter(|&at| dims[at].constant() == Some(1)).map(|at| at + rows).collect();
        let axes = match self.listed(1, "axes")? {
            Some(axes) => self.axes(x, &axes)?,
            None if dims.iter().all(|dim| dim.constant().is_some()) => ones(),
            None => return self.lacks("whether sizes are 1 is not known"),
        };
        let is_one = |&axis: &usize| axis.checked_sub(rows).is_some_and(|at| dims[at].constant() == Some(1));
        if !axes.iter().all(is_one) {
            return self.lacks("it removes an axis whose size is not known to be 1");
        }
        let left = dims.iter().enumerate().filter(|(at, _)| !axes.contains(&(at + rows)));
        let dims = left.map(|(_, dim)| dim.clone()).collect();
        self.give(Reshape { dims }, &[x])
    }

    /// The axes are those of the result.
    pub(super) fn unsqueeze(&mut self) -> Given {
        let x = self.input(0)?;
        let rows = self.rows(x);
        let Some(axes) = self.listed(1, "axes")? else { return self.lacks("its axes are missing") };
        let rank = (self.ty(x).rank() + axes.len()) as i64;
        let place = |&axis: &i64| {
            let at = if axis < 0 { axis + rank } else { axis };
            usize::try_from(at).ok().filter(|&at| (at as i64) < rank).ok_or_else(|| {
                let message = format!("{axis} is no axis of {rank} dimensions");
                Fault::Attribute { attribute: "axes", message }
            })
        };
        let mut places = axes.iter().map(place).collect::<Result<Vec<usize>, Fault>>()?;
        places.sort_unstable();
        let mut dims = self.ty(x).dims.clone();
        for at in places {
            let Some(at) = at.checked_sub(rows).filter(|&at| at <= dims.len()) else {
                return self.lacks("it puts an axis in front of rows, or one axis twice");
            };
            dims.insert(at, Dim::from(1));
        }
        self.give(Reshape { dims }, &[x])
    }

    pub(super) fn shape_of(&mut self) -> Given {
        let x = self.input(0)?;
        let shape = self.shape(x);
        let rank = shape.len() as i64;
        let bound =
            |bound: i64| (if bound < 0 { bound.saturating_add(rank) } else { bound }).clamp(0, rank) as usize;
        let (start, end) = (bound(self.int("start", 0)), bound(self.int("end", rank)));
        let value = self.at().shape_value(shape.get(start..end).unwrap_or_default())?;
        self.give(Cast { dtype: DType::I64 }, &[value])
    }

    pub(super) fn size_of(&mut self) -> Given {
        let x = self.input(0)?;
        let shape = self.shape(x);
        if !is_small_product(&shape) {
            return self.lacks("its sizes are too long");
        }
        let count = product(&shape)?;
        let value = self.at().size_value(&count)?;
        self.at().know(value, &[count]);
        let value = self.cast(value, DType::I64)?;
        self.give(Reshape { dims: Vec::new() }, &[value])
    }

    /// A value is repeated along axes of size 1.
    pub(super) fn expand(&mut self) -> Given {
        let x = self.input(0)?;
        let Some(mut shape) = self.dims(1) else { return self.lacks(COMPUTED) };
        while shape.len() < self.ty(x).rank() {
            shape.insert(0, Dim::from(1));
        }
        // The value may have more elements along an axis than the shape.
        shape.iter_mut().filter(|size| size.constant() == Some(1)).for_each(|size| *size = Dim::from(-1));
        let lead = shape.len() - self.ty(x).rank();
        shape[..lead]
            .iter_mut()
            .filter(|size| size.constant() == Some(-1))
            .for_each(|size| *size = Dim::from(1));
        match self.at().expanded(x, &shape)? {
            Some(expanded) => Ok(vec![expanded]),
            None => self.lacks("it repeats rows, or an axis of more than one element"),
        }
    }

    pub(super) fn tile(&mut self) -> Given {
        let x = self.input(0)?;
        let Some(times) = self.dims(1) else {
            return self.lacks("its `repeats` are computed while it runs, but have to be known before");
        };
        match self.at().repeated(x, times)? {
            Some(repeated) => Ok(vec![repeated]),
            None => self.lacks("it repeats rows, or something no times"),
        }
    }
}
