//! Sums and other folds over the threads of a workgroup, in an order that depends on nothing.

use paddle_core::program::DType;

use super::form::{LANES, Long, Shared, Unsigned, barrier, for_each, lane, when};
use super::tensor::Element;

/// An array that the threads of a workgroup share, of elements of any type.
pub(super) struct SharedElements {
    words: [Shared<Unsigned>; 2],
    dtype: DType,
}

impl SharedElements {
    /// Room for an element of each thread.
    pub(super) fn new(dtype: DType) -> Self {
        let second = if dtype == DType::I64 { LANES } else { 1 };
        SharedElements { words: [Shared::new(LANES), Shared::new(second)], dtype }
    }

    pub(super) fn get(&self, at: Unsigned) -> Element {
        let word = self.words[0].get(at);
        match self.dtype {
            DType::F32 => Element::Float(word.as_float()),
            DType::I32 => Element::Signed(word.as_signed()),
            DType::Bool => Element::Truth(word.is_not(Unsigned::of(0))),
            DType::I64 | DType::F64 => Element::Long(Long { low: word, high: self.words[1].get(at) }),
        }
    }

    pub(super) fn set(&self, at: Unsigned, element: Element) {
        let word = match element {
            Element::Float(value) => value.bits(),
            Element::Signed(value) => value.as_unsigned(),
            Element::Truth(value) => value.to_unsigned(),
            Element::Long(value) => {
                self.words[1].set(at, value.high);
                value.low
            }
        };
        self.words[0].set(at, word);
    }

    /// Joins an element of each thread; every thread gets the result. All threads have to come here.
    pub(super) fn fold(&self, element: Element, with: impl Fn(Element, Element) -> Element) -> Element {
        let lane = lane();
        self.set(lane, element);
        barrier();
        let mut width = LANES / 2;
        while width > 0 {
            when(lane.less(Unsigned::of(width)), || {
                self.set(lane, with(self.get(lane), self.get(lane + Unsigned::of(width))));
            });
            barrier();
            width /= 2;
        }
        let result = self.get(Unsigned::of(0));
        barrier();
        result
    }
}

/// In a workgroup of its own: gives `used` the sum of `values` below each index, and at last the sum of all of them.
pub(super) fn scan(
    count: Unsigned,
    values: impl Fn(Unsigned) -> Unsigned,
    used: impl Fn(Unsigned, Unsigned),
) -> Unsigned {
    use super::form::Variable;

    let sums = Shared::<Unsigned>::new(LANES);
    let lane = lane();
    let share = (count + Unsigned::of(LANES - 1)) / Unsigned::of(LANES);
    let first = lane * share;
    let (first, end) = (first.least(count), (first + share).least(count));
    let sum = Variable::new(Unsigned::of(0));
    for_each(first, end, Unsigned::of(1), |index| sum.set(sum.get() + values(index)));
    sums.set(lane, sum.get());
    barrier();
    let (before, all) = (Variable::new(Unsigned::of(0)), Variable::new(Unsigned::of(0)));
    for_each(Unsigned::of(0), Unsigned::of(LANES), Unsigned::of(1), |other| {
        let found = sums.get(other);
        all.set(all.get() + found);
        when(other.less(lane), || before.set(before.get() + found));
    });
    for_each(first, end, Unsigned::of(1), |index| {
        let sum = before.get();
        let value = values(index);
        used(index, sum);
        before.set(sum + value);
    });
    all.get()
}
