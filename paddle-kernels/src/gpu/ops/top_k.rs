//! `top_k_v2`, `argsort`, `accuracy`.

use paddle_core::ops::{Accuracy, Real, TopK};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::fold::scan;
use crate::gpu::form::{
    Float, LANES, Long, Register, Shared, Truth, Unsigned, Variable, barrier, each, for_each, lane, scalar,
    when, workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sort::{bits_below, sort};
use crate::gpu::tensor::{Call, Element};

/// Whether an element is in front of another one; equal ones stay as they are. What is not a number is larger than any.
fn is_before((x, at): (Float, Unsigned), (y, other): (Float, Unsigned), largest: bool) -> Truth {
    let (no_x, no_y) = (x.is_not_a_number(), y.is_not_a_number());
    let numbers = !no_x & !no_y;
    let (above, below) = (x.greater(y) & numbers, x.less(y) & numbers);
    let (first, last) = match largest {
        true => (above | (no_x & !no_y), below | (no_y & !no_x)),
        false => (below | (no_y & !no_x), above | (no_x & !no_y)),
    };
    first | (!last & at.less(other))
}

impl Compile for TopK {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[0] == DType::F32
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, axis) = (call.shape(0).to_vec(), self.axis as usize);
        let lines = Lines { shape: shape.clone(), taken: call.out_shape(0).to_vec(), axis };
        Ok(match (shape[axis], lines.taken[axis]) {
            (Extent::Fixed(size), _) if size <= SHORT => lines.by_counting(call, self.largest),
            (_, Extent::Fixed(taken)) if taken <= FEW => lines.by_choosing(call, self.largest),
            _ => lines.by_sorting(call, self.largest),
        })
    }
}

/// The number of elements up to which each one is compared with all of its line.
const SHORT: usize = 256;
/// The number of elements up to which they are looked for one after the other.
const FEW: usize = 32;

/// The lines along an axis.
struct Lines {
    shape: Vec<Extent>,
    taken: Vec<Extent>,
    axis: usize,
}

impl Lines {
    fn size(&self) -> Unsigned {
        scalar(&self.shape[self.axis..=self.axis])
    }

    /// The axes that number the lines.
    fn others(&self) -> Vec<Extent> {
        [&self.shape[..self.axis], &self.shape[self.axis + 1..]].concat()
    }

    /// The line of an element, and its place in it.
    fn place(&self, index: Unsigned) -> (Unsigned, Unsigned) {
        let inner = scalar(&self.shape[self.axis + 1..]);
        let (run, block) = (index / inner, index / inner / self.size());
        (block * inner + (index - run * inner), run - block * self.size())
    }

    /// The element at a place of a line, of a value with so many elements along the axis.
    fn element(&self, line: Unsigned, place: Unsigned, size: Unsigned) -> Unsigned {
        let inner = scalar(&self.shape[self.axis + 1..]);
        let block = line / inner;
        (block * size + place) * inner + (line - block * inner)
    }

    /// Stores the element of a line that is in front of all but so many.
    fn put(&self, call: &Call<'_>, line: Unsigned, number: Unsigned, place: Unsigned) {
        let (x, out, indices) = (call.input(0), call.output(0), call.output(1));
        let to = self.element(line, number, scalar(&self.taken[self.axis..=self.axis]));
        out.copy(to, &x, self.element(line, place, self.size()));
        indices.store(to, Element::Long(Long::of_unsigned(place)));
    }

    /// The thread of an element counts the elements in front of it, which is its place.
    fn by_counting(&self, call: Call<'_>, largest: bool) -> Kernel {
        Kernel::new().stage(Grid::Items(self.shape.clone()), || {
            let (x, u) = (call.input(0), Unsigned::of);
            each(x.elements(), |index| {
                let (line, own) = self.place(index);
                let before = Variable::new(u(0));
                for_each(u(0), self.size(), u(1), |place| {
                    let other = (x.float(self.element(line, place, self.size())), place);
                    let is_before = is_before(other, (x.float(index), own), largest);
                    before.set(before.get() + is_before.to_unsigned());
                });
                when(before.get().less(scalar(&self.taken[self.axis..=self.axis])), || {
                    self.put(&call, line, before.get(), own);
                });
            });
        })
    }

    /// A workgroup goes through a line for each element that is taken: it is the first one behind that of the time before.
    fn by_choosing(&self, call: Call<'_>, largest: bool) -> Kernel {
        Kernel::new().stage(Grid::Groups(self.others()), || {
            let (x, u) = (call.input(0), Unsigned::of);
            let (values, places) = (Shared::<Float>::new(LANES), Shared::<Unsigned>::new(LANES));
            for_each(workgroup(), scalar(&self.others()), workgroups(), |line| {
                let last = (Variable::new(Float::constant(0.0)), Variable::new(u(0)));
                for_each(u(0), scalar(&self.taken[self.axis..=self.axis]), u(1), |number| {
                    let best = (Variable::new(Float::constant(0.0)), Variable::new(u(u32::MAX)));
                    let offer = |value: Float, place: Unsigned| {
                        let none = best.1.get().is(u(u32::MAX));
                        let is_better =
                            none | is_before((value, place), (best.0.get(), best.1.get()), largest);
                        when(is_better, || {
                            best.0.set(value);
                            best.1.set(place);
                        });
                    };
                    for_each(lane(), self.size(), u(LANES), |place| {
                        let value = x.float(self.element(line, place, self.size()));
                        let is_left = is_before((last.0.get(), last.1.get()), (value, place), largest);
                        when(number.is(u(0)) | is_left, || offer(value, place));
                    });
                    values.set(lane(), best.0.get());
                    places.set(lane(), best.1.get());
                    barrier();
                    for_each(u(0), u(LANES), u(1), |other| {
                        when(places.get(other).is_not(u(u32::MAX)), || {
                            offer(values.get(other), places.get(other))
                        });
                    });
                    barrier();
                    last.0.set(best.0.get());
                    last.1.set(best.1.get());
                    when(lane().is(u(0)), || self.put(&call, line, number, best.1.get()));
                });
            });
        })
    }

    /// All elements are sorted by their values, and then by their lines.
    fn by_sorting(&self, call: Call<'_>, largest: bool) -> Kernel {
        let value = |index: Unsigned| {
            let value = call.input(0).float(index);
            let bits = value.bits();
            // Numbers without sign in the order of the floats. Zeros are equal, and what is not a number is above all.
            let is_negative =
                (bits >> Unsigned::of(31)).is(Unsigned::of(1)) & value.is_not(Float::constant(0.0));
            let magnitude = bits & Unsigned::of(0x7fff_ffff);
            let above = magnitude | Unsigned::of(0x8000_0000);
            let rising = Unsigned::choose(is_negative, !bits, above);
            let rising = Unsigned::choose(value.is_not_a_number(), Unsigned::of(u32::MAX), rising);
            if largest { !rising } else { rising }
        };
        let (kernel, sorted) = sort(Kernel::new(), call.group, &self.shape, u32::BITS, &value);
        let line = |at: Unsigned| self.place(sorted.place(at)).0;
        let others = self.others();
        let (kernel, by_line) = sort(kernel, call.group, &self.shape, bits_below(&others), &line);
        kernel.stage(Grid::Items(self.taken.clone()), || {
            let taken = scalar(&self.taken[self.axis..=self.axis]);
            each(scalar(&others) * taken, |item| {
                let line = item / taken;
                let number = item - line * taken;
                let found = sorted.place(by_line.place(line * self.size() + number));
                self.put(&call, line, number, self.place(found).1);
            });
        })
    }
}

impl Compile for Accuracy {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[3] == DType::F32
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let k = call.shape(1)[call.shape(1).len() - 1];
        Ok(Kernel::new().stage(Grid::One, || {
            let (indices, labels) = (call.input(1), call.input(2));
            let [share, correct, total] = [0, 1, 2].map(|output| call.output(output));
            let u = Unsigned::of;
            let is_right = |row: Unsigned| {
                let label = labels.load(row).long();
                let found = Variable::new(Truth::of(false));
                for_each(u(0), scalar(&[k]), u(1), |place| {
                    when(indices.load(row * scalar(&[k]) + place).long().is(label), || {
                        found.set(Truth::of(true))
                    });
                });
                found.get().to_unsigned()
            };
            let right = scan(labels.elements(), is_right, |_, _| ());
            when(lane().is(u(0)), || {
                let rows = labels.elements();
                let divisor = rows.max_with(u(1)).to_float();
                share.set(u(0), right.to_float() / divisor);
                correct.store(u(0), Element::Signed(right.as_signed()));
                total.store(u(0), Element::Signed(rows.as_signed()));
            });
        }))
    }
}
