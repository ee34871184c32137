//! `tile`.

use std::marker::PhantomData;

use paddle_core::ops::Tile;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::cpu::view::{MOST_AXES, View};

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;

struct Times<T> {
    x: Vec<Extent>,
    out: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for Tile {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        if 2 * x.1.shape.len() > MOST_AXES {
            return single.refuse("of so many axes");
        }
        let (from, to) = (x.1.shape.clone(), out.1.shape.clone());
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Times::<T> { x: from, out: to, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Element> Body for Times<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let mut distance: usize = self.x.iter().map(|extent| extent.get(sizes)).product();
        let mut view = View::at(0);
        for (x, out) in self.x.iter().zip(&self.out) {
            let size = x.get(sizes);
            distance /= size.max(1);
            view = view.axis(out.get(sizes) / size.max(1), 0).axis(size, distance);
        }
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        pieces(&machine.team, out, PIECE, &|index, out| view.copy(x, index * PIECE, out));
        Ok(())
    }
}
